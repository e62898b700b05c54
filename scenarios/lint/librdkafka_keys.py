"""librdkafka's configuration properties for consumers, from its CONFIGURATION.md of 0.11 to 2.15.

Each line has: name, scope, the first version (0.11 means "or before"), the version
that removed it, the range of a number, and whether it is deprecated. TLS, SASL and callbacks are left out: each name
with their prefixes counts as known. librdkafka refuses an unknown name.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.members.profiles.defects import Version, version_of
from groupsim.protocol.values import frozen


@frozen
class LibrdkafkaKey:
    """One property: `scope` is "both", "consumer" or "producer"; `low` and `high` bound a number, both included."""

    name: str
    scope: str
    since: Version
    until: Version | None
    low: int | None
    high: int | None
    deprecated: bool


_TABLE = """
acks producer 0.11 - -1..1000
allow.auto.create.topics both 1.5 - -
api.version.fallback.ms both 0.11 - 0..604800000 deprecated
api.version.request both 0.11 - - deprecated
api.version.request.timeout.ms both 0.11 - 1..300000
auto.commit.enable consumer 0.11 - - deprecated
auto.commit.interval.ms consumer 0.11 - 0..86400000
auto.offset.reset consumer 0.11 - -
batch.num.messages producer 0.11 - 1..1000000
batch.size producer 1.5 - 1..2147483647
bootstrap.servers both 0.11 - -
broker.address.family both 0.11 - -
broker.address.ttl both 0.11 - 0..86400000
broker.version.fallback both 0.11 - - deprecated
check.crcs consumer 0.11 - -
client.dns.lookup both 2.2 - -
client.id both 0.11 - -
client.rack both 1.3 - -
compression.codec producer 0.11 - -
compression.level producer 0.11 - -1..12
compression.type producer 0.11 - -
connections.max.idle.ms both 1.7 - 0..2147483647
consume.callback.max.messages consumer 0.11 - 0..1000000
coordinator.query.interval.ms consumer 0.11 - 1..3600000
delivery.report.only.error producer 0.11 - -
delivery.timeout.ms producer 1.0 - 0..2147483647
enable.auto.commit consumer 0.11 - -
enable.auto.offset.store consumer 0.11 - -
enable.gapless.guarantee producer 1.0 - -
enable.idempotence producer 1.0 - -
enable.metrics.push both 2.5 - -
enable.partition.eof consumer 0.11 - -
fetch.error.backoff.ms consumer 0.11 - 0..300000
fetch.max.bytes consumer 0.11 - 0..2147483135
fetch.message.max.bytes consumer 0.11 - 1..1000000000
fetch.min.bytes consumer 0.11 - 0..2147483647
fetch.queue.backoff.ms consumer 2.2 - 0..300000
fetch.wait.max.ms consumer 0.11 - 0..300000
group.id consumer 0.11 - -
group.instance.id consumer 1.4 - -
group.protocol consumer 2.4 - -
group.protocol.type consumer 0.11 - -
group.remote.assignor consumer 2.4 - -
heartbeat.interval.ms consumer 0.11 - 1..3600000
isolation.level consumer 1.2 - -
linger.ms producer 0.11 - 0..900000
max.in.flight both 0.11 - 1..1000000
max.in.flight.requests.per.connection both 0.11 - 1..1000000
max.partition.fetch.bytes consumer 0.11 - 1..1000000000
max.poll.interval.ms consumer 1.0 - 1..86400000
message.copy.max.bytes both 0.11 - 0..1000000000
message.max.bytes both 0.11 - 1000..1000000000
message.send.max.retries producer 0.11 - 0..2147483647
message.timeout.ms producer 0.11 - 0..2147483647
metadata.broker.list both 0.11 - -
metadata.max.age.ms both 0.11 - 1..86400000
metadata.recovery.rebootstrap.trigger.ms both 2.11 - 0..2147483647
metadata.recovery.strategy both 2.10 - -
metadata.request.timeout.ms both 0.11 1.7 10..900000
offset.store.method consumer 0.11 - - deprecated
offset.store.path consumer 0.11 - - deprecated
offset.store.sync.interval.ms consumer 0.11 - -1..86400000 deprecated
partition.assignment.strategy consumer 0.11 - -
produce.offset.report producer 0.11 - - deprecated
queue.buffering.backpressure.threshold producer 0.11 - 1..1000000
queue.buffering.max.kbytes producer 0.11 - 1..2147483647
queue.buffering.max.messages producer 0.11 - 0..2147483647
queue.buffering.max.ms producer 0.11 - 0..900000
queued.max.messages.kbytes consumer 0.11 - 1..2097151
queued.min.messages consumer 0.11 - 1..10000000
queuing.strategy producer 0.11 - - deprecated
receive.message.max.bytes both 0.11 - 1000..2147483647
reconnect.backoff.jitter.ms both 0.11 - 0..3600000 deprecated
reconnect.backoff.max.ms both 1.0 - 0..3600000
reconnect.backoff.ms both 1.0 - 0..3600000
request.required.acks producer 0.11 - -1..1000
request.timeout.ms producer 0.11 - 1..900000
retries producer 0.11 - 0..2147483647
retry.backoff.max.ms both 2.3 - 1..300000
retry.backoff.ms both 0.11 - 1..300000
security.protocol both 0.11 - -
session.timeout.ms consumer 0.11 - 1..3600000
socket.blocking.max.ms both 0.11 - 1..60000 deprecated
socket.connection.setup.timeout.ms both 1.9 - 1000..2147483647
socket.keepalive.enable both 0.11 - -
socket.max.fails both 0.11 - 0..1000000
socket.nagle.disable both 0.11 - -
socket.receive.buffer.bytes both 0.11 - 0..100000000
socket.send.buffer.bytes both 0.11 - 0..100000000
socket.timeout.ms both 0.11 - 10..300000
statistics.interval.ms both 0.11 - 0..86400000
sticky.partitioning.linger.ms producer 1.6 - 0..900000
topic.blacklist both 0.11 - -
topic.metadata.propagation.max.ms both 1.5 - 0..3600000
topic.metadata.refresh.fast.cnt both 0.11 - 0..1000 deprecated
topic.metadata.refresh.fast.interval.ms both 0.11 - 1..60000
topic.metadata.refresh.interval.ms both 0.11 - -1..3600000
topic.metadata.refresh.sparse both 0.11 - -
transaction.timeout.ms producer 1.4 - 1000..2147483647
transactional.id producer 1.4 - -
"""


def _key(line: str) -> LibrdkafkaKey:
    name, scope, since, until, limits, *flags = line.split()
    low, _, high = limits.partition("..") if limits != "-" else ("", "", "")
    return LibrdkafkaKey(
        name,
        scope,
        version_of(since),
        None if until == "-" else version_of(until),
        int(low) if low else None,
        int(high) if high else None,
        "deprecated" in flags,
    )


#: Every property by name.
LIBRDKAFKA_KEYS: Mapping[str, LibrdkafkaKey] = {
    key.name: key for key in (_key(line) for line in _TABLE.strip().splitlines())
}
#: Prefixes and endings of properties that are not in the table: transport security, callbacks, bindings' own keys.
UNLISTED = ("ssl", "sasl", "https.", "enable.s", "internal.", "go.", "dotnet.", "log", "plugin.", "builtin.")
UNLISTED_ENDS = ("_cb", "deserializer", "opaque", "default_topic_conf", "default.topic.config", "debug", "interceptors")
