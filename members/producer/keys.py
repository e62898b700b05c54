"""Every configuration key of Kafka's producer, and whether it does anything here.

A pasted `producer.properties` must be readable as it is: keys that steer what is sent and when have an effect, all
others are accepted with a note, and values that may be secrets (`sasl.*`, `ssl.*`) are not even looked at. Source:
Kafka's `ProducerConfig` (4.x); defaults are the Java producer's, milliseconds for `*.ms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.members.keys import ConsumerKey, KeyType

_MS, _INT, _BOOL, _STR, _LIST = KeyType.MS, KeyType.INT, KeyType.BOOL, KeyType.STRING, KeyType.LIST

LINGER_BEFORE_4: Final = 0
"""`linger.ms` of the Java producer before 4.0 (KIP-1030 made it 5)."""

#: Names of partitioners, as Kafka's class names and as they are called here.
PARTITIONERS: Mapping[str, str] = {
    "": "default",
    "default": "default",
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": "default",
    "org.apache.kafka.clients.producer.UniformStickyPartitioner": "uniform-sticky",
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": "roundrobin",
    "uniform-sticky": "uniform-sticky",
    "roundrobin": "roundrobin",
}


def _acts(
    name: str, kind: KeyType, default: object, minimum: int | None = None, choices: tuple[str, ...] = ()
) -> ConsumerKey:
    return ConsumerKey(name, kind, default, effect=True, note="", minimum=minimum, choices=choices)


_WITH_EFFECT = (
    _acts("client.id", _STR, ""),
    _acts("acks", _STR, "all", choices=("all", "-1", "0", "1")),
    _acts("linger.ms", _MS, 5, 0),
    _acts("batch.size", _INT, 16_384, 0),
    _acts("max.request.size", _INT, 1_048_576, 0),
    _acts("buffer.memory", _INT, 33_554_432, 0),
    _acts("max.block.ms", _MS, 60_000, 0),
    _acts("max.in.flight.requests.per.connection", _INT, 5, 1),
    _acts("retries", _INT, 2**31 - 1, 0),
    _acts("delivery.timeout.ms", _MS, 120_000, 0),
    _acts("request.timeout.ms", _MS, 30_000, 0),
    _acts("retry.backoff.ms", _MS, 100, 0),
    _acts("retry.backoff.max.ms", _MS, 1_000, 0),
    _acts("reconnect.backoff.ms", _MS, 50, 0),
    _acts("reconnect.backoff.max.ms", _MS, 1_000, 0),
    _acts("metadata.max.age.ms", _MS, 300_000, 0),
    _acts("enable.idempotence", _BOOL, True),
    _acts("transactional.id", _STR, None),
    _acts("transaction.timeout.ms", _MS, 60_000, 1),
    _acts("partitioner.class", _STR, ""),
    _acts("partitioner.ignore.keys", _BOOL, False),
)
_WITHOUT_EFFECT = (
    ConsumerKey("bootstrap.servers", _LIST, None),
    ConsumerKey("key.serializer", _STR, None),
    ConsumerKey("value.serializer", _STR, None),
    ConsumerKey("auto.include.jmx.reporter", _BOOL, True),
    ConsumerKey("client.dns.lookup", _STR, "use_all_dns_ips"),
    ConsumerKey("compression.type", _STR, "none", note="accepted; give record sizes as they are after compression"),
    ConsumerKey("compression.gzip.level", _INT, -1),
    ConsumerKey("compression.lz4.level", _INT, 9),
    ConsumerKey("compression.zstd.level", _INT, 3),
    ConsumerKey("config.providers", _LIST, ""),
    ConsumerKey("connections.max.idle.ms", _MS, 540_000),
    ConsumerKey("enable.metrics.push", _BOOL, True),
    ConsumerKey("interceptor.classes", _LIST, ""),
    ConsumerKey("metadata.max.idle.ms", _MS, 300_000),
    ConsumerKey("metadata.recovery.rebootstrap.trigger.ms", _MS, 300_000),
    ConsumerKey("metadata.recovery.strategy", _STR, "rebootstrap"),
    ConsumerKey("metric.reporters", _LIST, ""),
    ConsumerKey("metrics.num.samples", _INT, 2),
    ConsumerKey("metrics.recording.level", _STR, "INFO"),
    ConsumerKey("metrics.sample.window.ms", _MS, 30_000),
    ConsumerKey("partitioner.adaptive.partitioning.enable", _BOOL, True),
    ConsumerKey("partitioner.availability.timeout.ms", _MS, 0),
    ConsumerKey("receive.buffer.bytes", _INT, 32_768),
    ConsumerKey("security.protocol", _STR, "PLAINTEXT"),
    ConsumerKey("security.providers", _STR, None),
    ConsumerKey("send.buffer.bytes", _INT, 131_072),
    ConsumerKey("socket.connection.setup.timeout.max.ms", _MS, 30_000),
    ConsumerKey("socket.connection.setup.timeout.ms", _MS, 10_000),
    ConsumerKey("transaction.two.phase.commit.enable", _BOOL, False),
)

PRODUCER_KEYS: Mapping[str, ConsumerKey] = {key.name: key for key in (*_WITH_EFFECT, *_WITHOUT_EFFECT)}
"""By name."""

LONG_KEYS: Final = frozenset({"buffer.memory", "max.block.ms", "linger.ms"})
"""Keys whose type is Java's long: the 32-bit limit is not theirs."""
