"""The embedded consumer protocol against Kafka's own bytes, against kio's schemas, and against itself."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer

from groupsim.protocol.embedded.consumer_protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    decode_topics_v0_prefix,
    encode_assignment,
    encode_subscription,
)
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.javahash import java_sorted, java_string_key
from groupsim.protocol.messages.group import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)

# Produced by Kafka's own class: topics a and b, no user data, owning a-0, generation 7, rack r.
KAFKA_V3 = bytes.fromhex("0003 00000002 0001 61 0001 62 ffffffff 00000001 0001 61 00000001 00000000 00000007 0001 72")
KAFKA_SUBSCRIPTION = Subscription(("a", "b"), None, (A0,), 7, "r")

names = st.text(min_size=1, max_size=12)
numbers = st.integers(0, 2**31 - 1)
partitions = st.lists(st.builds(TopicPartition, names, numbers), max_size=8).map(tuple)
user_data = st.none() | st.binary(max_size=12)
subscriptions = st.builds(
    Subscription,
    topics=st.lists(names, max_size=6).map(tuple),
    user_data=user_data,
    owned=partitions,
    generation=st.none() | numbers,
    rack=st.none() | names,
)


def as_written(subscription: Subscription, version: int) -> Subscription:
    """What is left of a subscription after a trip in `version`."""
    owned = sorted(subscription.owned, key=lambda tp: (java_string_key(tp.topic), tp.partition))
    return Subscription(
        topics=tuple(java_sorted(subscription.topics)),
        user_data=subscription.user_data,
        owned=tuple(owned) if version >= 1 else (),
        generation=subscription.generation if version >= 2 else None,
        rack=subscription.rack if version >= 3 else None,
    )


def refusal(decode: Callable[[bytes], object], data: bytes) -> ProtocolError | None:
    """The error with which a decoder refuses the bytes, None when it reads them."""
    try:
        decode(data)
    except ProtocolError as problem:
        return problem
    return None


def kio_class(message: str, version: int) -> Any:
    """kio's class for one version of one embedded message."""
    module = importlib.import_module(f"kio.schema.consumer_protocol_{message}.v{version}.data")
    return getattr(module, f"ConsumerProtocol{message.capitalize()}")


def kio_read(message: str, version: int, data: bytes) -> Any:
    """The message after the version, as kio understands it, with nothing left over."""
    entity, size = entity_reader(kio_class(message, version))(data, 2)
    assert 2 + size == len(data)
    return entity


def kio_write(message: str, version: int, entity: Any) -> bytes:
    """The message as kio writes it, version first."""
    buffer = io.BytesIO()
    entity_writer(kio_class(message, version))(buffer, entity)
    return version.to_bytes(2, "big") + buffer.getvalue()


def flat(groups: Any) -> tuple[TopicPartition, ...]:
    """kio's partitions, grouped by topic, one by one."""
    return tuple(TopicPartition(str(group.topic), int(p)) for group in groups for p in group.partitions)


def test_a_subscription_is_the_bytes_that_kafka_writes() -> None:
    """Version 3 with everything in it equals Kafka's own bytes, both ways."""
    assert encode_subscription(KAFKA_SUBSCRIPTION) == KAFKA_V3
    assert decode_subscription(KAFKA_V3) == KAFKA_SUBSCRIPTION


@pytest.mark.parametrize(
    ("version", "hexed"),
    [
        (0, "0000 00000002 0001 61 0001 62 ffffffff"),
        (1, "0001 00000002 0001 61 0001 62 ffffffff 00000001 0001 61 00000001 00000000"),
        (2, "0002 00000002 0001 61 0001 62 ffffffff 00000001 0001 61 00000001 00000000 00000007"),
        (3, KAFKA_V3.hex()),
    ],
)
def test_each_version_carries_what_it_can(version: int, hexed: str) -> None:
    """A field newer than the version is left out when writing and has its default when reading."""
    data = encode_subscription(KAFKA_SUBSCRIPTION, version)
    assert data == bytes.fromhex(hexed)
    assert decode_subscription(data) == as_written(KAFKA_SUBSCRIPTION, version)


def test_topics_and_owned_partitions_are_written_sorted() -> None:
    """The order in which a member lists its topics and partitions does not show in the bytes."""
    mixed = Subscription(("b", "a"), None, (B0, A1, A0), 7)
    read = decode_subscription(encode_subscription(mixed))
    assert read.topics == ("a", "b")
    assert read.owned == (A0, A1, B0)


def test_strings_are_sorted_as_java_sorts_them() -> None:
    """A character beyond U+FFFF comes before one of U+E000..U+FFFF, as in UTF-16."""
    high, private = "\U0001f600", "\ue000"
    subscription = Subscription((private, high), None, (TopicPartition(private, 0), TopicPartition(high, 0)))
    read = decode_subscription(encode_subscription(subscription))
    assert read.topics == (high, private)
    assert [tp.topic for tp in read.owned] == [high, private]


def test_an_empty_rack_and_a_negative_generation_count_as_none() -> None:
    """What a client writes for `none`, in either spelling, is read as None."""
    data = bytes.fromhex("0003 00000000 ffffffff 00000000 fffffff9 0000")
    assert decode_subscription(data) == Subscription()


def test_empty_user_data_is_not_missing_user_data() -> None:
    """b"" and None survive the trip as different values."""
    for data in (b"", None):
        assert decode_subscription(encode_subscription(Subscription(user_data=data))).user_data == data


def test_a_version_from_the_future_is_read_as_the_newest_known() -> None:
    """Version 9 with a trailing field this reader does not know is read as version 3."""
    future = b"\x00\x09" + KAFKA_V3[2:] + b"\x01\x02\x03"
    assert decode_subscription(future) == KAFKA_SUBSCRIPTION


def test_a_negative_version_is_an_error() -> None:
    """Below zero there is no version to fall back on."""
    with pytest.raises(ProtocolError, match=r"Subscription at byte 0: expected a version .* found -1"):
        decode_subscription(b"\xff\xff" + KAFKA_V3[2:])
    with pytest.raises(ProtocolError, match="Assignment at byte 0"):
        decode_assignment(b"\xff\xff" + encode_assignment(Assignment())[2:])


@pytest.mark.parametrize("version", [-1, 4])
def test_a_version_that_does_not_exist_cannot_be_written(version: int) -> None:
    """Writing takes versions 0 to 3."""
    with pytest.raises(ProtocolError, match="from 0 to 3"):
        encode_subscription(Subscription(), version)
    with pytest.raises(ProtocolError, match="from 0 to 3"):
        encode_assignment(Assignment(), version)


def test_every_truncation_is_an_error_that_says_where() -> None:
    """Cut anywhere, a message is refused with an offset inside what is left."""
    for end in range(len(KAFKA_V3)):
        with pytest.raises(ProtocolError) as caught:
            decode_subscription(KAFKA_V3[:end])
        assert caught.value.message == "Subscription"
        assert caught.value.offset is not None
        assert caught.value.offset <= end


@pytest.mark.parametrize(
    ("hexed", "offset", "expected"),
    [
        ("0000 ffffffff ffffffff", 2, "a count of Topics"),
        ("0000 7fffffff ffffffff", 2, "a count of Topics"),
        ("0000 00000001 ffff ffffffff", 6, "a string of Topics"),
        ("0000 00000001 0009 61", 8, "9 bytes of Topics"),
        ("0000 00000000 00000005 61", 10, "5 bytes of UserData"),
        ("0001 00000000 ffffffff 00000001 0001 61 00000009 00000000", 17, "a count of OwnedPartitions"),
    ],
)
def test_the_error_names_offset_and_expectation(hexed: str, offset: int, expected: str) -> None:
    """Null where null is not allowed, and lengths beyond the end, are reported where they stand."""
    with pytest.raises(ProtocolError) as caught:
        decode_subscription(bytes.fromhex(hexed))
    assert caught.value.offset == offset
    assert caught.value.expected.startswith(expected)


def test_values_that_fit_no_field_are_refused() -> None:
    """A string above 32,767 bytes and a number beyond 32 bits raise instead of writing nonsense."""
    for subscription in (
        Subscription(("x" * 40_000,)),
        Subscription(generation=2**31),
        Subscription(owned=(A0, TopicPartition("a", 2**31))),
    ):
        with pytest.raises(ProtocolError):
            encode_subscription(subscription)


def test_an_assignment_groups_by_topic_in_listed_order() -> None:
    """Topics come in the order of their first partition, partitions in the order listed."""
    data = encode_assignment(Assignment((B0, A1, A0)))
    assert data == bytes.fromhex("0003 00000002 0001 62 00000001 00000000 0001 61 00000002 00000001 00000000 ffffffff")
    scattered = Assignment((A1, B0, A0), b"x")
    assert decode_assignment(encode_assignment(scattered)) == Assignment((A1, A0, B0), b"x")


@pytest.mark.parametrize(
    ("hexed", "offset"),
    [
        ("ffff 00000001 0001 41 00000001 00000000 ffffffff", 0),  # version
        ("0003 00000001 ffff", 6),  # topic
        ("0003 00000001 0001 41 ffffffff", 9),  # no list
        ("0003 00000001 0001 41 00000002 00000000 ffffffff", 21),  # a number more than there are
    ],
)
def test_an_assignment_of_one_topic_says_what_is_wrong_with_it(hexed: str, offset: int) -> None:
    """Though most of these are read at one go: wherever one ends early, or holds what cannot be."""
    with pytest.raises(ProtocolError) as caught:
        decode_assignment(bytes.fromhex(hexed))
    assert caught.value.offset == offset


def test_an_assignment_of_one_topic_is_read_whatever_follows() -> None:
    """Cut anywhere it is an error; with bytes behind it, or user data, it is the same assignment."""
    usual = Assignment((A1, A0))
    raw = encode_assignment(usual)
    assert decode_assignment(raw) == decode_assignment(raw + b"\xff\xff\xff\xff") == usual
    assert decode_assignment(raw[:-4] + b"\0\0\0\1x") == Assignment((A1, A0), b"x")
    for end in range(len(raw)):
        with pytest.raises(ProtocolError):
            decode_assignment(raw[:end])


def test_empty_bytes_are_no_assignment() -> None:
    """A member that is given no bytes at all fails to read them, as the Java client does."""
    with pytest.raises(ProtocolError, match="Assignment at byte 0: expected 2 bytes of version"):
        decode_assignment(b"")


@given(subscriptions, st.integers(0, 3))
def test_a_subscription_survives_the_trip(subscription: Subscription, version: int) -> None:
    """What is read is what was written, sorted, as far as the version carries it."""
    assert decode_subscription(encode_subscription(subscription, version)) == as_written(subscription, version)


@given(partitions, user_data, st.integers(0, 3))
def test_an_assignment_survives_the_trip(listed: tuple[TopicPartition, ...], data: bytes | None, version: int) -> None:
    """The partitions of each topic come back in order, and so does the user data."""
    read = decode_assignment(encode_assignment(Assignment(listed, data), version))
    topics = list(dict.fromkeys(tp.topic for tp in listed))
    assert read == Assignment(tuple(tp for topic in topics for tp in listed if tp.topic == topic), data)


@given(st.binary(max_size=64))
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    """No input makes a decoder raise anything but ProtocolError."""
    for decode in (decode_subscription, decode_assignment, decode_topics_v0_prefix):
        problem = refusal(decode, data)
        assert problem is None or (problem.offset is not None and 0 <= problem.offset <= len(data))


@given(subscriptions, st.integers(0, 3))
def test_kio_reads_and_writes_the_same_subscription(subscription: Subscription, version: int) -> None:
    """An independent implementation of the schema understands our bytes, and writes the same ones."""
    data = encode_subscription(subscription, version)
    theirs = kio_read("subscription", version, data)
    ours = as_written(subscription, version)
    assert tuple(theirs.topics) == ours.topics
    assert theirs.user_data == ours.user_data
    if version >= 1:
        assert flat(theirs.owned_partitions) == ours.owned
    if version >= 2:
        assert theirs.generation_id == (-1 if ours.generation is None else ours.generation)
    if version >= 3:
        assert theirs.rack_id == ours.rack
    assert kio_write("subscription", version, theirs) == data


@given(partitions, user_data, st.integers(0, 3))
def test_kio_reads_and_writes_the_same_assignment(
    listed: tuple[TopicPartition, ...], data: bytes | None, version: int
) -> None:
    """An independent implementation of the schema understands our assignment, and writes the same bytes."""
    raw = encode_assignment(Assignment(listed, data), version)
    theirs = kio_read("assignment", version, raw)
    assert flat(theirs.assigned_partitions) == decode_assignment(raw).partitions
    assert theirs.user_data == data
    assert kio_write("assignment", version, theirs) == raw


@pytest.mark.parametrize("version", [0, 1, 2, 3, 9, -1])
def test_the_broker_reads_topics_whatever_the_version(version: int) -> None:
    """The broker takes the prefix of version 0 and never judges the number in front of it."""
    data = version.to_bytes(2, "big", signed=True) + KAFKA_V3[2:]
    assert decode_topics_v0_prefix(data) == ("a", "b")


@pytest.mark.parametrize("hexed", ["", "00", "0000", "0000 00000001", "0000 00000001 0001 61", "0001 00000000 000000"])
def test_the_broker_refuses_a_malformed_prefix(hexed: str) -> None:
    """Topics and user data have to be whole; what comes after them does not matter."""
    with pytest.raises(ProtocolError):
        decode_topics_v0_prefix(bytes.fromhex(hexed))


def test_the_broker_does_not_look_beyond_the_prefix() -> None:
    """Owned partitions that end early make the member's message malformed, but not the broker's reading of it."""
    cut = KAFKA_V3[:-9]
    assert decode_topics_v0_prefix(cut) == ("a", "b")
    with pytest.raises(ProtocolError):
        decode_subscription(cut)
