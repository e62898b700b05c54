"""What the built-in assignors share: which topics count, the order of members, and partitions as objects.

Sources: `AbstractPartitionAssignor` (`assign`, `MemberInfo`); KIP-345 (static members); assignors reference, section 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

from groupsim.protocol.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.javahash import JavaHashMap, java_set_order, java_string_key
from groupsim.protocol.messages import TopicPartition

#: Partition objects kept for the next round, over all topics; beyond this the cache starts anew.
_KEPT_PARTITIONS = 1 << 18

_kept: dict[tuple[str, int], tuple[TopicPartition, ...]] = {}
_new = tuple.__new__  # a named tuple without its Python-level constructor: a million of them are made at once


def in_hash_order(members: Sequence[MemberSubscription]) -> list[MemberSubscription]:
    """The members as the leader's `HashMap`, filled in JoinGroup order, yields them."""
    return list(JavaHashMap((member.member_id, member) for member in members).values())


def in_member_order(members: Iterable[MemberSubscription]) -> list[MemberSubscription]:
    """Static members by instance id, then dynamic ones by member id (range and roundrobin, KIP-345)."""
    return sorted(members, key=_member_order)


def _member_order(member: MemberSubscription) -> tuple[bool, bytes]:
    if member.instance_id is not None:
        return False, java_string_key(member.instance_id)
    return True, java_string_key(member.member_id)


def existing_topics(
    topics: Mapping[str, TopicMetadata], members: Iterable[MemberSubscription]
) -> dict[str, TopicMetadata]:
    """The subscribed topics that have partitions, in Java's hash map order; `members` come in hash order too.

    This is the filter that Kafka applies before any built-in assignor runs: an unknown topic is left out silently.
    """
    subscribed = dict.fromkeys(topic for member in members for topic in member.topics)
    found = java_set_order(subscribed)
    known = JavaHashMap((name, topics[name]) for name in found if name in topics and topics[name].partitions > 0)
    return dict(known.items())


def partitions_of(topic: str, count: int) -> tuple[TopicPartition, ...]:
    """All partitions of a topic, ascending; the same objects again at the next call, as long as they fit the cache."""
    key = (topic, count)
    found = _kept.get(key)
    if found is None:
        found = tuple(partitions_numbered(topic, range(count)))
        _keep(key, found)
    return found


def partitions_numbered(topic: str, numbers: Iterable[int]) -> list[TopicPartition]:
    """Some partitions of a topic."""
    return list(map(_new, repeat(TopicPartition), zip(repeat(topic), numbers)))


def _keep(key: tuple[str, int], partitions: tuple[TopicPartition, ...]) -> None:
    """Remember them within the bound. What is kept changes no result, only the time it takes."""
    global _kept_total
    if _kept_total + len(partitions) > _KEPT_PARTITIONS:
        _kept.clear()
        _kept_total = 0
    if len(partitions) <= _KEPT_PARTITIONS:
        _kept[key] = partitions
        _kept_total += len(partitions)


_kept_total = 0


def group_assignment(
    members: Sequence[MemberSubscription], given: Mapping[str, Iterable[TopicPartition]]
) -> GroupAssignment:
    """The result in input order, with an empty tuple for a member that got nothing."""
    return GroupAssignment({member.member_id: tuple(given.get(member.member_id, ())) for member in members})
