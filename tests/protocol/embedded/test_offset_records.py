"""The records of `__consumer_offsets` as bytes.

`KAFKA` was written by Kafka's own generated classes: `org.apache.kafka.coordinator.group.generated` of
kafka-group-coordinator 4.4.0, through `MessageUtil.toVersionPrefixedByteBuffer`, with the values of `OFFSET` and
`GROUP` (fields that a version cannot carry left out by it).
"""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from groupsim.protocol.embedded.offset_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    OtherKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from groupsim.protocol.errors import ProtocolError

KEY = OffsetCommitKey("orders", "events-é", 7)
OFFSET = OffsetCommitValue(1_234_567_890_123, 5, "méta", 1_767_225_600_123, 1_767_225_999_999)
MEMBERS = (
    MemberMetadata("a-1", "i-1", "a", "/127.0.0.1", 300_000, 45_000, b"\x00\x01\x02", b"\x09"),
    MemberMetadata("b-2", None, "b", "/127.0.0.2", 60_000, 10_000, b"", b""),
)
GROUP = GroupMetadataValue("consumer", 42, "range", "a-1", 1_767_225_600_456, MEMBERS)
EMPTY = GroupMetadataValue("", 0, None, None)

_MEMBERS_1 = (
    "000000020003612d31000161000a2f3132372e302e302e31000493e00000afc80000000300010200000001090003622d32000162000a2f31"
    "32372e302e302e320000ea60000027100000000000000000"
)
_MEMBERS_3 = (
    "000000020003612d310003692d31000161000a2f3132372e302e302e31000493e00000afc80000000300010200000001090003622d32ffff"
    "000162000a2f3132372e302e302e320000ea60000027100000000000000000"
)
KAFKA = {
    "OffsetCommitKey 0": "000000066f726465727300096576656e74732dc3a900000007",
    "OffsetCommitKey 1": "000100066f726465727300096576656e74732dc3a900000007",
    "GroupMetadataKey 2": "000200066f7264657273",
    "ShareGroupMetadataKey": "000b00066f7264657273",
    "ShareGroupMemberMetadataKey": "000a00066f726465727300016d",
    "OffsetCommitValue 0": "00000000011f71fb04cb00056dc3a974610000019b76daa87b",
    "OffsetCommitValue 1": "00010000011f71fb04cb00056dc3a974610000019b76daa87b0000019b76e0c27f",
    "OffsetCommitValue 2": "00020000011f71fb04cb00056dc3a974610000019b76daa87b",
    "OffsetCommitValue 3": "00030000011f71fb04cb0000000500056dc3a974610000019b76daa87b",
    "OffsetCommitValue 4": "00040000011f71fb04cb00000005066dc3a974610000019b76daa87b00",
    "OffsetCommitValue 4 with topic id": "00040000000000000009ffffffff01000000000000000101"
    "00100123456789abcdef1122334455667788",
    "GroupMetadataValue 0": "00000008636f6e73756d65720000002a000572616e67650003612d31000000020003612d31000161000a2f31"
    "32372e302e302e310000afc80000000300010200000001090003622d32000162000a2f3132372e302e302e32000027100000000000000000",
    "GroupMetadataValue 1": "00010008636f6e73756d65720000002a000572616e67650003612d31" + _MEMBERS_1,
    "GroupMetadataValue 2": "00020008636f6e73756d65720000002a000572616e67650003612d310000019b76daa9c8" + _MEMBERS_1,
    "GroupMetadataValue 3": "00030008636f6e73756d65720000002a000572616e67650003612d310000019b76daa9c8" + _MEMBERS_3,
    "GroupMetadataValue 4": "000409636f6e73756d65720000002a0672616e676504612d310000019b76daa9c80304612d3104692d3102610b"
    "2f3132372e302e302e31000493e00000afc80400010202090004622d320002620b2f3132372e302e302e320000ea600000271001010000",
    "GroupMetadataValue 0 empty": "0000000000000000ffffffff00000000",
    "GroupMetadataValue 1 empty": "0001000000000000ffffffff00000000",
    "GroupMetadataValue 2 empty": "0002000000000000ffffffffffffffffffffffff00000000",
    "GroupMetadataValue 3 empty": "0003000000000000ffffffffffffffffffffffff00000000",
    "GroupMetadataValue 4 empty": "000401000000000000ffffffffffffffff0100",
}
VERSIONS = range(5)
TOPIC_ID = bytes.fromhex("0123456789abcdef1122334455667788")


def kafka(name: str) -> bytes:
    """The bytes Kafka's class wrote."""
    return bytes.fromhex(KAFKA[name])


def offset_in(version: int) -> OffsetCommitValue:
    """What version `version` keeps of `OFFSET`."""
    epoch = OFFSET.leader_epoch if version >= 3 else -1
    expire = OFFSET.expire_timestamp_ms if version == 1 else -1
    return evolve(OFFSET, leader_epoch=epoch, expire_timestamp_ms=expire, version=version)


def group_in(value: GroupMetadataValue, version: int) -> GroupMetadataValue:
    """What version `version` keeps of a group."""
    members = tuple(
        evolve(
            member,
            group_instance_id=member.group_instance_id if version >= 3 else None,
            rebalance_timeout_ms=member.rebalance_timeout_ms if version >= 1 else -1,
        )
        for member in value.members
    )
    stamp = value.current_state_timestamp_ms if version >= 2 else -1
    return evolve(value, current_state_timestamp_ms=stamp, members=members, version=version)


def encoded(value: OffsetCommitValue, version: int) -> bytes:
    """An offset's value as bytes."""
    return encode_offset_value(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp_ms,
        value.expire_timestamp_ms,
        value.topic_id,
        version,
    )


def test_keys_are_kafkas_bytes() -> None:
    """Keys are written as Kafka's classes write them, and read back; the older number of an offset's key too."""
    assert encode_offset_key("orders", "events-é", 7) == kafka("OffsetCommitKey 1")
    assert encode_group_key("orders") == kafka("GroupMetadataKey 2")
    assert decode_key(kafka("OffsetCommitKey 1")) == decode_key(kafka("OffsetCommitKey 0")) == KEY
    assert decode_key(kafka("GroupMetadataKey 2")) == GroupMetadataKey("orders")


@pytest.mark.parametrize("version", VERSIONS)
def test_offset_values_are_kafkas_bytes(version: int) -> None:
    """In every version an offset's value is the bytes of Kafka's class, and reads as what that version keeps."""
    data = kafka(f"OffsetCommitValue {version}")
    assert encoded(OFFSET, version) == data
    assert decode_offset_value(data) == offset_in(version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("value", "name"), [(GROUP, ""), (EMPTY, " empty")])
def test_group_values_are_kafkas_bytes(version: int, value: GroupMetadataValue, name: str) -> None:
    """In every version a group's value is the bytes of Kafka's class, and reads as what that version keeps."""
    data = kafka(f"GroupMetadataValue {version}{name}")
    assert encode_group_value(value, version) == data
    assert decode_group_value(data) == group_in(value, version)


def test_topic_id_is_a_tagged_field() -> None:
    """Since 4.1 an offset may carry its topic's id; a tag nobody knows is skipped."""
    data = kafka("OffsetCommitValue 4 with topic id")
    assert decode_offset_value(data) == OffsetCommitValue(9, -1, "", 1, topic_id=TOPIC_ID)
    assert encode_offset_value(9, -1, "", 1, topic_id=TOPIC_ID) == data
    unknown = kafka("OffsetCommitValue 4")[:-1] + bytes((1, 9, 2)) + b"xy"
    assert decode_offset_value(unknown) == offset_in(4)


def test_other_kinds_of_group_are_known_by_name() -> None:
    """Keys of share and streams groups tell their type and group; a later one just its number."""
    member = decode_key(kafka("ShareGroupMemberMetadataKey"))
    assert member == OtherKey(10, "ShareGroupMemberMetadata", "orders")
    assert decode_key(kafka("ShareGroupMetadataKey")) == OtherKey(11, "ShareGroupMetadata", "orders")
    later = decode_key(b"\x00\x63whatever")
    assert later == OtherKey(99, "unknown", None)
    assert isinstance(later, OtherKey)
    assert not later.known


@pytest.mark.parametrize(
    ("name", "size", "place"),
    [
        ("OffsetCommitKey 1", 24, "OffsetCommitKey at byte 21: expected 4 bytes of partition, found the end after 3"),
        ("OffsetCommitKey 1", 1, "a key of __consumer_offsets at byte 0: expected 2 bytes of record type"),
        ("GroupMetadataKey 2", 5, "GroupMetadataKey at byte 4: expected 6 bytes of group"),
        ("ShareGroupMetadataKey", 3, "ShareGroupMetadataKey at byte 2: expected 2 bytes of group"),
        ("OffsetCommitValue 3", 20, "OffsetCommitValue at byte 16: expected 5 bytes of metadata"),
        ("OffsetCommitValue 4", 28, "OffsetCommitValue at byte 28: expected 1 bytes of the number of tagged fields"),
        ("GroupMetadataValue 3", 6, "GroupMetadataValue at byte 4: expected 8 bytes of protocolType"),
    ],
)
def test_what_ends_early_is_named_with_its_byte(name: str, size: int, place: str) -> None:
    """A record cut short is an error that says which record, which field, which byte."""
    read = {"OffsetCommitValue": decode_offset_value, "GroupMetadataValue": decode_group_value}.get(
        name[:-2], decode_key
    )
    with pytest.raises(ProtocolError) as caught:
        read(kafka(name)[:size])
    assert place in str(caught.value)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ("0005", "OffsetCommitValue at byte 0: expected a version from 0 to 4, found 5"),
        ("ffff", "OffsetCommitValue at byte 0: expected a version from 0 to 4, found -1"),
        ("00030000000000000001ffffffffffff", "OffsetCommitValue at byte 14: expected a string of metadata, found null"),
        ("00040000000000000001ffffffffffffffffffff", "OffsetCommitValue at byte 14: expected a varint of at most 5"),
    ],
)
def test_what_cannot_be_is_named_with_its_byte(data: str, place: str) -> None:
    """A version of the future, a null where none may be, an endless varint: errors with their place."""
    with pytest.raises(ProtocolError) as caught:
        decode_offset_value(bytes.fromhex(data))
    assert place in str(caught.value)


def test_count_beyond_the_bytes_left_is_refused_before_it_is_believed() -> None:
    """An array that claims more members than there are bytes is an error, not a loop."""
    data = kafka("GroupMetadataValue 3 empty")[:-4] + b"\x7f\xff\xff\xff"
    with pytest.raises(ProtocolError, match="byte 20: expected a count of members between 0 and the 0 bytes left"):
        decode_group_value(data)


def test_what_does_not_fit_is_not_written() -> None:
    """Versions nobody knows, numbers and strings too large for their field: an error instead of bytes."""
    for version in (-1, 5):
        with pytest.raises(ProtocolError, match="version from 0 to 4"):
            encode_offset_value(1, -1, "", 1, version=version)
        with pytest.raises(ProtocolError, match="version from 0 to 4"):
            encode_group_value(EMPTY, version)
    with pytest.raises(ProtocolError, match="OffsetCommitValue: expected numbers that fit"):
        encode_offset_value(2**63, -1, "", 1)
    with pytest.raises(ProtocolError, match="OffsetCommitKey: expected a number of 32 bits"):
        encode_offset_key("g", "t", 2**31)
    with pytest.raises(ProtocolError, match="GroupMetadataKey: expected a string of at most 32767 bytes"):
        encode_group_key("g" * 32_768)


_TEXT = st.text(max_size=20)
_INT = st.integers(-(2**31), 2**31 - 1)
_LONG = st.integers(-(2**63), 2**63 - 1)
_MEMBER = st.builds(
    MemberMetadata, _TEXT, st.none() | _TEXT, _TEXT, _TEXT, _INT, _INT, st.binary(max_size=200), st.binary(max_size=200)
)
_GROUP = st.builds(
    GroupMetadataValue,
    _TEXT,
    _INT,
    st.none() | _TEXT,
    st.none() | _TEXT,
    _LONG,
    st.lists(_MEMBER, max_size=3).map(tuple),
)


@given(_GROUP, st.sampled_from(VERSIONS))
def test_any_group_reads_back(value: GroupMetadataValue, version: int) -> None:
    """Whatever a group holds, its bytes read as what the version keeps of it."""
    assert decode_group_value(encode_group_value(value, version)) == group_in(value, version)


@given(_LONG, _INT, st.text(max_size=300), _LONG, st.none() | st.binary(min_size=16, max_size=16))
def test_any_offset_reads_back(offset: int, epoch: int, metadata: str, time_ms: int, topic_id: bytes | None) -> None:
    """Whatever an offset holds, its flexible bytes read as the same."""
    value = OffsetCommitValue(offset, epoch, metadata, time_ms, topic_id=topic_id)
    assert decode_offset_value(encoded(value, 4)) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Bytes of any kind give a value or a ProtocolError, never another error."""
    for read in (decode_key, decode_offset_value, decode_group_value):
        try:
            read(data)
        except ProtocolError:
            continue
