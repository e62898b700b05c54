"""The loop that both drivers share: the heap, hosts, tasks, waiting, and the one failure of a run."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from heapq import heappush
from typing import TYPE_CHECKING, Any, TypeVar, cast

import trio

from groupsim.eventloop.agenda import Agenda
from groupsim.eventloop.heap import FREE, MESSAGE_RANK, RANKS, TIMER_RANK, Callback, Entry, HostLife, release
from groupsim.eventloop.host import LoopHost
from groupsim.eventloop.interface import Handle, Order
from groupsim.eventloop.randomness import Stream
from groupsim.eventloop.sync import LoopEvent, LoopQueue, LoopTimeout
from groupsim.eventloop.tasks import SimTask, Waiter
from groupsim.eventloop.trace.trace import OFF, Trace
from groupsim.eventloop.units import show_us

T = TypeVar("T")


class Loop:
    """Clock, heap, randomness and trace of one run. `VirtualLoop` and `RealTimeLoop` drive it."""

    # In virtual time no entry is in the past. In real time it may be, and runs before later entries.
    late_is_now = True
    _nursery: trio.Nursery

    if TYPE_CHECKING:

        @property
        def now_us(self) -> int:
            """Microseconds since the start of the run."""
            ...

    def __init__(self, seed: int = 0, trace: Trace | None = None) -> None:
        self.seed = seed
        self.trace = Trace(OFF) if trace is None else trace
        self.trace.attach(self)
        self.failure: BaseException | None = None
        self.ticket: Callable[[], int] = itertools.count(1).__next__
        self._agenda = Agenda()
        self._hosts: dict[str, LoopHost] = {}
        self._tasks: dict[SimTask, None] = {}
        self._by_trio_task: dict[trio.lowlevel.Task, SimTask] = {}
        self._waiting: dict[Waiter, None] = {}
        self._watchers: list[Waiter] = []

    # -- events -------------------------------------------------------------------------------------------------

    def call_at(self, when_us: int, callback: Callback, arg: Any = None, *, order: Order = Order.TIMER) -> Handle:
        """Run `callback(arg)` at `when_us` (now, if that has passed)."""
        # As `_schedule`, inlined: this is the hottest path of all.
        if when_us < self.now_us:
            return self._schedule(when_us, callback, arg, order, FREE)
        entry: Entry = (when_us, RANKS[order] + self.ticket(), 0, callback, arg, self.trace.cause, FREE)
        agenda = self._agenda
        if when_us < agenda.near_until_us:
            heappush(agenda.near, entry)
        else:
            agenda.push_later(when_us, entry)
        return entry

    # These two are inlined as well, and are two, to save one call for every message and heartbeat.

    def message_at(self, when_us: int, callback: Callback, arg: Any, life: Any) -> None:
        """Schedule a message: `callback(arg)` in this life (`heap.HostLife`), at `when_us`, not in the past."""
        entry: Entry = (when_us, MESSAGE_RANK + self.ticket(), 0, callback, arg, self.trace.cause, life)
        agenda = self._agenda
        if when_us < agenda.near_until_us:
            heappush(agenda.near, entry)
        else:
            agenda.push_later(when_us, entry)

    def timer_at(self, when_us: int, callback: Callback, arg: Any, life: Any) -> Handle:
        """Schedule a timer: `callback(arg)` in this life (`heap.HostLife`), at `when_us`, which is not in the past."""
        entry: Entry = (when_us, TIMER_RANK + self.ticket(), 0, callback, arg, self.trace.cause, life)
        agenda = self._agenda
        if when_us < agenda.near_until_us:
            heappush(agenda.near, entry)
        else:
            agenda.push_later(when_us, entry)
        return entry

    def set_in_place(self, when_us: int, ticket: int, callback: Callback, arg: Any) -> Handle:
        # A timer that was cancelled may be set in the same place again, so the entry has a serial number, too.
        entry: Entry = (when_us, TIMER_RANK + ticket, self.ticket(), callback, arg, self.trace.cause, FREE)
        self._agenda.push(entry)
        return entry

    def cancel(self, handle: Handle) -> None:
        """Cancel a scheduled event; nothing happens if it has run or was cancelled before."""
        self._agenda.take_back(cast(Entry, handle))

    def _schedule(self, when_us: int, callback: Callback, arg: Any, order: int, life: HostLife) -> Entry:
        if when_us < self.now_us and self.late_is_now:
            when_us = self.now_us
        entry: Entry = (when_us, RANKS[order] + self.ticket(), 0, callback, arg, self.trace.cause, life)
        self._agenda.push(entry)
        return entry

    def _release_soon(self, sleeper: Waiter | SimTask, order: int, life: HostLife) -> Entry:
        return self._schedule(self.now_us, release, sleeper, order, life)

    def _release_at(self, when_us: int, sleeper: Waiter, life: HostLife) -> Entry:
        return self._schedule(when_us, release, sleeper, Order.TASK, life)

    # -- hosts, tasks, randomness ---------------------------------------------------------------------------------

    def host(self, name: str) -> LoopHost:
        """Return the host of that name, created at the first use."""
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = LoopHost(self, name)
        return host

    def start_soon(self, function: Callable[..., Awaitable[None]], *args: Any, name: str) -> SimTask:
        """Start a task that belongs to no host."""
        task = SimTask(self, function, args, name, FREE)
        task.start()
        return task

    def stream(self, purpose: str, entity: str = "", incarnation: int = 0) -> Stream:
        """Return the random stream of (seed, purpose, entity, incarnation), from its beginning."""
        return Stream(self.seed, purpose, entity, incarnation)

    # -- waiting ------------------------------------------------------------------------------------------------

    def event(self) -> LoopEvent:
        """Return a new flag that is not set."""
        return LoopEvent(self)

    def queue(self) -> LoopQueue[Any]:
        """Return a new empty queue."""
        return LoopQueue(self)

    async def sleep(self, us: int) -> None:
        """Sleep for `us` (of the clock of the host whose task this is)."""
        waiter = Waiter(self, "a sleep to end")
        waiter.entry = self._release_at(self.now_us + us, waiter, waiter.life)
        await waiter.park()

    def timeout(self, us: int) -> LoopTimeout:
        """Cancel the block after `us`; check `.expired` afterwards."""
        return LoopTimeout(self, us)

    async def until(self, predicate: Callable[[], bool], timeout_us: int | None = None) -> bool:
        """Wait until `predicate()` holds, checked after every event; return False when the time ran out first.

        The task continues right after the event that made it hold, before anything else of that instant. The predicate
        must not change anything. Its exceptions are raised here.
        """
        if predicate():
            return True
        waiter = Waiter(self, f"until {name_of(predicate)}")
        waiter.predicate = predicate
        waiter.forget = self._stop_watching
        self._watchers.append(waiter)
        timer = None
        if timeout_us is not None:
            timer = self._schedule(self.now_us + timeout_us, self._give_up, waiter, Order.TIMER, waiter.life)
        try:
            return bool(await waiter.park())
        finally:
            if timer is not None:
                self.cancel(timer)

    def _stop_watching(self, waiter: Waiter) -> None:
        if waiter in self._watchers:
            self._watchers.remove(waiter)

    def _give_up(self, waiter: Waiter) -> None:
        self._stop_watching(waiter)
        waiter.wake(False)

    def _release_watcher(self) -> bool:
        """Release the first task whose predicate holds; the others are checked after its step."""
        for waiter in self._watchers:
            if not waiter.life.held and self._holds(waiter):
                self._watchers.remove(waiter)
                waiter.go()
                return True
        return False

    def _holds(self, waiter: Waiter) -> bool:
        try:
            waiter.value = waiter.predicate is not None and waiter.predicate()
        except Exception as error:
            waiter.error = error
            return True
        return bool(waiter.value)

    def _my_life(self) -> HostLife:
        """The life of the host whose task runs now."""
        task = self._by_trio_task.get(trio.lowlevel.current_task())
        return FREE if task is None else task.life

    # -- the run ------------------------------------------------------------------------------------------------

    def fail(self, error: BaseException, where: str) -> None:
        """End the run with `error`, as its one failure: every task is cancelled, in the order they were started."""
        if self.failure is None:
            error.add_note(f"at {show_us(self.now_us)} of the run, in {where}")
            self.failure = error
            self._close()
        elif error is not self.failure:
            self.failure.add_note(f"and while the run was being ended, in {where}: {error!r}")

    def _close(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    async def _run_main(self, main: Callable[..., Awaitable[T]]) -> T:
        """Run `main(loop)` as the first task; when it ends, the others are cancelled."""
        task = SimTask(self, main, (self,), "main", FREE)
        self._tasks[task] = None
        result = await task.run()
        self._close()
        return cast(T, result)


def name_of(function: Callable[..., object]) -> str:
    """Return the name of a function for a message."""
    return getattr(function, "__qualname__", None) or repr(function)
