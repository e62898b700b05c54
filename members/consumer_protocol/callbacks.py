"""The callbacks that the background thread has asked for; the application's thread runs them inside `poll`.

The Java client passes them as background events. A callback that throws ends the `poll` it runs in; the rest waits for
the next one. The background thread goes on when a callback has ended (`done`), and may ask for the next one.

Sources: `AsyncKafkaConsumer.processBackgroundEvents`, `ConsumerRebalanceListenerCallbackNeededEvent`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from groupsim.members.failures import ClientFailure
from groupsim.members.ports import Ports

Work = Callable[[], Coroutine[Any, Any, None]]
Done = Callable[[ClientFailure | None], None]


class Callbacks:
    """The queue from the background thread to the application's thread."""

    __slots__ = ("_due", "_failure", "_member", "running")

    def __init__(self, member: Ports) -> None:
        self._member = member
        self._due: deque[tuple[Work, Done]] = deque()
        self._failure: ClientFailure | None = None
        self.running = False  #: a callback is under way

    @property
    def pending(self) -> bool:
        """Whether there is something for the application's thread."""
        return bool(self._due) or self._failure is not None

    def ask(self, work: Work, done: Done) -> None:
        """Have `work` run by the application's thread; `done` is called with the exception that it threw, or None."""
        self._due.append((work, done))
        self._member.wake.set()

    def ask_first(self, work: Work, done: Done) -> None:
        """Have `work` run before all other callbacks that are due, after messages that come first."""
        due = self._due
        due.insert(next((at for at, entry in enumerate(due) if entry[1] is not _message), len(due)), (work, done))

    def tell(self, work: Work) -> None:
        """Have a message for the application handled in its place among the callbacks."""
        self._due.append((work, _message))
        self._member.wake.set()

    def throw(self, failure: ClientFailure) -> None:
        """Have `poll` throw, after the callbacks that are due (`ErrorEvent`); in librdkafka in its place among them."""
        if self._member.profile.consumer_protocol.errors_in_order:
            self.tell(partial(_throw, failure))
        elif self._failure is None:
            self._failure = failure
        self._member.wake.set()

    def clear(self) -> None:
        """Drop the callbacks that have not begun: the member calls back for everything it owns as it leaves."""
        self._due.clear()

    def __len__(self) -> int:
        """Number of callbacks, and of exceptions."""
        return len(self._due) + (self._failure is not None)

    async def run(self, most: int | None = None) -> None:
        """Run what is due, and what becomes due meanwhile, or so many at most. Raises ClientFailure."""
        ran = 0
        waits = self._failure is None and most is not None  # an exception of meanwhile waits as well
        while self._due and (most is None or ran < most):
            ran += 1
            work, done = self._due.popleft()
            failure = None
            self.running = True
            try:
                await work()
            except ClientFailure as thrown:
                failure = thrown
            finally:
                self.running = False
            done(failure)
            if failure is not None:
                raise failure
        if waits:
            return
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure


async def _throw(failure: ClientFailure) -> None:
    raise failure


def _message(failure: ClientFailure | None) -> None:
    """Do nothing after a message."""
