"""Parked requests, each with the condition that completes it, and a deadline.

A *produce* with acks=all waits until every in-sync replica has its batches; a consumer's *fetch* waits for enough
bytes. (A follower has at most one parked fetch: `follower_sessions.py`.) The change that completes a request calls it;
the purgatory is never searched. Deadlines are in one queue for each waiting time: of requests with equal waiting time
the later one has the later deadline, so one event per queue is enough. A completed request is removed when it comes to
the front.

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
    """A parked request; `done` after it was answered or given up."""

    done: bool

    def expire(self) -> None:
        """Complete the request at its deadline."""


class _DeadlineQueue:
    """The requests with the same waiting time, in the order of their deadlines."""

    __slots__ = ("armed", "queue", "wait_us")

    def __init__(self, wait_us: int) -> None:
        self.wait_us = wait_us
        self.queue: deque[tuple[int, Parked]] = deque()
        self.armed = False


class Deadlines:
    """The deadlines of all parked requests of a broker."""

    def __init__(self, loop: EventLoop, host: Host) -> None:
        self._loop = loop
        self._host = host
        self._deadlines: dict[int, _DeadlineQueue] = {}

    def add(self, wait_us: int, parked: Parked) -> None:
        """Expire a request after `wait_us`, unless it is done by then."""
        waits = self._deadlines.get(wait_us)
        if waits is None:
            waits = self._deadlines[wait_us] = _DeadlineQueue(wait_us)
        queue = waits.queue
        while queue and queue[0][1].done:
            queue.popleft()
        due = self._loop.now_us + wait_us
        queue.append((due, parked))
        if not waits.armed:
            waits.armed = True
            self._host.call_at(due, self._fire, waits)

    def _fire(self, waits: _DeadlineQueue) -> None:
        now, queue = self._loop.now_us, waits.queue
        waits.armed = False
        while queue and (queue[0][1].done or queue[0][0] <= now):
            parked = queue.popleft()[1]
            if not parked.done:
                parked.expire()
        if not queue:  # clients choose the waiting times, so empty queues would add up
            self._deadlines.pop(waits.wait_us, None)
        elif not waits.armed:
            waits.armed = True
            self._host.call_at(queue[0][0], self._fire, waits)


class Waiter(Protocol):
    """A request that waits for the high watermark; `index` is the part of it that was reached."""

    def reached(self, index: int, error: ErrorCode) -> None: ...


class ParkedProduce:
    """A Produce with acks=all: the results so far, and the batches that are not yet replicated."""

    __slots__ = ("_answer", "_cause", "_results", "_trace", "_waiting", "done")

    def __init__(self, trace: Trace, results: list[Produced], answer: Callable[[ProduceResponse], None]) -> None:
        self._trace = trace
        self._cause = trace.cause
        self._results = results
        self._answer = answer
        self._waiting: dict[int, None] = {}
        self.done = False

    def wait(self, index: int) -> None:
        """Add a batch that is not yet replicated."""
        self._waiting[index] = None

    def reached(self, index: int, error: ErrorCode) -> None:
        """Complete a batch with its error or NONE; the last one answers the request."""
        if self.done or index not in self._waiting:
            return
        del self._waiting[index]
        if error is not ErrorCode.NONE:
            self._fail(index, error)
        if not self._waiting:
            self._finish()

    def expire(self) -> None:
        """Answer with REQUEST_TIMED_OUT for the uncommitted batches, which stay in the log."""
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
    """A coordinator's append; the coordinator gets its result as an event of that instant, with the append's cause."""

    __slots__ = ("_cause", "_host", "_loop", "_on_done", "_strict", "done")

    def __init__(
        self, loop: EventLoop, host: Host, done: Callable[[ErrorCode | None], None], *, strict: bool = False
    ) -> None:
        self._loop = loop
        self._host = host
        self._cause = loop.trace.cause
        self._on_done = done
        self._strict = strict  # whether too few in-sync replicas are an error, as with acks=all
        self.done = False

    def reached(self, index: int, error: ErrorCode) -> None:
        """Complete the append: committed, or failed with the end of the leadership."""
        failed = error and (self._strict or error is ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._end(error if failed else None)

    def expire(self) -> None:
        """Fail with REQUEST_TIMED_OUT; the records stay in the log."""
        self._end(ErrorCode.REQUEST_TIMED_OUT)

    def _end(self, error: ErrorCode | None) -> None:
        if self.done:
            return
        self.done = True
        trace = self._loop.trace
        before, trace.cause = trace.cause, self._cause
        self._host.call_at(self._loop.now_us, self._on_done, error, order=Order.APPEND)
        trace.cause = before
