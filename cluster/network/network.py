"""The simulated network: connections between client processes and brokers, and the faults that befall them.

`Network` is the clients' `Transport`. It keeps the connections that are up, in the order they were opened, and hands
faults to those they concern; a connection without faults (`plain`) never asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from groupsim.cluster.network.broker_connection import BrokerConnection
from groupsim.cluster.network.causes import caused_by
from groupsim.cluster.network.connection import Connection
from groupsim.cluster.network.faults import Fault, Match, MessageFault
from groupsim.cluster.network.injection import FaultHandle
from groupsim.cluster.network.latency import Draws
from groupsim.cluster.network.link_faults import Condition, Links
from groupsim.cluster.network.message_faults import Taps
from groupsim.cluster.network.sockets import Correlations
from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.quantiles import Constant
from groupsim.protocol.messages.releases import BASELINE

if TYPE_CHECKING:
    from groupsim.cluster.network.endpoint import Endpoint


class Roles(Protocol):
    """Who plays a part just now; whoever wires the simulation together knows."""

    def role(self, name: str, group: str | None) -> str | None:
        """The host that has the role ("leader", "coordinator") in a group; None when nobody has."""

    def member(self, index: int, group: str | None) -> str | None:
        """The host of the member of that index."""


class NoRoles:
    """Nobody plays any part: the network alone knows hosts only."""

    def role(self, name: str, group: str | None) -> str | None:
        return None

    def member(self, index: int, group: str | None) -> str | None:
        return None


@frozen
class Timing:
    """How long things take: one segment on the wire, one request in a broker."""

    latency: Distribution
    processing: Distribution


class Network:
    """All connections of a run; implements `members.interfaces.Transport`."""

    def __init__(self, loop: EventLoop, timing: Timing, release: str = BASELINE) -> None:
        self.loop = loop
        self.timing = timing
        self.release = release
        self.links = Links()
        self.taps = Taps(self)
        self.roles: Roles = NoRoles()
        self.clocked = False  #: consumers' long polls have timers; else a quiet one waits for free
        self.watchers: list[Callable[[], None]] = []  #: told when faults of messages come and go; `links` has its own
        self._brokers: Mapping[int, Endpoint] = {}
        self._nodes: Mapping[int, Endpoint] = {}
        self._connections: dict[BrokerConnection, None] = {}
        self._opened: dict[tuple[str, int, str], int] = {}
        self._ids: dict[str, Correlations] = {}

    def attach(self, brokers: Mapping[int, Endpoint], others: Mapping[int, Endpoint] | None = None) -> None:
        """Say which brokers there are, and who else can be reached (the controller); before anybody connects."""
        self._brokers = brokers
        self._nodes = {**brokers, **(others or {})}

    def reach(self, node: int, other: Endpoint) -> None:
        """Add somebody who can be reached (ZooKeeper); after `attach`."""
        self._nodes = {**self._nodes, node: other}

    # --- members.interfaces.Transport ------------------------------------------------------------------------

    @property
    def bootstrap(self) -> tuple[int, ...]:
        """Node ids of all brokers, in order."""
        return tuple(self._brokers)

    def connect(self, host: str, client_id: str, node: int, purpose: str) -> Connection:
        """See `members.interfaces.Transport.connect`. Raises `LookupError` for a node that does not exist."""
        broker = self._nodes.get(node)
        if broker is None:
            raise LookupError(f"{host} connects to broker {node}; there are {list(self._nodes)}")
        number = self._opened[host, node, purpose] = self._opened.get((host, node, purpose), -1) + 1
        entity = f"{host}->{broker.host.name}/{purpose}"
        connection = (broker.connects or Connection)(
            self,
            broker,
            self.loop.host(host),
            client_id,
            purpose=purpose,
            number=number,
            stream=self.loop.stream("latency", entity, number),
            processing=self._processing(entity, number),
            ids=self._ids_of(host),
        )
        self._connections[connection] = None
        if self.links.conditions or self.taps:
            self._touch(connection)
        connection.handshake()
        self._refuse(connection)
        return connection

    def _ids_of(self, host: str) -> Correlations:
        """The correlation ids of a client's host."""
        ids = self._ids.get(host)
        if ids is None:
            ids = self._ids[host] = Correlations()
        return ids

    def adopt(self, connection: BrokerConnection) -> None:
        """A connection that came from outside: faults concern it from now on, by the names it has (see `renamed`)."""
        self._connections[connection] = None
        self.renamed(connection)

    def renamed(self, connection: BrokerConnection) -> None:
        """A connection from outside has another name or purpose than before: see which faults concern it."""
        self._touch(connection)
        self._refuse(connection)

    def _processing(self, entity: str, number: int) -> Draws | int:
        """How long a broker takes for each request of a connection: a number when it is always the same."""
        processing = self.timing.processing
        if isinstance(processing, Constant):
            return processing.us
        return Draws(processing, self.loop.stream("processing", entity, number))

    def _refuse(self, connection: BrokerConnection) -> None:
        """Break a new connection that a fault or a dead broker refuses."""
        condition = None
        if self.links.conditions:
            condition = self.links.refuses(connection.host_name, connection.broker_host.name, connection.purpose)
        if condition is not None:
            with caused_by(self.loop.trace, condition.seq):
                connection.refuse()
        elif not connection.broker.is_open:
            connection.refuse()

    # --- connections -----------------------------------------------------------------------------------------

    @property
    def connections(self) -> tuple[BrokerConnection, ...]:
        """The connections that are up, oldest first."""
        return tuple(self._connections)

    def forget(self, connection: BrokerConnection) -> None:
        """A connection is gone; it says so itself."""
        self._connections.pop(connection, None)

    def go_by_the_clock(self, trouble: bool) -> None:
        """While something is wrong consumers' long polls are taken one by one (`Connection.go_by_the_clock`)."""
        if trouble and not self.clocked:
            for connection in self.connections:
                connection.go_by_the_clock()
        self.clocked = trouble

    def cut_broker(self, name: str, reason: str) -> None:
        """Break every connection of a broker, as its crash does."""
        for connection in self.concerned(Condition(host=name)):
            connection.cut(reason)

    def concerned(self, condition: Condition) -> list[BrokerConnection]:
        """The connections that a condition concerns."""
        return [c for c in self._connections if condition.covers(c.host_name, c.broker_host.name, c.purpose)]

    # --- faults ----------------------------------------------------------------------------------------------

    def inject(self, fault: Fault) -> FaultHandle:
        """Make a fault happen from now on; the handle counts its hits and can end it."""
        handle = FaultHandle(self, fault)
        handle.begin()
        return handle

    def resolve(self, match: Match) -> str | None:
        """The pattern of host names a match stands for; None when nobody plays the part."""
        if match.role is not None:
            return self.roles.role(match.role, match.group)
        if match.member is not None:
            return self.roles.member(match.member, match.group)
        return match.host or "*"

    def impose(self, condition: Condition) -> int:
        """Put a condition in force on links; returns how many connections it concerns."""
        self.links.add(condition)
        concerned = self.concerned(condition)
        for connection in concerned:
            self._touch(connection)
        return len(concerned)

    def lift(self, condition: Condition) -> None:
        """Lift a condition; what waited for its end goes out."""
        self.links.remove(condition)
        for connection in self.concerned(condition):
            connection.release_from(condition)
            self._touch(connection)

    def tap(self, fault: MessageFault, handle: FaultHandle) -> None:
        """Let a fault look at every message."""
        self.taps.add(fault, handle)
        for connection in self._connections:
            self._touch(connection)
        for watcher in self.watchers:
            watcher()

    def untap(self, handle: FaultHandle) -> None:
        """Let it look no more."""
        self.taps.remove(handle)
        for connection in self._connections:
            self._touch(connection)

    def _touch(self, connection: BrokerConnection) -> None:
        """Recompute what concerns a connection."""
        if self.links.conditions:
            names = (connection.host_name, connection.broker_host.name, connection.purpose)
            connection.impose(self.links.between(*names))
        connection.settle(bool(self.taps))
