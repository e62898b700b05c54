"""The owner of a setting: broker, topic, producer, Streams, Connect, or a consumer of another release.

The linter reads these tables for a key that is not the consumer's. Kafka's consumer keys, with their
effect in the simulator, are in `members.keys.CONSUMER_KEYS`; this module has their first versions. Sources:
`ConsumerConfig` of the release branches 0.9.0 to 3.9 and of 4.x, and the broker's `GroupCoordinatorConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.members.keys import CONSUMER_KEYS

Version = tuple[int, ...]

_NOT_JAVA = (
    "rebalance.timeout.ms enable.auto.offset.store enable.partition.eof metadata.broker.list queued.min.messages "
    "queued.max.messages.kbytes socket.keepalive.enable statistics.interval.ms"
)
#: The Java consumer's keys, of any version.
JAVA_KEYS: tuple[str, ...] = tuple(name for name in CONSUMER_KEYS if name not in _NOT_JAVA.split())

#: First version of the Java consumer's keys that 0.9 did not have.
JAVA_SINCE: Mapping[str, Version] = {
    "exclude.internal.topics": (0, 10, 0),
    "interceptor.classes": (0, 10, 0),
    "max.poll.records": (0, 10, 0),
    "fetch.max.bytes": (0, 10, 1),
    "max.poll.interval.ms": (0, 10, 1),
    "internal.leave.group.on.close": (0, 10, 2),
    "metrics.recording.level": (0, 10, 2),
    "isolation.level": (0, 11),
    "reconnect.backoff.max.ms": (0, 11),
    "default.api.timeout.ms": (2, 0),
    "client.dns.lookup": (2, 1),
    "allow.auto.create.topics": (2, 3),
    "client.rack": (2, 3),
    "group.instance.id": (2, 3),
    "security.providers": (2, 4),
    "socket.connection.setup.timeout.ms": (2, 7),
    "socket.connection.setup.timeout.max.ms": (2, 7),
    "auto.include.jmx.reporter": (3, 4),
    "enable.metrics.push": (3, 7),
    "group.protocol": (3, 7),
    "group.remote.assignor": (3, 7),
    "retry.backoff.max.ms": (3, 7),
    "metadata.recovery.strategy": (3, 8),
    "metadata.recovery.rebootstrap.trigger.ms": (4, 0),
}
#: Keys that the Java consumer removed: the first version without the key, and the remedy.
JAVA_GONE: Mapping[str, tuple[Version, str]] = {
    "auto.include.jmx.reporter": ((4, 0), "name the reporters in metric.reporters (KIP-830)"),
    "internal.leave.group.on.close": ((4, 2), "use Consumer.close(CloseOptions) (KIP-1092)"),
}
#: Deprecated keys of the Java consumer: since when, and the remedy.
JAVA_DEPRECATED: Mapping[str, tuple[Version, str]] = {
    "auto.include.jmx.reporter": ((3, 4), "name the reporters in metric.reporters (KIP-830)"),
}

#: Broker settings that concern groups, with the first broker version that has them.
BROKER_SINCE: Mapping[str, Version] = {
    "group.min.session.timeout.ms": (0, 9),
    "group.max.session.timeout.ms": (0, 9),
    "group.initial.rebalance.delay.ms": (0, 11),
    "group.max.size": (2, 2),
    "group.consumer.session.timeout.ms": (3, 7),
    "group.consumer.min.session.timeout.ms": (3, 7),
    "group.consumer.max.session.timeout.ms": (3, 7),
    "group.consumer.heartbeat.interval.ms": (3, 7),
    "group.consumer.min.heartbeat.interval.ms": (3, 7),
    "group.consumer.max.heartbeat.interval.ms": (3, 7),
    "group.consumer.max.size": (3, 7),
    "group.consumer.assignors": (3, 7),
    "group.consumer.migration.policy": (3, 8),
    "group.consumer.regex.refresh.interval.ms": (4, 1),
    "group.consumer.assignment.interval.ms": (4, 3),
    "group.consumer.min.assignment.interval.ms": (4, 3),
    "group.consumer.max.assignment.interval.ms": (4, 3),
    "group.coordinator.rebalance.protocols": (3, 7),
    "group.coordinator.append.linger.ms": (3, 8),
    "group.coordinator.threads": (3, 7),
    "offset.metadata.max.bytes": (0, 9),
    "offsets.retention.minutes": (0, 9),
    "offsets.retention.check.interval.ms": (0, 9),
    "offsets.commit.timeout.ms": (0, 9),
    "offsets.topic.num.partitions": (0, 9),
    "offsets.topic.replication.factor": (0, 9),
    "offsets.topic.segment.bytes": (0, 9),
    "offsets.load.buffer.size": (0, 9),
}
_BROKER = """
broker.id node.id process.roles listeners advertised.listeners zookeeper.connect controller.quorum.voters log.dirs
log.retention.ms log.retention.hours log.retention.bytes log.segment.bytes num.partitions default.replication.factor
auto.create.topics.enable delete.topic.enable unclean.leader.election.enable num.network.threads num.io.threads
replica.lag.time.max.ms inter.broker.protocol.version transaction.state.log.replication.factor
transaction.state.log.min.isr transaction.max.timeout.ms replica.fetch.wait.max.ms replica.selector.class broker.rack
broker.session.timeout.ms broker.heartbeat.interval.ms group.coordinator.new.enable group.share.enable
group.streams.session.timeout.ms
"""
_TOPIC = """
retention.ms retention.bytes cleanup.policy segment.bytes segment.ms min.insync.replicas max.message.bytes
message.timestamp.type delete.retention.ms min.cleanable.dirty.ratio replication.factor partitions
"""
_PRODUCER = """
acks linger.ms batch.size buffer.memory compression.type delivery.timeout.ms enable.idempotence key.serializer
value.serializer max.block.ms max.in.flight.requests.per.connection max.request.size partitioner.class retries
transactional.id transaction.timeout.ms
"""
_STREAMS = """
application.id num.stream.threads num.standby.replicas commit.interval.ms acceptable.recovery.lag
probing.rebalance.interval.ms max.warmup.replicas processing.guarantee state.dir
"""
_CONNECT = """
rebalance.timeout.ms scheduled.rebalance.max.delay.ms connect.protocol offset.flush.interval.ms config.storage.topic
offset.storage.topic status.storage.topic tasks.max
"""
#: Key → the kind of process or resource that it configures.
ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys((*BROKER_SINCE, *_BROKER.split()), "broker"),
    **dict.fromkeys(_TOPIC.split(), "topic"),
    **dict.fromkeys(_PRODUCER.split(), "producer"),
    **dict.fromkeys(_STREAMS.split(), "Kafka Streams application"),
    **dict.fromkeys(_CONNECT.split(), "Connect worker"),
}

#: Keys of topics that brokers have too, as the default for topics.
OF_BROKERS_TOO: tuple[str, ...] = ("min.insync.replicas",)

#: Keys of the Scala consumer of 0.8, which kept its groups in ZooKeeper, and their successors.
OLD_CONSUMER: Mapping[str, str] = {
    "zookeeper.connect": "bootstrap.servers",
    "zookeeper.session.timeout.ms": "session.timeout.ms",
    "zookeeper.connection.timeout.ms": "",
    "auto.commit.enable": "enable.auto.commit",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "socket.timeout.ms": "request.timeout.ms",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "rebalance.max.retries": "",
    "rebalance.backoff.ms": "retry.backoff.ms",
    "refresh.leader.backoff.ms": "retry.backoff.ms",
    "offsets.storage": "",
    "dual.commit.enabled": "",
    "consumer.timeout.ms": "",
    "queued.max.message.chunks": "",
    "num.consumer.fetchers": "",
}

#: Java consumer's name → librdkafka's name; empty if librdkafka has no such setting.
LIBRDKAFKA_FOR_JAVA: Mapping[str, str] = {
    "request.timeout.ms": "socket.timeout.ms",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "exclude.internal.topics": "topic.blacklist",
    "metrics.sample.window.ms": "statistics.interval.ms",
    "max.poll.records": "",
    "default.api.timeout.ms": "",
}
