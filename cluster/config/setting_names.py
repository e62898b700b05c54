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
auto.create.topics.enable BOOLEAN
auto.leader.rebalance.enable BOOLEAN
broker.heartbeat.interval.ms INT
broker.id INT
broker.rack STRING
broker.session.timeout.ms INT
default.replication.factor INT
group.consumer.assignment.interval.ms INT
group.consumer.assignors LIST
group.consumer.heartbeat.interval.ms INT
group.consumer.max.assignment.interval.ms INT
group.consumer.max.heartbeat.interval.ms INT
group.consumer.max.session.timeout.ms INT
group.consumer.max.size INT
group.consumer.migration.policy STRING
group.consumer.min.assignment.interval.ms INT
group.consumer.min.heartbeat.interval.ms INT
group.consumer.min.session.timeout.ms INT
group.consumer.regex.refresh.interval.ms INT
group.consumer.session.timeout.ms INT
group.coordinator.rebalance.protocols LIST
group.initial.rebalance.delay.ms INT
group.max.session.timeout.ms INT
group.max.size INT
group.min.session.timeout.ms INT
leader.imbalance.check.interval.seconds LONG
log.cleaner.backoff.ms LONG
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
log.retention.check.interval.ms LONG
log.retention.hours INT
log.retention.minutes INT
log.retention.ms LONG
log.roll.hours INT
log.roll.ms LONG
log.segment.bytes INT
message.max.bytes INT
min.insync.replicas INT
node.id INT
num.partitions INT
offset.metadata.max.bytes INT
offsets.commit.timeout.ms INT
offsets.load.buffer.size INT
offsets.retention.check.interval.ms LONG
offsets.retention.minutes INT
offsets.topic.num.partitions INT
offsets.topic.replication.factor SHORT
offsets.topic.segment.bytes INT
producer.id.expiration.check.interval.ms INT
producer.id.expiration.ms INT
replica.fetch.backoff.ms INT
replica.fetch.max.bytes INT
replica.fetch.min.bytes INT
replica.fetch.response.max.bytes INT
replica.fetch.wait.max.ms INT
replica.high.watermark.checkpoint.interval.ms LONG
replica.lag.time.max.ms LONG
replica.selector.class STRING
replica.socket.timeout.ms INT
request.timeout.ms INT
transaction.abort.timed.out.transaction.cleanup.interval.ms INT
transaction.max.timeout.ms INT
transaction.remove.expired.transaction.cleanup.interval.ms INT
transaction.state.log.load.buffer.size INT
transaction.state.log.min.isr INT
transaction.state.log.num.partitions INT
transaction.state.log.replication.factor SHORT
transaction.state.log.segment.bytes INT
transactional.id.expiration.ms INT
unclean.leader.election.enable BOOLEAN
unclean.leader.election.interval.ms LONG
"""

_EFFECTIVE: Final[Mapping[str, str]] = dict(row.split() for row in _BROKER_ROWS.strip().splitlines())
BROKER_TYPES: Final[Mapping[str, str]] = {**_EFFECTIVE, **{name: kind for name, (kind, _) in INERT.items()}}
"""The type of each setting of a broker, including those without effect here."""

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

_READ_ONLY_NAMES = """
add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms advertised.listeners
alter.config.policy.class.name alter.log.dirs.replication.quota.window.num
alter.log.dirs.replication.quota.window.size.seconds authorizer.class.name auto.create.topics.enable
auto.leader.rebalance.enable broker.heartbeat.interval.ms broker.id broker.rack broker.session.timeout.ms
client.quota.callback.class connection.failed.authentication.delay.ms connections.max.idle.ms
connections.max.reauth.ms controlled.shutdown.enable controller.listener.names
controller.performance.always.log.threshold.ms controller.performance.sample.period.ms
controller.quorum.append.linger.ms controller.quorum.auto.join.enable controller.quorum.bootstrap.servers
controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms
controller.quorum.fetch.max.bytes controller.quorum.fetch.snapshot.max.bytes controller.quorum.fetch.timeout.ms
controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms controller.quorum.voters
controller.quota.window.num controller.quota.window.size.seconds controller.socket.timeout.ms
create.topic.policy.class.name default.replication.factor delegation.token.expiry.check.interval.ms
delegation.token.expiry.time.ms delegation.token.max.lifetime.ms delegation.token.secret.key
delete.records.purgatory.purge.interval.requests delete.topic.enable early.start.listeners fetch.max.bytes
fetch.purgatory.purge.interval.requests group.consumer.assignors group.consumer.heartbeat.interval.ms
group.consumer.max.assignment.interval.ms group.consumer.max.heartbeat.interval.ms
group.consumer.max.session.timeout.ms group.consumer.max.size group.consumer.migration.policy
group.consumer.min.assignment.interval.ms group.consumer.min.heartbeat.interval.ms
group.consumer.min.session.timeout.ms group.consumer.regex.refresh.interval.ms group.consumer.session.timeout.ms
group.coordinator.append.linger.ms group.coordinator.background.threads group.coordinator.rebalance.protocols
group.coordinator.threads group.initial.rebalance.delay.ms group.max.session.timeout.ms group.max.size
group.min.session.timeout.ms group.share.assignors group.share.delivery.count.limit
group.share.dlq.manager.class.name group.share.heartbeat.interval.ms group.share.initialize.retry.interval.ms
group.share.max.assignment.interval.ms group.share.max.delivery.count.limit
group.share.max.heartbeat.interval.ms group.share.max.partition.max.record.locks
group.share.max.record.lock.duration.ms group.share.max.session.timeout.ms group.share.max.share.sessions
group.share.max.size group.share.min.assignment.interval.ms group.share.min.delivery.count.limit
group.share.min.heartbeat.interval.ms group.share.min.partition.max.record.locks
group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms
group.share.partition.max.record.locks group.share.persister.class.name group.share.record.lock.duration.ms
group.share.session.timeout.ms group.streams.acceptable.recovery.lag group.streams.assignors
group.streams.heartbeat.interval.ms group.streams.initial.rebalance.delay.ms
group.streams.max.assignment.interval.ms group.streams.max.heartbeat.interval.ms
group.streams.max.session.timeout.ms group.streams.max.size group.streams.max.standby.replicas
group.streams.max.warmup.replicas group.streams.min.assignment.interval.ms
group.streams.min.heartbeat.interval.ms group.streams.min.session.timeout.ms
group.streams.min.task.offset.interval.ms group.streams.num.standby.replicas group.streams.num.warmup.replicas
group.streams.rack.aware.assignment.tags group.streams.session.timeout.ms group.streams.task.offset.interval.ms
group.streams.topology.description.plugin.class initial.broker.registration.timeout.ms
inter.broker.listener.name internal.metadata.delete.delay.millis internal.metadata.log.segment.bytes
internal.metadata.max.batch.size.in.bytes kafka.metrics.polling.interval.secs kafka.metrics.reporters
leader.imbalance.check.interval.seconds log.cleaner.enable log.dir log.dir.failure.timeout.ms log.dirs
log.flush.offset.checkpoint.interval.ms log.flush.scheduler.interval.ms
log.flush.start.offset.checkpoint.interval.ms log.initial.task.delay.ms log.retention.check.interval.ms
log.retention.hours log.retention.minutes log.roll.hours log.roll.jitter.hours
max.incremental.fetch.session.cache.slots max.request.partition.size.limit metadata.log.dir
metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms metadata.log.segment.bytes
metadata.log.segment.ms metadata.max.idle.interval.ms metadata.max.retention.bytes metadata.max.retention.ms
metrics.num.samples metrics.recording.level metrics.sample.window.ms node.id num.partitions
num.replica.alter.log.dirs.threads offset.metadata.max.bytes offsets.commit.timeout.ms offsets.load.buffer.size
offsets.retention.check.interval.ms offsets.retention.minutes offsets.topic.compression.codec
offsets.topic.num.partitions offsets.topic.replication.factor offsets.topic.segment.bytes process.roles
producer.id.expiration.check.interval.ms producer.purgatory.purge.interval.requests queued.max.request.bytes
queued.max.requests quota.window.num quota.window.size.seconds remote.log.index.file.cache.ttl.ms
remote.log.manager.copy.quota.window.num remote.log.manager.copy.quota.window.size.seconds
remote.log.manager.fetch.quota.window.num remote.log.manager.fetch.quota.window.size.seconds
remote.log.manager.task.interval.ms remote.log.manager.task.retry.backoff.max.ms
remote.log.manager.task.retry.backoff.ms remote.log.manager.task.retry.jitter
remote.log.manager.thread.pool.size remote.log.metadata.custom.metadata.max.bytes
remote.log.metadata.manager.class.name remote.log.metadata.manager.class.path
remote.log.metadata.manager.impl.prefix remote.log.metadata.manager.listener.name
remote.log.reader.max.pending.tasks remote.log.storage.manager.class.name remote.log.storage.manager.class.path
remote.log.storage.manager.impl.prefix remote.log.storage.system.enable replica.fetch.backoff.ms
replica.fetch.max.bytes replica.fetch.min.bytes replica.fetch.response.max.bytes replica.fetch.wait.max.ms
replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms replica.selector.class
replica.socket.receive.buffer.bytes replica.socket.timeout.ms replication.quota.window.num
replication.quota.window.size.seconds request.timeout.ms sasl.client.callback.handler.class
sasl.login.callback.handler.class sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism.controller.protocol
sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file
sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope
sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url
sasl.server.callback.handler.class sasl.server.max.receive.size security.inter.broker.protocol
security.providers server.max.startup.time.ms share.coordinator.append.linger.ms
share.coordinator.cold.partition.snapshot.interval.ms share.coordinator.load.buffer.size
share.coordinator.snapshot.update.records.per.snapshot share.coordinator.state.topic.compression.codec
share.coordinator.state.topic.min.isr share.coordinator.state.topic.num.partitions
share.coordinator.state.topic.prune.interval.ms share.coordinator.state.topic.replication.factor
share.coordinator.state.topic.segment.bytes share.coordinator.threads share.coordinator.write.timeout.ms
share.fetch.purgatory.purge.interval.requests socket.connection.setup.timeout.max.ms
socket.connection.setup.timeout.ms socket.listen.backlog.size socket.receive.buffer.bytes
socket.request.max.bytes socket.send.buffer.bytes ssl.allow.dn.changes ssl.allow.san.changes
ssl.principal.mapping.rules telemetry.max.bytes transaction.abort.timed.out.transaction.cleanup.interval.ms
transaction.max.timeout.ms transaction.remove.expired.transaction.cleanup.interval.ms
transaction.state.log.load.buffer.size transaction.state.log.min.isr transaction.state.log.num.partitions
transaction.state.log.replication.factor transaction.state.log.segment.bytes transaction.two.phase.commit.enable
transactional.id.expiration.ms unclean.leader.election.interval.ms unstable.api.versions.enable
unstable.feature.versions.enable
"""

READ_ONLY: Final = frozenset(_READ_ONLY_NAMES.split())
"""The settings of a broker that cannot change while it runs."""
