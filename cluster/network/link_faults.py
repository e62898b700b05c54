"""Faults of links between hosts in force: stalls, added latencies, limited bandwidths, refused connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from groupsim.cluster.network.bandwidth import Bandwidth, LinkDirection
from groupsim.protocol.messages.group import Request, Response
from groupsim.protocol.messages.sizes import request_bytes, response_bytes
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.cluster.network.broker_connection import BrokerConnection


CLIENTS = "clients"
"""Instead of a purpose: every connection of a client, none between brokers and none to the controller."""
_OF_BROKERS = ("replication", "controller")


def has_purpose(wanted: str | None, purpose: str) -> bool:
    """Whether a purpose matches: None matches every purpose, `CLIENTS` every client's."""
    if wanted is None or wanted == purpose:
        return True
    return wanted == CLIENTS and purpose not in _OF_BROKERS


@frozen(eq=False)
class Condition:
    """One fault in force on links: between `host` and `peer` (patterns), of one `purpose` or of all.

    `out` and `in_` stall segments from `host` and to it; `seq` is the fault's event in the trace. Every message of an
    affected connection passes `link`, which several conditions may share.
    """

    host: str
    peer: str = "*"
    purpose: str | None = None
    seq: int = 0
    out: bool = False
    in_: bool = False
    refuse: bool = False
    add_us: int = 0
    percent: int = 100
    link: Bandwidth | None = None

    def holds(self, sender: str, receiver: str) -> bool:
        """Whether a segment from one to the other has to wait."""
        leaving = self.out and fnmatchcase(sender, self.host) and fnmatchcase(receiver, self.peer)
        return leaving or (self.in_ and fnmatchcase(receiver, self.host) and fnmatchcase(sender, self.peer))

    def covers(self, one: str, other: str, purpose: str) -> bool:
        """Whether the condition affects a connection between these hosts."""
        if not has_purpose(self.purpose, purpose):
            return False
        ends = fnmatchcase(one, self.host) and fnmatchcase(other, self.peer)
        return ends or (fnmatchcase(other, self.host) and fnmatchcase(one, self.peer))

    def direction(self, client: str, to_broker: bool) -> LinkDirection | None:
        """Return the direction of the limited link that a message takes on a connection from `client`."""
        link = self.link
        if link is None:
            return None
        return link.out if fnmatchcase(client, self.host) == to_broker else link.in_


SILENT = Condition(host="broker-*", out=True)
"""On one connection: the broker sends nothing more (after a lost response)."""


class LinkFaults:
    """The conditions in force, and their effect on a connection or a pair of hosts."""

    def __init__(self) -> None:
        self.conditions: list[Condition] = []
        self.watchers: list[Callable[[], None]] = []

    def between(self, one: str, other: str, purpose: str) -> list[Condition]:
        """Return the conditions that affect a connection between two hosts."""
        return [c for c in self.conditions if c.covers(one, other, purpose)]

    def refuses(self, client: str, broker: str, purpose: str) -> Condition | None:
        """Return the condition that refuses a new connection, if any."""
        return next((c for c in self.between(client, broker, purpose) if c.refuse), None)

    def add(self, condition: Condition) -> None:
        """Put a condition in force and call the watchers."""
        self.conditions.append(condition)
        self.changed()

    def remove(self, condition: Condition) -> None:
        """Lift a condition and call the watchers."""
        self.conditions.remove(condition)
        self.changed()

    def changed(self) -> None:
        """Call the watchers, whose plans depend on the links."""
        for watcher in self.watchers:
            watcher()

    def stalls_requests(self, connection: BrokerConnection) -> bool:
        """Whether requests of a connection wait at the client."""
        ends = (connection.host_name, connection.broker_host.name)
        return any(c.holds(*ends) for c in connection.conditions)

    def stalls_responses(self, connection: BrokerConnection) -> bool:
        """Whether responses of a connection wait at the broker."""
        ends = (connection.broker_host.name, connection.host_name)
        return any(c.holds(*ends) for c in connection.conditions)

    def stretch(self, connection: BrokerConnection, latency: int) -> int:
        """Return a latency under the conditions of a connection."""
        return stretched(latency, connection.conditions)

    def request_queues_us(self, connection: BrokerConnection, request: Request, now_us: int) -> int:
        """Return the time until a request has left the limited links, behind earlier messages."""
        links = _link_directions(connection, True)
        return _send_on(links, now_us, request_bytes(request, connection.client_id)) if links else 0

    def response_queues_us(self, connection: BrokerConnection, response: Response, now_us: int) -> int:
        """Return the time until a response has left the limited links, behind earlier messages."""
        links = _link_directions(connection, False)
        return _send_on(links, now_us, response_bytes(response)) if links else 0

    def bytes_queue_us(self, connection: BrokerConnection, to_broker: bool, size: int, now_us: int) -> int:
        """Return the time until a message of `size` bytes has left the limited links, behind earlier messages."""
        return _send_on(_link_directions(connection, to_broker), now_us, size)

    def waits_us(self, connection: BrokerConnection, to_broker: bool, now_us: int) -> int:
        """Return the time that a message of no size waits behind earlier messages."""
        return max((link.waits_us(now_us) for link in _link_directions(connection, to_broker)), default=0)


def _link_directions(connection: BrokerConnection, to_broker: bool) -> list[LinkDirection]:
    """Return the limited links of a connection's messages, each in one direction and once."""
    client = connection.host_name
    links = (condition.direction(client, to_broker) for condition in connection.conditions)
    return list(dict.fromkeys(link for link in links if link is not None))


def _send_on(links: Sequence[LinkDirection], now_us: int, size: int) -> int:
    """Put a message on all of these links at once; return the time until it has left the slowest, in µs."""
    return max((link.send(now_us, size) for link in links), default=0)


def stretched(latency: int, conditions: Sequence[Condition]) -> int:
    """Return a latency under conditions: each multiplies, then adds."""
    for condition in conditions:
        latency = latency * condition.percent // 100 + condition.add_us
    return latency
