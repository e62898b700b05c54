"""Groups for the assignors of the coordinator: from vectors, random ones, and as lines for Kafka's own classes."""

from __future__ import annotations

import random
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from groupsim.assignors.server.interface import ServerGroup, ServerMember, Target


@frozen
class FixedTopics:
    """Topics by id, with their numbers of partitions, on brokers without racks."""

    counts: Mapping[str, int]

    def partitions(self, topic_id: str) -> int | None:
        return self.counts.get(topic_id)

    def racks(self, topic_id: str, partition: int) -> frozenset[str]:
        return frozenset()


def from_vector(vector: Mapping[str, Any]) -> tuple[ServerGroup, FixedTopics]:
    """The group of a recorded case."""
    ids = vector["topic_ids"]
    members = []
    for one in vector["members"]:
        target: dict[str, tuple[int, ...]] = {}
        for topic, partition in one.get("owned", ()):
            target[ids[topic]] = (*target.get(ids[topic], ()), partition)
        topics = tuple(ids[topic] for topic in one["topics"])
        members.append(ServerMember(one["id"], topics, target, one.get("instance_id"), one.get("rack")))
    alike = len({frozenset(member.topics) for member in members}) <= 1
    homogeneous = vector.get("subscription_type", "homogeneous" if alike else "heterogeneous") == "homogeneous"
    counts = {ids[name]: topic["partitions"] for name, topic in vector["topics"].items()}
    return ServerGroup(tuple(members), homogeneous), FixedTopics(counts)


def drawn(seed: int) -> tuple[ServerGroup, FixedTopics]:
    """A random group without targets: up to 12 members, up to 8 topics, homogeneous in half of the cases."""
    draw = random.Random(seed)
    ids = [urlsafe_b64encode(draw.randbytes(16)).decode().rstrip("=") for _ in range(draw.randint(1, 8))]
    counts = {one: draw.randint(1, 9) for one in ids}
    homogeneous = draw.random() < 0.5
    alike = tuple(draw.sample(ids, draw.randint(1, len(ids))))
    members = tuple(
        ServerMember(
            f"member-{draw.randrange(10**6)}-{number}",
            alike if homogeneous else tuple(draw.sample(ids, draw.randint(0, len(ids)))),
            {},
            f"instance-{number}" if draw.random() < 0.3 else None,
        )
        for number in range(draw.randint(1, 12))
    )
    return ServerGroup(members, homogeneous), FixedTopics(counts)


def changed(seed: int, group: ServerGroup, targets: Mapping[str, Target]) -> ServerGroup:
    """The group one change later: with these targets, a member more or fewer, or another order of members."""
    draw = random.Random(seed)
    members = [evolve(member, target=targets.get(member.member_id, {})) for member in group.members]
    if len(members) > 1 and draw.random() < 0.4:
        members.pop(draw.randrange(len(members)))
    if draw.random() < 0.4:
        like = draw.choice(members)
        members.append(evolve(like, member_id=f"late-{seed}", target={}, instance_id=None))
    if draw.random() < 0.3:
        draw.shuffle(members)
    return ServerGroup(tuple(members), group.homogeneous)


def as_line(name: str, group: ServerGroup, topics: FixedTopics) -> str:
    """The line that `ServerAssignors.java` reads."""
    words = [name, "homogeneous" if group.homogeneous else "heterogeneous"]
    words.append(",".join(f"{topic}={count}" for topic, count in topics.counts.items()) or "-")
    for member in group.members:
        subscribed = ",".join(member.topics) or "-"
        words.append(f"{member.member_id}/{member.instance_id or '-'}/{subscribed}/{_target(member.target)}")
    return " ".join(words)


def _target(target: Target) -> str:
    return ",".join(f"{topic}={':'.join(map(str, partitions))}" for topic, partitions in target.items()) or "-"


def from_line(line: str) -> dict[str, dict[str, tuple[int, ...]]]:
    """The targets in a line of Kafka's classes; partitions in ascending order."""
    targets = {}
    for word in line.split():
        member_id, text = word.split("/")
        pairs = [entry.split("=") for entry in text.split(",")] if text != "-" else []
        targets[member_id] = {topic: tuple(sorted(map(int, numbers.split(":")))) for topic, numbers in pairs}
    return targets


def sorted_targets(targets: Mapping[str, Target]) -> dict[str, dict[str, tuple[int, ...]]]:
    """Targets with the partitions of each topic in ascending order, without topics that have none."""
    return {
        member: {topic: tuple(sorted(partitions)) for topic, partitions in target.items() if partitions}
        for member, target in targets.items()
    }
