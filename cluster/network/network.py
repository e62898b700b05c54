"""The simulated network: connections between client processes and brokers, and their faults.

`Network` is the clients' `Transport`. It has the open connections in the order of opening, and applies faults to the
affected ones; a connection without faults is `plain` and does not consult the faults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from groupsim.cluster.network.broker_connection import BrokerConnection
from groupsim.cluster.network.causes import caused_by
from groupsim.cluster.network.connection import Connection
from groupsim.cluster.network.faults import Fault, Match, MessageFault
from groupsim.cluster.network.injection import FaultHandle
from groupsim.cluster.network.latency import Draws
from groupsim.cluster.network.link_faults import Condition, LinkFaults
from groupsim.cluster.network.message_faults import MessageFaults
from groupsim.cluster.network.sockets import CorrelationIds
from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.quantiles import Constant
from groupsim.protocol.messages.releases import BASELINE
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.cluster.network.endpoint import Endpoint


class Roles(Protocol):
    """The hosts that have a role at the moment; the owner of the simulation implements it."""

    def role(self, name: str, group: str | None) -> str | None:
        """Return the host of a role ("leader", "coordinator") in a group; None for a vacant role."""

    def member(self, index: int, group: str | None) -> str | None:
        """Return the host of the member with this index; None without one."""


class NoRoles:
    """No roles: the network itself knows hosts only."""

    def role(self, name: str, group: str | None) -> str | None:
        return None

    def member(self, index: int, group: str | None) -> str | None:
        return None


@frozen
class Timing:
    """The latency of one segment, and a broker's time for one request."""

    latency: Distribution
    processing: Distribution


class Network:
    """All connections of a run; implements `members.interfaces.Transport`."""

    def __init__(self, loop: EventLoop, timing: Timing, release: str = BASELINE) -> None:
        self.loop = loop
        self.timing = timing
        self.release = release
        self.link_faults = LinkFaults()
        self.message_faults = MessageFaults(self)
        self.roles: Roles = NoRoles()
        self.clocked = False  #: whether consumers' long polls have timers
        self.watchers: list[
            Callable[[], None]
        ] = []  #: called when a message fault begins; `link_faults` has watchers of its own
        self._brokers: Mapping[int, Endpoint] = {}
        self._nodes: Mapping[int, Endpoint] = {}
        self._connections: dict[BrokerConnection, None] = {}
        self._opened: dict[tuple[str, int, str], int] = {}
        self._ids: dict[str, CorrelationIds] = {}

    def attach(self, brokers: Mapping[int, Endpoint], others: Mapping[int, Endpoint] | None = None) -> None:
        """Set the brokers and the other endpoints (the controller), before the first connection."""
        self._brokers = brokers
        self._nodes = {**brokers, **(others or {})}

    def add_endpoint(self, node: int, other: Endpoint) -> None:
        """Add an endpoint (ZooKeeper), after `attach`."""
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
        connection = (broker.connection_class or Connection)(
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
        if self.link_faults.conditions or self.message_faults:
            self._update_conditions(connection)
        connection.handshake()
        self._refuse(connection)
        return connection

    def _ids_of(self, host: str) -> CorrelationIds:
        """Return the correlation ids of a client's host."""
        ids = self._ids.get(host)
        if ids is None:
            ids = self._ids[host] = CorrelationIds()
        return ids

    def register(self, connection: BrokerConnection) -> None:
        """Add a real client's connection, which faults affect from now on by its names (see `renamed`)."""
        self._connections[connection] = None
        self.renamed(connection)

    def renamed(self, connection: BrokerConnection) -> None:
        """Apply the faults that match the new name or purpose of a real client's connection."""
        self._update_conditions(connection)
        self._refuse(connection)

    def _processing(self, entity: str, number: int) -> Draws | int:
        """Return a broker's time for each request of a connection: a number when it is constant."""
        processing = self.timing.processing
        if isinstance(processing, Constant):
            return processing.us
        return Draws(processing, self.loop.stream("processing", entity, number))

    def _refuse(self, connection: BrokerConnection) -> None:
        """Refuse a new connection because of a fault or a closed port."""
        condition = None
        if self.link_faults.conditions:
            condition = self.link_faults.refuses(connection.host_name, connection.broker_host.name, connection.purpose)
        if condition is not None:
            with caused_by(self.loop.trace, condition.seq):
                connection.refuse()
        elif not connection.broker.is_open:
            connection.refuse()

    # --- connections -----------------------------------------------------------------------------------------

    @property
    def connections(self) -> tuple[BrokerConnection, ...]:
        """The open connections, oldest first."""
        return tuple(self._connections)

    def remove(self, connection: BrokerConnection) -> None:
        """Remove a closed connection."""
        self._connections.pop(connection, None)

    def set_clocked(self, clocked: bool) -> None:
        """Give consumers' long polls timers, or none (`Connection.time_long_poll`)."""
        if clocked and not self.clocked:
            for connection in self.connections:
                connection.time_long_poll()
        self.clocked = clocked

    def cut_broker(self, name: str, reason: str) -> None:
        """Break every connection of a broker, as its crash does."""
        for connection in self.affected(Condition(host=name)):
            connection.cut(reason)

    def affected(self, condition: Condition) -> list[BrokerConnection]:
        """Return the connections that a condition affects."""
        return [c for c in self._connections if condition.covers(c.host_name, c.broker_host.name, c.purpose)]

    # --- faults ----------------------------------------------------------------------------------------------

    def inject(self, fault: Fault) -> FaultHandle:
        """Put a fault in force; the handle counts its hits and can end it."""
        handle = FaultHandle(self, fault)
        handle.begin()
        return handle

    def resolve(self, match: Match) -> str | None:
        """Return the pattern of host names of a match; None for a vacant role."""
        if match.role is not None:
            return self.roles.role(match.role, match.group)
        if match.member is not None:
            return self.roles.member(match.member, match.group)
        return match.host or "*"

    def impose(self, condition: Condition) -> int:
        """Put a condition in force on links; return the number of affected connections."""
        self.link_faults.add(condition)
        affected = self.affected(condition)
        for connection in affected:
            self._update_conditions(connection)
        return len(affected)

    def lift(self, condition: Condition) -> None:
        """Lift a condition and send what it has stalled."""
        self.link_faults.remove(condition)
        for connection in self.affected(condition):
            connection.release_from(condition)
            self._update_conditions(connection)

    def add_message_fault(self, fault: MessageFault, handle: FaultHandle) -> None:
        """Put a message fault in force."""
        self.message_faults.add(fault, handle)
        for connection in self._connections:
            self._update_conditions(connection)
        for watcher in self.watchers:
            watcher()

    def remove_message_fault(self, handle: FaultHandle) -> None:
        """Lift a message fault."""
        self.message_faults.remove(handle)
        for connection in self._connections:
            self._update_conditions(connection)

    def _update_conditions(self, connection: BrokerConnection) -> None:
        """Recompute the faults of a connection."""
        if self.link_faults.conditions:
            names = (connection.host_name, connection.broker_host.name, connection.purpose)
            connection.impose(self.link_faults.between(*names))
        connection.update_plain(bool(self.message_faults))
