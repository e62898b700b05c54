"""The event loop as every room uses it: one small interface, two drivers (virtual and real time).

Two kinds of activity exist, and only these:

* an **event**: a plain callback that runs at an instant (`call_at`). It may not wait. Heartbeats of a quiet group,
  timers, messages on a wire are events.
* a **task**: an async function (`Host.start_soon`). It may wait, with this module's `Event`,
  `Queue`, `sleep`, `timeout`, never with trio's.

Within one instant the order is: cancellations, messages, append results, timers, tasks; within one class by ticket
(`Order`). Time is an integer of microseconds since the start of the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from groupsim.eventloop.randomness import Stream
    from groupsim.eventloop.trace.trace import Trace

T = TypeVar("T")
Callback = Callable[[Any], None]


class Order(IntEnum):
    """Classes of things that fall on one instant, in the order they run."""

    CANCEL = 0
    MESSAGE = 1
    APPEND = 2
    TIMER = 3
    TASK = 4


class Handle(Protocol):
    """A scheduled event, for `cancel`. It has no other attribute: an object with properties would cost too much."""


class Event(Protocol):
    """A flag that tasks can wait for. `set` wakes every waiter, in the order they came."""

    def set(self) -> None: ...
    def clear(self) -> None: ...
    def is_set(self) -> bool: ...
    async def wait(self) -> None: ...


class Queue(Protocol, Generic[T]):
    """An unbounded first-in first-out queue: `put` never waits, `get` waits for an item."""

    def put(self, item: T) -> None: ...
    async def get(self) -> T: ...
    def __len__(self) -> int: ...


class Timeout(Protocol):
    """The result of `timeout`: whether the time ran out before the block ended."""

    @property
    def expired(self) -> bool: ...


class Task(Protocol):
    """A running task."""

    name: str

    def cancel(self) -> None: ...
    @property
    def done(self) -> bool: ...


class EventLoop(Protocol):
    """The loop itself: clock, heap, randomness, trace."""

    trace: Trace

    @property
    def now_us(self) -> int: ...

    def call_at(self, when_us: int, callback: Callback, arg: Any = None, *, order: Order = Order.TIMER) -> Handle:
        """Run `callback(arg)` at `when_us` (now, if that has passed)."""

    def message_at(self, when_us: int, callback: Callback, arg: Any, life: Life) -> None:
        """Schedule a message like `Host.call_at`; shorter, for a time not in the past and an event without `cancel`.

        A frequent sender holds the life and does not look up the host: with ten thousand hosts none is in the
        processor's caches when it is needed, but the life is needed anyway.
        """

    def timer_at(self, when_us: int, callback: Callback, arg: Any, life: Life) -> Handle:
        """Schedule a timer like `Host.call_at`; shorter, for a time not in the past."""

    def set_in_place(self, when_us: int, ticket: int, callback: Callback, arg: Any) -> Handle:
        """Set a timer of no host, not in the past, at the place of an earlier ticket within the instant."""

    def cancel(self, handle: Handle) -> None:
        """Cancel a scheduled event; nothing happens if it has run or was cancelled before."""

    def ticket(self) -> int:
        """Draw the next rank; a timer that moves lazily uses the rank from the time when it was logically set."""

    def host(self, name: str) -> Host:
        """Return the host of that name, created at the first use."""

    def stream(self, purpose: str, entity: str = "", incarnation: int = 0) -> Stream:
        """Return the random stream of (seed, purpose, entity, incarnation), from its beginning."""

    def event(self) -> Event: ...
    def queue(self) -> Queue[Any]: ...

    async def sleep(self, us: int) -> None: ...

    def timeout(self, us: int) -> AbstractContextManager[Timeout]:
        """Cancel the block after `us`; check `.expired` afterwards."""

    async def until(self, predicate: Callable[[], bool], timeout_us: int | None = None) -> bool:
        """Wait until `predicate()` holds, checked after every event; return False when the time ran out first."""


class Life(Protocol):
    """One life of a host, from its start to its crash. Entries of a finished life do not run."""

    dead: bool
    held: bool


class Host(Protocol):
    """A machine or process: it can be paused (a long GC) or crashed as a whole.

    While paused, due timers and arriving messages queue up and run, in order, at `resume`; so its tasks stand still
    too, because only they could wake them. `crash` cancels its tasks and timers and starts a new incarnation.
    """

    name: str
    incarnation: int

    @property
    def paused(self) -> bool: ...
    @property
    def alive(self) -> bool: ...
    @property
    def life(self) -> Life: ...

    def call_at(self, when_us: int, callback: Callback, arg: Any = None, *, order: Order = Order.TIMER) -> Handle: ...
    def cancel(self, handle: Handle) -> None: ...
    def deliver(self, callback: Callback, arg: Any) -> None:
        """Run `callback(arg)` now, or at `resume` when paused; drop it when the host is not alive."""

    def start_soon(self, function: Callable[..., Awaitable[None]], *args: Any, name: str) -> Task: ...
    async def sleep(self, us: int) -> None:
        """Sleep on this host's clock: a pause delays the wake-up."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def crash(self) -> None: ...
    def start(self) -> None:
        """Start a crashed host again, as a new incarnation."""
