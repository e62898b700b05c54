"""A connection over which the server may speak unasked: ZooKeeper's, with its watch events.

Events and answers share one stream, so they arrive in the order they were sent: a client sees the event before the
answer to any read that would show what the event tells of.
"""

from __future__ import annotations

from collections.abc import Callable

from groupsim.cluster.network.connection import Connection
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.messages.group import Response
from groupsim.protocol.messages.zookeeper import WatchEvent


class SessionConnection(Connection):
    """A connection to ZooKeeper; implements `members.zookeeper.session.SessionLink`."""

    __slots__ = ("_on_event", "_on_lost")

    _on_event: Callable[[WatchEvent], None] | None
    _on_lost: Callable[[Disconnected], None] | None

    def _start(self) -> None:
        super()._start()
        self._on_event = self._on_lost = None

    def listen(self, on_event: Callable[[WatchEvent], None], on_lost: Callable[[Disconnected], None]) -> None:
        """Say who is told of events, and who when the connection is lost (also with nothing in flight)."""
        self._on_event, self._on_lost = on_event, on_lost

    def push(self, event: WatchEvent) -> None:
        """The server tells the client of an event, behind everything it has sent before."""
        if self.up and self.client.life is self._life:
            self.pass_back(event)

    def _back(self, response: Response) -> None:
        if response.__class__ is WatchEvent:
            if self.up and self._on_event is not None:
                self._on_event(response)
            return
        floor = self._floor_in  # an event may be on its way: what is sent next stays behind it
        super()._back(response)
        self._floor_in = floor

    def _lose(self, outcome: Disconnected) -> None:
        was_open = self.open
        super()._lose(outcome)
        if was_open and self._on_lost is not None:
            self._on_lost(outcome)
