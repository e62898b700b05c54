"""The user data of the sticky assignors, against bytes made by Kafka's own classes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.protocol.embedded.sticky_data import (
    decode_generation,
    decode_sticky_user_data,
    encode_generation,
    encode_sticky_user_data,
)
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.messages.group import TopicPartition

KAFKAS = bytes.fromhex("00000001 0001 74 00000002 00000000 00000002 00000005")
CLAIMS = (TopicPartition("t", 0), TopicPartition("t", 2))


def test_v1_bytes_are_kafkas() -> None:
    """The documented example is written and read to the byte."""
    assert encode_sticky_user_data(CLAIMS, 5) == KAFKAS
    assert decode_sticky_user_data(KAFKAS) == (CLAIMS, 5)


def test_v0_is_read_without_generation() -> None:
    """Data that ends before the generation is schema v0; so is one with too few bytes for a generation."""
    assert decode_sticky_user_data(KAFKAS[:-4]) == (CLAIMS, -1)
    assert decode_sticky_user_data(KAFKAS[:-1]) == (CLAIMS, -1)


def test_trailing_bytes_are_no_error() -> None:
    """What follows the generation is not looked at."""
    assert decode_sticky_user_data(KAFKAS + b"more") == (CLAIMS, 5)


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\xff\xff\xff\xff", b"\0\0\0\1", KAFKAS[:9], b"\0\0\0\1\0\x09t" + b"\0" * 8]
)
def test_what_is_neither_schema_gives_nothing(data: bytes) -> None:
    """Short data, negative counts, and strings longer than the rest come back as None, never as an error."""
    assert decode_sticky_user_data(data) is None


def test_topics_are_written_in_hash_map_order() -> None:
    """`default` and `b` are written by bucket, not by first appearance."""
    written = encode_sticky_user_data([TopicPartition("b", 1), TopicPartition("a", 3), TopicPartition("b", 0)], 1)
    read = decode_sticky_user_data(written)
    assert read == ((TopicPartition("a", 3), TopicPartition("b", 1), TopicPartition("b", 0)), 1)


def test_generation_data_of_the_cooperative_assignor() -> None:
    """Four bytes; none is None, unreadable is -1, as the Java class takes them."""
    assert encode_generation(-1) == b"\xff\xff\xff\xff"
    assert decode_generation(encode_generation(7)) == 7
    assert decode_generation(None) is None
    assert decode_generation(b"\0\0") == -1


def test_a_number_that_does_not_fit_is_named() -> None:
    """Writing a partition beyond 32 bits raises and says which."""
    with pytest.raises(ProtocolError, match=str(2**31)):
        encode_sticky_user_data([TopicPartition("t", 2**31)], 0)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    """Reading never raises, whatever a stranger's client sent; the generation is a number or -1."""
    read = decode_sticky_user_data(data)
    assert read is None or isinstance(read[1], int)


@given(
    st.dictionaries(st.sampled_from(["a", "b", "topic-é"]), st.lists(st.integers(0, 99), min_size=1)),
    st.integers(-1, 9),
)
def test_what_is_written_is_read_again(claims: dict[str, list[int]], generation: int) -> None:
    """A round trip keeps every claim and the generation."""
    given_claims = [TopicPartition(topic, p) for topic, numbers in claims.items() for p in numbers]
    read = decode_sticky_user_data(encode_sticky_user_data(given_claims, generation))
    assert read is not None
    assert (sorted(read[0]), read[1]) == (sorted(given_claims), generation)
