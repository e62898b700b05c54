"""The state of a librdkafka consumer for its log: coordinator, join state, partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.logs.clients.known import COOPERATIVE, Known
from groupsim.logs.clients.librdkafka_words import ERRORS
from groupsim.protocol.values import define

Words = Iterator[tuple[str, Mapping[str, object]]]
WITHOUT = "without an assignment"


@define
class Member:
    """The state of one consumer; methods that change it yield the lines of the change."""

    group: str
    known: Known = field(factory=Known)
    state: str = "query-coord"  # the state of its coordinator
    join: str = "init"
    held: dict[str, None] = field(factory=dict)  # assigned partitions
    gone: int = 0  # number of partitions that its last assignment revokes
    topics: int = 1
    node: int = -1
    asks: str = ""  # why it sends FindCoordinator, unless by its timer
    asking: bool = False
    id: str = ""  # the member id from the coordinator
    called: bool = False  # partitions are revoked for a rebalance
    assigned: bool = False  # it has had an assignment, and knows the protocol
    given_id: bool = False  # its JoinGroup was answered MEMBER_ID_REQUIRED
    left: bool = False  # it leaves the group for good
    why: str = ""  # why its assignment was lost

    def values(self, event: TraceEvent) -> dict[str, object]:
        """Return the values of an event for the templates."""
        return {
            "head": f'Group "{self.group}":',
            "name": f'Group "{self.group}"',
            "group": self.group,
            "broker": f"broker-{self.node}:9092/{self.node}",
            "node": self.node,
            "state": self.state,
            "join": self.join,
            "topics": self.topics,
            "owned": len(self.held),
            "kind": "COOPERATIVE" if self.cooperative else "EAGER",
            "error": ERRORS.get(event.error or "", event.error or ""),
        }

    @property
    def cooperative(self) -> bool:
        """Whether the chosen assignor is cooperative."""
        return self.known.rounds.get(self.group, (-1, ""))[1] == COOPERATIVE

    def joins(self, new: str) -> Words:
        """Change the join state, with its line."""
        old, self.join = self.join, new
        if new != old:
            yield "join-state", {"old": old, "new": new}

    def turns(self, new: str) -> Words:
        """Change the state of the coordinator, with its line."""
        old, self.state = self.state, new
        if new != old:
            yield "state", {"old": old, "new": new}

    def named(self, new: str) -> Words:
        """Change the member id, with its line."""
        old, self.id = self.id, new
        if new != old:
            yield "member-id", {"old": old, "new": new}

    def rejoins(self, why: str) -> Words:
        """Start to rejoin, with its lines."""
        some = self.held or (self.cooperative and self.join == "steady")
        yield "rejoin", {"with_owned": f"with {len(self.held)} owned partition(s)" if some else WITHOUT, "why": why}
        yield from self.joins("init")
