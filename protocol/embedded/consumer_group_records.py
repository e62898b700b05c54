"""The records of consumer groups (KIP-848) in `__consumer_offsets`, as Kafka's own bytes.

A key has its type, the group, and for types 5, 7, 8 the member, for 16 the text of the regular expression:

    3   ConsumerGroupMetadata                   epoch; tag 0: hash of the metadata (since 4.1)
    4   ConsumerGroupPartitionMetadata          topics: id, name, number of partitions (written by 4.0 only)
    5   ConsumerGroupMemberMetadata             what a member sent; tag 0: what it sent as a classic member, or null
    6   ConsumerGroupTargetAssignmentMetadata   epoch; tag 0: when it was computed (since 4.3)
    7   ConsumerGroupTargetAssignmentMember     partitions by topic
    8   ConsumerGroupCurrentMemberAssignment    epoch, previous epoch, state, partitions owned and to be revoked, each
                                                by topic; tag 0 of a topic: the assignment epochs (since 4.3)
    16  ConsumerGroupRegularExpression          topics that match, version of the metadata, when it was resolved

Every value has version 0, the flexible one; a tagged field with its default is not written. The default of tag 0 of
type 5 is not null but a structure without content: null is written, and a member without the tag is a classic one.
The values of types 6 and 16 are their fields here, because the coordinator counts its times from another instant.

Source: `ConsumerGroup*Key.json`, `ConsumerGroup*Value.json`, `GroupCoordinatorRecordHelpers` (4.4.0).
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import lru_cache
from struct import Struct, error
from typing import Any, Final, TypeAlias

from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.messages.group import JoinProtocol
from groupsim.protocol.record_fields import INT16, INT32, INT64, FieldReader, length, nullable_utf8, utf8, varint
from groupsim.protocol.values import value

GROUP, TOPICS, MEMBER, TARGET_EPOCH, TARGET, CURRENT, REGEX = 3, 4, 5, 6, 7, 8, 16

NAMES: Mapping[int, str] = {
    GROUP: "ConsumerGroupMetadata",
    TOPICS: "ConsumerGroupPartitionMetadata",
    MEMBER: "ConsumerGroupMemberMetadata",
    TARGET_EPOCH: "ConsumerGroupTargetAssignmentMetadata",
    TARGET: "ConsumerGroupTargetAssignmentMember",
    CURRENT: "ConsumerGroupCurrentMemberAssignment",
    REGEX: "ConsumerGroupRegularExpression",
}
"""Kafka's name of each type of record."""
_WITH_MEMBER = {MEMBER: "member id", TARGET: "member id", CURRENT: "member id", REGEX: "regular expression"}

Partitions: TypeAlias = Mapping[str, Mapping[int, int]]
"""Topic id → partition → the assignment epoch at which the member got it. Never changed after it has been made."""
Target: TypeAlias = Mapping[str, tuple[int, ...]]
"""Topic id → partitions. Never changed after it has been made."""

_TAG: Final = 0
_NO_TAGS = b"\x00"
_VERSION = INT16.pack(0)
_ID_BYTES = 16
_EPOCHS = Struct(">iib")


class MemberState(IntEnum):
    """The position of a member between its assignment and its target; the number is that of the records."""

    STABLE = 0
    """It owns its target."""
    UNREVOKED_PARTITIONS = 1
    """It has to revoke partitions, and has not confirmed that yet."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that other members have not revoked yet."""
    UNKNOWN = 127
    """A state of a newer release."""


@value
class ConsumerGroupKey:
    """A key: its type, its group, and the member id or the regular expression ("" where the type has none)."""

    type: int
    group: str
    member: str = ""


@value
class ClassicMetadata:
    """What a member of the classic protocol sent in its JoinGroup: session timeout and protocols."""

    session_timeout_ms: int
    protocols: tuple[JoinProtocol, ...]


@value
class EpochValue:
    """The epoch of a group; `metadata_hash` is 0 in records of 4.0."""

    epoch: int
    metadata_hash: int = 0


@value
class SubscribedTopic:
    """One subscribed topic that exists, as 4.0 stores it."""

    topic_id: str
    name: str
    partitions: int


@value
class MemberValue:
    """What one member sent. `names` are sorted; `regex` is "" without one; `classic` only for a classic member."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    names: tuple[str, ...] = ()
    regex: str = ""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicMetadata | None = None


@value
class CurrentValue:
    """The epochs and the assignment of one member: what it owns, and what it has to revoke."""

    member_epoch: int
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Partitions = {}
    pending: Partitions = {}


# --- Writing -----------------------------------------------------------------------------------------------------


def encode_key(kind: int, group: str, member: str = "") -> bytes:
    """Return a key. Raises ProtocolError for a string that is too long."""
    message = f"{NAMES[kind]}Key"
    end = utf8(message, member) if kind in _WITH_MEMBER else b""
    return INT16.pack(kind) + utf8(message, group) + end


def encode_epoch(stored: EpochValue) -> bytes:
    """Return the value of type 3. Raises ProtocolError for a number that does not fit."""
    return _VERSION + _epoch_and_tag(NAMES[GROUP], stored.epoch, stored.metadata_hash)


def encode_target_epoch(epoch: int, timestamp_ms: int = 0) -> bytes:
    """Return the value of type 6; 0: no time. Raises ProtocolError for a number that does not fit."""
    return _VERSION + _epoch_and_tag(NAMES[TARGET_EPOCH], epoch, timestamp_ms)


def encode_topics(topics: Iterable[SubscribedTopic]) -> bytes:
    """Return the value of type 4. Raises ProtocolError."""
    message = NAMES[TOPICS]
    rows = [
        _id_bytes(topic.topic_id) + _text(message, topic.name) + _pack(message, INT32, topic.partitions) + b"\x01\x00"
        for topic in topics
    ]
    return _VERSION + _array(rows) + _NO_TAGS


def encode_member(sent: MemberValue) -> bytes:
    """Return the value of type 5. Raises ProtocolError."""
    message = NAMES[MEMBER]
    parts = [
        _VERSION,
        nullable_utf8(message, sent.instance_id, True),
        nullable_utf8(message, sent.rack_id, True),
        _text(message, sent.client_id),
        _text(message, sent.client_host),
        _array([_text(message, name) for name in sent.names]),
        _text(message, sent.regex),
        _pack(message, INT32, sent.rebalance_timeout_ms),
        nullable_utf8(message, sent.assignor, True),
    ]
    return b"".join((*parts, _classic_tag(message, sent.classic)))


def _classic_tag(message: str, classic: ClassicMetadata | None) -> bytes:
    """Return the tagged fields of a member. As in Kafka null is written, and a value without content is not."""
    if classic is None:
        return _tagged(b"\x00")
    if classic == _NO_CONTENT:
        return _NO_TAGS
    protocols = [
        _text(message, protocol.name) + length(len(protocol.metadata), True) + protocol.metadata + _NO_TAGS
        for protocol in classic.protocols
    ]
    return _tagged(b"\x01" + _pack(message, INT32, classic.session_timeout_ms) + _array(protocols) + _NO_TAGS)


def encode_target(target: Target) -> bytes:
    """Return the value of type 7. Raises ProtocolError."""
    rows = [_topic(NAMES[TARGET], topic_id, partitions) + _NO_TAGS for topic_id, partitions in target.items()]
    return _VERSION + _array(rows) + _NO_TAGS


def encode_current(at: CurrentValue, *, epochs: bool = True) -> bytes:
    """Return the value of type 8; without `epochs` as before 4.3, when partitions had none. Raises ProtocolError."""
    begin = _pack(NAMES[CURRENT], _EPOCHS, at.member_epoch, at.previous_epoch, at.state)
    both = (_with_epochs(held) if epochs else _without_epochs(held) for held in (at.assigned, at.pending))
    return _VERSION + begin + b"".join(both) + _NO_TAGS


def encode_regex(topics: Iterable[str], version: int, timestamp_ms: int) -> bytes:
    """Return the value of type 16. Raises ProtocolError."""
    message = NAMES[REGEX]
    names = _array([_text(message, topic) for topic in topics])
    return _VERSION + names + _pack(message, INT64, version) + _pack(message, INT64, timestamp_ms) + _NO_TAGS


def _with_epochs(assignment: Partitions) -> bytes:
    message = NAMES[CURRENT]
    rows = []
    for topic_id, epochs in assignment.items():
        data = length(len(epochs), True) + _pack(message, Struct(f">{len(epochs)}i"), *epochs.values())
        rows.append(_topic(message, topic_id, epochs) + (_tagged(data) if epochs else _NO_TAGS))
    return _array(rows)


def _without_epochs(assignment: Partitions) -> bytes:
    message = NAMES[CURRENT]
    return _array([_topic(message, topic_id, numbers) + _NO_TAGS for topic_id, numbers in assignment.items()])


def _topic(message: str, topic_id: str, partitions: Iterable[int]) -> bytes:
    numbers = tuple(partitions)
    packed = _pack(message, Struct(f">{len(numbers)}i"), *numbers)
    return _id_bytes(topic_id) + length(len(numbers), True) + packed


def _epoch_and_tag(message: str, epoch: int, number: int) -> bytes:
    end = _tagged(_pack(message, INT64, number)) if number else _NO_TAGS
    return _pack(message, INT32, epoch) + end


def _array(rows: list[bytes]) -> bytes:
    return length(len(rows), True) + b"".join(rows)


def _text(message: str, text: str) -> bytes:
    return utf8(message, text, True)


def _tagged(data: bytes) -> bytes:
    """Return the end of a structure with one tagged field."""
    return bytes((1, _TAG)) + varint(len(data)) + data


def _pack(message: str, form: Struct, *numbers: Any) -> bytes:
    try:
        return form.pack(*numbers)
    except error as problem:
        raise ProtocolError(message, None, "numbers that fit their fields", str(problem)) from None


@lru_cache(maxsize=1 << 14)
def _id_bytes(topic_id: str) -> bytes:
    return urlsafe_b64decode(topic_id + "==")


@lru_cache(maxsize=1 << 14)
def _id_text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


# --- Reading -----------------------------------------------------------------------------------------------------


def decode_key(kind: int, data: bytes) -> ConsumerGroupKey:
    """Decode a key of one of these types, from its first byte. Raises ProtocolError, with the byte."""
    reader = FieldReader(f"{NAMES[kind]}Key", data)
    reader.int16("record type")
    group = reader.string("group id")
    return ConsumerGroupKey(kind, group, reader.string(_WITH_MEMBER[kind]) if kind in _WITH_MEMBER else "")


def decode_epoch(data: bytes) -> EpochValue:
    """Decode a value of type 3. Raises ProtocolError, with the byte, for invalid bytes."""
    return EpochValue(*_read_epoch_and_tag(GROUP, data, "epoch", "metadataHash"))


def decode_target_epoch(data: bytes) -> tuple[int, int]:
    """Decode a value of type 6: epoch and time in ms, 0 without one. Raises ProtocolError, with the byte."""
    return _read_epoch_and_tag(TARGET_EPOCH, data, "assignmentEpoch", "assignmentTimestamp")


def decode_topics(data: bytes) -> tuple[SubscribedTopic, ...]:
    """Decode a value of type 4; racks of early previews are skipped. Raises ProtocolError, with the byte."""
    reader = _reader(TOPICS, data)
    topics = tuple([_read_subscribed(reader) for _ in range(reader.count("topics"))])
    reader.tags()
    return topics


def decode_member(data: bytes) -> MemberValue:
    """Decode a value of type 5; a regular expression of null is "". Raises ProtocolError, with the byte."""
    reader = _reader(MEMBER, data)
    instance_id, rack_id = reader.nullable_string("instanceId"), reader.nullable_string("rackId")
    client_id, client_host = reader.string("clientId"), reader.string("clientHost")
    names = _strings(reader, "subscribedTopicNames")
    regex = reader.nullable_string("subscribedTopicRegex") or ""
    rebalance_ms = reader.int32("rebalanceTimeoutMs")
    assignor = reader.nullable_string("serverAssignor")
    classic = reader.tags().get(_TAG)
    read = _NO_CONTENT if classic is None else _read_classic(classic)
    return MemberValue(instance_id, rack_id, client_id, client_host, names, regex, rebalance_ms, assignor, read)


def decode_target(data: bytes) -> Target:
    """Decode a value of type 7. Raises ProtocolError, with the byte, for invalid bytes."""
    reader = _reader(TARGET, data)
    target = {}
    for _ in range(reader.count("topicPartitions")):
        topic_id = _id_text(reader.take(_ID_BYTES, "topicId"))
        target[topic_id] = _int32s(reader, "partitions")
        reader.tags()
    reader.tags()
    return target


def decode_current(data: bytes) -> CurrentValue:
    """Decode a value of type 8; partitions without assignment epochs get the member epoch, at least 0.

    Raises ProtocolError, with the byte, for invalid bytes.
    """
    reader = _reader(CURRENT, data)
    epoch, previous = reader.int32("memberEpoch"), reader.int32("previousMemberEpoch")
    number = reader.take(1, "state")[0]
    state = MemberState(number) if number in _STATES else MemberState.UNKNOWN
    assigned = _read_with_epochs(reader, "assignedPartitions", max(epoch, 0))
    pending = _read_with_epochs(reader, "partitionsPendingRevocation", max(epoch, 0))
    reader.tags()
    return CurrentValue(epoch, previous, state, assigned, pending)


def decode_regex(data: bytes) -> tuple[tuple[str, ...], int, int]:
    """Decode a value of type 16: topics, version, time in ms. Raises ProtocolError, with the byte."""
    reader = _reader(REGEX, data)
    topics, version, timestamp_ms = _strings(reader, "topics"), reader.int64("version"), reader.int64("timestamp")
    reader.tags()
    return topics, version, timestamp_ms


_STATES = frozenset(MemberState)
_NO_CONTENT = ClassicMetadata(0, ())


def _reader(kind: int, data: bytes) -> FieldReader:
    message = f"{NAMES[kind]}Value"
    reader = FieldReader(message, data)
    version = reader.int16("version")
    if version != 0:
        raise ProtocolError(message, 0, "version 0", str(version))
    reader.flexible = True
    return reader


def _nested(message: str, data: bytes) -> FieldReader:
    """Return a reader of the bytes of a tagged field."""
    reader = FieldReader(message, data)
    reader.flexible = True
    return reader


def _read_epoch_and_tag(kind: int, data: bytes, first: str, second: str) -> tuple[int, int]:
    reader = _reader(kind, data)
    epoch, tagged = reader.int32(first), reader.tags().get(_TAG)
    return epoch, 0 if tagged is None else _nested(reader.message, tagged).int64(second)


def _read_subscribed(reader: FieldReader) -> SubscribedTopic:
    topic_id = _id_text(reader.take(_ID_BYTES, "topicId"))
    name, partitions = reader.string("topicName"), reader.int32("numPartitions")
    for _ in range(reader.count("partitionMetadata")):
        reader.int32("partition")
        _strings(reader, "racks")
        reader.tags()
    reader.tags()
    return SubscribedTopic(topic_id, name, partitions)


def _read_classic(data: bytes) -> ClassicMetadata | None:
    reader = _nested("ClassicMemberMetadata", data)
    if reader.varint("classicMemberMetadata") == 0:
        return None
    session_ms = reader.int32("sessionTimeoutMs")
    protocols = []
    for _ in range(reader.count("supportedProtocols")):
        protocols.append(JoinProtocol(reader.string("name"), reader.data_bytes("metadata")))
        reader.tags()
    reader.tags()
    return ClassicMetadata(session_ms, tuple(protocols))


def _read_with_epochs(reader: FieldReader, field: str, default: int) -> Partitions:
    assignment: dict[str, Mapping[int, int]] = {}
    for _ in range(reader.count(field)):
        topic_id = _id_text(reader.take(_ID_BYTES, "topicId"))
        partitions, tagged = _int32s(reader, "partitions"), reader.tags().get(_TAG)
        epochs = _read_epochs(reader.message, tagged)
        # Kafka logs an error for a list of another length, and takes the default all the same.
        if len(epochs) != len(partitions):
            epochs = (default,) * len(partitions)
        assignment[topic_id] = dict(zip(partitions, epochs, strict=True))
    return assignment


def _read_epochs(message: str, tagged: bytes | None) -> tuple[int, ...]:
    if tagged is None or tagged == b"\x00":  # not there, or null
        return ()
    return _int32s(_nested(message, tagged), "assignmentEpochs")


def _strings(reader: FieldReader, field: str) -> tuple[str, ...]:
    return tuple([reader.string(field) for _ in range(reader.count(field))])


def _int32s(reader: FieldReader, field: str) -> tuple[int, ...]:
    count = reader.count(field)
    numbers: tuple[int, ...] = Struct(f">{count}i").unpack(reader.take(4 * count, field))
    return numbers
