"""A connection to ZooKeeper, over which the server can also push watch events.

Events and responses share one stream and arrive in the order in which they were sent: a client gets an event before the
response to any read that shows the change (ZooKeeper's ordering guarantee for watches).
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
        """Set the callbacks for events and for the loss of the connection, also without a request in flight."""
        self._on_event, self._on_lost = on_event, on_lost

    def push(self, event: WatchEvent) -> None:
        """Send an event to the client after all earlier messages of the server."""
        if self.up and self.client.life is self._life:
            self.pass_back(event)

    def _response_arrived(self, response: Response) -> None:
        if response.__class__ is WatchEvent:
            if self.up and self._on_event is not None:
                self._on_event(response)
            return
        floor = self._floor_in  # an event may be in flight; later messages stay after it
        super()._response_arrived(response)
        self._floor_in = floor

    def _disconnected(self, outcome: Disconnected) -> None:
        was_open = self.open
        super()._disconnected(outcome)
        if was_open and self._on_lost is not None:
            self._on_lost(outcome)
