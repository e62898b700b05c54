"""The vote for the protocol (assignor) of a round, and the topics that its members subscribe to.

Candidates are the names that every member offers. Each member votes for the first candidate in its own list, and the
name with most votes wins. A tie goes to the name that comes first in Java's `HashMap` order, which does not depend on
the order of the votes: `sticky`, then `range`, `roundrobin`, `cooperative-sticky`. The Scala coordinator, up to 3.9,
had another map, with exactly the opposite order.

Source: `ClassicGroup.selectProtocol`, `supportsProtocols`, `computeSubscribedTopics`; classic-protocol reference, 2.3.
"""

from __future__ import annotations

from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.states import EMPTY
from groupsim.protocol.embedded.consumer_protocol import decode_topics_v0_prefix
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.javahash import JavaHashMap
from groupsim.protocol.messages.group import JoinProtocol
from groupsim.protocol.scalahash import scala_map_order


def candidates(group: GroupData) -> dict[str, None]:
    """Return the protocol names that every member offers."""
    everyone = len(group.members)
    return {name: None for name, count in group.supported.items() if count == everyone}


def select_protocol(group: GroupData, *, in_scala_order: bool = False) -> str:
    """Return the winner of the vote; with `in_scala_order` ties go as in the Scala coordinator.

    Raises IllegalState for a group without members.
    """
    if not group.members:
        raise IllegalState(f"group {group.group_id} has no members to choose a protocol")
    names = candidates(group)
    votes: dict[str, int] = {}
    for member in group.members.values():
        choice = member.vote(names)
        votes[choice] = votes.get(choice, 0) + 1
    return max(scala_map_order(votes) if in_scala_order else JavaHashMap(votes), key=votes.__getitem__)


def supports(group: GroupData, protocol_type: str, protocols: tuple[JoinProtocol, ...]) -> bool:
    """Whether a member with these protocols may join.

    The sender's own present entry counts among the members: a sole member cannot change to another protocol
    (`ClassicGroup.supportsProtocols`).
    """
    if group.state is EMPTY:
        return bool(protocol_type and protocols)
    if group.protocol_type is None or group.protocol_type != protocol_type:
        return False
    everyone, supported = len(group.lookup), group.supported
    for protocol in protocols:  # noqa: SIM110 - the generator for `any` costs more than the comparison
        if supported.get(protocol.name, 0) == everyone:
            return True
    return False


def subscribed_topics(group: GroupData) -> frozenset[str] | None:
    """Return the subscribed topics, read as version 0 of the consumer protocol; None when they cannot be decoded."""
    if not group.is_consumer:
        return None
    if not group.members:
        return frozenset()
    if group.protocol is None:
        return None
    distinct = {member.metadata(group.protocol): None for member in group.members.values()}
    try:
        return frozenset(topic for metadata in distinct for topic in decode_topics_v0_prefix(metadata))
    except ProtocolError:
        return None
