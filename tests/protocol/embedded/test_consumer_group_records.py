"""The records of consumer groups as bytes.

`KAFKA` was written by Kafka's own generated classes: `org.apache.kafka.coordinator.group.generated` of
kafka-group-coordinator 4.4.0, through `MessageUtil`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import kafka_jars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.protocol.embedded import consumer_group_records as records
from groupsim.protocol.embedded.consumer_group_records import (
    ClassicMetadata,
    ConsumerGroupKey,
    CurrentValue,
    EpochValue,
    MemberState,
    MemberValue,
    SubscribedTopic,
)
from groupsim.protocol.embedded.offset_records import decode_key
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.messages.group import JoinProtocol
from tests.helpers.unavailable import unavailable

PROGRAM = Path(__file__).with_name("ConsumerRecords.java")
KAFKA = {
    "key 3": "000300066f7264657273",
    "key 4": "000400066f7264657273",
    "key 5": "000500066f726465727300046d2dc3a9",
    "key 6": "000600066f7264657273",
    "key 7": "000700066f726465727300046d2dc3a9",
    "key 8": "000800066f726465727300046d2dc3a9",
    "key 16": "001000066f72646572730003612e2a",
    "3": "000000000007010008fffffee08e04fb35",
    "3 of 4.0": "00000000000700",
    "4": "0000020123456789abcdef1122334455667788076576656e747300000006010000",
    "4 with racks": ("0000020123456789abcdef1122334455667788076576656e747300000006020000000003037231037232000000"),
    "5": ("000004692d3104722d3102630b2f3132372e302e302e31030261026204782e2a000493e008756e69666f726d01000100"),
    "5 least": "0000000001010101ffffffff0001000100",
    "5 null regex": "0000000001010100ffffffff0001000100",
    "5 no tag": "0000000001010101ffffffff0000",
    "5 classic": "0000000002630102026101ffffffff0001001b010000afc8030672616e6765040003090007737469636b79010000",
    "6": "0000000000090100080000019b76daa87b",
    "6 no time": "00000000000900",
    "7": (
        "0000030123456789abcdef11223344556677880400000000000000020000000100ffffffffffffffffffffffffffffff"
        "ff02000111700000"
    ),
    "7 empty": "00000100",
    "8": (
        "0000000000050000000401020123456789abcdef11223344556677880300000000000000010100090300000003000000"
        "0502ffffffffffffffffffffffffffffffff0200000004010005020000000200"
    ),
    "8 of 4.2": "0000000000050000000402020123456789abcdef1122334455667788030000000000000001000100",
    "8 null epochs": ("0000fffffffe0000000409020123456789abcdef1122334455667788030000000000000001010001000100"),
    "16": "000003036131036132000000000000000c0000019b76daa9c800",
}
T, U = "ASNFZ4mrze8RIjNEVWZ3iA", "_____________________w"
CLASSIC = ClassicMetadata(45_000, (JoinProtocol("range", b"\x00\x03\x09"), JoinProtocol("sticky", b"")))
TOPICS = (SubscribedTopic(T, "events", 6),)
NO_CONTENT = ClassicMetadata(0, ())

VALUES: tuple[tuple[str, Callable[..., bytes], Callable[[bytes], Any], tuple[Any, ...]], ...] = (
    ("3", records.encode_epoch, records.decode_epoch, (EpochValue(7, -1_234_567_890_123),)),
    ("3 of 4.0", records.encode_epoch, records.decode_epoch, (EpochValue(7),)),
    ("4", records.encode_topics, records.decode_topics, (TOPICS,)),
    (
        "5",
        records.encode_member,
        records.decode_member,
        (MemberValue("i-1", "r-1", "c", "/127.0.0.1", ("a", "b"), "x.*", 300_000, "uniform"),),
    ),
    ("5 least", records.encode_member, records.decode_member, (MemberValue(),)),
    ("5 no tag", records.encode_member, records.decode_member, (MemberValue(classic=NO_CONTENT),)),
    (
        "5 classic",
        records.encode_member,
        records.decode_member,
        (MemberValue(client_id="c", names=("a",), classic=CLASSIC),),
    ),
    ("6", records.encode_target_epoch, records.decode_target_epoch, (9, 1_767_225_600_123)),
    ("6 no time", records.encode_target_epoch, records.decode_target_epoch, (9, 0)),
    ("7", records.encode_target, records.decode_target, ({T: (0, 2, 1), U: (70_000,)},)),
    ("7 empty", records.encode_target, records.decode_target, ({},)),
    (
        "8",
        records.encode_current,
        records.decode_current,
        (CurrentValue(5, 4, MemberState.UNREVOKED_PARTITIONS, {T: {0: 3, 1: 5}}, {U: {4: 2}}),),
    ),
    ("16", records.encode_regex, records.decode_regex, (("a1", "a2"), 12, 1_767_225_600_456)),
)


def kafka(name: str) -> bytes:
    """The bytes Kafka's class wrote."""
    return bytes.fromhex(KAFKA[name])


@pytest.mark.parametrize("kind", sorted(records.NAMES))
def test_keys_are_kafkas_bytes(kind: int) -> None:
    """Keys are written as Kafka's classes write them, and read back, also by the reader of all keys."""
    third = {5: "m-é", 7: "m-é", 8: "m-é", 16: "a.*"}.get(kind, "")
    data = kafka(f"key {kind}")
    assert records.encode_key(kind, "orders", third) == data
    assert records.decode_key(kind, data) == decode_key(data) == ConsumerGroupKey(kind, "orders", third)


@pytest.mark.parametrize(("name", "encode", "decode", "fields"), VALUES, ids=[row[0] for row in VALUES])
def test_values_are_kafkas_bytes(
    name: str, encode: Callable[..., bytes], decode: Callable[[bytes], Any], fields: tuple[Any, ...]
) -> None:
    """Values are written as Kafka's classes write them, and read back."""
    assert encode(*fields) == kafka(name)
    assert decode(kafka(name)) == (fields[0] if len(fields) == 1 else fields)


def test_values_of_other_releases_are_read() -> None:
    """Racks are skipped, a regular expression of null is empty, an unknown state is UNKNOWN.

    Partitions without assignment epochs have the member epoch, and 0 if that is negative.
    """
    assert records.decode_topics(kafka("4 with racks")) == TOPICS
    assert records.decode_member(kafka("5 null regex")) == MemberValue()
    old = CurrentValue(5, 4, MemberState.UNRELEASED_PARTITIONS, {T: {0: 5, 1: 5}})
    assert records.decode_current(kafka("8 of 4.2")) == old
    assert records.encode_current(old, epochs=False) == kafka("8 of 4.2")
    assert records.decode_current(kafka("8 null epochs")) == CurrentValue(-2, 4, MemberState.UNKNOWN, {T: {0: 0, 1: 0}})


@pytest.mark.parametrize(
    ("name", "size", "decode", "place"),
    [
        ("key 5", 9, decode_key, "ConsumerGroupMemberMetadataKey at byte 4: expected 6 bytes of group id"),
        ("key 16", 12, decode_key, "ConsumerGroupRegularExpressionKey at byte 12: expected 3 bytes of regular"),
        ("3", 4, records.decode_epoch, "ConsumerGroupMetadataValue at byte 2: expected 4 bytes of epoch"),
        ("5", 12, records.decode_member, "ConsumerGroupMemberMetadataValue at byte 12: expected 1 bytes of clientHost"),
        ("8", 20, records.decode_current, "ConsumerGroupCurrentMemberAssignmentValue at byte 12: expected 16 bytes"),
    ],
)
def test_what_ends_early_is_named_with_its_byte(
    name: str, size: int, decode: Callable[[bytes], Any], place: str
) -> None:
    """A record cut short is an error that says which record, which field, which byte."""
    with pytest.raises(ProtocolError) as caught:
        decode(kafka(name)[:size])
    assert place in str(caught.value)


def test_what_does_not_fit_is_an_error() -> None:
    """A version of the future is not read, a number too large for its field is not written."""
    with pytest.raises(ProtocolError, match="ConsumerGroupMetadataValue at byte 0: expected version 0, found 1"):
        records.decode_epoch(b"\x00\x01" + kafka("3")[2:])
    for wrong in (EpochValue(2**31), EpochValue(1, 2**63)):
        with pytest.raises(ProtocolError, match="ConsumerGroupMetadata: expected numbers that fit their fields"):
            records.encode_epoch(wrong)
    with pytest.raises(ProtocolError, match="ConsumerGroupCurrentMemberAssignment: expected numbers that fit"):
        records.encode_current(CurrentValue(1, assigned={T: {2**31: 1}}))


_TEXT = st.text(max_size=12)
_INT = st.integers(-(2**31), 2**31 - 1)
_TOPIC_ID = st.binary(min_size=16, max_size=16).map(lambda raw: records._id_text(raw))
_PARTITIONS = st.dictionaries(_TOPIC_ID, st.dictionaries(_INT, _INT, max_size=4), max_size=3)
_MEMBER = st.builds(
    MemberValue,
    st.none() | _TEXT,
    st.none() | _TEXT,
    _TEXT,
    _TEXT,
    st.lists(_TEXT, max_size=3).map(tuple),
    _TEXT,
    _INT,
    st.none() | _TEXT,
    st.none()
    | st.builds(
        ClassicMetadata, _INT, st.lists(st.builds(JoinProtocol, _TEXT, st.binary(max_size=9)), max_size=2).map(tuple)
    ),
)
_CURRENT = st.builds(CurrentValue, _INT, _INT, st.sampled_from(MemberState), _PARTITIONS, _PARTITIONS)


@given(_MEMBER)
def test_any_member_reads_back(value: MemberValue) -> None:
    """Whatever a member sent, its bytes read as the same."""
    assert records.decode_member(records.encode_member(value)) == value


@given(_CURRENT)
def test_any_assignment_reads_back(value: CurrentValue) -> None:
    """Whatever a member owns, its bytes read as the same."""
    assert records.decode_current(records.encode_current(value)) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Bytes of any kind give a value or a ProtocolError, never another error."""
    readers = [row[2] for row in VALUES] + [lambda raw: decode_key(b"\x00\x05" + raw)]
    for read in readers:
        for whole in (data, b"\x00\x00" + data):
            try:
                read(whole)
            except ProtocolError:
                continue


def drawn(random: Random) -> tuple[str, str]:
    """A key and a value of a random record of a random type, as bytes in hexadecimal digits."""

    def text() -> str:
        return "".join(random.choice("aé-.*Z9") for _ in range(random.randrange(0, 140)))

    def partitions() -> dict[str, dict[int, int]]:
        return {
            records._id_text(random.randbytes(16)): {
                random.randrange(2**31): random.randrange(9) for _ in range(random.randrange(0, 40))
            }
            for _ in range(random.randrange(3))
        }

    protocols = tuple(JoinProtocol(text(), random.randbytes(200)) for _ in range(random.randrange(3)))
    values: dict[int, Callable[[], bytes]] = {
        3: lambda: records.encode_epoch(EpochValue(random.randrange(2**31), random.randrange(-3, 3))),
        4: lambda: records.encode_topics(
            [SubscribedTopic(topic, text(), len(held)) for topic, held in partitions().items()]
        ),
        5: lambda: records.encode_member(
            MemberValue(
                random.choice((None, text())),
                random.choice((None, text())),
                text(),
                text(),
                tuple(text() for _ in range(random.randrange(4))),
                text(),
                random.randrange(-1, 9),
                random.choice((None, text())),
                random.choice((None, NO_CONTENT, ClassicMetadata(random.randrange(9), protocols))),
            )
        ),
        6: lambda: records.encode_target_epoch(random.randrange(9), random.choice((0, random.randrange(2**60)))),
        7: lambda: records.encode_target({topic: tuple(held) for topic, held in partitions().items()}),
        8: lambda: records.encode_current(
            CurrentValue(random.randrange(9), random.randrange(9), random.choice([*MemberState]), partitions(), {})
        ),
        16: lambda: records.encode_regex([text(), text()], random.randrange(2**60), random.randrange(2**60)),
    }
    kind = random.choice(sorted(values))
    return records.encode_key(kind, text(), text()).hex(), values[kind]().hex()


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.interop_short
def test_kafkas_classes_read_random_records_and_write_the_same_bytes() -> None:
    """400 random records: Kafka's serde reads key and value, and writes them as the bytes that it was given."""
    random = Random(20)
    lines = [" ".join(drawn(random)) for _ in range(400)]
    try:
        command = [kafka_jars.java(), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp"]
        done = subprocess.run(
            [*command, kafka_jars.class_path(kafka_jars.STORAGE), str(PROGRAM)],
            input="\n".join(lines),
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
    except kafka_jars.Unavailable as why:
        unavailable(why, "java")
    assert done.stdout.splitlines() == lines
