"""The embedded consumer protocol: the bytes in JoinGroup and SyncGroup, as real clients write them.

To the coordinator these are opaque bytes; to the members they are two messages. A member's *subscription* holds its
topics and, by version, its owned partitions; the leader's *assignment* holds the partitions of one member. Both start
with an int16 version. All integers are big-endian; a string is an int16 length and UTF-8 bytes, bytes and arrays have
an int32 length, -1 is null where null is allowed. There are no tagged fields.

    Subscription   Topics, UserData | v1 OwnedPartitions (KIP-429) | v2 GenerationId (KIP-792) | v3 RackId (KIP-881)
    Assignment     AssignedPartitions, UserData, alike in versions 0 to 3

A reader treats a version above 3 as version 3 and ignores the rest of the bytes; that is how members of different ages
share a group. A negative version is an error, and so is a message that ends early. Topics and owned partitions are
written sorted, an assignment in the order the assignor listed it, grouped by topic.

Strings are treated as in Java: sorted by UTF-16 code unit, ill-formed UTF-8 read as U+FFFD, an unpaired
surrogate written as "?".

Sources: `ConsumerProtocol`, `ConsumerProtocolSubscription.json`, `ConsumerProtocolAssignment.json`; assignors
reference, section 7; classic-protocol reference, section 2.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import repeat
from struct import Struct, error, pack, unpack_from

from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.javahash import java_sorted, java_string_key
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.record_fields import INT16, INT32, FieldReader, text, utf8
from groupsim.protocol.values import value

NEWEST_VERSION = 3
_REMEMBERED = 1_024  # subscriptions: the members of a group mostly send the same bytes, twice

_new = tuple.__new__  # a named tuple made without its Python-level constructor: a million of them are read at once
_NULL_STRING = INT16.pack(-1)
_NULL_BYTES = INT32.pack(-1)
_VERSIONS = tuple(map(INT16.pack, range(NEWEST_VERSION + 1)))
_UP_TO_TOPIC = Struct(">hih")  # version, number of topics, length of the first one's name


@value
class Subscription:
    """The content of a JoinGroup protocol's metadata: the topics and state of one member.

    `owned` is encoded from version 1 on, `generation` (None: none) from 2, `rack` from 3. `user_data` belongs to
    the assignor; None and b"" are different bytes.
    """

    topics: tuple[str, ...] = ()
    user_data: bytes | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None
    rack: str | None = None


@value
class Assignment:
    """The content of a SyncGroup assignment: the partitions of one member."""

    partitions: tuple[TopicPartition, ...] = ()
    user_data: bytes | None = None


def encode_subscription(subscription: Subscription, version: int = NEWEST_VERSION) -> bytes:
    """Return the bytes of a subscription in `version` (0 to 3); fields that the version lacks are left out.

    Raises ProtocolError when the version does not exist or a value does not fit its field.
    """
    message = "Subscription"
    parts = [_version(message, version), INT32.pack(len(subscription.topics))]
    parts += [utf8(message, topic) for topic in java_sorted(subscription.topics)]
    parts.append(_bytes(subscription.user_data))
    if version >= 1:
        parts.append(_partitions(message, _in_java_order(subscription.owned)))
    if version >= 2:
        parts.append(_int32(message, -1 if subscription.generation is None else subscription.generation))
    if version >= 3:
        parts.append(utf8(message, subscription.rack) if subscription.rack else _NULL_STRING)
    return b"".join(parts)


@lru_cache(maxsize=_REMEMBERED)
def decode_subscription(data: bytes) -> Subscription:
    """Decode a subscription of any version; fields that it lacks get their defaults, trailing bytes are ignored.

    An empty rack and a negative generation count as none. Raises ProtocolError.
    """
    reader = _Reader("Subscription", data)
    version = reader.version()
    topics, user_data = _topics_and_user_data(reader)
    owned = reader.partitions("OwnedPartitions") if version >= 1 else ()
    generation = reader.int32("GenerationId") if version >= 2 else -1
    rack = reader.nullable_string("RackId") if version >= 3 else None
    return Subscription(topics, user_data, owned, generation if generation >= 0 else None, rack or None)


def encode_assignment(assignment: Assignment, version: int = NEWEST_VERSION) -> bytes:
    """Return the bytes of an assignment: partitions grouped by topic, in the order in which topics first appear.

    Raises ProtocolError when the version does not exist or a value does not fit its field.
    """
    message = "Assignment"
    return b"".join(
        (
            _version(message, version),
            _partitions(message, assignment.partitions),
            _bytes(assignment.user_data),
        )
    )


def decode_assignment(data: bytes) -> Assignment:
    """Decode an assignment of any version; trailing bytes are ignored.

    Raises ProtocolError, also for empty bytes: the Java client fails in `poll` on those.
    """
    usual = _assigned_of_one_topic(data)
    if usual is not None:
        return Assignment(usual)
    reader = _Reader("Assignment", data)
    reader.version()
    return Assignment(reader.partitions("AssignedPartitions"), reader.nullable_bytes("UserData"))


def _assigned_of_one_topic(data: bytes) -> tuple[TopicPartition, ...] | None:
    """Decode the most frequent form at once: partitions of one topic, without user data.

    Returns None for all other forms, and for invalid bytes.
    """
    try:
        version, topics, size = _UP_TO_TOPIC.unpack_from(data)
        (count,) = INT32.unpack_from(data, _UP_TO_TOPIC.size + size)
        begin = _UP_TO_TOPIC.size + size + INT32.size
        usual = version >= 0 and topics == 1 and size >= 0 and count >= 0
        if not usual or data[begin + 4 * count :] != _NULL_BYTES:
            return None
        topic = text(data[_UP_TO_TOPIC.size : _UP_TO_TOPIC.size + size])
        numbers = unpack_from(f">{count}i", data, begin)
        return tuple(map(_new, repeat(TopicPartition), zip(repeat(topic), numbers)))
    except error:
        return None


@lru_cache(maxsize=_REMEMBERED)
def decode_topics_v0_prefix(data: bytes) -> tuple[str, ...]:
    """Return the topics of a member's metadata as the broker reads them: in any version, as version 0.

    The broker needs them for `subscribedTopics` (offset expiry, OffsetDelete) and skips the version without a check.
    User data belongs to version 0, so it has to be complete. Raises ProtocolError; the coordinator then treats the
    group's subscription as unknown.
    """
    reader = _Reader("Subscription", data)
    reader.int16("version")
    return _topics_and_user_data(reader)[0]


def _topics_and_user_data(reader: _Reader) -> tuple[tuple[str, ...], bytes | None]:
    """Return the two fields of version 0, with which every version begins."""
    topics = tuple([reader.string("Topics") for _ in range(reader.count("Topics"))])
    return topics, reader.nullable_bytes("UserData")


def _in_java_order(partitions: tuple[TopicPartition, ...]) -> list[TopicPartition]:
    """Return the partitions sorted by topic in Java's order of strings, then by number."""
    if all(topic.isascii() for topic, _ in partitions):
        return sorted(partitions)
    return sorted(partitions, key=lambda tp: (java_string_key(tp.topic), tp.partition))


# --- Writing ---------------------------------------------------------------------------------------------------


def _version(message: str, version: int) -> bytes:
    if not 0 <= version <= NEWEST_VERSION:
        raise ProtocolError(message, 0, f"a version from 0 to {NEWEST_VERSION} to write", str(version))
    return _VERSIONS[version]


def _bytes(data: bytes | None) -> bytes:
    return _NULL_BYTES if data is None else INT32.pack(len(data)) + data


def _int32(message: str, number: int) -> bytes:
    if not _fits(number):
        raise ProtocolError(message, None, "a number of 32 bits", str(number))
    return INT32.pack(number)


def _partitions(message: str, partitions: Iterable[TopicPartition]) -> bytes:
    """Encode ARRAY of (topic, ARRAY of partition numbers), one entry per topic, in the given order."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    parts = [INT32.pack(len(by_topic))]
    for topic, numbers in by_topic.items():
        parts.append(utf8(message, topic))
        try:
            parts.append(pack(f">{len(numbers) + 1}i", len(numbers), *numbers))
        except error as problem:
            wrong = next(n for n in numbers if not _fits(n))
            raise ProtocolError(message, None, f"a partition of {topic} of 32 bits", str(wrong)) from problem
    return b"".join(parts)


def _fits(number: int) -> bool:
    """Whether a number fits an int32."""
    return -(2**31) <= number < 2**31


# --- Reading ---------------------------------------------------------------------------------------------------


class _Reader(FieldReader):
    """A cursor over one message; its errors name the position and the expected field."""

    __slots__ = ()

    def version(self) -> int:
        """Read the leading version; a newer one counts as the newest known."""
        version = self.int16("version")
        if version < 0:
            raise self.wrong(0, "a version that is not negative", str(version))
        return min(version, NEWEST_VERSION)

    def nullable_bytes(self, field: str) -> bytes | None:
        """Bytes or None."""
        length = self.int32(field)
        return None if length < 0 else self.take(length, field)

    def partitions(self, field: str) -> tuple[TopicPartition, ...]:
        """Read ARRAY of (topic, ARRAY of partition numbers), flattened in the written order."""
        found: list[TopicPartition] = []
        for _ in range(self.count(field)):
            topic = self.string(field)
            count = self.count(field)
            numbers = unpack_from(f">{count}i", self.take(4 * count, field))
            found.extend(map(_new, repeat(TopicPartition), zip(repeat(topic), numbers)))
        return tuple(found)
