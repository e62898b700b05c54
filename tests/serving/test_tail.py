"""The ring of events: bounded, with gaps that are told."""

from __future__ import annotations

import json

from groupsim.eventloop.events import Kind
from groupsim.eventloop.realtime import RealTimeLoop, run_realtime
from groupsim.eventloop.trace import Trace
from groupsim.serving.tail import Tail, Wanted


def test_a_slow_reader_is_told_what_it_lost() -> None:
    """Ten events through a ring of four: the reader who began with the first gets a gap, then the last four."""
    trace = Trace()

    async def main(loop: RealTimeLoop) -> list[dict[str, object]]:
        tail = Tail(loop, kept=4)
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
        tail = Tail(loop)
        trace.subscribe(tail)
        for number in range(6):
            trace.emit(Kind.ACTION if number % 2 else Kind.WARNING, group="g" if number > 2 else None)
        return [event.seq for event in tail.kept(Wanted(2, {Kind.ACTION}, "g", 1))]

    assert run_realtime(main, trace=trace) == [6]
