"""The facts about a client's group and topics that are in events of other processes."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.values import define

COOPERATIVE = "cooperative-sticky"


@define
class Known:
    """The facts about groups and topics that clients learn from answers, collected from events of other processes."""

    rounds: dict[str, tuple[int, str]] = field(factory=dict)  # group → its generation and protocol
    given: dict[str, Mapping[str, list[str]]] = field(factory=dict)  # group → the leader's assignment by member
    leaders: dict[str, tuple[int, int]] = field(factory=dict)  # partition → its leader's node id, and the epoch
    chosen: dict[str, tuple[str, int]] = field(factory=dict)  # group → its leader, and its number of members

    def note(self, event: TraceEvent) -> None:
        """Store the facts of an event."""
        payload = event.payload or {}
        if event.kind is Kind.GROUP_STATE and event.group and payload.get("protocol"):
            self.rounds[event.group] = (event.generation or 0, str(payload["protocol"]))
            members = payload.get("members", 0)
            self.chosen[event.group] = (
                str(payload.get("leader") or ""),
                len(members) if isinstance(members, list | tuple) else members,
            )
        elif event.kind is Kind.ASSIGNMENT_COMPUTED and event.group:
            self.given[event.group] = payload.get("assignment") or {}
        elif event.kind is Kind.PARTITION_LEADER and str(event.to).isdigit():
            self.leaders[f"{event.topic}-{event.partition}"] = (int(str(event.to)), payload.get("epoch", 0))
