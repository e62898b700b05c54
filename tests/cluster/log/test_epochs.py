"""The table of leader epochs agrees with a naive reading of the log, and its text can be read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.cluster.log.epochs import EpochCache, parse
from groupsim.protocol.messages.data import EpochEnd

STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


def _written(steps: list[tuple[int, int]]) -> tuple[EpochCache, list[int]]:
    """Epochs rise by the first number and write as many records as the second says."""
    cache, records, epoch = EpochCache(), [], 0
    for rise, count in steps:
        epoch += rise
        cache.assign(epoch, len(records))
        records += [epoch] * count
    return cache, records


def _naive_end(records: list[int], epoch: int, latest: int) -> EpochEnd:
    if epoch == latest:
        return EpochEnd(epoch, len(records))
    if epoch > latest or latest < 0:
        return EpochEnd(-1, -1)
    end = sum(one <= epoch for one in records)
    return EpochEnd(max((one for one in records if one <= epoch), default=epoch), end)


@given(STEPS)
def test_epochs_end_where_the_records_say(steps: list[tuple[int, int]]) -> None:
    """The largest epoch with records not above the one asked for, and the number of records up to it."""
    cache, records = _written(steps)
    for epoch in range(40):
        assert cache.end_of(epoch, len(records)) == _naive_end(records, epoch, cache.latest)
    assert [cache.at(offset) for offset in range(len(records))] == records


@given(STEPS, st.integers(0, 30))
def test_a_cut_leaves_the_epochs_of_the_records_left(steps: list[tuple[int, int]], end: int) -> None:
    """A truncated table equals one to which the removed epochs were never added."""
    cache, records = _written(steps)
    end = min(end, len(records))
    cache.truncate_from_end(end)
    again = EpochCache()
    for offset, epoch in enumerate(records[:end]):
        again.assign(epoch, offset)
    assert cache.entries == again.entries


@given(STEPS, st.integers(0, 30))
def test_a_later_start_keeps_the_epoch_in_force_there(steps: list[tuple[int, int]], start: int) -> None:
    """The first entry begins at the log's start; what follows is as before."""
    cache, records = _written(steps)
    start = min(start, max(len(records) - 1, 0))
    cache.truncate_from_start(start)
    assert [cache.at(offset) for offset in range(start, len(records))] == records[start:]
    assert all(begin >= start for _, begin in cache.entries)


@given(STEPS)
def test_a_table_is_read_as_it_was_written(steps: list[tuple[int, int]]) -> None:
    """In the text of Kafka's leader-epoch-checkpoint."""
    cache, _ = _written(steps)
    assert parse(cache.text()).entries == cache.entries


def test_the_text_is_kafkas() -> None:
    """Version, number of entries, entries."""
    assert EpochCache(((1, 0), (4, 17))).text() == "0\n2\n1 0\n4 17\n"


def test_a_new_leader_overrules_what_contradicts_it() -> None:
    """Entries of the same or a later epoch or offset go."""
    cache = EpochCache(((1, 0), (4, 17), (5, 20)))
    assert cache.assign(4, 12)
    assert cache.entries == ((1, 0), (4, 12))
    assert not cache.assign(4, 30)


@pytest.mark.parametrize(
    ("text", "line"), [("1\n0\n", 1), ("0\n2\n1 0\n", 2), ("0", 2), ("0\n1\n1 x\n", 3), ("0\n1\n7\n", 3)]
)
def test_a_wrong_line_is_named(text: str, line: int) -> None:
    """The error names the line and the expected content."""
    with pytest.raises(ValueError, match=rf"line {line}: expected"):
        parse(text)
