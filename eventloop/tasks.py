"""Stories (async functions in tasks of their own) and how they wait.

A story never becomes runnable by itself. It parks, and everything that moves it on (a wake-up, its start, its
cancellation) is an entry in the heap with the callback `release`, so that the kernel lets one task run at a time, in
the order of the heap.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import trio

from groupsim.eventloop.errors import single
from groupsim.eventloop.heap import FREE, Entry, Life
from groupsim.eventloop.interface import Order
from groupsim.eventloop.units import show_us

if TYPE_CHECKING:
    from groupsim.eventloop.loop import Loop


class Waiter:
    """One wait of one task: what for, since when, and the entry that will end it."""

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
        self.task = task = trio.lowlevel.current_task()
        self.story = story = loop._by_task.get(task)
        self.life = FREE if story is None else story.life

    async def park(self) -> Any:
        """Wait to be released; returns the value it was woken with, or raises."""
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
        """Queue the release of this task at this instant, behind whatever is due before it."""
        if self.entry is None and self.raise_cancel is None and self in self.loop._waiting:
            self.value = value
            self.entry = self.loop._release_soon(self, Order.TASK, self.life)

    def go(self) -> None:
        """Hand the task to trio; only a driver calls this."""
        del self.loop._waiting[self]
        self.entry = None  # or the two would keep each other alive until the garbage collector comes
        trio.lowlevel.reschedule(self.task)

    def _abort(self, raise_cancel: Callable[[], Any]) -> trio.lowlevel.Abort:
        """Trio wants the task cancelled: that too waits for its turn in the heap, and outruns a wake-up."""
        if self.raise_cancel is None:
            self.raise_cancel = raise_cancel
            if self.entry is not None:
                self.loop.cancel(self.entry)
            if self.forget is not None:
                self.forget(self)
            # A cancellation is the loop's doing, not the host's: a pause does not hold it.
            self.entry = self.loop._release_soon(self, Order.CANCEL, FREE)
        return trio.lowlevel.Abort.FAILED

    def __str__(self) -> str:
        name = "a task" if self.story is None else str(self.story)
        return f"{name} waits for {self.what} since {show_us(self.since_us)}"


class Story:
    """A running story, and the `Task` that rooms hold of it."""

    __slots__ = ("_args", "_function", "_loop", "_scope", "_siblings", "_start", "done", "life", "name")

    def __init__(
        self,
        loop: Loop,
        function: Callable[..., Awaitable[Any]],
        args: tuple[Any, ...],
        name: str,
        life: Life,
        siblings: dict[Story, None] | None = None,
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
        self._loop._stories[self] = self._siblings[self] = None
        self._start = self._loop._release_soon(self, Order.TASK, self.life)

    def go(self) -> None:
        """Hand the new task to trio; only a driver calls this."""
        self._start = None
        self._loop._nursery.start_soon(self.tell, name=self.name)

    async def tell(self) -> Any:
        """Run to the end. An error ends the whole run, as its one failure."""
        task = trio.lowlevel.current_task()
        self._loop._by_task[task] = self
        try:
            with self._scope:
                return await self._function(*self._args)
        except Exception as error:
            self._loop.fail(single(error), str(self))
        finally:
            del self._loop._by_task[task]
            self._finish()

    def _finish(self) -> None:
        self.done = True
        self._loop._stories.pop(self, None)
        self._siblings.pop(self, None)

    def cancel(self) -> None:
        """End it where it waits; a story that has not begun never begins."""
        if self.done:
            return
        if self._start is not None:
            self._loop.cancel(self._start)
            self._finish()
        else:
            self._scope.cancel()

    def __str__(self) -> str:
        return f"story {self.name!r}" + (f" on {self.life.name}" if self.life.name else "")
