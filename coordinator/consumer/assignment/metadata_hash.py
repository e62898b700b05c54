"""The hash of the topics to which a group subscribes.

The record of a group epoch holds it. When the broker's topics change, or a subscription does, the next heartbeat of any
member computes the hash, and a hash that differs bumps the epoch. A topic's part is its id, its name, its number of
partitions and (since 4.1) the racks of its replicas, one for each replica; a name without a topic has no part. Kafka
4.0 stored the topics themselves in a record of their own; here the hash stands for them.

Source: `Utils.computeTopicHash`, `Utils.computeGroupHash`, `ModernGroup.computeMetadataHash`; consumer-protocol
reference, 1.5.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterable
from functools import lru_cache

from groupsim.coordinator.base.interfaces import TopicsImage, TopicView
from groupsim.coordinator.base.versions import Differences
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.xxh3 import xxh3_64

_FORMAT = b"\x00"
_NO_RACKS: tuple[str, ...] = ()


def metadata_hash(names: Iterable[str], image: TopicsImage, rules: Differences) -> int:
    """Return the hash of the topics of these names, a signed number of 64 bits; 0 without a topic."""
    found = {name: topic for name in names if (topic := image.topic(name)) is not None}
    hashes = (topic_hash(found[name], with_racks=rules.racks_bump) for name in java_sorted(found))
    parts = [one.to_bytes(8, "little") for one in hashes]
    return _signed(xxh3_64(b"".join(parts))) if parts else 0


@lru_cache(maxsize=1 << 12)
def topic_hash(topic: TopicView, *, with_racks: bool = True) -> int:
    """Return the hash of one topic, an unsigned number of 64 bits."""
    raw = urlsafe_b64decode(topic.topic_id + "==")
    parts = [_FORMAT, raw[7::-1], raw[:7:-1], _text(topic.name), _int(topic.partitions)]
    for partition in range(topic.partitions):
        parts.append(_int(partition))
        racks = topic.racks[partition] if with_racks and partition < len(topic.racks) else _NO_RACKS
        parts += [_int(_units(rack)) + _text(rack) for rack in java_sorted(racks)]
    return xxh3_64(b"".join(parts))


def _int(number: int) -> bytes:
    return number.to_bytes(4, "little", signed=True)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _text(text: str) -> bytes:
    """Return a text as hash4j puts it into a hash: its UTF-16 units, then their number."""
    return text.encode("utf-16-le", "surrogatepass") + _int(_units(text))


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
