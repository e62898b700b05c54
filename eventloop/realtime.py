"""Real time: the same loop, driven by one ordinary trio task on the monotonic clock.

It serves sockets (`streams`), whose tasks also wait for trio's own input and output. Entries of the heap have the
heap's order (the contract tests run on both drivers); calls from outside (`from_outside`) come at any time, so that
nothing here is deterministic.

A long computation that reads nothing of the run (a message of a hundred thousand entries, decoded or encoded) would
delay every connection; `aside` runs it in a thread, while the loop goes on.

A simulation ends with its first error. A server may continue instead (`on_error`): the error of a callback or a task is
reported, and the others go on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from heapq import heappop, heappush
from typing import Any, ParamSpec, TypeVar

import trio

from groupsim.eventloop.agenda import Agenda
from groupsim.eventloop.collector import patient_collector
from groupsim.eventloop.errors import single
from groupsim.eventloop.heap import WHEN, Entry, number_of, release
from groupsim.eventloop.loop import Loop, name_of
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.units import MS_US, SECOND_US

T = TypeVar("T")
P = ParamSpec("P")

_CALLBACKS_PER_TURN = 1_000
# A task that a socket woke is no event of the heap, so `until` checks again at least this often.
_LOOK_EVERY_US = 5 * MS_US
# How long the loop waits for the interpreter, after each call of the system, while a thread computes; Python's own
# 5 ms would make tens of milliseconds for one request.
_TAKE_TURNS_S = 0.000_5


class _RingingAgenda(Agenda):
    """One heap, without a present bucket, so that every entry passes through `push_later` and can wake the driver."""

    __slots__ = ("_ring",)

    def __init__(self, ring: Callable[[], None]) -> None:
        super().__init__()
        self.near_until_us = -(1 << 62)  # a run whose origin lies before 0 has negative times
        self._ring = ring

    def push_later(self, when_us: int, entry: Entry) -> None:
        heappush(self.near, entry)
        if self.near[0] is entry:
            self._ring()


class RealTimeLoop(Loop):
    """A loop in real time; one loop serves one run. `now_us` counts from when it was made, beginning at `origin_us`.

    `on_error(error, where)`, when set, is called with the errors of callbacks and tasks, and the run goes on.
    """

    late_is_now = False

    def __init__(self, seed: int = 0, trace: Trace | None = None, *, origin_us: int = 0) -> None:
        super().__init__(seed, trace)
        self._zero_ns = time.monotonic_ns() - origin_us * 1_000
        self._bell: trio.Event | None = None
        self._one_aside = trio.CapacityLimiter(1)
        self._agenda = _RingingAgenda(self._ring)
        self.on_error: Callable[[Exception, str], None] | None = None

    @property
    def now_us(self) -> int:
        """Microseconds of the monotonic clock since the loop was made, from `origin_us` on."""
        return (time.monotonic_ns() - self._zero_ns) // 1_000

    def from_outside(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the call of a socket: no event of the run is its cause; tasks that wait with `until` check at once."""
        self.trace.cause = 0
        try:
            return call(*args, **kwargs)
        finally:
            if self._watchers:
                self._ring()

    def aside(self, compute: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Compute something long in a thread, one computation after the other, and call `done` with its end.

        That is the result, or the Exception raised. `compute` may read only data that does not change meanwhile.
        Computations that are not done at the end of the run are abandoned.
        """
        self.start_soon(self._aside, compute, done, name="a computation aside")

    async def _aside(self, compute: Callable[[], Any], done: Callable[[Any], None]) -> None:
        sys.setswitchinterval(_TAKE_TURNS_S)
        result: Any
        try:
            result = await trio.to_thread.run_sync(compute, limiter=self._one_aside, abandon_on_cancel=True)
        except Exception as error:
            result = error
        self.from_outside(done, result)

    def fail(self, error: BaseException, where: str) -> None:
        """End the run with `error`, or report it, when `on_error` is set and `error` does not stop the program."""
        if self.on_error is not None and isinstance(error, Exception):
            self.on_error(error, where)
        else:
            super().fail(error, where)

    def run(self, main: Callable[[RealTimeLoop], Awaitable[T]]) -> T:
        """Run `main(loop)` to its end and return its result; raises the run's one failure."""
        turns_s = sys.getswitchinterval()
        try:
            with patient_collector():
                return trio.run(self._root, main)
        except BaseExceptionGroup as group:
            error = single(group)
        finally:
            sys.setswitchinterval(turns_s)  # `aside` may have changed it
        raise error

    async def _root(self, main: Callable[[RealTimeLoop], Awaitable[T]]) -> T:
        # The driver outlives the tasks: they are released by it even when they are cancelled.
        async with trio.open_nursery() as outer:
            async with trio.open_nursery() as self._nursery:
                outer.start_soon(self._drive)
                result = await self._run_main(main)
            outer.cancel_scope.cancel()
        if self.failure is not None:
            raise self.failure
        return result

    def _ring(self) -> None:
        """Wake the driver: there is a new first entry."""
        if self._bell is not None:
            self._bell.set()

    @trio.lowlevel.enable_ki_protection  # ctrl-C goes to the main task, through the heap
    async def _drive(self) -> None:
        """Run due entries; after a release, let the released task step before anything else."""
        while True:
            if self._turn():
                await trio.lowlevel.checkpoint()
                await trio.lowlevel.checkpoint()
                continue
            self._bell = trio.Event()
            with trio.move_on_after(self._idle_seconds()):
                await self._bell.wait()
            self._bell = None

    def _turn(self) -> bool:
        """Run due callbacks until a task was released or a thousand have run; False when nothing is due."""
        if self._watchers and self._release_watcher():
            return True
        for _ in range(_CALLBACKS_PER_TURN):
            entry = self._agenda.first()
            if entry is None or entry[WHEN] > self.now_us:
                return False
            heappop(self._agenda.near)
            if self._run(entry) or (self._watchers and self._release_watcher()):
                return True
        return True

    def _run(self, entry: Entry) -> bool:
        """Run one entry; True when it released a task."""
        _when, _rank, _serial, callback, arg, cause, life = entry
        taken_back = self._agenda.taken_back
        if taken_back and number_of(entry) in taken_back:
            taken_back.remove(number_of(entry))
            return False
        if life.held:
            life.hold(entry)
            return False
        self.trace.cause = cause
        if callback is release:
            arg.go()
            return True
        try:
            callback(arg)
        except BaseException as error:
            self.fail(single(error), f"callback {name_of(callback)}")
        return False

    def _idle_seconds(self) -> float:
        first = self._agenda.first()
        idle_us = 3_600 * SECOND_US if first is None else first[WHEN] - self.now_us
        if self._watchers:
            idle_us = min(idle_us, _LOOK_EVERY_US)
        return max(0, idle_us) / SECOND_US


def run_realtime(main: Callable[[RealTimeLoop], Awaitable[T]], *, seed: int = 0, trace: Trace | None = None) -> T:
    """Run `main(loop)` in real time and return its result; as `run_virtual` otherwise, without its promises."""
    return RealTimeLoop(seed, trace).run(main)


def origin_of(epoch_ms: int) -> int:
    """Return the origin, in µs, of a run whose time 0 is `epoch_ms` (ms since 1970): its time is the wall clock's."""
    return time.time_ns() // 1_000 - epoch_ms * 1_000
