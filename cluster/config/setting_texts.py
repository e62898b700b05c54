"""The documentation of settings in DescribeConfigs: a sentence for each, in this project's words.

Kafka's texts are longer and contain HTML. Settings without effect here share one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WITHOUT_EFFECT: Final = "A setting of Apache Kafka that has no effect in this broker."

_TOPIC_ROWS = """
cleanup.policy: Whether old records are deleted, compacted by key, or both.
delete.retention.ms: How long a compacted log keeps the tombstone of a deleted key.
file.delete.delay.ms: How long the folder of a deleted log stays on disk.
flush.messages: After how many records a log is forced to disk.
flush.ms: After how long a log is forced to disk.
index.interval.bytes: After how many bytes of records an index gets an entry.
max.compaction.lag.ms: The longest time that a record stays out of compaction.
max.message.bytes: The largest batch of records that may be appended.
message.timestamp.after.max.ms: How far a record's timestamp may lie after the broker's clock.
message.timestamp.before.max.ms: How far a record's timestamp may lie before the broker's clock.
message.timestamp.type: Whether a record has the time of its creation or of its append.
min.cleanable.dirty.ratio: The share of a log that must be new before compaction begins.
min.compaction.lag.ms: The least time that a record stays out of compaction.
min.insync.replicas: How many replicas must be in sync for an append with acks=all.
retention.bytes: The size of a partition above which its oldest segments are deleted; -1 for no limit.
retention.ms: The age above which a segment is deleted; -1 for no limit.
segment.bytes: The size of a segment's file.
segment.index.bytes: The size of a segment's index file.
segment.ms: The age at which a segment is closed though it is not full.
unclean.leader.election.enable: Whether a replica that is not in sync may lead when no other can.
"""

_BROKER_ROWS = """
advertised.listeners: The address that clients connect to.
auto.create.topics.enable: Whether a topic is created when a client asks for its metadata.
auto.leader.rebalance.enable: Whether leaders move back to the preferred replicas from time to time.
broker.heartbeat.interval.ms: The time between two heartbeats of a broker to the controller.
broker.id: The number of this broker.
broker.rack: The rack of this broker.
broker.session.timeout.ms: The time without heartbeats after which the controller fences a broker.
default.replication.factor: How many replicas a new topic has that asks for no number.
group.consumer.assignment.interval.ms: The least time between two targets of a group of the consumer protocol.
group.consumer.assignors: The assignors of groups of the consumer protocol, the default first.
group.consumer.heartbeat.interval.ms: The heartbeat interval that members of the consumer protocol are given.
group.consumer.max.assignment.interval.ms: The greatest assignment interval that a group may have.
group.consumer.max.heartbeat.interval.ms: The greatest heartbeat interval that a group may have.
group.consumer.max.session.timeout.ms: The greatest session timeout that a group of the consumer protocol may have.
group.consumer.max.size: How many members a group of the consumer protocol may have.
group.consumer.migration.policy: Which groups with members change between the classic and the consumer protocol.
group.consumer.min.assignment.interval.ms: The least assignment interval that a group may have.
group.consumer.min.heartbeat.interval.ms: The least heartbeat interval that a group may have.
group.consumer.min.session.timeout.ms: The least session timeout that a group of the consumer protocol may have.
group.consumer.session.timeout.ms: How long a member of the consumer protocol may be silent.
group.coordinator.rebalance.protocols: The kinds of groups that brokers take.
group.initial.rebalance.delay.ms: How long the first rebalance of an empty group waits for more members.
group.max.session.timeout.ms: The longest session timeout that a member may ask for.
group.max.size: How many members a group may have.
group.min.session.timeout.ms: The shortest session timeout that a member may ask for.
leader.imbalance.check.interval.seconds: The time between two checks for leaders that could move back.
listeners: The address that the broker listens on.
log.cleaner.backoff.ms: How long the cleaner sleeps when there is nothing to compact.
log.retention.check.interval.ms: The time between two checks for segments to delete.
log.retention.hours: The age in hours above which a segment is deleted.
log.retention.minutes: The age in minutes above which a segment is deleted; stronger than the hours.
log.roll.hours: The age in hours at which a segment is closed though it is not full.
node.id: The number of this node.
num.partitions: How many partitions a new topic has that asks for no number.
offset.metadata.max.bytes: The longest metadata that may be committed with an offset.
offsets.commit.timeout.ms: How long a commit waits for the replicas of the offsets topic.
offsets.load.buffer.size: How much of the offsets topic is read at once when a coordinator loads.
offsets.retention.check.interval.ms: The time between two checks for offsets that have expired.
offsets.retention.minutes: How long offsets are kept when a group has become empty.
offsets.topic.num.partitions: How many partitions the offsets topic has.
offsets.topic.replication.factor: How many replicas the offsets topic has.
offsets.topic.segment.bytes: The size of a segment of the offsets topic.
producer.id.expiration.ms: How long a partition remembers a producer that has stopped sending.
replica.fetch.backoff.ms: How long a follower waits after a fetch that failed.
replica.fetch.max.bytes: How many bytes of a partition a follower asks for at once.
replica.fetch.min.bytes: How many bytes a fetch of a follower waits for.
replica.fetch.response.max.bytes: How many bytes a follower asks for at once.
replica.fetch.wait.max.ms: How long a fetch of a follower waits for records.
replica.high.watermark.checkpoint.interval.ms: The time between two writes of the high watermarks to disk.
replica.lag.time.max.ms: How long a follower may lag before it is taken out of the in-sync replicas.
replica.selector.class: The class that chooses the replica a consumer fetches from.
replica.socket.timeout.ms: How long a follower waits for an answer of the leader.
request.timeout.ms: How long a request between brokers may take.
transaction.abort.timed.out.transaction.cleanup.interval.ms: The time between two checks for transactions to abort.
transaction.max.timeout.ms: The longest timeout that a transaction may ask for.
transaction.remove.expired.transaction.cleanup.interval.ms: The time between two checks for ids that have expired.
transaction.state.log.load.buffer.size: How much of the transaction topic is read at once when a coordinator loads.
transaction.state.log.min.isr: How many replicas of the transaction topic must be in sync for an append.
transaction.state.log.num.partitions: How many partitions the transaction topic has.
transaction.state.log.replication.factor: How many replicas the transaction topic has.
transaction.state.log.segment.bytes: The size of a segment of the transaction topic.
transactional.id.expiration.ms: How long a transactional id is kept that is not used.
"""

_GROUPS: Final = {
    "consumer.": "A setting of groups of the consumer protocol (KIP-848); a classic group ignores it.",
    "share.": "A setting of share groups (KIP-932); a classic group ignores it.",
    "streams.": "A setting of streams groups (KIP-1071); a classic group ignores it.",
}


def _read(rows: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in rows.strip().splitlines())


_TEXTS: Final[Mapping[str, str]] = _read(_BROKER_ROWS) | _read(_TOPIC_ROWS)


def documentation_of(name: str, defaults_for: str = "") -> str:
    """Return a setting's documentation; `defaults_for` is the topic's setting whose default this setting is."""
    if name in _TEXTS:
        return _TEXTS[name]
    if defaults_for in _TEXTS:
        return f"For topics that do not set {defaults_for}: {_TEXTS[defaults_for]}"
    return next((text for prefix, text in _GROUPS.items() if name.startswith(prefix)), WITHOUT_EFFECT)
