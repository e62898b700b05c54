"""The base of a connection: correlation ids, requests in flight, latencies."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from groupsim.cluster.network.latency import BLOCK, FIRST, Draws, drawn
from groupsim.members.interfaces import Outcome
from groupsim.protocol.messages.group import Request

if TYPE_CHECKING:
    from groupsim.cluster.network.connection import Connection
    from groupsim.cluster.network.network import Network
    from groupsim.eventloop.randomness import Stream


T = TypeVar("T")

Flight = tuple[int, Request, Callable[[Outcome], None], int, "Connection"]
"""A request in flight: correlation id, request, the client's callback, deadline, connection."""


def queued(queue: deque[T] | None, item: T) -> deque[T]:
    """Append an item; make the queue if there is none."""
    if queue is None:
        return deque((item,))
    queue.append(item)
    return queue


class CorrelationIds:
    """The correlation ids of one client host, shared by its connections, so that host and id name one request."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0  #: the last id in use


class ConnectionTimes:
    """The times of a connection: latencies of segments, and the broker's time for a request."""

    __slots__ = ("_at", "_latencies", "_network", "_processing_draws", "_processing_us", "_stream")

    _at: int
    _latencies: array[int]
    _network: Network
    _processing_us: int
    _stream: Stream
    _processing_draws: Draws | None

    def _draw(self) -> int:
        """Return the next latency."""
        at = self._at if self._at < BLOCK else self._refill()
        self._at = at + 1
        return self._latencies[at]

    def _refill(self) -> int:
        """Draw the next block of latencies; return its first index."""
        start = 0 if self._latencies else FIRST
        self._latencies = drawn(self._network.timing.latency, self._stream, start)
        return start

    def _processing_time_us(self) -> int:
        """Return the broker's time for the next request."""
        return self._processing_us if self._processing_draws is None else self._processing_draws.next()
