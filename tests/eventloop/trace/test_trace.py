"""The trace as rooms see it."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.eventloop.virtual import VirtualLoop


def _trace(level: Level = Level.NORMAL, **options: list[Kind]) -> tuple[Trace, MemorySink]:
    trace, sink = Trace(level, **options), MemorySink()
    trace.subscribe(sink)
    return trace, sink


def test_a_trace_that_is_off_does_nothing() -> None:
    """Off, nothing is wanted, `emit` returns 0 and tells nobody, and the cause stays 0."""
    trace, sink = _trace(Level.OFF)
    assert not any(trace.wants(kind) for kind in Kind)
    trace.begin(trace.emit(Kind.ACTION, reason="x"))
    assert (sink.events, trace.cause, trace.span()) == ([], 0, 0)


@pytest.mark.parametrize(("level", "heartbeats"), [(Level.OFF, False), (Level.NORMAL, False), (Level.FULL, True)])
def test_quiet_heartbeats_are_listed_only_in_full(level: Level, heartbeats: bool) -> None:
    """Only the full trace asks for the heartbeats of a quiet group."""
    assert Trace(level).heartbeats is heartbeats


def test_events_are_numbered_and_timed() -> None:
    """Events are numbered from 1, carry the loop's time, and fill the columns by name."""
    trace, sink = _trace()
    loop = VirtualLoop(trace=trace)
    loop.now_us = 5
    assert trace.now_us == 5
    assert trace.emit(Kind.GROUP_STATE, group="g", from_="Empty", to="Stable", generation=3) == 1
    assert trace.emit(Kind.WARNING, reason="r", payload={"a": 1}) == 2
    first, second = sink.events
    assert (first.seq, first.t_us, first.kind, first.group, first.from_, first.to) == (
        1,
        5,
        "group.state",
        "g",
        "Empty",
        "Stable",
    )
    assert (second.seq, second.reason, second.payload, second.host) == (2, "r", {"a": 1}, None)


def test_the_cause_is_ambient_unless_given() -> None:
    """`begin` makes an event the cause of the following; a cause that is given wins; 0 given means none."""
    trace, sink = _trace()
    trace.begin(trace.emit(Kind.ACTION))
    trace.emit(Kind.WARNING)
    trace.emit(Kind.WARNING, cause=7)
    trace.emit(Kind.WARNING, cause=0)
    trace.begin(0)
    trace.emit(Kind.WARNING)
    assert [event.cause for event in sink.events] == [0, 1, 7, 0, 1]


def test_only_some_kinds() -> None:
    """A trace may be narrowed to kinds, and so may a subscriber; each sees its own, in order."""
    trace, sink = _trace(kinds=[Kind.WARNING, Kind.ACTION])
    narrow = MemorySink()
    trace.subscribe(narrow, [Kind.ACTION])
    assert trace.wants(Kind.ACTION)
    assert not trace.wants(Kind.GROUP_STATE)
    assert [trace.emit(kind) for kind in (Kind.WARNING, Kind.GROUP_STATE, Kind.ACTION)] == [1, 0, 2]
    assert [event.kind for event in sink.events] == [Kind.WARNING, Kind.ACTION]
    assert [event.kind for event in narrow.events] == [Kind.ACTION]


def test_kinds_that_are_only_counted_leave_their_numbers_free() -> None:
    """Nobody is told of them, but all others have the numbers they have otherwise; muted, nothing is counted."""
    trace, sink = _trace(counted=[Kind.RECORD_APPENDED])
    trace.emit(Kind.WARNING)
    assert not trace.wants(Kind.RECORD_APPENDED)
    trace.pass_over(Kind.RECORD_APPENDED, 3)
    trace.pass_over(Kind.ACTION, 5)  # one that is told of event by event
    with trace.muted():
        trace.pass_over(Kind.RECORD_APPENDED, 7)
    trace.emit(Kind.WARNING)
    assert ([event.seq for event in sink.events], trace.total) == ([1, 5], 5)


def test_spans_are_fresh_numbers() -> None:
    """Each span is a number of its own."""
    trace, _ = _trace()
    assert [trace.span(), trace.span()] == [1, 2]


def test_events_of_a_partition_are_events_like_any_other() -> None:
    """Told by position or by name, an event is the same; not wanted, it is not told at all."""
    trace, sink = _trace(kinds=[Kind.ACTION, Kind.RECORDS_DELIVERED])
    trace.begin(trace.emit(Kind.ACTION))
    payload = {"base": 5, "count": 2}
    trace.emit_of_partition(Kind.RECORDS_DELIVERED, "c-1", "g", None, 3, ("orders", 7), payload)
    trace.emit_of_partition(Kind.RECORDS_PROCESSED, "c-1", "g", None, 3, ("orders", 7), payload)
    trace.emit(
        Kind.RECORDS_DELIVERED, host="c-1", group="g", generation=3, topic="orders", partition=7, payload=payload
    )
    _, first, second = sink.events
    assert (first.seq, second.seq) == (2, 3)
    assert first._replace(seq=3) == second


def test_a_closed_trace_lets_go_of_what_it_told() -> None:
    """After `close` nobody is told any more, so a subscriber's events live no longer than the subscriber."""
    trace, sink = _trace()
    trace.emit(Kind.WARNING)
    trace.close()
    trace.emit(Kind.WARNING)
    assert [event.seq for event in sink.events] == [1]
