"""The topics to which a group subscribes, counted by name and by regular expression.

A heartbeat asks for the counts as they will be once its member is another one, before any record is applied. From them
follow the topics of the group, which its metadata hash covers, and whether all members subscribe to the same topics,
which is all that `uniform` needs to know to choose its simple way.

Sources: `ConsumerGroup.computeSubscribedTopicNames`, `subscriptionType`; `ModernGroup`, `UnionSet`, `TopicIds`;
consumer-protocol reference, 1.11.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from groupsim.coordinator.base.consumer_records import ResolvedRegex
from groupsim.coordinator.base.interfaces import TopicsImage
from groupsim.coordinator.consumer.assignment.alike import are_alike
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.state import GroupState
from groupsim.protocol.javahash import JavaHashMap, first_capacity, java_copied_order
from groupsim.protocol.values import value

_LARGE = 64
"""Names whose table never grows because one of its buckets is crowded (`protocol/javahash.py`)."""


@value
class Subscriptions:
    """Topic → members by name, topic → resolved regular expressions, text → members, and the number of members."""

    names: Mapping[str, int]
    resolved: Mapping[str, int]
    regexes: Mapping[str, int]
    members: int
    known_alike: bool | None = None  #: what the group keeps, where it has not looked again (`alike`)

    def topics(self) -> set[str]:
        """Return the names of all topics with a subscription; they need not exist."""
        return {*self.names, *self.resolved}

    def is_homogeneous(self) -> bool:
        """Whether all members subscribe to the same topics: all by the same names, or all by one regular expression."""
        if self.known_alike is not None:
            return self.known_alike
        return are_alike(self.names, self.resolved, self.regexes, self.members)


def present(state: GroupState) -> Subscriptions:
    """Return the counts of a group as it is."""
    return Subscriptions(state.names, state.resolved_topics, state.regexes, len(state.members), state.head.were_alike)


def updated(state: GroupState, old: ConsumerMember, new: ConsumerMember) -> Subscriptions:
    """Return the counts once `new` has replaced `old`, which is a new member, or a copy, when the group lacks it."""
    members = len(state.members)
    if new.member_id not in state.members and (new.instance_id is None or not state.static_member(new.instance_id)):
        members += 1
    names, resolved, regexes = state.names, state.resolved_topics, state.regexes
    if old.names != new.names:
        names = counted(counted(names, old.names, -1), new.names, 1)
    if old.regex != new.regex:
        if old.regex and state.regexes.get(old.regex) == 1:
            resolved = counted(resolved, _topics(state, old.regex), -1)
        regexes = counted(counted(regexes, [old.regex] if old.regex else [], -1), [new.regex] if new.regex else [], 1)
    return Subscriptions(names, resolved, regexes, members)


def without(state: GroupState, gone: Collection[ConsumerMember]) -> Subscriptions:
    """Return the counts once these members are gone, with the regular expressions of no other member."""
    names, resolved, regexes = state.names, state.resolved_topics, state.regexes
    for member in gone:
        names = counted(names, member.names, -1)
        regexes = counted(regexes, [member.regex] if member.regex else [], -1)
    for regex in unused_regexes(state, gone):
        resolved = counted(resolved, _topics(state, regex), -1)
    return Subscriptions(names, resolved, regexes, len(state.members) - len(gone))


def unused_regexes(state: GroupState, gone: Iterable[ConsumerMember]) -> list[str]:
    """Return the regular expressions that only these members have, in the order of the members."""
    counts: dict[str, int] = {}
    for member in gone:
        if member.regex:
            counts[member.regex] = counts.get(member.regex, 0) + 1
    return [regex for regex, count in counts.items() if state.regexes.get(regex) == count]


def subscribed_ids(
    member: ConsumerMember, resolved: Mapping[str, ResolvedRegex], image: TopicsImage
) -> tuple[str, ...]:
    """Return the ids of the topics to which a member subscribes, in the order of Kafka's sets.

    A regular expression that is not resolved yet counts for none. Of two sets the larger one comes first.
    """
    names = _existing(member.names, image)
    found = resolved.get(member.regex) if member.regex else None
    if found is not None and found.topics:
        first, second = names, _existing(found.topics, image)
        if len(member.names) <= len(found.topics):
            first, second = second, first
        names = list(dict.fromkeys([*first, *second]))
    topics = map(image.topic, names)
    return tuple(topic.topic_id for topic in topics if topic is not None)


def subscribed_names(member: ConsumerMember, resolved: Mapping[str, ResolvedRegex]) -> int:
    """Return the number of topics to which a member subscribes, those included that do not exist."""
    found = resolved.get(member.regex) if member.regex else None
    return len({*member.names, *(() if found is None else found.topics)})


def _existing(names: tuple[str, ...], image: TopicsImage) -> list[str]:
    """Return the names of topics that exist, in the order of a `HashSet` of all names.

    The order within a large table depends on its size and on the names that are asked for alone, so the others, which
    may be a hundred thousand, need not be hashed.
    """
    if len(names) < _LARGE:
        found = java_copied_order(names)
        return [name for name in found if image.topic(name) is not None]
    existing = (name for name in names if image.topic(name) is not None)
    return list(JavaHashMap(((name, None) for name in existing), capacity=first_capacity(len(names))))


def _topics(state: GroupState, regex: str) -> tuple[str, ...]:
    found = state.resolved.get(regex)
    return () if found is None else found.topics


def counted(counts: Mapping[str, int], keys: Collection[str], change: int) -> Mapping[str, int]:
    """Return the counts with those of some keys up or down; a key of count 0 is not there."""
    if not keys:
        return counts
    changed = dict(counts)
    for key in keys:
        count = changed.pop(key, 0) + change
        if count > 0:
            changed[key] = count
    return changed
