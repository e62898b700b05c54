"""The ports of a cluster: one per broker, the same for all lives of the broker.

A dead broker refuses connections, and its port stays reserved; the next life listens on it when it is open to clients.
`close` ends the service: it refuses new connections, answers parked requests (JoinGroup and SyncGroup as at the end of
a coordinator, a Fetch without records), and sends what was written.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from groupsim.cluster.tcp.connection import TcpConnection
from groupsim.cluster.tcp.directory import NodeDirectory
from groupsim.cluster.tcp.memory import MAX_QUEUED_BYTES, Memory
from groupsim.cluster.tcp.naming import Names
from groupsim.cluster.tcp.rate_limited_log import Logger, NullLogger, RateLimitedLog
from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.eventloop.streams import Listener, TcpStream
from groupsim.eventloop.units import MINUTE_US, MS_US, SECOND_US
from groupsim.protocol.messages.data import FetchRequest, FetchResponse, PartitionData
from groupsim.protocol.wire import Codec, Directory

if TYPE_CHECKING:
    from groupsim.cluster.broker.broker import Broker
    from groupsim.cluster.cluster import Cluster
    from groupsim.cluster.network.network import Network

MAX_CONNECTIONS: Final = 10_000
"""`max.connections` of a broker; Kafka's default is without limit."""
MAX_IDLE_US: Final = 10 * MINUTE_US
"""`connections.max.idle.ms`."""
MAX_UNREAD_US: Final = MINUTE_US
"""The time that a client may leave a response unread; Kafka waits for `connections.max.idle.ms`."""
MAX_UNSENT_BYTES: Final = 512 << 20
"""Maximum bytes of unread responses, over all brokers. In Kafka they are in files until they are sent."""
_CHECK_INTERVAL_US: Final = 5 * SECOND_US
_UNSENT_CHECK_INTERVAL_US: Final = 250 * MS_US
_SPARE_FILES: Final = 256


class BrokerListener:
    """One broker's port and its connections."""

    def __init__(
        self,
        loop: RealTimeLoop,
        network: Network,
        node: Broker,
        codec: Codec,
        names: Names,
        log: RateLimitedLog,
        memory: Memory,
        max_connections: int,
    ) -> None:
        self._loop = loop
        self._network = network
        self._node = node
        self._codec = codec
        self._names = names
        self._log = log
        self._memory = memory
        self._max_connections = max_connections
        self._listener: Listener | None = None
        self._closing = False
        self.connections: dict[TcpConnection, None] = {}

    def open(self, host: str, port: int) -> tuple[str, int]:
        """Listen; return address and port. Raises OSError when the port is not available."""
        self._listener = listener = Listener(self._loop, host, port, self._accepted, self._stream_failed)
        self._node.on_open.append(self._node_opened)
        if not self._node.is_open:
            listener.shut()
        return listener.host, listener.port

    def _stream_failed(self, error: Exception, where: str) -> None:
        self._log.error("an error in a connection", error, where=where)

    def _node_opened(self, opened: bool) -> None:
        """Listen or refuse connections, as the broker does."""
        if self._listener is None or self._closing:
            return
        if opened:
            self._listener.listen()
        else:
            self._listener.shut()
            for connection in tuple(self.connections):
                connection.cut("the broker went away")

    def _accepted(self, stream: TcpStream) -> TcpConnection | None:
        if len(self.connections) >= self._max_connections:
            self._log.warning(
                "refused a connection",
                reason=f"{self._max_connections} are open, which is the most there may be (max.connections)",
                client=f"{stream.peer[0]}:{stream.peer[1]}",
                broker=self._node.host.name,
            )
            return None
        connection = TcpConnection(
            self._loop,
            self._network,
            self._node,
            stream,
            self._codec,
            self._names,
            self._log,
            self._memory,
            self._closed,
        )
        self.connections[connection] = None
        self._network.register(connection)
        return connection

    def _closed(self, connection: TcpConnection) -> None:
        self.connections.pop(connection, None)

    def close_idle(self, since_us: int) -> None:
        """Close the connections without a byte since then, except those with an unanswered request."""
        for connection in tuple(self.connections):
            if connection.active_us < since_us and not connection.busy:
                connection.kick("idle for too long (connections.max.idle.ms)")

    def close_unread(self, since_us: int) -> None:
        """Close the connections whose client has read nothing of its response since then."""
        for connection in tuple(self.connections):
            if connection.unsent and connection.active_us < since_us:
                connection.kick("its responses are not read")

    def stop_listening(self) -> None:
        """Close the port; connections stay open."""
        self._closing = True
        if self._listener is not None:
            self._listener.close()

    def answer_parked(self) -> None:
        """Answer parked requests: group requests as at the coordinator's shutdown, long polls without records."""
        if self._node.host.alive and not self._node.host.paused:
            self._node.groups.stop()
        for connection in tuple(self.connections):
            if connection.busy and isinstance(connection.request, FetchRequest):
                _end_long_poll(connection, connection.request)


def _end_long_poll(connection: TcpConnection, request: FetchRequest) -> None:
    give_up, connection.give_up = connection.give_up, None
    if give_up is not None:
        give_up()
        connection.answer(FetchResponse(partitions=tuple(PartitionData(item.partition) for item in request.partitions)))


class TcpListeners:
    """All ports of a cluster in real time: `open` before clients connect, `close` at the end."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        host: str = "127.0.0.1",
        advertised_host: str | None = None,
        ports: Sequence[int] | int = 0,
        profile: str = "4.x",
        log: Logger | None = None,
        max_connections: int = MAX_CONNECTIONS,
        max_idle_us: int = MAX_IDLE_US,
        max_unread_us: int = MAX_UNREAD_US,
        max_queued_bytes: int = MAX_QUEUED_BYTES,
        max_unsent_bytes: int = MAX_UNSENT_BYTES,
    ) -> None:
        """`ports`: one for each broker, or the first of consecutive ones; 0 means any free port.

        Raises ValueError for an unknown profile, TypeError for a cluster in virtual time.
        """
        if not isinstance(cluster.loop, RealTimeLoop):
            raise TypeError("sockets need a cluster in real time: make it on a RealTimeLoop")
        self._loop = cluster.loop
        self._host = host
        self._advertised = advertised_host
        self._ports = _ports(ports, len(cluster.brokers))
        self._max_idle_us = max_idle_us
        self._max_unread_us = max_unread_us
        self._max_unsent_bytes = max_unsent_bytes
        self._memory = memory = Memory(max_queued_bytes)
        self._log = RateLimitedLog(self._loop, NullLogger() if log is None else log)
        self._addresses: dict[int, tuple[str, int]] = {}
        self._directories = {
            number: NodeDirectory(node, cluster.cluster_id, self._addresses) for number, node in cluster.brokers.items()
        }
        names = Names()
        self._listeners = {
            number: BrokerListener(
                cluster.loop,
                cluster.network,
                node,
                Codec(profile, self._directories[number]),
                names,
                self._log,
                memory,
                max_connections,
            )
            for number, node in cluster.brokers.items()
        }

    @property
    def addresses(self) -> Mapping[int, tuple[str, int]]:
        """Node id → host and port for clients."""
        return self._addresses

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` for clients."""
        return ",".join(f"{host}:{port}" for host, port in self._addresses.values())

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return sum(len(listener.connections) for listener in self._listeners.values())

    @property
    def queued(self) -> int:
        """Bytes of long messages, complete or not (see `memory`)."""
        return self._memory.held

    @property
    def unsent(self) -> int:
        """Bytes of responses that clients have not read."""
        return sum(connection.unsent for listener in self._listeners.values() for connection in listener.connections)

    def directory(self, node: int) -> Directory:
        """Return the names that a broker knows. Raises KeyError for an unknown broker."""
        return self._directories[node]

    async def open(self) -> None:
        """Listen. Raises OSError when an address is not available; then no broker listens."""
        raise_file_limit()
        try:
            for (number, listener), port in zip(self._listeners.items(), self._ports, strict=True):
                host, taken = listener.open(self._host, port)
                self._addresses[number] = (self._advertised or host, taken)
        except OSError:
            for listener in self._listeners.values():
                listener.stop_listening()
            raise
        self._schedule_check()
        self._close_unread_responses(None)

    def _schedule_check(self) -> None:
        every_us = min(_CHECK_INTERVAL_US, self._max_idle_us, self._max_unread_us)
        self._loop.call_at(self._loop.now_us + every_us, self._check)

    def _check(self, _: object) -> None:
        """Close idle connections, unread ones, and one that stops sending a long message others wait for."""
        unread_since_us = self._loop.now_us - self._max_unread_us
        for listener in self._listeners.values():
            listener.close_idle(self._loop.now_us - self._max_idle_us)
            listener.close_unread(unread_since_us)
        slow = self._memory.blocking
        if isinstance(slow, TcpConnection) and slow.active_us < unread_since_us:
            slow.kick("others wait for the rest of its message (queued.max.request.bytes)")
        self._schedule_check()

    def _close_unread_responses(self, _: object) -> None:
        """Close the connections that have read nothing for longest while unread responses exceed their limit."""
        excess = self.unsent - self._max_unsent_bytes
        if excess > 0:
            waiting = [one for listener in self._listeners.values() for one in listener.connections if one.unsent]
            for connection in sorted(waiting, key=lambda one: one.active_us):
                if excess > 0:
                    excess -= connection.unsent
                    reason = "its responses are not read, and all that are not hold too much memory"
                    self._log.warning("closed a connection", reason=reason, connection=repr(connection))
                    connection.cut(reason)
        self._loop.call_at(self._loop.now_us + _UNSENT_CHECK_INTERVAL_US, self._close_unread_responses)

    async def close(self, grace_us: int = 5 * SECOND_US) -> None:
        """End the service (see the module). Takes at most `grace_us`."""
        listeners = self._listeners.values()
        for listener in listeners:
            listener.stop_listening()
        for listener in listeners:
            listener.answer_parked()
        await self._loop.until(lambda: all(c.quiet for listener in listeners for c in listener.connections), grace_us)
        for listener in listeners:
            for connection in tuple(listener.connections):
                connection.close()


def _ports(ports: Sequence[int] | int, brokers: int) -> list[int]:
    """Return one port per broker. Raises ValueError for another number of ports."""
    if isinstance(ports, int):
        return [ports and ports + number for number in range(brokers)]
    if len(ports) != brokers:
        raise ValueError(f"{len(ports)} ports for {brokers} brokers: give one for each, or the first of them")
    return list(ports)


def raise_file_limit() -> None:
    """Raise the limit of open files for all connections, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(limit, soft), hard))
