"""A producer's connections, one per broker and purpose, and the waits before a reconnect.

"produce" carries batches, "data" metadata and requests for any broker, "coordinator" those of transactions. The wait
before a reconnect doubles from reconnect.backoff.ms up to reconnect.backoff.max.ms, each ±20 %, until a broker answers
(`ClusterConnectionStates`, KIP-144).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.interfaces import Connection, Disconnected, Outcome

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop, Host
    from groupsim.eventloop.randomness import Stream
    from groupsim.members.interfaces import Transport
    from groupsim.members.producer.settings import ProducerSettings
    from groupsim.protocol.messages.group import Request

Done = Callable[[Outcome], None]
_JITTER_PERCENT = 20
_MOST_DOUBLINGS = 20
ANY, PRODUCE, COORDINATOR = "data", "produce", "coordinator"


class Waits:
    """Waits that double from `base_ms` up to `most_ms`, each ±20 %, as `ExponentialBackoff`."""

    __slots__ = ("_attempts", "_base_us", "_most_us", "_stream")

    def __init__(self, base_ms: int, most_ms: int, stream: Stream) -> None:
        self._base_us = base_ms * MS_US
        self._most_us = max(base_ms, most_ms) * MS_US
        self._stream = stream
        self._attempts = 0

    def reset(self) -> None:
        """Restart at the shortest wait."""
        self._attempts = 0

    def next_us(self) -> int:
        """Return the wait before the next attempt, in microseconds."""
        self._attempts += 1
        return self.of_attempt(self._attempts)

    def of_attempt(self, attempt: int) -> int:
        """Return the wait after attempt number `attempt`, from 1."""
        if not self._base_us:
            return 0
        doubled = min(self._base_us << min(attempt - 1, _MOST_DOUBLINGS), self._most_us)
        spread = doubled * _JITTER_PERCENT // 100
        return min(doubled - spread + self._stream.below(2 * spread + 1), self._most_us)


class Wires:
    """All connections of one producer process."""

    __slots__ = ("_any", "_host", "_loop", "_open", "_settings", "_transport", "_waits")

    def __init__(self, loop: EventLoop, host: Host, settings: ProducerSettings, transport: Transport) -> None:
        self._loop = loop
        self._host = host
        self._settings = settings
        self._transport = transport
        self._open: dict[tuple[int, str], Connection] = {}
        self._waits: dict[tuple[int, str], tuple[Waits, int]] = {}
        stream = loop.stream("bootstrap", host.name, host.incarnation)
        self._any = stream.below(len(transport.bootstrap))

    def wait_us(self, node: int, purpose: str) -> int:
        """Return the wait until a broker may be connected to; 0 for now, and for an open connection."""
        link = self._open.get((node, purpose))
        if link is not None and link.open:
            return 0
        waits = self._waits.get((node, purpose))
        return 0 if waits is None else max(waits[1] - self._loop.now_us, 0)

    def connection(self, node: int, purpose: str) -> Connection:
        """Return the open connection to a broker for a purpose, or a new one."""
        link = self._open.get((node, purpose))
        if link is None or not link.open:
            link = self._transport.connect(self._host.name, self._settings.client_id, node, purpose)
            self._open[node, purpose] = link
        return link

    def any_node(self) -> int:
        """Return a broker that may be used now; -1 if there is none."""
        brokers = self._transport.bootstrap
        for step in range(len(brokers)):
            node = brokers[(self._any + step) % len(brokers)]
            if not self.wait_us(node, ANY):
                self._any += step
                return node
        return -1

    def ask(self, node: int, purpose: str, request: Request, on_done: Done) -> None:
        """Send a request, record the outcome for the reconnect backoff, and pass it on."""

        def done(outcome: Outcome) -> None:
            self.record_outcome(node, purpose, outcome)
            on_done(outcome)

        timeout_us = self._settings.request_timeout_ms * MS_US
        trace = self._loop.trace
        if trace.wants(Kind.REQUEST_SENT):
            trace.emit(
                Kind.REQUEST_SENT,
                host=self._host.name,
                api=request.API.title,
                correlation=self.connection(node, purpose).next_correlation,
                payload={"to": node, "version": request.version},
            )
        self.connection(node, purpose).send(request, done, timeout_us)

    def record_outcome(self, node: int, purpose: str, outcome: Outcome) -> None:
        """Restart or extend the reconnect backoff after an outcome."""
        key = (node, purpose)
        if not isinstance(outcome, Disconnected):
            self._waits.pop(key, None)
            return
        link = self._open.get(key)
        if link is not None and link.open:
            return
        waits, until_us = self._waits.get(key) or (self._new_waits(key), 0)
        if until_us <= self._loop.now_us:  # several requests may fail with one connection
            self._waits[key] = (waits, self._loop.now_us + waits.next_us())
        if purpose == ANY:
            self._any += 1

    def _new_waits(self, key: tuple[int, str]) -> Waits:
        settings = self._settings
        stream = self._loop.stream(f"reconnect-{key[0]}-{key[1]}", self._host.name, self._host.incarnation)
        return Waits(settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms, stream)

    def close(self) -> None:
        """Close all connections; requests in flight get no outcome."""
        for link in self._open.values():
            if link.open:
                link.close()
        self._open.clear()
