"""The waits of tasks: `LoopEvent`, `LoopQueue`, `LoopTimeout`. Each wake-up is a heap entry of its own."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import trio

from groupsim.eventloop.heap import Entry
from groupsim.eventloop.interface import Order
from groupsim.eventloop.tasks import Waiter
from groupsim.eventloop.units import show_us

if TYPE_CHECKING:
    from groupsim.eventloop.loop import Loop

T = TypeVar("T")


class LoopEvent:
    """A flag. `set` wakes every waiter, in the order they came, each in its own turn of the heap."""

    __slots__ = ("_loop", "_set", "_waiters")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._set = False
        self._waiters: dict[Waiter, None] = {}

    def set(self) -> None:
        """Raise the flag."""
        self._set = True
        if self._waiters:
            waiters, self._waiters = self._waiters, {}
            for waiter in waiters:
                waiter.wake()

    def clear(self) -> None:
        """Lower the flag; tasks that were woken stay awake."""
        self._set = False

    def is_set(self) -> bool:
        """Whether the flag is up."""
        return self._set

    async def wait(self) -> None:
        """Return at once when the flag is up, else when it is raised."""
        if self._set:
            return
        waiter = Waiter(self._loop, "an event")
        waiter.forget = self._forget
        self._waiters[waiter] = None
        await waiter.park()

    def _forget(self, waiter: Waiter) -> None:
        self._waiters.pop(waiter, None)


class LoopQueue(Generic[T]):
    """First in, first out, without a bound. An item goes to the task that has waited longest.

    A getter that is cancelled after it was given an item, and before it ran, puts the item back in front.
    """

    __slots__ = ("_getters", "_items", "_loop")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._items: deque[T] = deque()
        self._getters: dict[Waiter, None] = {}

    def put(self, item: T) -> None:
        """Add an item; never waits."""
        if self._getters:
            getter = next(iter(self._getters))
            del self._getters[getter]
            getter.wake(item)
        else:
            self._items.append(item)

    async def get(self) -> T:
        """Take the oldest item, waiting for one if there is none."""
        if self._items:
            return self._items.popleft()
        waiter = Waiter(self._loop, "an item of a queue")
        waiter.forget = self._forget
        self._getters[waiter] = None
        item: T = await waiter.park()
        return item

    def _forget(self, waiter: Waiter) -> None:
        if waiter in self._getters:
            del self._getters[waiter]
        elif self._getters:
            self.put(waiter.value)
        else:
            self._items.appendleft(waiter.value)

    def __len__(self) -> int:
        return len(self._items)


class LoopTimeout:
    """A block that is cancelled after a while: a heap event and a scope without a deadline.

    Trio's own deadlines are floats and win every tie; this one is a timer like any other. At the instant it is due a
    timer comes before tasks, so it wins over a wake-up of the same instant.
    """

    __slots__ = ("_entry", "_loop", "_scope", "_us")

    def __init__(self, loop: Loop, us: int) -> None:
        self._loop = loop
        self._us = us
        self._scope = trio.CancelScope()
        self._entry: Entry | None = None

    @property
    def expired(self) -> bool:
        """Whether the time ran out before the block ended (and so cut it short)."""
        return self._scope.cancelled_caught

    def __enter__(self) -> LoopTimeout:
        loop = self._loop
        self._scope.__enter__()
        self._entry = loop._schedule(loop.now_us + self._us, self._run_out, None, Order.TIMER, loop._my_life())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        if self._entry is not None:
            self._loop.cancel(self._entry)
        return self._scope.__exit__(kind, error, traceback)

    def _run_out(self, _: Any) -> None:
        self._scope.cancel()

    def __repr__(self) -> str:
        return f"<timeout of {show_us(self._us)}>"
