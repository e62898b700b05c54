"""The user data that the sticky assignors write into a subscription and read at the next rebalance.

`sticky` stores the member's last assignment: v0 is ARRAY of (topic STRING, ARRAY of int32), v1 (KIP-341) appends the
generation as an int32. The bytes do not contain the version: a reader tries v1, then v0, then gives up.
`cooperative-sticky` stores the generation alone, since the partitions are in the subscription itself.

Sources: `StickyAssignor`, `CooperativeStickyAssignor`; KIP-54, KIP-341, KIP-429; assignors reference, sections 5-7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from struct import Struct, error, pack, unpack_from

from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.javahash import java_set_order
from groupsim.protocol.messages.group import TopicPartition

NO_GENERATION = -1
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_MESSAGE = "StickyUserData"

_new = tuple.__new__  # a named tuple without its Python-level constructor: a million of them are read at once


def encode_sticky_user_data(partitions: Iterable[TopicPartition], generation: int) -> bytes:
    """Encode schema v1. Topics are in Java's hash map order, as Kafka writes them; partitions in the given order.

    Raises ProtocolError when a number or a topic name does not fit its field.
    """
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    parts = [_INT32.pack(len(by_topic))]
    for topic in java_set_order(by_topic):
        parts.append(_string(topic))
        parts.append(_int32s([len(by_topic[topic]), *by_topic[topic]]))
    parts.append(_int32s([generation]))
    return b"".join(parts)


def decode_sticky_user_data(data: bytes) -> tuple[tuple[TopicPartition, ...], int] | None:
    """Return the claims and their generation (-1 in v0); None when the bytes fit neither schema.

    Trailing bytes are ignored.
    """
    try:
        claims, end = _read_claims(data)
    except (error, ValueError):
        return None
    try:
        (generation,) = _INT32.unpack_from(data, end)
    except error:
        generation = NO_GENERATION
    return tuple(claims), generation


def encode_generation(generation: int) -> bytes:
    """Return the user data of `cooperative-sticky`: the generation, -1 before the first assignment."""
    try:
        return _INT32.pack(generation)
    except error:
        return _int32s([generation])  # raises the error with the number


def decode_generation(data: bytes | None) -> int | None:
    """Return the generation in `cooperative-sticky` user data: None without user data, -1 when it is unreadable."""
    if data is None:
        return None
    try:
        generation: int = _INT32.unpack_from(data)[0]
    except error:
        return NO_GENERATION
    return generation


def _read_claims(data: bytes) -> tuple[list[TopicPartition], int]:
    """Return the array of claims and the offset after it. Raises struct.error or ValueError for invalid bytes."""
    claims: list[TopicPartition] = []
    topics, at = _count(data, 0)
    for _ in range(topics):
        (length,) = _INT16.unpack_from(data, at)
        at += _INT16.size
        if not 0 <= length <= len(data) - at:
            raise ValueError("a topic that ends behind the data")
        topic = data[at : at + length].decode("utf-8", "replace")
        count, at = _count(data, at + length)
        numbers = unpack_from(f">{count}i", data, at)
        at += _INT32.size * count
        claims.extend(map(_new, repeat(TopicPartition), zip(repeat(topic), numbers)))
    return claims, at


def _count(data: bytes, at: int) -> tuple[int, int]:
    """Return an array's length, which must fit into the bytes left, and the offset after it."""
    (count,) = _INT32.unpack_from(data, at)
    at += _INT32.size
    if not 0 <= count <= len(data) - at:
        raise ValueError("an array that ends behind the data")
    return count, at


def _string(text: str) -> bytes:
    raw = text.encode("utf-8", "replace")
    if len(raw) > 0x7FFF:
        raise ProtocolError(_MESSAGE, None, "a topic of at most 32767 bytes", f"{len(raw)}: {text[:40]!r}…")
    return _INT16.pack(len(raw)) + raw


def _int32s(numbers: Sequence[int]) -> bytes:
    try:
        return pack(f">{len(numbers)}i", *numbers)
    except error as problem:
        wrong = next(n for n in numbers if not -(2**31) <= n < 2**31)
        raise ProtocolError(_MESSAGE, None, "numbers of 32 bits", str(wrong)) from problem
