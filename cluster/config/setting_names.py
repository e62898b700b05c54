"""Settings of a 4.4.0 broker: tables of names, types and defaults, without behaviour.

Read from the classes of Kafka 4.4.0: `LogConfig`, `ServerTopicConfigSynonyms`, `AbstractKafkaConfig.CONFIG_DEF`,
`DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.cluster.config.inert_settings import INERT
from groupsim.protocol.values import frozen

TYPES: Final[Mapping[str, int]] = {
    "BOOLEAN": 1,
    "STRING": 2,
    "INT": 3,
    "SHORT": 4,
    "LONG": 5,
    "DOUBLE": 6,
    "LIST": 7,
    "CLASS": 8,
    "PASSWORD": 9,
}
"""`DescribeConfigsResponse.ConfigType` by the name of a type."""

TOPIC_SETTING, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC_BROKER, DEFAULT, GROUP_SETTING = 1, 2, 3, 4, 5, 8
"""`DescribeConfigsResponse.ConfigSource`: where a value comes from."""


@frozen
class TopicSetting:
    """One setting of topics: type, Kafka's default, and the broker's settings with its default, in precedence."""

    type: str
    default: str
    synonyms: tuple[str, ...]


_TOPIC_ROWS = """
cleanup.policy LIST delete log.cleanup.policy
compression.gzip.level INT -1 compression.gzip.level
compression.lz4.level INT 9 compression.lz4.level
compression.type STRING producer compression.type
compression.zstd.level INT 3 compression.zstd.level
delete.retention.ms LONG 86400000 log.cleaner.delete.retention.ms
errors.deadletterqueue.group.enable BOOLEAN false -
file.delete.delay.ms LONG 60000 log.segment.delete.delay.ms
flush.messages LONG 9223372036854775807 log.flush.interval.messages
flush.ms LONG 9223372036854775807 log.flush.interval.ms,log.flush.scheduler.interval.ms
follower.replication.throttled.replicas LIST - -
index.interval.bytes INT 4096 log.index.interval.bytes
leader.replication.throttled.replicas LIST - -
local.retention.bytes LONG -2 log.local.retention.bytes
local.retention.ms LONG -2 log.local.retention.ms
max.compaction.lag.ms LONG 9223372036854775807 log.cleaner.max.compaction.lag.ms
max.decompressed.message.bytes INT 2147483639 max.decompressed.message.bytes
max.message.bytes INT 1048588 message.max.bytes
message.timestamp.after.max.ms LONG 3600000 log.message.timestamp.after.max.ms
message.timestamp.before.max.ms LONG 9223372036854775807 log.message.timestamp.before.max.ms
message.timestamp.type STRING CreateTime log.message.timestamp.type
min.cleanable.dirty.ratio DOUBLE 0.5 log.cleaner.min.cleanable.ratio
min.compaction.lag.ms LONG 0 log.cleaner.min.compaction.lag.ms
min.insync.replicas INT 1 min.insync.replicas
preallocate BOOLEAN false log.preallocate
remote.copy.lag.bytes LONG -1 log.remote.copy.lag.bytes
remote.copy.lag.ms LONG 0 log.remote.copy.lag.ms
remote.log.copy.disable BOOLEAN false -
remote.log.delete.on.disable BOOLEAN false -
remote.storage.enable BOOLEAN false -
retention.bytes LONG -1 log.retention.bytes
retention.ms LONG 604800000 log.retention.ms,log.retention.minutes,log.retention.hours
segment.bytes INT 1073741824 log.segment.bytes
segment.index.bytes INT 10485760 log.index.size.max.bytes
segment.jitter.ms LONG 0 log.roll.jitter.ms,log.roll.jitter.hours
segment.ms LONG 604800000 log.roll.ms,log.roll.hours
unclean.leader.election.enable BOOLEAN false unclean.leader.election.enable
"""

TOPIC: Final[Mapping[str, TopicSetting]] = {
    name: TopicSetting(kind, "" if default == "-" else default, () if synonyms == "-" else tuple(synonyms.split(",")))
    for name, kind, default, synonyms in (row.split() for row in _TOPIC_ROWS.strip().splitlines())
}
"""Every setting of topics but the internal ones, by name, in the order of names."""

TOPIC_NAME_OF: Final[Mapping[str, str]] = {synonym: name for name, row in TOPIC.items() for synonym in row.synonyms}
"""Broker's setting → the topic's setting whose default it is."""

_BROKER_ROWS = """
auto.create.topics.enable BOOLEAN Whether a topic is created when a client asks for its metadata.
auto.leader.rebalance.enable BOOLEAN Whether leaders move back to the preferred replicas from time to time.
broker.heartbeat.interval.ms INT The time between two heartbeats of a broker to the controller.
broker.id INT The number of this broker.
broker.rack STRING The rack of this broker.
broker.session.timeout.ms INT The time without heartbeats after which the controller fences a broker.
default.replication.factor INT How many replicas a new topic has that asks for no number.
group.consumer.assignment.interval.ms INT The least time between two targets of a group of the consumer protocol.
group.consumer.assignors LIST The assignors of groups of the consumer protocol, the default first.
group.consumer.heartbeat.interval.ms INT The heartbeat interval that members of the consumer protocol are given.
group.consumer.max.assignment.interval.ms INT The greatest assignment interval that a group may have.
group.consumer.max.heartbeat.interval.ms INT The greatest heartbeat interval that a group may have.
group.consumer.max.session.timeout.ms INT The greatest session timeout that a group of the consumer protocol may have.
group.consumer.max.size INT How many members a group of the consumer protocol may have.
group.consumer.migration.policy STRING Which groups with members change between the classic and the consumer protocol.
group.consumer.min.assignment.interval.ms INT The least assignment interval that a group may have.
group.consumer.min.heartbeat.interval.ms INT The least heartbeat interval that a group may have.
group.consumer.min.session.timeout.ms INT The least session timeout that a group of the consumer protocol may have.
group.consumer.regex.refresh.interval.ms INT
group.consumer.session.timeout.ms INT How long a member of the consumer protocol may be silent.
group.coordinator.rebalance.protocols LIST The kinds of groups that brokers take.
group.initial.rebalance.delay.ms INT How long the first rebalance of an empty group waits for more members.
group.max.session.timeout.ms INT The longest session timeout that a member may ask for.
group.max.size INT How many members a group may have.
group.min.session.timeout.ms INT The shortest session timeout that a member may ask for.
leader.imbalance.check.interval.seconds LONG The time between two checks for leaders that could move back.
log.cleaner.backoff.ms LONG How long the cleaner sleeps when there is nothing to compact.
log.cleaner.delete.retention.ms LONG
log.cleaner.max.compaction.lag.ms LONG
log.cleaner.min.cleanable.ratio DOUBLE
log.cleaner.min.compaction.lag.ms LONG
log.cleanup.policy LIST
log.flush.interval.messages LONG
log.flush.interval.ms LONG
log.index.interval.bytes INT
log.index.size.max.bytes INT
log.message.timestamp.after.max.ms LONG
log.message.timestamp.before.max.ms LONG
log.message.timestamp.type STRING
log.retention.bytes LONG
log.retention.check.interval.ms LONG The time between two checks for segments to delete.
log.retention.hours INT The age in hours above which a segment is deleted.
log.retention.minutes INT The age in minutes above which a segment is deleted; stronger than the hours.
log.retention.ms LONG
log.roll.hours INT The age in hours at which a segment is closed though it is not full.
log.roll.ms LONG
log.segment.bytes INT
message.max.bytes INT
min.insync.replicas INT
node.id INT The number of this node.
num.partitions INT How many partitions a new topic has that asks for no number.
offset.metadata.max.bytes INT The longest metadata that may be committed with an offset.
offsets.commit.timeout.ms INT How long a commit waits for the replicas of the offsets topic.
offsets.load.buffer.size INT How much of the offsets topic is read at once when a coordinator loads.
offsets.retention.check.interval.ms LONG The time between two checks for offsets that have expired.
offsets.retention.minutes INT How long offsets are kept when a group has become empty.
offsets.topic.num.partitions INT How many partitions the offsets topic has.
offsets.topic.replication.factor SHORT How many replicas the offsets topic has.
offsets.topic.segment.bytes INT The size of a segment of the offsets topic.
producer.id.expiration.check.interval.ms INT
producer.id.expiration.ms INT How long a partition remembers a producer that has stopped sending.
replica.fetch.backoff.ms INT How long a follower waits after a fetch that failed.
replica.fetch.max.bytes INT How many bytes of a partition a follower asks for at once.
replica.fetch.min.bytes INT How many bytes a fetch of a follower waits for.
replica.fetch.response.max.bytes INT How many bytes a follower asks for at once.
replica.fetch.wait.max.ms INT How long a fetch of a follower waits for records.
replica.high.watermark.checkpoint.interval.ms LONG The time between two writes of the high watermarks to disk.
replica.lag.time.max.ms LONG How long a follower may lag before it is taken out of the in-sync replicas.
replica.selector.class STRING The class that chooses the replica a consumer fetches from.
replica.socket.timeout.ms INT How long a follower waits for an answer of the leader.
request.timeout.ms INT How long a request between brokers may take.
transaction.abort.timed.out.transaction.cleanup.interval.ms INT The time between two checks for transactions to abort.
transaction.max.timeout.ms INT The longest timeout that a transaction may ask for.
transaction.remove.expired.transaction.cleanup.interval.ms INT The time between two checks for ids that have expired.
transaction.state.log.load.buffer.size INT How much of the transaction topic is read at once when a coordinator loads.
transaction.state.log.min.isr INT How many replicas of the transaction topic must be in sync for an append.
transaction.state.log.num.partitions INT How many partitions the transaction topic has.
transaction.state.log.replication.factor SHORT How many replicas the transaction topic has.
transaction.state.log.segment.bytes INT The size of a segment of the transaction topic.
transactional.id.expiration.ms INT How long a transactional id is kept that is not used.
unclean.leader.election.enable BOOLEAN
unclean.leader.election.interval.ms LONG
"""

_EFFECTIVE: Final = {
    name: (kind, " ".join(text)) for name, kind, *text in (row.split() for row in _BROKER_ROWS.strip().splitlines())
}
BROKER_TYPES: Final[Mapping[str, str]] = {name: row[0] for rows in (_EFFECTIVE, INERT) for name, row in rows.items()}
"""The type of each setting of a broker, including those without effect here."""

BROKER_TEXTS: Final[Mapping[str, str]] = {name: text for name, (_, text) in _EFFECTIVE.items() if text}
"""The documentation of settings with an effect; a default of topics has that of the topic's setting."""

INTERNAL: Final = frozenset(
    {
        "group.consumer.regex.refresh.interval.ms",
        "producer.id.expiration.check.interval.ms",
        "unclean.leader.election.interval.ms",
    }
)
"""Settings that a broker accepts and does not describe."""

ADDRESSES: Final = ("advertised.listeners", "listeners")
"""Settings whose values belong to the listener: the wire protocol adds them (`protocol.wire.configs`)."""

_DYNAMIC_NAMES = """
background.threads compression.gzip.level compression.lz4.level compression.type compression.zstd.level
config.providers cordoned.log.dirs errors.deadletterqueue.auto.create.topics.enable
errors.deadletterqueue.topic.name.prefix follower.fetch.last.tiered.offset.enable
follower.replication.throttled.rate group.consumer.assignment.interval.ms group.consumer.assignor.offload.enable
group.coordinator.cached.buffer.max.bytes group.share.assignment.interval.ms group.share.assignor.offload.enable
group.streams.assignment.interval.ms group.streams.assignor.offload.enable leader.replication.throttled.rate
listener.security.protocol.map listeners log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size
log.cleaner.delete.retention.ms log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size
log.cleaner.io.max.bytes.per.second log.cleaner.max.compaction.lag.ms log.cleaner.min.cleanable.ratio
log.cleaner.min.compaction.lag.ms log.cleaner.threads log.cleanup.policy log.flush.interval.messages
log.flush.interval.ms log.index.interval.bytes log.index.size.max.bytes log.local.retention.bytes
log.local.retention.ms log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms
log.message.timestamp.type log.preallocate log.remote.copy.lag.bytes log.remote.copy.lag.ms log.retention.bytes
log.retention.ms log.roll.jitter.ms log.roll.ms log.segment.bytes log.segment.delete.delay.ms
max.connection.creation.rate max.connections max.connections.per.ip max.connections.per.ip.overrides
max.decompressed.message.bytes message.max.bytes metric.reporters min.insync.replicas num.io.threads
num.network.threads num.recovery.threads.per.data.dir num.replica.fetchers principal.builder.class
producer.id.expiration.ms remote.fetch.max.wait.ms remote.list.offsets.request.timeout.ms
remote.log.index.file.cache.total.size.bytes remote.log.manager.copier.thread.pool.size
remote.log.manager.copy.max.bytes.per.second remote.log.manager.expiration.thread.pool.size
remote.log.manager.fetch.max.bytes.per.second remote.log.manager.follower.thread.pool.size
remote.log.reader.threads replica.alter.log.dirs.io.max.bytes.per.second sasl.enabled.mechanisms
sasl.jaas.config sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
sasl.kerberos.ticket.renew.window.factor sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
sasl.login.refresh.window.factor sasl.login.refresh.window.jitter sasl.mechanism.inter.broker.protocol
share.coordinator.cached.buffer.max.bytes ssl.cipher.suites ssl.client.auth ssl.enabled.protocols
ssl.endpoint.identification.algorithm ssl.engine.factory.class ssl.key.password ssl.keymanager.algorithm
ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password ssl.keystore.type
ssl.protocol ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm
ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
transaction.partition.verification.enable unclean.leader.election.enable
"""

DYNAMIC: Final = frozenset(_DYNAMIC_NAMES.split())
"""The settings of a broker that can change while it runs."""

_UNDESCRIBED_NAMES = """
controller.performance.always.log.threshold.ms controller.performance.sample.period.ms
group.share.dlq.manager.class.name group.share.initialize.retry.interval.ms group.share.persister.class.name
group.streams.acceptable.recovery.lag group.streams.max.warmup.replicas group.streams.min.task.offset.interval.ms
group.streams.num.warmup.replicas group.streams.task.offset.interval.ms internal.metadata.delete.delay.millis
internal.metadata.log.segment.bytes internal.metadata.max.batch.size.in.bytes log.initial.task.delay.ms
remote.log.index.file.cache.ttl.ms remote.log.manager.task.retry.backoff.max.ms
remote.log.manager.task.retry.backoff.ms remote.log.manager.task.retry.jitter server.max.startup.time.ms
share.coordinator.cold.partition.snapshot.interval.ms share.coordinator.state.topic.prune.interval.ms
unstable.api.versions.enable unstable.feature.versions.enable
"""

READ_ONLY: Final = frozenset((BROKER_TYPES.keys() - DYNAMIC) | set(_UNDESCRIBED_NAMES.split()))
"""The settings of a broker that cannot change while it runs; it never describes some of them."""
