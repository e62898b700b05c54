"""The ports of a cluster: one per broker, the same for all its lives.

A broker that dies refuses connections, and its port stays ours; when it is back and open to clients it listens there
again. `close` ends the service in good order: nobody new is let in, what is parked is answered (JoinGroup and SyncGroup
as by a coordinator that shuts down, a Fetch with what there is), what was written goes out.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from groupsim.cluster.tcp.connection import TcpConnection
from groupsim.cluster.tcp.directory import NodeDirectory
from groupsim.cluster.tcp.memory import MAX_QUEUED_BYTES, Memory
from groupsim.cluster.tcp.naming import Names
from groupsim.cluster.tcp.rate_limited_log import Complaints, Logger, Silence
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
"""`max.connections` of a broker, unless given; Kafka's own default is none."""
MAX_IDLE_US: Final = 10 * MINUTE_US
"""`connections.max.idle.ms`."""
MAX_UNREAD_US: Final = MINUTE_US
"""How long a client may leave a response unread; Kafka waits for `connections.max.idle.ms`."""
MAX_UNSENT_BYTES: Final = 512 << 20
"""What responses that clients do not read may hold, over all brokers. Kafka's are in files until they are sent."""
_LOOK_EVERY_US: Final = 5 * SECOND_US
_LOOK_AT_UNSENT_US: Final = 250 * MS_US
_SPARE_FILES: Final = 256


class Door:
    """One broker's port and the connections that came in by it."""

    def __init__(
        self,
        loop: RealTimeLoop,
        network: Network,
        node: Broker,
        codec: Codec,
        names: Names,
        complaints: Complaints,
        memory: Memory,
        max_connections: int,
    ) -> None:
        self._loop = loop
        self._network = network
        self._node = node
        self._codec = codec
        self._names = names
        self._complaints = complaints
        self._memory = memory
        self._max_connections = max_connections
        self._listener: Listener | None = None
        self._closing = False
        self.connections: dict[TcpConnection, None] = {}

    def open(self, host: str, port: int) -> tuple[str, int]:
        """Listen; returns address and port. Raises OSError when they cannot be had."""
        self._listener = listener = Listener(self._loop, host, port, self._accepted, self._went_wrong)
        self._node.on_open.append(self._node_opened)
        if not self._node.is_open:
            listener.shut()
        return listener.host, listener.port

    def _went_wrong(self, error: Exception, where: str) -> None:
        self._complaints.error("an error in a connection", error, where=where)

    def _node_opened(self, opened: bool) -> None:
        """The broker takes connections from now on, or no longer."""
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
            self._complaints.warning(
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
            self._complaints,
            self._memory,
            self._forget,
        )
        self.connections[connection] = None
        self._network.adopt(connection)
        return connection

    def _forget(self, connection: TcpConnection) -> None:
        self.connections.pop(connection, None)

    def close_idle(self, since_us: int) -> None:
        """Close the connections on which nothing has moved since then, but for those with a request in hand."""
        for connection in tuple(self.connections):
            if connection.active_us < since_us and not connection.busy:
                connection.kick("idle for too long (connections.max.idle.ms)")

    def close_unread(self, since_us: int) -> None:
        """Close the connections whose client has not taken any of its response since then."""
        for connection in tuple(self.connections):
            if connection.unsent and connection.active_us < since_us:
                connection.kick("its responses are not read")

    def let_nobody_in(self) -> None:
        """Give the port up; connections stay."""
        self._closing = True
        if self._listener is not None:
            self._listener.close()

    def answer_parked(self) -> None:
        """Answer what waits: members of groups by the coordinator's end, long polls with nothing."""
        if self._node.host.alive and not self._node.host.paused:
            self._node.groups.stop()
        for connection in tuple(self.connections):
            if connection.busy and isinstance(connection.request, FetchRequest):
                _end_long_poll(connection, connection.request)


def _end_long_poll(connection: TcpConnection, request: FetchRequest) -> None:
    give_up, connection.give_up = connection.give_up, None
    if give_up is not None:
        give_up()
        connection.answer(
            FetchResponse(partitions=tuple(PartitionData(asked.partition) for asked in request.partitions))
        )


class TcpListeners:
    """All ports of a cluster that runs in real time. `open` before clients come, `close` at the end."""

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
        """`ports`: one for each broker, or the first of as many in a row; 0 is any free one.

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
        self._complaints = Complaints(self._loop, Silence() if log is None else log)
        self._addresses: dict[int, tuple[str, int]] = {}
        self._directories = {
            number: NodeDirectory(node, cluster.cluster_id, self._addresses) for number, node in cluster.brokers.items()
        }
        names = Names()
        self._doors = {
            number: Door(
                cluster.loop,
                cluster.network,
                node,
                Codec(profile, self._directories[number]),
                names,
                self._complaints,
                memory,
                max_connections,
            )
            for number, node in cluster.brokers.items()
        }

    @property
    def addresses(self) -> Mapping[int, tuple[str, int]]:
        """Where clients reach each broker: host and port."""
        return self._addresses

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` for clients."""
        return ",".join(f"{host}:{port}" for host, port in self._addresses.values())

    @property
    def connections(self) -> int:
        """How many connections are up."""
        return sum(len(door.connections) for door in self._doors.values())

    @property
    def queued(self) -> int:
        """Bytes of long messages, whole or not (see `memory`)."""
        return self._memory.held

    @property
    def unsent(self) -> int:
        """Bytes of responses that wait for clients to read."""
        return sum(connection.unsent for door in self._doors.values() for connection in door.connections)

    def directory(self, node: int) -> Directory:
        """What a broker can say of names. Raises KeyError for a broker there is not."""
        return self._directories[node]

    async def open(self) -> None:
        """Listen. Raises OSError when an address cannot be had; then nobody listens."""
        raise_file_limit()
        try:
            for (number, door), port in zip(self._doors.items(), self._ports, strict=True):
                host, taken = door.open(self._host, port)
                self._addresses[number] = (self._advertised or host, taken)
        except OSError:
            for door in self._doors.values():
                door.let_nobody_in()
            raise
        self._look_later()
        self._look_at_unsent(None)

    def _look_later(self) -> None:
        every_us = min(_LOOK_EVERY_US, self._max_idle_us, self._max_unread_us)
        self._loop.call_at(self._loop.now_us + every_us, self._look)

    def _look(self, _: object) -> None:
        """Close what has been idle for too long, and what others wait for in vain."""
        unread_since_us = self._loop.now_us - self._max_unread_us
        for door in self._doors.values():
            door.close_idle(self._loop.now_us - self._max_idle_us)
            door.close_unread(unread_since_us)
        slow = self._memory.in_the_way
        if isinstance(slow, TcpConnection) and slow.active_us < unread_since_us:
            slow.kick("others wait for the rest of its message (queued.max.request.bytes)")
        self._look_later()

    def _look_at_unsent(self, _: object) -> None:
        """When responses hold too much memory, end those of whom has taken nothing for longest, until they do not."""
        excess = self.unsent - self._max_unsent_bytes
        if excess > 0:
            waiting = [one for door in self._doors.values() for one in door.connections if one.unsent]
            for connection in sorted(waiting, key=lambda one: one.active_us):
                if excess > 0:
                    excess -= connection.unsent
                    reason = "its responses are not read, and all that are not hold too much memory"
                    self._complaints.warning("closed a connection", reason=reason, connection=repr(connection))
                    connection.cut(reason)
        self._loop.call_at(self._loop.now_us + _LOOK_AT_UNSENT_US, self._look_at_unsent)

    async def close(self, grace_us: int = 5 * SECOND_US) -> None:
        """End the service: see this module. Takes at most `grace_us`."""
        doors = self._doors.values()
        for door in doors:
            door.let_nobody_in()
        for door in doors:
            door.answer_parked()
        await self._loop.until(lambda: all(c.quiet for door in doors for c in door.connections), grace_us)
        for door in doors:
            for connection in tuple(door.connections):
                connection.close()


def _ports(ports: Sequence[int] | int, brokers: int) -> list[int]:
    """One port per broker. Raises ValueError when there are too few."""
    if isinstance(ports, int):
        return [ports and ports + number for number in range(brokers)]
    if len(ports) != brokers:
        raise ValueError(f"{len(ports)} ports for {brokers} brokers: give one for each, or the first of them")
    return list(ports)


def raise_file_limit(connections: int = MAX_CONNECTIONS) -> None:
    """Ask for as many open files as so many connections take, as far as the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(limit, soft), hard))
