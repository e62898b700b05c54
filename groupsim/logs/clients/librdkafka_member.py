"""What a librdkafka consumer is in while it logs: its coordinator, its join state, its partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import define, field

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.logs.clients.known import COOPERATIVE, Known
from groupsim.logs.clients.librdkafka_words import ERRORS

Words = Iterator[tuple[str, Mapping[str, object]]]
WITHOUT = "without an assignment"


@define
class Member:
    """One consumer, as its log knows it; what changes its states yields the lines of that."""

    group: str
    known: Known = field(factory=Known)
    state: str = "query-coord"  # what it does about its coordinator
    join: str = "init"
    held: dict[str, None] = field(factory=dict)  # the partitions that are assigned to it
    gone: int = 0  # so many of them its last assignment takes away
    topics: int = 1
    node: int = -1
    asks: str = ""  # why it asks for the coordinator, if not by habit
    asking: bool = False
    id: str = ""  # as the coordinator gave it
    called: bool = False  # what is revoked is revoked for a rebalance
    assigned: bool = False  # it has had an assignment, and knows the protocol
    given_id: bool = False  # it was told to join again with a member id
    left: bool = False  # it gave its member id back, for good
    why: str = ""  # how its assignment was lost

    def values(self, event: TraceEvent) -> dict[str, object]:
        """What every template may need of an event."""
        return {
            "told": f'Group "{self.group}":',
            "said": f'Group "{self.group}"',
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
        """Whether the assignor that was chosen moves partitions by parts."""
        return self.known.rounds.get(self.group, (-1, ""))[1] == COOPERATIVE

    def joins(self, new: str) -> Words:
        """A line for another join state."""
        old, self.join = self.join, new
        if new != old:
            yield "join-state", {"old": old, "new": new}

    def turns(self, new: str) -> Words:
        """A line for another state of the coordinator."""
        old, self.state = self.state, new
        if new != old:
            yield "state", {"old": old, "new": new}

    def named(self, new: str) -> Words:
        """A line for another member id."""
        old, self.id = self.id, new
        if new != old:
            yield "member-id", {"old": old, "new": new}

    def rejoins(self, why: str) -> Words:
        """It begins to join again."""
        some = self.held or (self.cooperative and self.join == "steady")
        yield "rejoin", {"with_owned": f"with {len(self.held)} owned partition(s)" if some else WITHOUT, "why": why}
        yield from self.joins("init")
