"""Table of the configuration keys of Kafka's producer, and whether each has an effect here.

A pasted `producer.properties` is readable as it is: keys of what is sent and when have an effect, all others are
accepted with a note, and values that may be secrets (`sasl.*`, `ssl.*`) are never read. Source: Kafka's
`ProducerConfig` (4.x); defaults are the Java producer's, milliseconds for `*.ms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.members.keys import NO_SECURITY, ClientKey, KeyType, acts

_MS, _INT, _BOOL, _STR, _LIST = KeyType.MS, KeyType.INT, KeyType.BOOL, KeyType.STRING, KeyType.LIST

LINGER_BEFORE_4: Final = 0
"""`linger.ms` of the Java producer before 4.0 (KIP-1030 made it 5)."""

#: Partitioners by Kafka's class name and by the name here.
PARTITIONERS: Mapping[str, str] = {
    "": "default",
    "default": "default",
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": "default",
    "org.apache.kafka.clients.producer.UniformStickyPartitioner": "uniform-sticky",
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": "roundrobin",
    "uniform-sticky": "uniform-sticky",
    "roundrobin": "roundrobin",
}

_WITH_EFFECT = (
    acts("client.id", _STR, ""),
    acts("acks", _STR, "all", choices=("all", "-1", "0", "1")),
    acts("linger.ms", _MS, 5, 0),
    acts("batch.size", _INT, 16_384, 0),
    acts("max.request.size", _INT, 1_048_576, 0),
    acts("buffer.memory", _INT, 33_554_432, 0),
    acts("max.block.ms", _MS, 60_000, 0),
    acts("max.in.flight.requests.per.connection", _INT, 5, 1),
    acts("retries", _INT, 2**31 - 1, 0),
    acts("delivery.timeout.ms", _MS, 120_000, 0),
    acts("request.timeout.ms", _MS, 30_000, 0),
    acts("retry.backoff.ms", _MS, 100, 0),
    acts("retry.backoff.max.ms", _MS, 1_000, 0),
    acts("reconnect.backoff.ms", _MS, 50, 0),
    acts("reconnect.backoff.max.ms", _MS, 1_000, 0),
    acts("metadata.max.age.ms", _MS, 300_000, 0),
    acts("enable.idempotence", _BOOL, True),
    acts("transactional.id", _STR, None),
    acts("transaction.timeout.ms", _MS, 60_000, 1),
    acts("partitioner.class", _STR, ""),
    acts("partitioner.ignore.keys", _BOOL, False),
)
_WITHOUT_EFFECT = (
    ClientKey("bootstrap.servers", _LIST, None),
    ClientKey("key.serializer", _STR, None),
    ClientKey("value.serializer", _STR, None),
    ClientKey("auto.include.jmx.reporter", _BOOL, True),
    ClientKey("client.dns.lookup", _STR, "use_all_dns_ips"),
    ClientKey("compression.type", _STR, "none", note="accepted; give record sizes as they are after compression"),
    ClientKey("compression.gzip.level", _INT, -1),
    ClientKey("compression.lz4.level", _INT, 9),
    ClientKey("compression.zstd.level", _INT, 3),
    ClientKey("config.providers", _LIST, ""),
    ClientKey("connections.max.idle.ms", _MS, 540_000),
    ClientKey("enable.metrics.push", _BOOL, True),
    ClientKey("interceptor.classes", _LIST, ""),
    ClientKey("metadata.max.idle.ms", _MS, 300_000),
    ClientKey("metadata.recovery.rebootstrap.trigger.ms", _MS, 300_000),
    ClientKey("metadata.recovery.strategy", _STR, "rebootstrap"),
    ClientKey("metric.reporters", _LIST, ""),
    ClientKey("metrics.num.samples", _INT, 2),
    ClientKey("metrics.recording.level", _STR, "INFO"),
    ClientKey("metrics.sample.window.ms", _MS, 30_000),
    ClientKey("partitioner.adaptive.partitioning.enable", _BOOL, True),
    ClientKey("partitioner.availability.timeout.ms", _MS, 0),
    ClientKey("receive.buffer.bytes", _INT, 32_768),
    ClientKey("security.protocol", _STR, "PLAINTEXT", note=NO_SECURITY),
    ClientKey("security.providers", _STR, None, note=NO_SECURITY),
    ClientKey("send.buffer.bytes", _INT, 131_072),
    ClientKey("socket.connection.setup.timeout.max.ms", _MS, 30_000),
    ClientKey("socket.connection.setup.timeout.ms", _MS, 10_000),
    ClientKey("transaction.two.phase.commit.enable", _BOOL, False),
)

PRODUCER_KEYS: Mapping[str, ClientKey] = {key.name: key for key in (*_WITH_EFFECT, *_WITHOUT_EFFECT)}
"""The known keys by name."""

LONG_KEYS: Final = frozenset({"buffer.memory", "max.block.ms", "linger.ms"})
"""Keys of Java's type long, without the 32-bit limit."""
