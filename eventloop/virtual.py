"""Virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from heapq import heappop
from math import inf
from typing import TypeVar

import trio

from groupsim.eventloop.errors import DeadlockError, SchedulingError, StandstillError, single
from groupsim.eventloop.heap import CALLBACK, Callback, release
from groupsim.eventloop.loop import Loop, name_of
from groupsim.eventloop.trace import Trace
from groupsim.eventloop.units import show_us

T = TypeVar("T")

CALLBACKS_PER_TURN = 1_000
STANDSTILL_EVENTS = 1_000_000
_NAMED_EVENTS = 64


class VirtualLoop(Loop, trio.abc.Clock):
    """The kernel. It is a trio clock; one loop serves one run.

    `standstill_events` is how many events may fall on one instant before the run is ended with `StandstillError`.
    """

    now_us: int = 0

    def __init__(
        self, seed: int = 0, trace: Trace | None = None, *, standstill_events: int = STANDSTILL_EVENTS
    ) -> None:
        super().__init__(seed, trace)
        self._running = False
        self._still = 0
        self._still_limit = standstill_events
        self._going_round: dict[str, None] = {}
        self._check = _OneTaskPerPass(self)

    # -- trio's side --------------------------------------------------------------------------------------------

    def start_clock(self) -> None:
        """Nothing to start: virtual time begins at 0."""

    def current_time(self) -> float:
        """Virtual time in seconds, for whoever asks trio."""
        return self.now_us / 1e6

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Take a turn: trio calls this exactly when no task is runnable. It never sleeps."""
        if not self._running:
            return inf if deadline == inf else 0.0
        if deadline != inf and self.failure is None:
            self._refuse(
                "a trio deadline is set (trio.sleep, move_on_after, fail_after); use the event loop's sleep and timeout"
            )
            return 0.0  # trio may have made the task runnable itself
        self._turn()
        return 0.0

    def run(self, main: Callable[[VirtualLoop], Awaitable[T]]) -> T:
        """Run `main(loop)` to its end and return its result; raises the run's one failure."""
        try:
            return trio.run(self._root, main, clock=self, instruments=[self._check])
        except BaseExceptionGroup as group:
            error = single(group)
        raise error

    async def _root(self, main: Callable[[VirtualLoop], Awaitable[T]]) -> T:
        self._check.begin()
        try:
            async with trio.open_nursery() as self._nursery:
                self._running = True
                result = await self._tell(main)
        finally:
            # From here on trio winds itself down, with tasks of its own that are not ours to judge.
            self._running = False
            self._check.end()
        if self.failure is not None:
            raise self.failure
        return result

    # -- the kernel ---------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Run callbacks in the order of the heap until one task was released, or a thousand have run."""
        watchers = self._watchers
        if watchers and self._release_watcher():
            return
        heap, trace, now = self._heap, self.trace, self.now_us
        for _ in range(CALLBACKS_PER_TURN):
            if not heap:
                return self._nothing_left()
            entry = heappop(heap)
            when, _rank, _serial, callback, arg, cause, life = entry
            if callback is None:
                self._taken_back -= 1
                continue
            if life.held:
                life.hold(entry)
                continue
            entry[CALLBACK] = None
            if when > now:
                self.now_us = now = when
                self._still = 0
            else:
                self._still += 1
                if self._still > self._still_limit - _NAMED_EVENTS:
                    self._stands_still(callback, arg)
            trace.cause = cause
            if callback is release:
                arg.go()
                return None
            try:
                callback(arg)
            except BaseException as error:
                self.fail(single(error), f"callback {name_of(callback)}")
            if watchers and self._release_watcher():
                return None

    def _nothing_left(self) -> None:
        """No event is due and no task can run. Somebody waits, or trio would have ended the run."""
        if self.failure is None:
            error = DeadlockError(self._deadlock_report())
            self.fail(error, "the event loop")
        elif self._waiting:
            # The run is being ended, and a story shields itself and waits again, for something that cannot come.
            waiter = next(iter(self._waiting))
            waiter.error = DeadlockError(f"the run has ended ({self.failure!r}); nothing will wake this wait")
            waiter.go()
        elif not self._check.scheduled:
            # A task waits in trio itself, shielded; without this the process would hang for ever.
            raise self.failure

    def _deadlock_report(self) -> str:
        lines = [f"nothing can happen any more at {show_us(self.now_us)}: no event is due, and these wait:"]
        lines += [f"  {waiter}" for waiter in self._waiting]
        if not self._waiting:
            lines.append("  a task inside trio itself; stories wait with the event loop's Event, Queue and sleep only")
        for host in self._hosts.values():
            if host.paused:
                lines.append(
                    f"  host {host.name} is paused, and holds back {host.held_back} due events until it resumes"
                )
        return "\n".join(lines)

    def _stands_still(self, callback: Callback, arg: object) -> None:
        """Note who goes round; at the limit, end the run and name them."""
        self._going_round[f"{arg}" if callback is release else f"callback {name_of(callback)}"] = None
        if self._still == self._still_limit:
            names = "\n".join(f"  {name}" for name in self._going_round)
            text = f"virtual time stands still at {show_us(self.now_us)} since {self._still} events; these go round:"
            self.fail(StandstillError(f"{text}\n{names}"), "the event loop")

    def _refuse(self, what: str) -> None:
        self.fail(SchedulingError(f"not allowed in a virtual run: {what}"), "the event loop")


class _OneTaskPerPass(trio.abc.Instrument):
    """The check that is always on: no pass of trio's scheduler may step two tasks, or their order would be luck.

    Trio takes its batch right after `after_io_wait`, so what was scheduled between two of these is one batch. Trio's
    own system tasks (which deliver ctrl-C) do not count.
    """

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.scheduled: trio.lowlevel.Task | None = None
        self._system: trio.Nursery | None = None
        self._main: trio.lowlevel.Task | None = None
        self._on = False

    def begin(self) -> None:
        """Start to look; called in the first step of the main task."""
        root = trio.lowlevel.current_root_task()
        self._main = trio.lowlevel.current_task()
        self._system = root.child_nurseries[0] if root is not None else None
        self.scheduled = None
        self._on = True

    def end(self) -> None:
        """Stop to look: the run is over."""
        self._on = False

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        if self.scheduled is None:
            self.scheduled = task
        elif self._on and not self._is_system(task):
            self._complain(task)

    def after_io_wait(self, timeout: float) -> None:
        self.scheduled = None

    def _is_system(self, task: trio.lowlevel.Task) -> bool:
        return task.parent_nursery is self._system and task is not self._main

    def _complain(self, task: trio.lowlevel.Task) -> None:
        first = self.scheduled
        self.scheduled = task
        if first is None or self._is_system(first):
            return
        if self._loop.failure is None:
            self._loop._refuse(
                f"tasks {first.name!r} and {task.name!r} became runnable at once: their order would be luck; "
                "start stories with a host's start_soon, and let them wait with the event loop's Event, Queue and sleep"
            )


def run_virtual(
    main: Callable[[VirtualLoop], Awaitable[T]],
    *,
    seed: int = 0,
    trace: Trace | None = None,
    standstill_events: int = STANDSTILL_EVENTS,
) -> T:
    """Run `main(loop)` in virtual time and return its result; other stories are cancelled when it ends.

    Raises the run's one failure: what a story or a callback raised (with a note that says when and where), or
    `DeadlockError`, `StandstillError`, `SchedulingError`, `KeyboardInterrupt`.
    """
    return VirtualLoop(seed, trace, standstill_events=standstill_events).run(main)
