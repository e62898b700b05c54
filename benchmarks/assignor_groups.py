"""Groups for the assignors' benchmarks, as each library's assignors take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from groupsim.protocol.embedded.assignment import MemberSubscription, TopicMetadata


class Group(NamedTuple):
    """Topics by number of partitions, and what each member subscribes to."""

    topics: dict[str, int]
    members: dict[str, list[str]]

    def renamed(self, mark: int) -> Group:
        """The same group under names that nobody has seen yet, for a run in which no cache can help."""
        topics = {f"{name}.{mark}": count for name, count in self.topics.items()}
        members = {f"{name}.{mark}": [f"{topic}.{mark}" for topic in wanted] for name, wanted in self.members.items()}
        return Group(topics, members)


def uniform(topics: int, partitions: int, members: int) -> Group:
    """Every member on all topics."""
    names = {f"topic-{n:04d}": partitions for n in range(topics)}
    return Group(names, {f"consumer-{n:05d}": list(names) for n in range(members)})


def subsets(topics: int, partitions: int, members: int, each: int) -> Group:
    """Every member on its own random choice of topics."""
    random = Random(1)
    names = {f"topic-{n:04d}": partitions for n in range(topics)}
    return Group(names, {f"consumer-{n:05d}": random.sample(sorted(names), each) for n in range(members)})


def ours(group: Group) -> tuple[dict[str, TopicMetadata], list[MemberSubscription]]:
    """What our assignors take."""
    topics = {name: TopicMetadata(name, count) for name, count in group.topics.items()}
    return topics, [MemberSubscription(name, tuple(wanted)) for name, wanted in group.members.items()]


class Cluster:
    """kafka-python's cluster metadata, as far as its assignors look."""

    def __init__(self, group: Group) -> None:
        self._partitions = {name: dict.fromkeys(range(count)) for name, count in group.topics.items()}

    def topics(self) -> set[str]:
        return set(self._partitions)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(self._partitions[topic].keys()) if topic in self._partitions else None


class Member(NamedTuple):
    """A member as kafka-python's assignors read it."""

    member_id: str
    group_instance_id: str | None
    metadata: Any


def theirs(group: Group) -> tuple[Cluster, list[Member]]:
    """What kafka-python's assignors take."""
    from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

    members = [
        Member(name, None, ConsumerProtocolSubscription(0, list(wanted), b"")) for name, wanted in group.members.items()
    ]
    return Cluster(group), members


def their_assign(name: str) -> Callable[[Cluster, Sequence[Member]], Any]:
    """kafka-python's assignor of that name."""
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

    kinds = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
    assign: Callable[[Cluster, Sequence[Member]], Any] = kinds.get(name, StickyPartitionAssignor)().assign
    return assign
