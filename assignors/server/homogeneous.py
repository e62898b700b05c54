"""`uniform` for a group whose members all subscribe to the same topics.

P partitions over M members: each gets P div M, and P mod M of them one more, the extra. Two passes:

1. Each member, in order, keeps what it has of its target up to its quota; partitions above the quota join those that
   no member has. A member may have the extra as long as one is left. A member that does not fill the extra gives it
   back, unless all members after it are needed to place the extras (since 4.0.1, KAFKA-18688).
2. The members below their quota, in order, take the partitions that are left, in order.

Source: `UniformHomogeneousAssignmentBuilder`; consumer-protocol reference, 1.11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from groupsim.assignors.server.interface import (
    AssignmentFailed,
    ServerGroup,
    ServerMember,
    Target,
    Topics,
    partition_count,
)
from groupsim.assignors.server.partition_sets import INITIAL_TABLE, PartitionSet, set_table
from groupsim.assignors.server.topic_order import CopiedTopics
from groupsim.protocol.topic_ids import topic_ids_copied_order


def assign_homogeneous(group: ServerGroup, topics: Topics, *, returns_extra: bool) -> Mapping[str, Target]:
    """Return the targets. Raises AssignmentFailed when a topic does not exist.

    `returns_extra` is False for 4.0.0: there the first members, in order, get the extras.
    """
    subscribed = topic_ids_copied_order(group.members[0].topics)
    counts = {topic: partition_count(topics, topic) for topic in subscribed}
    if not counts:
        return {}
    free = list(_without_owner(group, counts))
    least, extras = divmod(sum(counts.values()), len(group.members))
    targets: dict[str, Target] = {}
    unfilled: list[tuple[ServerMember, int]] = []
    for at, member in enumerate(group.members):
        has_extra = extras > 0
        kept, left = _kept(member, least + has_extra, counts, free)
        if returns_extra and left and has_extra and len(group.members) - at > extras:
            left -= 1
            has_extra = False
        extras -= has_extra
        targets[member.member_id] = kept
        if left:
            unfilled.append((member, left))
    _fill(targets, unfilled, free)
    return targets


def _without_owner(group: ServerGroup, counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield the partitions that are in no member's target, and are not lost, topic by topic."""
    owned = {topic: bytearray(count) for topic, count in counts.items()}
    for target in (*(member.target for member in group.members), group.lost):
        for topic, partitions in target.items():
            flags = owned.get(topic)
            if flags is not None:
                for partition in partitions:
                    if partition < len(flags):  # a target may name more, after its topic was created again with fewer
                        flags[partition] = 1
    for topic, flags in owned.items():
        at = flags.find(0)
        while at >= 0:
            yield topic, at
            at = flags.find(0, at + 1)


def _kept(
    member: ServerMember, quota: int, counts: Mapping[str, int], free: list[tuple[str, int]]
) -> tuple[Target, int]:
    """Return what the member keeps of its target, and the part of its quota that is left; add the rest to `free`."""
    target = member.target
    kept: dict[str, tuple[int, ...]] | None = None  # a copy, once something is taken from the target
    for topic, partitions in target.items():
        stays = len(partitions) if topic in counts else 0
        if stays > quota:
            stays = quota
            free += [(topic, partition) for partition in partitions[quota:]]
        quota -= stays
        if stays == len(partitions):
            continue
        if kept is None:
            kept = dict(target)
        if stays:
            kept[topic] = partitions[:stays]
        else:
            del kept[topic]
    return target if kept is None else _in_order(kept, target, ()), quota


def _fill(targets: dict[str, Target], unfilled: list[tuple[ServerMember, int]], free: list[tuple[str, int]]) -> None:
    """Give the free partitions to the members below their quota."""
    at = 0
    for member, left in unfilled:
        granted = free[at : at + left]
        at += len(granted)
        if granted:
            kept = targets[member.member_id]
            sets: dict[str, PartitionSet] = {}
            for topic, partition in granted:
                if topic not in sets:
                    sets[topic] = _copied(kept.get(topic, ()), member.target.get(topic, ()))
                sets[topic].add(partition)
            target = {**kept, **{topic: partitions.in_order() for topic, partitions in sets.items()}}
            targets[member.member_id] = _in_order(target, member.target, granted)
    if at < len(free):
        raise AssignmentFailed("partitions are left without a member")


def _copied(kept: tuple[int, ...], old: tuple[int, ...]) -> PartitionSet:
    """Return the set of a topic: a copy of the old one from which some were removed, or a new one."""
    return PartitionSet(kept, set_table(len(old)) if kept else INITIAL_TABLE)


def _in_order(target: Mapping[str, tuple[int, ...]], old: Target, granted: Sequence[tuple[str, int]]) -> Target:
    """Return a target in the order of Kafka's map, which was copied from the old one and got these partitions."""
    if len(target) < 2:
        return target
    topics = CopiedTopics(old)
    for topic in old:
        if topic not in target:
            topics.remove(topic)
    for topic, _ in granted:
        topics.grant(topic)
    return {topic: target[topic] for topic in topics.in_order()}
