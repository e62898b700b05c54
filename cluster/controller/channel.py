"""One broker's way to the controller for one kind of request: a connection that is made again when it is lost.

A broker keeps three, as Kafka's does: a parked question for metadata holds up what is behind it on its connection, and
must hold up neither heartbeats nor AlterPartition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from groupsim.members.interfaces import Disconnected


class ControllerChannel(Protocol):
    """What an agent needs of a connection; `members.interfaces.Connection` for the controller's messages."""

    @property
    def open(self) -> bool: ...
    def send(self, request: Any, on_done: Callable[[Any], None], timeout_us: int) -> int: ...
    def close(self) -> None: ...


class Channel:
    """At most one request in flight; `on_done` gets its response, or None when its fate is unknown."""

    def __init__(self, connect: Callable[[], ControllerChannel]) -> None:
        self._connect = connect
        self._connection: ControllerChannel | None = None
        self._waits: Callable[[Any], None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a request is in flight."""
        return self._waits is not None

    def send(self, request: Any, on_done: Callable[[Any], None], timeout_us: int) -> None:
        """Send a request over the connection there is, or over a new one."""
        if self._connection is None or not self._connection.open:
            self._connection = self._connect()
        self._waits = on_done
        self._connection.send(request, self._done, timeout_us)

    def _done(self, outcome: Any) -> None:
        waits, self._waits = self._waits, None
        if isinstance(outcome, Disconnected):
            self._connection, outcome = None, None
        if waits is not None:
            waits(outcome)

    def close(self) -> None:
        """Close the connection; what is in flight is forgotten."""
        self._waits = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def forget(self) -> None:
        """The process has died, and its connections with it: begin anew, without a word to anybody."""
        self._connection = self._waits = None
