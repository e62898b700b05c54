"""Parked requests: each with the condition that completes it, and a deadline.

Two kinds wait. A *produce* with acks=all waits for its batches to be on every in-sync replica; a consumer's *fetch*
waits for enough bytes. (A follower's fetch waits too, but there is one per follower at most: `follower_sessions.py`.)
What completes them calls them: nobody walks the purgatory. Deadlines are kept in lanes, one for each waiting time: a
lane is a queue, because later requests of equal waiting time have later deadlines, so one event per lane is enough, and
a request that is done is thrown out when it comes to the front.

Source: `DelayedOperation`, `DelayedProduce`, `DelayedFetch`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from groupsim.eventloop.interface import EventLoop, Host, Order
from groupsim.eventloop.trace.trace import Trace
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import Produced, ProduceResponse


class Parked(Protocol):
    """Something that waits; `done` once it was answered or given up."""

    done: bool

    def expire(self) -> None:
        """Its time is up."""


class _Lane:
    """Those that wait equally long, in the order of their deadlines."""

    __slots__ = ("armed", "queue", "wait_us")

    def __init__(self, wait_us: int) -> None:
        self.wait_us = wait_us
        self.queue: deque[tuple[int, Parked]] = deque()
        self.armed = False


class Lanes:
    """The deadlines of everything parked on a broker."""

    def __init__(self, loop: EventLoop, host: Host) -> None:
        self._loop = loop
        self._host = host
        self._lanes: dict[int, _Lane] = {}

    def add(self, wait_us: int, parked: Parked) -> None:
        """Let something expire after this long, unless it is done by then."""
        lane = self._lanes.get(wait_us)
        if lane is None:
            lane = self._lanes[wait_us] = _Lane(wait_us)
        queue = lane.queue
        while queue and queue[0][1].done:
            queue.popleft()
        due = self._loop.now_us + wait_us
        queue.append((due, parked))
        if not lane.armed:
            lane.armed = True
            self._host.call_at(due, self._fire, lane)

    def _fire(self, lane: _Lane) -> None:
        now, queue = self._loop.now_us, lane.queue
        lane.armed = False
        while queue and (queue[0][1].done or queue[0][0] <= now):
            parked = queue.popleft()[1]
            if not parked.done:
                parked.expire()
        if not queue:  # or there would be one for every waiting time that anybody ever asked for
            self._lanes.pop(lane.wait_us, None)
        elif not lane.armed:
            lane.armed = True
            self._host.call_at(queue[0][0], self._fire, lane)


class Waiter(Protocol):
    """Something that waits for the high watermark; `index` says which of its parts was reached."""

    def reached(self, index: int, error: ErrorCode) -> None: ...


class ParkedProduce:
    """A Produce with acks=all: what became of each batch so far, and how many are still being copied."""

    __slots__ = ("_answer", "_cause", "_results", "_trace", "_waiting", "done")

    def __init__(self, trace: Trace, results: list[Produced], answer: Callable[[ProduceResponse], None]) -> None:
        self._trace = trace
        self._cause = trace.cause
        self._results = results
        self._answer = answer
        self._waiting: dict[int, None] = {}
        self.done = False

    def wait(self, index: int) -> None:
        """This batch is still being copied."""
        self._waiting[index] = None

    def reached(self, index: int, error: ErrorCode) -> None:
        """A batch is committed, or will not be; the last one answers."""
        if self.done or index not in self._waiting:
            return
        del self._waiting[index]
        if error is not ErrorCode.NONE:
            self._fail(index, error)
        if not self._waiting:
            self._finish()

    def expire(self) -> None:
        """What is not committed by now timed out; it stays in the log all the same."""
        for index in self._waiting:
            self._fail(index, ErrorCode.REQUEST_TIMED_OUT)
        self._finish()

    def _fail(self, index: int, error: ErrorCode) -> None:
        self._results[index] = Produced(self._results[index].partition, error)

    def _finish(self) -> None:
        self.done = True
        before, self._trace.cause = self._trace.cause, self._cause
        self._answer(ProduceResponse(tuple(self._results)))
        self._trace.cause = before


class ParkedAppend:
    """A coordinator's append: its owner hears of the end as an append result of that instant, with its own cause."""

    __slots__ = ("_cause", "_host", "_loop", "_strict", "_tell", "done")

    def __init__(
        self, loop: EventLoop, host: Host, tell: Callable[[ErrorCode | None], None], *, strict: bool = False
    ) -> None:
        self._loop = loop
        self._host = host
        self._cause = loop.trace.cause
        self._tell = tell
        self._strict = strict  # too few in-sync replicas are an error, as they are with acks=all
        self.done = False

    def reached(self, index: int, error: ErrorCode) -> None:
        """Committed, or lost with the leadership."""
        failed = error and (self._strict or error is ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._end(error if failed else None)

    def expire(self) -> None:
        """It took too long; it stays in the log all the same."""
        self._end(ErrorCode.REQUEST_TIMED_OUT)

    def _end(self, error: ErrorCode | None) -> None:
        if self.done:
            return
        self.done = True
        trace = self._loop.trace
        before, trace.cause = trace.cause, self._cause
        self._host.call_at(self._loop.now_us, self._tell, error, order=Order.APPEND)
        trace.cause = before
