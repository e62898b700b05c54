"""Near and far entries come out in the order of one heap."""

from __future__ import annotations

from heapq import heappop, heappush

from hypothesis import given
from hypothesis import strategies as st

from groupsim.eventloop.agenda import BUCKET_US, CROWD, Agenda
from groupsim.eventloop.heap import FREE, Entry, HostLife

# Pushes (microseconds from the present, class) and pops (None), mixed.
delays = st.one_of(st.integers(0, 10), st.integers(0, 3 * BUCKET_US), st.integers(0, 400 * BUCKET_US))
steps = st.lists(st.one_of(st.none(), st.tuples(delays, st.integers(0, 4))), max_size=200)


def _entry(when_us: int, rank: int, life: HostLife = FREE) -> Entry:
    return when_us, rank, 0, print, None, 0, life


def _pop(agenda: Agenda) -> Entry | None:
    """As the kernel does."""
    first = agenda.first()
    if first is not None and agenda.row and first is agenda.row[-1]:
        agenda.row.pop()
    elif first is not None:
        heappop(agenda.near)
    return first


@given(steps)
def test_the_order_is_that_of_one_heap(steps: list[tuple[int, int] | None]) -> None:
    """Whatever is pushed and popped in between, entries come out as from a single heap."""
    agenda, heap, now = Agenda(), [], 0
    for ticket, step in enumerate(steps + [None] * len(steps)):
        if step is not None:
            entry = _entry(now + step[0], (step[1] << 48) + ticket)
            agenda.push(entry)
            heappush(heap, entry)
            assert len(agenda) == len(heap)
        else:
            expected = heappop(heap) if heap else None
            assert _pop(agenda) is expected
            now = expected[0] if expected is not None else now


def test_a_crowded_bucket_is_split_and_keeps_the_order() -> None:
    """Of a crowded bucket everything, and what is pushed meanwhile, comes out as from one heap."""
    agenda, heap, seen = Agenda(), [], []
    for ticket in range(2 * CROWD):
        entry = _entry(3 * BUCKET_US + ticket * 7_919 % (BUCKET_US + 600), ticket)
        agenda.push(entry)
        heappush(heap, entry)
    while (entry := _pop(agenda)) is not None:
        assert entry is heappop(heap)
        seen.append(entry)
        if len(seen) % 3 == 0 and len(seen) < 3 * CROWD:
            answer = _entry(entry[0] + len(seen) * 31 % 900, 4 * CROWD + len(seen))
            agenda.push(answer)
            heappush(heap, answer)
    assert not heap
    assert len(seen) > 2 * CROWD


def test_the_first_entry_can_be_looked_at() -> None:
    """`first` gives what comes next and leaves it there; None when nothing does."""
    agenda = Agenda()
    assert agenda.first() is None
    late, soon = _entry(900 * BUCKET_US, 1), _entry(5, 2)
    agenda.push(late)
    assert agenda.first() is late
    agenda.push(soon)
    assert agenda.first() is soon
    assert len(agenda) == 2


def test_most_taken_back_are_thrown_out() -> None:
    """When more than half of what lies there was taken back, it is thrown out with what belongs to the dead."""
    agenda, dead = Agenda(), HostLife("dead")
    kept = [_entry(n * BUCKET_US, n) for n in range(3)]
    for entry in [*kept, _entry(7, 7, dead)]:
        agenda.push(entry)
    dead.held = dead.dead = True
    for n in range(1_001):
        entry = _entry(n * 1_000, 100 + n)
        agenda.push(entry)
        agenda.take_back(entry)
        agenda.take_back(entry)
    assert len(agenda) == 3
    assert [_pop(agenda) for _ in range(4)] == [*kept, None]
