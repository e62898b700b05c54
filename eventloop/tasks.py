"""Tasks (async functions) and their waits.

A task never becomes runnable by itself. It parks, and everything that continues it (a wake-up, its start, its
cancellation) is an entry in the heap with the callback `release`, so that the kernel lets one task run at a time, in
the order of the heap.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import trio

from groupsim.eventloop.errors import single
from groupsim.eventloop.heap import FREE, Entry, HostLife
from groupsim.eventloop.interface import Order
from groupsim.eventloop.units import show_us

if TYPE_CHECKING:
    from groupsim.eventloop.loop import Loop


class Waiter:
    """One wait of one task: its reason, its beginning, and the entry that will end it."""

    # Defaults of the class: a wait sets only what it needs.
    entry: Entry | None = None
    raise_cancel: Callable[[], Any] | None = None
    error: BaseException | None = None
    value: Any = None
    forget: Callable[[Waiter], object] | None = None
    predicate: Callable[[], bool] | None = None

    def __init__(self, loop: Loop, what: str) -> None:
        self.loop = loop
        self.what = what
        self.trio_task = trio_task = trio.lowlevel.current_task()
        self.task = task = loop._by_trio_task.get(trio_task)
        self.life = FREE if task is None else task.life

    async def park(self) -> Any:
        """Wait to be released; return the value of the wake-up, or raise."""
        waiting = self.loop._waiting
        self.since_us = self.loop.now_us
        waiting[self] = None
        await trio.lowlevel.wait_task_rescheduled(self._abort)
        if self.raise_cancel is not None:
            self.raise_cancel()
        if self.error is not None:
            raise self.error
        return self.value

    def wake(self, value: Any = None) -> None:
        """Queue the release of this task at this instant, after everything that is due before it."""
        if self.entry is None and self.raise_cancel is None and self in self.loop._waiting:
            self.value = value
            self.entry = self.loop._release_soon(self, Order.TASK, self.life)

    def go(self) -> None:
        """Hand the task to trio; only a driver calls this."""
        del self.loop._waiting[self]
        self.entry = None  # or the two would keep each other alive until the garbage collector comes
        trio.lowlevel.reschedule(self.trio_task)

    def _abort(self, raise_cancel: Callable[[], Any]) -> trio.lowlevel.Abort:
        """Take trio's request to cancel the task: it is an entry of the heap, too, and comes before a wake-up."""
        if self.raise_cancel is None:
            self.raise_cancel = raise_cancel
            if self.entry is not None:
                self.loop.cancel(self.entry)
            if self.forget is not None:
                self.forget(self)
            # A cancellation belongs to the loop, not to the host: a pause does not hold it.
            self.entry = self.loop._release_soon(self, Order.CANCEL, FREE)
        return trio.lowlevel.Abort.FAILED

    def __str__(self) -> str:
        name = "a task" if self.task is None else str(self.task)
        return f"{name} waits for {self.what} since {show_us(self.since_us)}"


class SimTask:
    """A running async function, which other rooms use as a `Task`."""

    __slots__ = ("_args", "_function", "_loop", "_scope", "_siblings", "_start", "done", "life", "name")

    def __init__(
        self,
        loop: Loop,
        function: Callable[..., Awaitable[Any]],
        args: tuple[Any, ...],
        name: str,
        life: HostLife,
        siblings: dict[SimTask, None] | None = None,
    ) -> None:
        self.name = name
        self.life = life
        self.done = False
        self._loop = loop
        self._function = function
        self._args = args
        self._scope = trio.CancelScope()
        self._siblings = {} if siblings is None else siblings  # those of the same host that are not done
        self._start: Entry | None = None

    def start(self) -> None:
        """Queue its first step."""
        self._loop._tasks[self] = self._siblings[self] = None
        self._start = self._loop._release_soon(self, Order.TASK, self.life)

    def go(self) -> None:
        """Hand the new task to trio; only a driver calls this."""
        self._start = None
        self._loop._nursery.start_soon(self.run, name=self.name)

    async def run(self) -> Any:
        """Run to the end. An error ends the whole run, as its one failure."""
        trio_task = trio.lowlevel.current_task()
        self._loop._by_trio_task[trio_task] = self
        try:
            with self._scope:
                return await self._function(*self._args)
        except Exception as error:
            self._loop.fail(single(error), str(self))
        finally:
            del self._loop._by_trio_task[trio_task]
            self._finish()

    def _finish(self) -> None:
        self.done = True
        self._loop._tasks.pop(self, None)
        self._siblings.pop(self, None)

    def cancel(self) -> None:
        """End it at its present wait; a task that has not begun never begins."""
        if self.done:
            return
        if self._start is not None:
            self._loop.cancel(self._start)
            self._finish()
        else:
            self._scope.cancel()

    def __str__(self) -> str:
        return f"task {self.name!r}" + (f" on {self.life.name}" if self.life.name else "")
