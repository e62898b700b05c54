"""A machine or process that can be paused, or crashed, as a whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from heapq import heappush
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.heap import MESSAGE_RANK, RANKS, Callback, Entry, HostLife
from groupsim.eventloop.interface import Handle, Order
from groupsim.eventloop.tasks import SimTask, Waiter

if TYPE_CHECKING:
    from groupsim.eventloop.loop import Loop


class LoopHost:
    """One host. Everything it schedules belongs to its present life; a crash ends that life, `start` begins the next.

    Paused: due entries wait, and at `resume` run in the order in which they came due, before everything else of that
    instant. Crashed: timers and messages are dropped, its tasks are cancelled in the order they were started.
    """

    __slots__ = ("_loop", "_tasks", "incarnation", "life", "name")

    def __init__(self, loop: Loop, name: str) -> None:
        self.name = name
        self.incarnation = 0
        self._loop = loop
        self.life = HostLife(name)  # the present one; a crash ends it for good
        self._tasks: dict[SimTask, None] = {}  # in the order they were started

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return self.life.held and not self.life.dead

    @property
    def alive(self) -> bool:
        """Whether it runs or is paused, rather than crashed."""
        return not self.life.dead

    @property
    def held_back(self) -> int:
        """The number of due events that a pause holds back."""
        return len(self.life.backlog)

    def call_at(self, when_us: int, callback: Callback, arg: Any = None, *, order: Order = Order.TIMER) -> Handle:
        """Schedule like `Loop.call_at`, in this life of the host; inlined, to save one call for every timer."""
        loop = self._loop
        if when_us < loop.now_us:
            return loop._schedule(when_us, callback, arg, order, self.life)
        entry: Entry = (when_us, RANKS[order] + loop.ticket(), 0, callback, arg, loop.trace.cause, self.life)
        agenda = loop._agenda
        if when_us < agenda.near_until_us:
            heappush(agenda.near, entry)
        else:
            agenda.push_later(when_us, entry)
        return entry

    def cancel(self, handle: Handle) -> None:
        """Take a scheduled event back."""
        self._loop.cancel(handle)

    def deliver(self, callback: Callback, arg: Any) -> None:
        """Run `callback(arg)` now, or at `resume` when paused; drop it when the host is not alive."""
        life = self.life
        if not life.held:
            callback(arg)
        elif not life.dead:
            loop = self._loop
            life.hold((loop.now_us, MESSAGE_RANK + loop.ticket(), 0, callback, arg, loop.trace.cause, life))

    def start_soon(self, function: Callable[..., Awaitable[None]], *args: Any, name: str) -> SimTask:
        """Start a task; its first step waits for its turn among the tasks of this instant."""
        task = SimTask(self._loop, function, args, name, self.life, self._tasks)
        if self.alive:
            task.start()
        else:
            task.done = True
        return task

    async def sleep(self, us: int) -> None:
        """Sleep on this host's clock: a pause delays the wake-up."""
        loop = self._loop
        waiter = Waiter(loop, "a sleep to end")
        waiter.entry = loop._release_at(loop.now_us + us, waiter, self.life)
        await waiter.park()

    def pause(self) -> None:
        """Stop, as in a long garbage collection; nothing happens if it is paused already or not alive."""
        if not self.life.held:
            self.life.stop()

    def resume(self) -> None:
        """Continue: entries that came due meanwhile run now, in the order they came due."""
        life = self.life
        if not self.paused:
            return
        life.held = False
        backlog, life.backlog = life.backlog, []
        for entry in backlog:
            self._loop._agenda.push(entry)  # with its old due time, and so in its place

    def crash(self) -> None:
        """Drop its timers and messages and cancel its tasks, in the order they were started."""
        life = self.life
        if life.dead:
            return
        life.stop(dead=True)
        for task in list(self._tasks):
            task.cancel()

    def start(self) -> None:
        """Start a crashed host again, as a new incarnation; nothing happens when it is alive."""
        if self.life.dead:
            self.incarnation += 1
            self.life = HostLife(self.name)

    def __repr__(self) -> str:
        state = "paused" if self.paused else "running" if self.alive else "crashed"
        return f"<host {self.name} #{self.incarnation} {state}>"
