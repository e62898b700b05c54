"""What a connection writes: responses in order, at once where no fault is in the way.

A latency or a limited bandwidth delays what is written, never before what went out earlier; a stall holds it back until
the stall is over; a connection that has gone silent swallows it.
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
    """A connection (`connection.TcpConnection`) that knows whether any fault is near."""

    @property
    def plain(self) -> bool:
        """Whether no fault concerns it."""


class Outbox:
    """The responses of one connection on their way to the kernel."""

    __slots__ = ("_floor_us", "_held", "_late", "_line", "_loop", "_network", "_stream")

    def __init__(self, line: FaultableConnection, stream: TcpStream, network: Network) -> None:
        self._line = line
        self._stream = stream
        self._network = network
        self._loop = network.loop
        self._held: deque[bytes] = deque()
        self._floor_us = 0  # nothing is written before
        self._late = 0  # how many are on their way through a latency

    @property
    def empty(self) -> bool:
        """Whether all that was put in has left for good, as far as this side can tell."""
        return not self._held and not self._stream.unsent

    def put(self, data: bytes) -> None:
        """Write a response; its length goes before it."""
        framed = len(data).to_bytes(4, "big") + data
        if self._line.plain and not self._late and (not self._floor_us or self._loop.now_us >= self._floor_us):
            self._stream.write(framed)
        elif SILENT in self._line.conditions:
            return
        elif self._held or self._network.links.holds_in(self._line):
            self._held.append(framed)
        else:
            self._send_late(framed)

    def _send_late(self, data: bytes) -> None:
        """Put a response on the wire: it arrives after a latency, and after those before it."""
        links, now = self._network.links, self._loop.now_us
        late = links.stretch(self._line, 0) + links.bytes_queue_us(self._line, False, len(data), now)
        when = max(now + late, self._floor_us)
        if when <= now and not self._late:  # one that is due may not have gone yet
            self._stream.write(data)
        else:
            self._floor_us = when
            self._late += 1
            self._loop.call_at(when, self._send, data)

    def _send(self, data: bytes) -> None:
        self._late -= 1
        self._stream.write(data)

    def wait(self, us: int) -> None:
        """Write nothing before so much time has passed."""
        self._floor_us = max(self._floor_us, self._loop.now_us + us)

    def let_go(self) -> None:
        """Write what was held back, if no stall is left."""
        links = self._network.links
        while self._held and not links.holds_in(self._line):
            self._send_late(self._held.popleft())

    def clear(self) -> None:
        """Forget what was held back."""
        self._held.clear()
