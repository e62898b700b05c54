"""Virtual time on trio, through its public API alone.

Why. trio shuffles the tasks that are runnable at once, and the switch that stops it is private. So this module makes
sure that never two are. trio asks its clock how long to sleep exactly when no task is runnable; our clock answers
"not at all", but before that it takes a *turn*, in which it decides what happens next.

The heap (`agenda.py`) holds all scheduled entries, ordered by (time, class within the instant, ticket). A turn
pops entries. A plain callback runs in place, and the turn goes on. An entry that continues a task (its start, its
wake-up, its cancellation) has the callback `release`; it makes one task runnable, and the turn is over. trio then
steps that task; the task parks again, or ends, and trio asks its clock again. The triggers are:

    call_at ──> heap ──> turn ──> callback ──> call_at, Event.set, Queue.put, Host.crash ... ──> heap
                          │
                          └────> release ──> trio steps the task until it parks ──> heap, and the next turn

The rules that follow from it:

* A task never wakes another directly. `Event.set` with ten waiters makes ten entries, which run one by one.
* To cancel a task is to ask trio; trio asks the waiting task to abort; the task says "not yet" and queues an entry of
  class CANCEL. Trio has the tasks of a nursery in a set, so nothing here cancels a nursery: tasks are cancelled
  one after the other, in the order they were started.
* When a task starts another, that too is an entry; and when the last task ends, trio wakes the main task, alone.
* A callback that raises would escape through trio's own loop. It is caught here, stored as the run's one failure, and
  every task is cancelled; the main task raises it when all have unwound.
* trio has no deadlines here: its floats round, and a task that trio wakes by itself would join the released one. A
  deadline ends the run, with the remedy. `OneTaskPerPass` detects every other way to wake two at once.
* A turn ends after a thousand callbacks even when it released no task: between turns trio delivers ctrl-C.
* Time that stands still for a million events is a loop; its callbacks are named. An empty heap with waiting tasks
  is a deadlock; the tasks are named.
* Entries that were taken back, or whose host is dead, are skipped and do not move the clock. Entries of a paused host
  are put aside in the order they came due, and go back into the heap, with their old due times, when it resumes.
* The ambient cause of the trace is stored in each entry and is back in place when the entry runs; as nothing else runs
  between a release and the step it leads to, the task finds it there.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from heapq import heappop
from math import inf
from typing import TypeVar

import trio

from groupsim.eventloop.collector import patient_collector
from groupsim.eventloop.errors import DeadlockError, SchedulingError, StandstillError, single
from groupsim.eventloop.heap import Callback, release
from groupsim.eventloop.loop import Loop, name_of
from groupsim.eventloop.one_task import OneTaskPerPass
from groupsim.eventloop.trace.trace import Trace
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
        self._still_named = standstill_events - _NAMED_EVENTS  # from then on callbacks are recorded
        self._going_round: dict[str, None] = {}
        self._check = OneTaskPerPass(self._refuse)

    # -- trio's side --------------------------------------------------------------------------------------------

    def start_clock(self) -> None:
        """Nothing to start: virtual time begins at 0."""

    def current_time(self) -> float:
        """Return virtual time in seconds, for callers of trio's clock."""
        return self.now_us / 1e6

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Take a turn: trio calls this exactly when no task is runnable. It never sleeps."""
        if not self._running:
            return inf if deadline == inf else 0.0
        if deadline != inf and self.failure is None:
            self._refuse(
                "a trio deadline is set (trio.sleep, move_on_after, fail_after); use the event loop's sleep and "
                "timeout (in a test: sim.run_for, and within=… of sim.until)"
            )
            return 0.0  # trio may have made the task runnable itself
        self._check.begin_turn()
        self._turn()
        self._check.end_turn()
        return 0.0

    def run(self, main: Callable[[VirtualLoop], Awaitable[T]]) -> T:
        """Run `main(loop)` to its end and return its result; raises the run's one failure.

        Works inside a running loop of asyncio, too, as in a notebook; raises SchedulingError inside `trio.run`.
        """
        try:
            with _beside_host_loop(), patient_collector():
                return trio.run(self._root, main, clock=self, instruments=[self._check])
        except BaseExceptionGroup as group:
            error = single(group)
        raise error

    async def _root(self, main: Callable[[VirtualLoop], Awaitable[T]]) -> T:
        self._check.begin()
        try:
            async with trio.open_nursery() as self._nursery:
                self._running = True
                result = await self._run_main(main)
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
        agenda, trace, now = self._agenda, self.trace, self.now_us
        row, near, taken_back = agenda.row, agenda.near, agenda.taken_back
        for _ in range(CALLBACKS_PER_TURN):
            if near:
                entry = heappop(near) if not row or near[0] < row[-1] else row.pop()
            else:
                if not row:
                    if not agenda.advance():
                        return self._nothing_left()
                    row = agenda.row
                entry = row.pop()
            when, rank, serial, callback, arg, cause, life = entry
            if taken_back and (serial or rank) in taken_back:  # `number_of`, inlined
                taken_back.remove(serial or rank)
                continue
            if life.held:
                life.hold(entry)
                continue
            if when > now:  # or than the time that a callback has reached: no entry is due before it
                self.now_us = now = when
                self._still = 0
            else:
                self._still += 1
                if self._still > self._still_named:
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
        """Handle the end of all events: no task can run. A task waits, or trio would have ended the run."""
        if self.failure is None:
            error = DeadlockError(self._deadlock_report())
            self.fail(error, "the event loop")
        elif self._waiting:
            # The run is ending, and a task shields itself and waits again, for an event that cannot come.
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
            lines.append("  a task inside trio itself; tasks wait with the event loop's Event, Queue and sleep only")
        for host in self._hosts.values():
            if host.paused:
                lines.append(
                    f"  host {host.name} is paused, and holds back {host.held_back} due events until it resumes"
                )
        return "\n".join(lines)

    def _stands_still(self, callback: Callback, arg: object) -> None:
        """Record the callbacks; at the limit, end the run and name them."""
        self._going_round[f"{arg}" if callback is release else f"callback {name_of(callback)}"] = None
        if self._still == self._still_limit:
            names = "\n".join(f"  {name}" for name in self._going_round)
            text = f"virtual time stands still at {show_us(self.now_us)} since {self._still} events; repeated:"
            self.fail(StandstillError(f"{text}\n{names}"), "the event loop")

    def _refuse(self, what: str) -> None:
        if self.failure is not None:
            return  # a run that is being ended unwinds as trio sees fit
        self.fail(SchedulingError(f"not allowed in a virtual run: {what}"), "the event loop")


@contextmanager
def _beside_host_loop() -> Iterator[None]:
    """Run trio in this block although another loop may run in this thread, as in a notebook.

    A run blocks its thread, so it needs no turn of that loop. What both share is the socket that Python writes the
    numbers of signals into: trio warns where another loop has set its own, so that is put aside and put back. A signal
    handler of asyncio that falls due meanwhile is called with the next signal. Raises SchedulingError inside trio.run.
    """
    if trio.lowlevel.in_trio_run():
        raise SchedulingError(
            "a run in virtual time cannot begin inside trio.run, which has one loop for each thread: "
            "call it from a thread (`await trio.to_thread.run_sync(sim.run, story)`), or before trio.run"
        )
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)


def run_virtual(
    main: Callable[[VirtualLoop], Awaitable[T]],
    *,
    seed: int = 0,
    trace: Trace | None = None,
    standstill_events: int = STANDSTILL_EVENTS,
) -> T:
    """Run `main(loop)` in virtual time and return its result; other tasks are cancelled when it ends.

    Raises the run's one failure: the error of a task or a callback (with a note of its time and place), or
    `DeadlockError`, `StandstillError`, `SchedulingError`, `KeyboardInterrupt`.
    """
    return VirtualLoop(seed, trace, standstill_events=standstill_events).run(main)
