"""What a group remembers of the topics that it subscribes to, and whether that has changed.

A change of it bumps the group epoch. From 4.1 on it is the hash in the record of the epoch
(`metadata_hash`); the first write of such a coordinator deletes the record of its predecessor. 4.0 has a
record of its own, type 4: id, name and number of partitions of every topic that exists, in the order of a `HashMap`. It
comes before the record of the epoch, whose hash is 0; an epoch without a change of the topics writes none.

Source: `ModernGroup.computeSubscriptionMetadata`, `GroupCoordinatorRecordHelpers` (4.0); `computeMetadataHash` (4.1);
consumer-protocol reference, 1.5 and 1.21.
"""

from __future__ import annotations

from collections.abc import Collection

from groupsim.coordinator.base.consumer_records import SubscribedTopic, TopicsRecord
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.consumer.assignment.metadata_hash import metadata_hash
from groupsim.coordinator.consumer.state import GroupState
from groupsim.protocol.javahash import java_set_order, java_sized_order
from groupsim.protocol.values import value


@value
class TopicsMetadata:
    """The subscribed topics as they are now."""

    differs: bool
    """They are not what the group remembers."""
    hash: int
    """The hash for the record of an epoch: 0 in 4.0."""
    before: tuple[TopicsRecord, ...] = ()
    """The records that go before that of the epoch."""
    after: tuple[TopicsRecord, ...] = ()
    """The records that go after it."""


def topics_metadata(state: GroupState, names: Collection[str], op: Operation) -> TopicsMetadata:
    """Compare the topics of these names with what the group remembers."""
    if op.differences.hash_stands_for_topics:
        now = metadata_hash(names, op.topics, op.differences)
        gone = () if state.head.topics is None else (TopicsRecord(state.group_id, None),)
        return TopicsMetadata(now != state.metadata_hash, now, after=gone)
    topics = _topics(names, op)
    if frozenset(topics) == frozenset(state.head.topics or ()):
        return TopicsMetadata(differs=False, hash=0)
    return TopicsMetadata(differs=True, hash=0, before=(TopicsRecord(state.group_id, topics),))


def _topics(names: Collection[str], op: Operation) -> tuple[SubscribedTopic, ...]:
    """Return the topics of these names that exist, in the order of the map that Kafka makes for so many names."""
    found = {name: topic for name in java_set_order(names) if (topic := op.topics.topic(name)) is not None}
    ordered = java_sized_order(found, len(names))
    return tuple(SubscribedTopic(found[name].topic_id, name, found[name].partitions) for name in ordered)
