"""Topic ids: Kafka's `Uuid`, here as it is printed, 22 characters of URL-safe base64.

Their hash decides the order in which a coordinator takes topics from its sets and maps, their own order breaks ties of
the `uniform` assignor.

Source: `org.apache.kafka.common.Uuid`.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any, TypeVar

from groupsim.protocol.javahash import JavaHashMap, first_capacity

_MASK = 0xFFFFFFFF
_SIGN = 1 << 63

V = TypeVar("V")


@lru_cache(maxsize=1 << 14)
def _halves(topic_id: str) -> tuple[int, int]:
    raw = urlsafe_b64decode(topic_id + "==")
    return int.from_bytes(raw[:8], "big"), int.from_bytes(raw[8:], "big")


def random_uuid(word: Callable[[], int]) -> str:
    """Return a random id as Kafka prints it: a UUID of version 4 in 22 characters of base64, the first not `-`.

    `word` draws a uniform integer of 64 bits.
    """
    while True:
        raw = bytearray(word().to_bytes(8, "big") + word().to_bytes(8, "big"))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        text = urlsafe_b64encode(raw).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def topic_id_order(topic_id: str) -> tuple[int, int]:
    """Return the sort key of `Uuid.compareTo`: both halves as signed 64-bit numbers."""
    most, least = _halves(topic_id)
    return most - 2 * (most & _SIGN), least - 2 * (least & _SIGN)


def topic_id_hash(topic_id: str) -> int:
    """Return `Uuid.hashCode` as an unsigned 32-bit number: the exclusive or of the four words."""
    most, least = _halves(topic_id)
    folded = most ^ least
    return (folded >> 32 ^ folded) & _MASK


def topic_id_spread(topic_id: str) -> int:
    """Return the hash as `HashMap` uses it, with its upper half folded into the lower."""
    h = topic_id_hash(topic_id)
    return h ^ (h >> 16)


class TopicIdMap(JavaHashMap[str, V]):
    """A mapping that iterates in the order of `java.util.HashMap` with topic ids as keys."""

    __slots__ = ()
    _spread_of: Callable[[Any], int] = staticmethod(topic_id_spread)


def topic_ids_copied_order(topic_ids: Collection[str]) -> list[str]:
    """Return the ids in the order in which `new HashSet<>(topic_ids)` yields them."""
    return list(TopicIdMap(((one, None) for one in topic_ids), capacity=first_capacity(len(topic_ids))))


def topic_ids_set_order(topic_ids: Collection[str]) -> list[str]:
    """Return the ids in the order in which a `HashSet` that got them one by one yields them."""
    return list(TopicIdMap((one, None) for one in topic_ids))
