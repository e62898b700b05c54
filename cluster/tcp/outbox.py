"""The responses of a connection, written in order, at once without a fault.

A latency or a limited bandwidth delays a response, in order; a stall holds it until the stall ends; a silent connection
drops it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from groupsim.cluster.network.broker_connection import BrokerConnection
from groupsim.cluster.network.link_faults import SILENT
from groupsim.eventloop.streams import TcpStream

if TYPE_CHECKING:
    from groupsim.cluster.network.network import Network


class FaultableConnection(BrokerConnection, Protocol):
    """A connection (`connection.TcpConnection`) that knows whether a fault affects it."""

    @property
    def plain(self) -> bool:
        """Whether no fault affects the connection."""


class Outbox:
    """The responses of one connection on their way to the kernel."""

    __slots__ = ("_connection", "_floor_us", "_held", "_late", "_loop", "_network", "_stream")

    def __init__(self, connection: FaultableConnection, stream: TcpStream, network: Network) -> None:
        self._connection = connection
        self._stream = stream
        self._network = network
        self._loop = network.loop
        self._held: deque[bytes] = deque()
        self._floor_us = 0  # the earliest time of the next write
        self._late = 0  # number of responses that wait for a latency

    @property
    def empty(self) -> bool:
        """Whether every response is in the kernel."""
        return not self._held and not self._stream.unsent

    def put(self, data: bytes) -> None:
        """Write a response with its length before it."""
        framed = len(data).to_bytes(4, "big") + data
        if self._connection.plain and not self._late and (not self._floor_us or self._loop.now_us >= self._floor_us):
            self._stream.write(framed)
        elif SILENT in self._connection.conditions:
            return
        elif self._held or self._network.link_faults.stalls_responses(self._connection):
            self._held.append(framed)
        else:
            self._send_late(framed)

    def _send_late(self, data: bytes) -> None:
        """Write a response after a latency, and after earlier responses."""
        links, now = self._network.link_faults, self._loop.now_us
        late = links.stretch(self._connection, 0) + links.bytes_queue_us(self._connection, False, len(data), now)
        when = max(now + late, self._floor_us)
        if when <= now and not self._late:  # an earlier one that is due may not be written yet
            self._stream.write(data)
        else:
            self._floor_us = when
            self._late += 1
            self._loop.call_at(when, self._send, data)

    def _send(self, data: bytes) -> None:
        self._late -= 1
        self._stream.write(data)

    def wait(self, us: int) -> None:
        """Write nothing for this time."""
        self._floor_us = max(self._floor_us, self._loop.now_us + us)

    def release(self) -> None:
        """Write held responses, if no stall is left."""
        links = self._network.link_faults
        while self._held and not links.stalls_responses(self._connection):
            self._send_late(self._held.popleft())

    def clear(self) -> None:
        """Drop held responses."""
        self._held.clear()
