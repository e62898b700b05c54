"""What an assignor of the group coordinator gets and returns.

Kafka passes maps whose order decides ties, so the values here are in Kafka's order: members as the coordinator iterates
over them, topics of a member as its subscription's set yields them, partitions of a target as its set yields them.

Sources: `ConsumerGroupPartitionAssignor`, `GroupSpec`, `SubscribedTopicDescriber`; consumer-protocol reference, 1.11.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol, TypeAlias

from attrs import field

from groupsim.protocol.values import value

Target: TypeAlias = Mapping[str, tuple[int, ...]]
"""The partitions of one member, by topic id."""


class AssignmentFailed(Exception):
    """The assignor cannot compute a target (`PartitionAssignorException`); the heartbeat gets UNKNOWN_SERVER_ERROR."""


@value
class ServerMember:
    """One member: its subscription as topic ids, resolved names and regular expressions together, and its target.

    `missing` is the number of topics of its subscription that do not exist; they have no id.
    """

    member_id: str
    topics: tuple[str, ...]
    target: Target
    instance_id: str | None = None
    rack_id: str | None = None
    missing: int = 0


@value
class ServerGroup:
    """The members of a group. `homogeneous`: all of them subscribe to the same topics, by names or by one regex.

    `lost` are partitions that count as assigned (`GroupSpec.isPartitionAssigned`), though no member has them in its
    target: those of a member whose id a returning instance has taken over.
    """

    members: tuple[ServerMember, ...]
    homogeneous: bool
    lost: Target = field(factory=dict)


class Topics(Protocol):
    """The broker's metadata of topics, by id."""

    def partitions(self, topic_id: str) -> int | None:
        """Return the number of partitions; None for a topic that does not exist."""

    def racks(self, topic_id: str, partition: int) -> frozenset[str]:
        """Return the racks of the replicas of a partition; empty when they are unknown."""


class ServerAssignor(ABC):
    """An assignor of the group coordinator. A user's own one inherits from this class; it must be deterministic."""

    #: The name in `group.consumer.assignors` and in the member's `group.remote.assignor`.
    name: str

    @abstractmethod
    def assign(self, group: ServerGroup, topics: Topics) -> Mapping[str, Target]:
        """Return the new target of each member; a member without an entry has no partitions.

        A target that does not change may be returned as the same object. Raises AssignmentFailed.
        """


def partition_count(topics: Topics, topic_id: str) -> int:
    """Return the number of partitions of a subscribed topic. Raises AssignmentFailed for one that does not exist."""
    count = topics.partitions(topic_id)
    if count is None:
        raise AssignmentFailed(f"a member subscribes to the topic with id {topic_id}, which does not exist")
    return count
