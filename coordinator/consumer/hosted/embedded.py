"""The assignment of a classic member as Kafka's bytes, and as the partitions of a consumer group by topic id.

A topic that does not exist is left out both ways. Source: `ConsumerGroup.fromClassicGroup`,
`ClassicGroup.fromConsumerGroup`, `Utils.toConsumerProtocolAssignment`, `Utils.toTopicPartitionMap`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupsim.assignors.server.partition_sets import in_set_order
from groupsim.coordinator.base.interfaces import TopicsImage
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.embedded.consumer_protocol import NEWEST_VERSION, Assignment, encode_assignment
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.record_fields import FieldReader
from groupsim.protocol.topic_ids import TopicIdMap


def assignment_bytes(by_topic: Mapping[str, Iterable[int]], topics: TopicsImage, version: int) -> bytes:
    """Return partitions as an assignment of that version, at most the newest. Raises ProtocolError."""
    partitions = []
    for topic_id, numbers in TopicIdMap(by_topic.items()).items():
        topic = topics.topic_by_id(topic_id)
        if topic is not None:
            partitions += [TopicPartition(topic.name, number) for number in in_set_order(tuple(numbers))]
    return encode_assignment(Assignment(tuple(partitions)), min(version, NEWEST_VERSION))


def version_of(metadata: bytes) -> int:
    """Return the version with which the metadata of a member begins. Raises ProtocolError."""
    version = FieldReader("Subscription", metadata).int16("version")
    if version < 0:
        raise ProtocolError("Subscription", 0, "a version that is not negative", str(version))
    return version


def by_topic_id(partitions: Iterable[TopicPartition], topics: TopicsImage) -> Mapping[str, set[int]]:
    """Return partitions by topic id."""
    found: dict[str, set[int]] = {}
    for name, number in partitions:
        topic = topics.topic(name)
        if topic is not None:
            found.setdefault(topic.topic_id, set()).add(number)
    return found
