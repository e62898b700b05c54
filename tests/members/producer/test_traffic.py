"""Log ends by arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.members.producer.traffic import Traffic, as_rate

weights = st.lists(st.integers(0, 7), min_size=1, max_size=6).filter(lambda shares: sum(shares) > 0)
rates = st.integers(0, 10**12)
times = st.integers(0, 10**10)


def ends(traffic: Traffic, now_us: int) -> list[int]:
    """Return the log ends of all partitions."""
    return [traffic.end(p, now_us) for p in range(traffic.partitions)]


def test_equal_partitions_are_filled_in_turn() -> None:
    """Four records a second on four partitions: one each quarter of a second, partition after partition."""
    traffic = Traffic([1, 1, 1, 1], as_rate(4), 0)
    assert [ends(traffic, quarter * 250_000) for quarter in range(6)] == [
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 1, 1, 1],
        [2, 1, 1, 1],
    ]


def test_fractions_of_a_rate_are_exact() -> None:
    """A tenth of a record per second equals six a minute, in any notation."""
    for rate in (0.1, "0.1"):
        assert Traffic([1], as_rate(rate), 0).end(0, 60_000_000) == 6


@given(weights, rates, times, times)
def test_log_ends_never_shrink(shares: list[int], rate: int, one: int, other: int) -> None:
    """Log ends never decrease."""
    traffic = Traffic(shares, rate, 0)
    early, late = sorted((one, other))
    assert all(a <= b for a, b in zip(ends(traffic, early), ends(traffic, late), strict=True))


@given(weights, rates, times, st.integers(0, 5), st.integers(0, 10**6))
def test_due_is_the_first_instant_at_which_the_record_is_there(
    shares: list[int], rate: int, since: int, partition: int, offset: int
) -> None:
    """The log end passes the offset at the due time, and not a microsecond before."""
    traffic = Traffic(shares, rate, since)
    p = partition % len(shares)
    due = traffic.due_us(p, offset)
    if due is None:
        assert rate * shares[p] == 0
        return
    assert traffic.end(p, due) > offset
    assert due == since or traffic.end(p, due - 1) <= offset


@given(weights, rates, st.lists(times, max_size=5), times)
def test_changing_the_rate_to_itself_changes_nothing(
    shares: list[int], rate: int, steps: list[int], after: int
) -> None:
    """Any number of changes loses and doubles no record."""
    untouched, settled = Traffic(shares, rate, 0), Traffic(shares, rate, 0)
    for step in sorted(steps):
        settled.set_rate(rate, step)
    now = max([*steps, 0]) + after
    assert ends(untouched, now) == ends(settled, now)


@given(weights, rates, st.integers(0, 10**6), times)
def test_burst_adds_exactly_its_records(shares: list[int], rate: int, records: int, now: int) -> None:
    """A burst is distributed by weight, and loses no record."""
    traffic, plain = Traffic(shares, rate, 0), Traffic(shares, rate, 0)
    traffic.burst(records, now)
    assert sum(ends(traffic, now)) == sum(ends(plain, now)) + records


@given(weights, rates, weights, times, times)
def test_new_partitions_start_empty_and_take_their_share(
    shares: list[int], rate: int, more: list[int], now: int, after: int
) -> None:
    """New partitions keep the old log ends and the topic's rate, to within a record per partition."""
    traffic = Traffic(shares, rate, 0)
    before = ends(traffic, now)
    traffic.grow(more, now)
    assert ends(traffic, now) == before + [0] * len(more)
    produced = sum(ends(traffic, now + after)) - sum(before)
    assert abs(produced - rate * after // 10**12) <= len(shares) + len(more)


def test_stopped_topic_has_no_next_record() -> None:
    """At rate 0 nothing more is due, but existing records stay readable."""
    traffic = Traffic([1], as_rate(10), 0)
    traffic.set_rate(0, 1_000_000)
    assert traffic.end(0, 9_000_000) == 10
    assert traffic.due_us(0, 10) is None
    assert traffic.due_us(0, 9) is not None


def test_nonsense_is_refused() -> None:
    """Negative rates, and weights that are all 0, are errors."""
    with pytest.raises(ValueError, match="not negative"):
        as_rate(-1)
    with pytest.raises(ValueError, match="not all 0"):
        Traffic([0, 0], 1, 0)
