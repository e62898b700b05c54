"""One broker's connection to the controller for one kind of request, opened again when it is lost.

A broker has three of them, as in Kafka: requests behind a parked metadata request wait, and it must delay neither
heartbeats nor AlterPartition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from groupsim.members.interfaces import Disconnected


class ControllerChannel(Protocol):
    """The part of a connection that an agent uses; `members.interfaces.Connection` for the controller's messages."""

    @property
    def open(self) -> bool: ...
    def send(self, request: Any, on_done: Callable[[Any], None], timeout_us: int) -> int: ...
    def close(self) -> None: ...


class Channel:
    """At most one request in flight; `on_done` gets its response, or None after a disconnect."""

    def __init__(self, connect: Callable[[], ControllerChannel]) -> None:
        self._connect = connect
        self._connection: ControllerChannel | None = None
        self._on_done: Callable[[Any], None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a request is in flight."""
        return self._on_done is not None

    def send(self, request: Any, on_done: Callable[[Any], None], timeout_us: int) -> None:
        """Send a request over the open connection, or over a new one."""
        if self._connection is None or not self._connection.open:
            self._connection = self._connect()
        self._on_done = on_done
        self._connection.send(request, self._done, timeout_us)

    def _done(self, outcome: Any) -> None:
        on_done, self._on_done = self._on_done, None
        if isinstance(outcome, Disconnected):
            self._connection, outcome = None, None
        if on_done is not None:
            on_done(outcome)

    def close(self) -> None:
        """Close the connection and drop the request in flight."""
        self._on_done = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def reset(self) -> None:
        """Drop the connection of a dead process."""
        self._connection = self._on_done = None
