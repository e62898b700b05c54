"""`groupsim assign` with an assignor of the coordinator (KIP-848): `uniform`, and its `range` as `server-range`.

Their order of topics follows from topic ids. A topic has the id in the document's `topic_ids`, or else one that is made
from its name. `owned` is the present target of a member. A group is homogeneous when all its members subscribe to the
same topics, or when `subscription_type` states it. A topic of a subscription that has neither an id nor partitions in
the document does not exist for the broker, and is left out, as the broker leaves it out.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from groupsim.assignors.server.interface import ServerAssignor, ServerGroup, ServerMember, Target
from groupsim.assignors.server.range import ServerRange
from groupsim.assignors.server.uniform import ServerUniform
from groupsim.cli.assign.documents import Claimant, Round
from groupsim.protocol.embedded.assignment import GroupAssignment, TopicMetadata
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen

SERVER_ASSIGNORS: Mapping[str, type[ServerAssignor]] = {"uniform": ServerUniform, "server-range": ServerRange}


@frozen
class DocumentTopics:
    """The topics of a document, by id."""

    topics: Mapping[str, TopicMetadata]

    def partitions(self, topic_id: str) -> int | None:
        """Return the number of partitions; None for a topic that the document does not have."""
        topic = self.topics.get(topic_id)
        return None if topic is None else topic.partitions

    def racks(self, topic_id: str, partition: int) -> frozenset[str]:
        """Return the racks of the replicas of a partition; empty when the document has none."""
        racks = self.topics[topic_id].racks
        return frozenset(racks[partition]) if partition < len(racks) else frozenset()


def assign_on_server(assignor: ServerAssignor, one: Round, before: Mapping[str, Any]) -> GroupAssignment:
    """Return the new targets of a round; `before` are those of the round before. Raises AssignmentFailed."""
    ids = {name: one.topic_ids.get(name) or made_id(name) for name in (*one.topics, *one.topic_ids)}
    members = tuple(_member(member, ids, before) for member in one.members)
    alike = len({frozenset(member.topics) for member in members}) <= 1
    group = ServerGroup(members, alike if one.homogeneous is None else one.homogeneous)
    known = DocumentTopics({ids[name]: topic for name, topic in one.topics.items()})
    targets = assignor.assign(group, known)
    names = {topic_id: name for name, topic_id in ids.items()}
    return GroupAssignment({member.member_id: _named(targets.get(member.member_id, {}), names) for member in members})


def made_id(name: str) -> str:
    """Return the id of a topic that has none in the document: 22 characters of base64, made from its name."""
    return urlsafe_b64encode(sha256(name.encode()).digest()[:16]).decode().rstrip("=")


def _member(claimant: Claimant, ids: Mapping[str, str], before: Mapping[str, Any]) -> ServerMember:
    subscription = claimant.subscription
    had = [TopicPartition(*partition) for partition in before.get(subscription.member_id, ())]
    target: dict[str, tuple[int, ...]] = {}
    for topic, partition in subscription.owned if claimant.claims_anything else had:
        if topic in ids:
            target[ids[topic]] = (*target.get(ids[topic], ()), partition)
    topics = tuple(ids[topic] for topic in dict.fromkeys(subscription.topics) if topic in ids)
    return ServerMember(subscription.member_id, topics, target, subscription.instance_id, subscription.rack)


def _named(target: Target, names: Mapping[str, str]) -> tuple[TopicPartition, ...]:
    held = [TopicPartition(names[topic], one) for topic, partitions in target.items() for one in partitions]
    return tuple(sorted(held))
