"""The records of `__consumer_offsets`, as Kafka's own bytes.

A key begins with an int16 with its type, a value with an int16 with its version:

    0, 1   OffsetCommitKey     group, topic, partition        value 0–4: offset, leader epoch (3+), metadata,
                                                              commit time, expiry time (1 only), topic id (4, tagged)
    2      GroupMetadataKey    group                          value 0–4: protocol type, generation, protocol, leader,
                                                              time of the state (2+), members
    3–8, 16    records of consumer groups: `consumer_group_records.py`
    9 …    keys of share and streams groups: only their names are known, their values are not decoded

Version 4 of either value is the first flexible one. Kafka writes offsets in version 1 when they have an expiry time,
else in version 3 (until 4.0) or 4 (since 4.1); groups in version 3. Bytes after the last field are ignored, as Kafka
does. A value of None is a tombstone and is not encoded here.

Times are milliseconds since 1970, -1 where there is none.

Source: `OffsetCommitKey/Value.json`, `GroupMetadataKey/Value.json`, `CoordinatorRecordType`,
`GroupCoordinatorRecordHelpers` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from struct import Struct, error
from typing import Final, TypeAlias

from groupsim.protocol.embedded import consumer_group_records
from groupsim.protocol.embedded.consumer_group_records import ConsumerGroupKey
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.record_fields import INT16, INT32, FieldReader, length, nullable_utf8, utf8
from groupsim.protocol.values import frozen

OFFSET_COMMIT: Final = 1
GROUP_METADATA: Final = 2
EXPIRING_VERSION: Final = 1
"""The version of an offset's value with an expiry time."""
CLASSIC_OFFSET_VERSION: Final = 3
"""The version in which brokers up to 4.0 write an offset's value."""
FLEXIBLE_VERSION: Final = 4
"""The version in which brokers since 4.1 write it; the first flexible one."""
GROUP_VERSION: Final = 3
"""The version in which a group's value is written."""
NEWEST_VERSION: Final = 4

OTHER_KEYS: Mapping[int, str] = {
    9: "ShareGroupPartitionMetadata",
    10: "ShareGroupMemberMetadata",
    11: "ShareGroupMetadata",
    12: "ShareGroupTargetAssignmentMetadata",
    13: "ShareGroupTargetAssignmentMember",
    14: "ShareGroupCurrentMemberAssignment",
    15: "ShareGroupStatePartitionMetadata",
    17: "StreamsGroupMetadata",
    18: "StreamsGroupPartitionMetadata",
    19: "StreamsGroupMemberMetadata",
    20: "StreamsGroupTargetAssignmentMetadata",
    21: "StreamsGroupTargetAssignmentMember",
    22: "StreamsGroupCurrentMemberAssignment",
    23: "StreamsGroupTopology",
}
"""Record types of kinds of group that are not modelled, by number; each key begins with the group."""

_TOPIC_ID_TAG = 0
_OFFSET_AND_EPOCH = Struct(">hqi")
_OFFSET = Struct(">hq")
_TIME = Struct(">q")
_TWO_TIMES = Struct(">qq")
_NO_TAGS = b"\x00"


@frozen
class OffsetCommitKey:
    """The group and the partition of an offset."""

    group: str
    topic: str
    partition: int


@frozen
class GroupMetadataKey:
    """The group of a metadata record."""

    group: str


@frozen
class OtherKey:
    """A key of another kind of group: its number, its name (`unknown` for an unknown type), the group."""

    type: int
    name: str
    group: str | None

    @property
    def known(self) -> bool:
        """Whether Kafka 4.4 has such records."""
        return self.type in OTHER_KEYS


Key: TypeAlias = OffsetCommitKey | GroupMetadataKey | ConsumerGroupKey | OtherKey


@frozen
class OffsetCommitValue:
    """One committed offset."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = -1
    topic_id: bytes | None = None
    version: int = FLEXIBLE_VERSION


@frozen
class MemberMetadata:
    """One member of a group's record; `rebalance_timeout_ms` is -1 in version 0, which means the session timeout."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@frozen
class GroupMetadataValue:
    """A group at the time of its last stored assignment."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp_ms: int = -1
    members: tuple[MemberMetadata, ...] = ()
    version: int = GROUP_VERSION


Value: TypeAlias = OffsetCommitValue | GroupMetadataValue


# --- Writing -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)  # a partition is committed again and again
def encode_offset_key(group: str, topic: str, partition: int) -> bytes:
    """Return the key of an offset. Raises ProtocolError for a string or number that does not fit."""
    message = "OffsetCommitKey"
    return INT16.pack(OFFSET_COMMIT) + utf8(message, group) + utf8(message, topic) + _int32(message, partition)


def encode_group_key(group: str) -> bytes:
    """Return the key of a group's metadata. Raises ProtocolError for a name that is too long."""
    return INT16.pack(GROUP_METADATA) + utf8("GroupMetadataKey", group)


def encode_offset_value(
    offset: int,
    leader_epoch: int,
    metadata: str,
    commit_timestamp_ms: int,
    expire_timestamp_ms: int = -1,
    topic_id: bytes | None = None,
    version: int = FLEXIBLE_VERSION,
) -> bytes:
    """Return the value of an offset; an expiry time needs version 1. Fields that a version lacks are left out.

    Raises ProtocolError for an unknown version, or a field that does not fit.
    """
    message = "OffsetCommitValue"
    if not 0 <= version <= NEWEST_VERSION:
        raise _no_version(message, None, version)
    flexible = version >= FLEXIBLE_VERSION
    text = utf8(message, metadata, flexible)
    try:
        if version >= CLASSIC_OFFSET_VERSION:
            begin = _OFFSET_AND_EPOCH.pack(version, offset, leader_epoch)
        else:
            begin = _OFFSET.pack(version, offset)
        if version == EXPIRING_VERSION:
            end = _TWO_TIMES.pack(commit_timestamp_ms, expire_timestamp_ms)
        else:
            end = _TIME.pack(commit_timestamp_ms)
    except error as problem:
        raise ProtocolError(message, None, "numbers that fit their fields", str(problem)) from None
    return begin + text + end + (_topic_id(topic_id) if flexible else b"")


def encode_group_value(value: GroupMetadataValue, version: int = GROUP_VERSION) -> bytes:
    """Return the value of a group's metadata; fields that a version lacks are left out. Raises ProtocolError."""
    message = "GroupMetadataValue"
    if not 0 <= version <= NEWEST_VERSION:
        raise _no_version(message, None, version)
    flexible = version >= FLEXIBLE_VERSION
    parts = [INT16.pack(version), utf8(message, value.protocol_type, flexible), _int32(message, value.generation)]
    parts += [nullable_utf8(message, value.protocol, flexible), nullable_utf8(message, value.leader, flexible)]
    if version >= 2:
        parts.append(_TIME.pack(value.current_state_timestamp_ms))
    parts.append(length(len(value.members), flexible))
    for member in value.members:
        parts += _member_parts(message, member, version)
    if flexible:
        parts.append(_NO_TAGS)
    return b"".join(parts)


def _member_parts(message: str, member: MemberMetadata, version: int) -> list[bytes]:
    flexible = version >= FLEXIBLE_VERSION
    parts = [utf8(message, member.member_id, flexible)]
    if version >= 3:
        parts.append(nullable_utf8(message, member.group_instance_id, flexible))
    parts += [utf8(message, member.client_id, flexible), utf8(message, member.client_host, flexible)]
    if version >= 1:
        parts.append(_int32(message, member.rebalance_timeout_ms))
    parts.append(_int32(message, member.session_timeout_ms))
    for data in (member.subscription, member.assignment):
        parts += [length(len(data), flexible), data]
    if flexible:
        parts.append(_NO_TAGS)
    return parts


def _topic_id(topic_id: bytes | None) -> bytes:
    """Return the tagged fields of an offset's value: nothing, or the topic's id."""
    return _NO_TAGS if topic_id is None else bytes((1, _TOPIC_ID_TAG, len(topic_id))) + topic_id


def _int32(message: str, number: int) -> bytes:
    try:
        return INT32.pack(number)
    except error:
        raise ProtocolError(message, None, "a number of 32 bits", str(number)) from None


def _no_version(message: str, at: int | None, version: int) -> ProtocolError:
    return ProtocolError(message, at, f"a version from 0 to {NEWEST_VERSION}", str(version))


# --- Reading -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def decode_key(data: bytes) -> Key:
    """Decode a key. Raises ProtocolError, with the byte, for one that ends early."""
    kind = FieldReader("a key of __consumer_offsets", data).int16("record type")
    if 0 <= kind <= OFFSET_COMMIT:
        reader = _after_type("OffsetCommitKey", data)
        return OffsetCommitKey(reader.string("group"), reader.string("topic"), reader.int32("partition"))
    if kind == GROUP_METADATA:
        return GroupMetadataKey(_after_type("GroupMetadataKey", data).string("group"))
    if kind in consumer_group_records.NAMES:
        return consumer_group_records.decode_key(kind, data)
    if kind in OTHER_KEYS:
        name = OTHER_KEYS[kind]
        return OtherKey(kind, name, _after_type(f"{name}Key", data).string("group"))
    return OtherKey(kind, "unknown", None)


def decode_offset_value(data: bytes) -> OffsetCommitValue:
    """Decode an offset's value of any version. Raises ProtocolError, with the byte, for invalid bytes."""
    reader, version = _of_version("OffsetCommitValue", data)
    offset = reader.int64("offset")
    leader_epoch = reader.int32("leaderEpoch") if version >= CLASSIC_OFFSET_VERSION else -1
    metadata = reader.string("metadata")
    commit_ms = reader.int64("commitTimestamp")
    expire_ms = reader.int64("expireTimestamp") if version == EXPIRING_VERSION else -1
    topic_id = reader.tags().get(_TOPIC_ID_TAG)
    return OffsetCommitValue(offset, leader_epoch, metadata, commit_ms, expire_ms, topic_id, version)


def decode_group_value(data: bytes) -> GroupMetadataValue:
    """Decode a group's value of any version. Raises ProtocolError, with the byte, for invalid bytes."""
    reader, version = _of_version("GroupMetadataValue", data)
    protocol_type = reader.string("protocolType")
    generation = reader.int32("generation")
    protocol, leader = reader.nullable_string("protocol"), reader.nullable_string("leader")
    state_ms = reader.int64("currentStateTimestamp") if version >= 2 else -1
    members = tuple([_member(reader, version) for _ in range(reader.count("members"))])
    reader.tags()
    return GroupMetadataValue(protocol_type, generation, protocol, leader, state_ms, members, version)


def _member(reader: FieldReader, version: int) -> MemberMetadata:
    member_id = reader.string("memberId")
    instance_id = reader.nullable_string("groupInstanceId") if version >= 3 else None
    client_id, client_host = reader.string("clientId"), reader.string("clientHost")
    rebalance_ms = reader.int32("rebalanceTimeout") if version >= 1 else -1
    session_ms = reader.int32("sessionTimeout")
    subscription, assignment = reader.data_bytes("subscription"), reader.data_bytes("assignment")
    reader.tags()
    return MemberMetadata(
        member_id, instance_id, client_id, client_host, rebalance_ms, session_ms, subscription, assignment
    )


def _after_type(message: str, data: bytes) -> FieldReader:
    reader = FieldReader(message, data)
    reader.int16("record type")
    return reader


def _of_version(message: str, data: bytes) -> tuple[FieldReader, int]:
    reader = FieldReader(message, data)
    version = reader.int16("version")
    if not 0 <= version <= NEWEST_VERSION:
        raise _no_version(message, 0, version)
    reader.flexible = version >= FLEXIBLE_VERSION
    return reader, version
