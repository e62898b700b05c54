"""The state of links between hosts while faults last: who waits for whom, who is slowed down, who is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from attrs import frozen

from groupsim.cluster.network.bandwidth import Bandwidth, Lane
from groupsim.protocol.messages.group import Request, Response
from groupsim.protocol.messages.sizes import request_bytes, response_bytes

if TYPE_CHECKING:
    from groupsim.cluster.network.broker_connection import BrokerConnection


CLIENTS = "clients"
"""In place of a purpose: any connection of a client, none that brokers have to each other or the controller."""
_OF_BROKERS = ("replication", "controller")


def is_meant(wanted: str | None, purpose: str) -> bool:
    """Whether a connection of this purpose is meant: by None every one, by `CLIENTS` every client's."""
    if wanted is None or wanted == purpose:
        return True
    return wanted == CLIENTS and purpose not in _OF_BROKERS


@frozen(eq=False)
class Condition:
    """One fault at work on links: between `host` and `peer` (patterns), of one `purpose` or of all.

    `out` and `in_` hold back what `host` sends and what is sent to it; `seq` is the fault's event in the trace.
    `link` is what all that it concerns has to pass, and shares with others that have the same.
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
        """Whether a connection between these two is concerned."""
        if not is_meant(self.purpose, purpose):
            return False
        ends = fnmatchcase(one, self.host) and fnmatchcase(other, self.peer)
        return ends or (fnmatchcase(other, self.host) and fnmatchcase(one, self.peer))

    def lane(self, client: str, to_broker: bool) -> Lane | None:
        """The direction of the limited link that a message takes on a connection which `client` has opened."""
        link = self.link
        if link is None:
            return None
        return link.out if fnmatchcase(client, self.host) == to_broker else link.in_


SILENT = Condition(host="broker-*", out=True)
"""On one connection: the broker's side falls silent for good (a lost response that nothing follows)."""


class Links:
    """The conditions in force, and what they do to one connection or one pair of hosts."""

    def __init__(self) -> None:
        self.conditions: list[Condition] = []
        self.watchers: list[Callable[[], None]] = []

    def between(self, one: str, other: str, purpose: str) -> list[Condition]:
        """The conditions that concern a connection between two hosts."""
        return [c for c in self.conditions if c.covers(one, other, purpose)]

    def refuses(self, client: str, broker: str, purpose: str) -> Condition | None:
        """The condition that refuses a new connection, if any."""
        return next((c for c in self.between(client, broker, purpose) if c.refuse), None)

    def add(self, condition: Condition) -> None:
        """Put a condition in force and tell the watchers."""
        self.conditions.append(condition)
        self.changed()

    def remove(self, condition: Condition) -> None:
        """Lift a condition and tell the watchers."""
        self.conditions.remove(condition)
        self.changed()

    def changed(self) -> None:
        """Tell everybody who planned ahead that links have changed."""
        for watcher in self.watchers:
            watcher()

    def holds_out(self, connection: BrokerConnection) -> bool:
        """Whether a request has to wait at the client."""
        ends = (connection.host_name, connection.broker_host.name)
        return any(c.holds(*ends) for c in connection.conditions)

    def holds_in(self, connection: BrokerConnection) -> bool:
        """Whether a response has to wait at the broker."""
        ends = (connection.broker_host.name, connection.host_name)
        return any(c.holds(*ends) for c in connection.conditions)

    def stretch(self, connection: BrokerConnection, latency: int) -> int:
        """A latency under the conditions of a connection."""
        return stretched(latency, connection.conditions)

    def request_queues_us(self, connection: BrokerConnection, request: Request, now_us: int) -> int:
        """How long a request takes to leave the limited links on its way, behind what was sent before it."""
        lanes = _lanes(connection, True)
        return _send_on(lanes, now_us, request_bytes(request, connection.client_id)) if lanes else 0

    def response_queues_us(self, connection: BrokerConnection, response: Response, now_us: int) -> int:
        """The same for a response."""
        lanes = _lanes(connection, False)
        return _send_on(lanes, now_us, response_bytes(response)) if lanes else 0

    def bytes_queue_us(self, connection: BrokerConnection, to_broker: bool, size: int, now_us: int) -> int:
        """The same for a message of `size` bytes, in either direction."""
        return _send_on(_lanes(connection, to_broker), now_us, size)

    def waits_us(self, connection: BrokerConnection, to_broker: bool, now_us: int) -> int:
        """How long a message whose size does not count waits for those before it."""
        return max((lane.waits_us(now_us) for lane in _lanes(connection, to_broker)), default=0)


def _lanes(connection: BrokerConnection, to_broker: bool) -> list[Lane]:
    """The limited links, each in one direction and once, that messages on a connection have to pass."""
    client = connection.host_name
    lanes = (condition.lane(client, to_broker) for condition in connection.conditions)
    return list(dict.fromkeys(lane for lane in lanes if lane is not None))


def _send_on(lanes: Sequence[Lane], now_us: int, size: int) -> int:
    """Put a message on all of these at once; returns how long it takes to leave the slowest, in µs."""
    return max((lane.send(now_us, size) for lane in lanes), default=0)


def stretched(latency: int, conditions: Sequence[Condition]) -> int:
    """A latency under conditions: each multiplies, then adds."""
    for condition in conditions:
        latency = latency * condition.percent // 100 + condition.add_us
    return latency
