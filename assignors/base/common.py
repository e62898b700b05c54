"""Code that the built-in assignors share: the relevant topics, the order of members, and partitions as objects.

Sources: `AbstractPartitionAssignor` (`assign`, `MemberInfo`); KIP-345 (static members); assignors reference, section 1.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

from groupsim.assignors.base.steps import Steps
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.javahash import JavaHashMap, java_set_order, java_string_key
from groupsim.protocol.messages.group import TopicPartition

#: The most partition objects in the cache, over all topics; beyond this the cache is emptied.
_KEPT_PARTITIONS = 1 << 18

#: Longer lists of names are shortened in explanations.
_MOST_NAMES = 12

_new = tuple.__new__  # a named tuple without its Python-level constructor: a million of them are made at once


def in_hash_order(members: Sequence[MemberSubscription]) -> list[MemberSubscription]:
    """Return the members in the iteration order of the leader's `HashMap`, filled in JoinGroup order."""
    return list(JavaHashMap((member.member_id, member) for member in members).values())


def in_member_order(members: Iterable[MemberSubscription]) -> list[MemberSubscription]:
    """Return static members by instance id, then dynamic ones by member id (range and roundrobin, KIP-345)."""
    return sorted(members, key=_member_order)


def _member_order(member: MemberSubscription) -> tuple[bool, bytes]:
    if member.instance_id is not None:
        return False, java_string_key(member.instance_id)
    return True, java_string_key(member.member_id)


def note_order(ordered: Sequence[MemberSubscription], steps: Steps) -> None:
    """Report the order of members that `range` and `roundrobin` use, and its rule."""
    steps.stage("MemberInfo.compareTo")
    static = [f"{one.member_id} ({one.instance_id})" for one in ordered if one.instance_id is not None]
    dynamic = [one.member_id for one in ordered if one.instance_id is None]
    if static:
        steps.note(f"static members come first, by instance id: {in_line(static)}")
    if dynamic:
        steps.note(f"{'then the' if static else 'the'} members by member id: {in_line(dynamic)}")


def in_line(names: Sequence[str]) -> str:
    """Return names as part of a sentence, e.g. `c1, c2`, with the number of omitted ones."""
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{', '.join(names[:10])} and {len(names) - 10} more"


def spread(result: GroupAssignment) -> str:
    """Return the fewest and the most partitions of a member, e.g. `2 to 4`."""
    counts = [len(held) for held in result.partitions.values()] or [0]
    return f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]} each"


def same_topics(members: Sequence[MemberSubscription]) -> bool:
    """Whether all members name the same topics in the same order: the usual case, which is much simpler."""
    return all(member.topics == members[0].topics for member in members)


def existing_topics(
    topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]
) -> dict[str, TopicMetadata]:
    """Return the subscribed topics that have partitions, in Java's hash map order; `members` in JoinGroup order.

    Kafka applies this filter before any built-in assignor runs: an unknown topic is left out silently.
    """
    if same_topics(members):
        subscribed = dict.fromkeys(members[0].topics if members else ())
    else:
        subscribed = dict.fromkeys(topic for member in in_hash_order(members) for topic in member.topics)
    if len(subscribed) == 1:
        found = list(subscribed)  # the usual case has no order to work out
    else:
        found = java_set_order(subscribed)
    known = [name for name in found if name in topics and topics[name].partitions > 0]
    if len(known) < len(found):
        known = java_set_order(known)  # a map of its own, which may have a smaller table
    return {name: topics[name] for name in known}


def partitions_of(topic: str, count: int) -> tuple[TopicPartition, ...]:
    """Return all partitions of a topic, ascending; the same objects at every call, as long as they fit the cache."""
    found = partition_cache.get(topic, count)
    if found is None:
        found = tuple(partitions_numbered(topic, range(count)))
        partition_cache.keep(topic, found)
    return found


def partitions_numbered(topic: str, numbers: Iterable[int]) -> list[TopicPartition]:
    """Return some partitions of a topic."""
    # Nothing here can be garbage, but the collector would look through all of it again and again: half of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return list(map(_new, repeat(TopicPartition), zip(repeat(topic), numbers)))
    finally:
        if collecting:
            gc.enable()


class _PartitionCache:
    """A bounded cache of partition objects. It changes no result, only the time to compute it."""

    def __init__(self) -> None:
        self._by_topic: dict[tuple[str, int], tuple[TopicPartition, ...]] = {}
        self._total = 0

    def get(self, topic: str, count: int) -> tuple[TopicPartition, ...] | None:
        return self._by_topic.get((topic, count))

    def keep(self, topic: str, partitions: tuple[TopicPartition, ...]) -> None:
        if self._total + len(partitions) > _KEPT_PARTITIONS:
            self.clear()
        if len(partitions) <= _KEPT_PARTITIONS:
            self._by_topic[topic, len(partitions)] = partitions
            self._total += len(partitions)

    def clear(self) -> None:
        self._by_topic.clear()
        self._total = 0


partition_cache = _PartitionCache()


def group_assignment(
    members: Sequence[MemberSubscription], given: Mapping[str, Iterable[TopicPartition]]
) -> GroupAssignment:
    """Return the result in input order, with an empty tuple for a member without partitions."""
    return GroupAssignment({member.member_id: tuple(given.get(member.member_id, ())) for member in members})
