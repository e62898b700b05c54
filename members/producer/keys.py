"""Table of the configuration keys of Kafka's producer, and whether each has an effect here.

A pasted `producer.properties` is readable as it is: keys of what is sent and when have an effect, all others are
accepted with a note, and values that may be secrets (`sasl.*`, `ssl.*`) are never read. Source: Kafka's
`ProducerConfig` (4.x); defaults are the Java producer's, milliseconds for `*.ms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.members.keys import OF_EVERY_CLIENT, ClientKey, KeyType, acts

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
    acts("acks", _STR, "all", choices=("all", "-1", "0", "1")),
    acts("linger.ms", _MS, 5, 0),
    acts("batch.size", _INT, 16_384, 0),
    acts("max.request.size", _INT, 1_048_576, 0),
    acts("buffer.memory", _INT, 33_554_432, 0),
    acts("max.block.ms", _MS, 60_000, 0),
    acts("max.in.flight.requests.per.connection", _INT, 5, 1),
    acts("retries", _INT, 2**31 - 1, 0),
    acts("delivery.timeout.ms", _MS, 120_000, 0),
    acts("enable.idempotence", _BOOL, True),
    acts("transactional.id", _STR, None),
    acts("transaction.timeout.ms", _MS, 60_000, 1),
    acts("partitioner.class", _STR, ""),
    acts("partitioner.ignore.keys", _BOOL, False),
)
_WITHOUT_EFFECT = (
    ClientKey("key.serializer", _STR, None),
    ClientKey("value.serializer", _STR, None),
    ClientKey("compression.type", _STR, "none", note="accepted; give record sizes as they are after compression"),
    ClientKey("compression.gzip.level", _INT, -1),
    ClientKey("compression.lz4.level", _INT, 9),
    ClientKey("compression.zstd.level", _INT, 3),
    ClientKey("metadata.max.idle.ms", _MS, 300_000),
    ClientKey("partitioner.adaptive.partitioning.enable", _BOOL, True),
    ClientKey("partitioner.availability.timeout.ms", _MS, 0),
    ClientKey("receive.buffer.bytes", _INT, 32_768),
    ClientKey("transaction.two.phase.commit.enable", _BOOL, False),
)

PRODUCER_KEYS: Mapping[str, ClientKey] = {key.name: key for key in (*_WITH_EFFECT, *OF_EVERY_CLIENT, *_WITHOUT_EFFECT)}
"""The known keys by name."""

LONG_KEYS: Final = frozenset({"buffer.memory", "max.block.ms", "linger.ms"})
"""Keys of Java's type long, without the 32-bit limit."""
