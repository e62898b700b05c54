"""The ring of events: bounded, with gaps that are told."""

from __future__ import annotations

import json

from groupsim.eventloop.realtime import RealTimeLoop, run_realtime
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import Trace
from groupsim.serving.recent_events import RecentEvents, Wanted, size_of


def test_a_slow_reader_is_told_what_it_lost() -> None:
    """Ten events through a ring of four: the reader who began with the first gets a gap, then the last four."""
    trace = Trace()

    async def main(loop: RealTimeLoop) -> list[dict[str, object]]:
        tail = RecentEvents(loop, kept=4)
        trace.subscribe(tail)
        for number in range(10):
            trace.emit(Kind.ACTION, reason=str(number))
        found: list[dict[str, object]] = []
        async for chunk in tail.lines(Wanted(from_=2), follow=True):
            found += [json.loads(line) for line in chunk.splitlines()]
            tail.ended = len(found) >= 5
        return found

    found = run_realtime(main, trace=trace)
    assert found[0] == {"lost": 5, "from": 2, "to": 6}
    assert [event["seq"] for event in found[1:]] == [7, 8, 9, 10]


def test_wanted_chooses_by_seq_kind_and_group() -> None:
    """Only what fits all that was said, and of that the last ones."""
    trace = Trace()

    async def main(loop: RealTimeLoop) -> list[int]:
        tail = RecentEvents(loop)
        trace.subscribe(tail)
        for number in range(6):
            trace.emit(Kind.ACTION if number % 2 else Kind.WARNING, group="g" if number > 2 else None)
        return [event.seq for event in tail.kept(Wanted(2, {Kind.ACTION}, "g", 1))]

    assert run_realtime(main, trace=trace) == [6]


def test_the_ring_is_bounded_in_bytes() -> None:
    """Events with a kilobyte of words each: as many are kept as fit, and a single one that does not fit is kept."""
    trace = Trace()

    async def main(loop: RealTimeLoop) -> tuple[int, int]:
        tail = RecentEvents(loop, kept_bytes=50_000)
        trace.subscribe(tail)
        for _ in range(200):
            trace.emit(Kind.ACTION, reason="x" * 1_000, payload={"names": ["y" * 100] * 10})
        kept = len(list(tail.kept(Wanted())))
        trace.emit(Kind.ACTION, reason="x" * 100_000)
        return kept, len(list(tail.kept(Wanted())))

    kept, after = run_realtime(main, trace=trace)
    assert 10 < kept <= 25
    assert after == 1


def test_what_an_event_takes_grows_with_its_texts() -> None:
    """Words, names and all that stands in the payload count, however deep."""
    trace, seen = Trace(), []
    trace.subscribe(seen.append)
    trace.emit(Kind.ACTION)
    trace.emit(Kind.ACTION, reason="r" * 500, group="g" * 200)
    trace.emit(Kind.ACTION, payload={"assigned": {"member": ["t" * 300, 1, None]}})
    bare, worded, loaded = [size_of(event) for event in seen]
    assert worded == bare + 700
    assert loaded >= bare + 300 + len("assigned") + len("member")
