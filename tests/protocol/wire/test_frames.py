"""A stream of bytes is cut into messages, however it arrives."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.protocol.wire import Frames, Unreadable


def framed(*messages: bytes) -> bytes:
    """The messages with their lengths."""
    return b"".join(struct.pack(">i", len(message)) + message for message in messages)


@given(st.lists(st.binary(max_size=20), max_size=6), st.lists(st.integers(0, 150), max_size=8))
def test_messages_come_out_as_they_went_in_wherever_the_stream_is_cut(messages: list[bytes], cuts: list[int]) -> None:
    """TCP hands over bytes in any portions."""
    stream = framed(*messages)
    frames = Frames()
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    portions = [stream[begin:end] for begin, end in pairwise(edges)]
    assert [message for portion in portions for message in frames.feed(portion)] == messages


def test_a_drip_of_single_bytes_is_put_together() -> None:
    """A message is there with its last byte and not before."""
    frames = Frames()
    stream = framed(b"first", b"", b"second")
    found = [(at, message) for at, byte in enumerate(stream) for message in frames.feed(bytes([byte]))]
    assert found == [(8, b"first"), (12, b""), (22, b"second")]


@pytest.mark.parametrize("size", [-1, -(2**31), 2**31 - 1, 104_857_601])
def test_a_length_that_nobody_takes_is_refused_at_once(size: int) -> None:
    """Nothing is waited for, and nothing kept, for a negative or an enormous message."""
    with pytest.raises(Unreadable, match=f"size {size}"):
        Frames().feed(struct.pack(">i", size))


def test_the_limit_is_taken_and_one_more_is_not() -> None:
    """`socket.request.max.bytes` counts what comes after the length."""
    assert Frames(limit=3).feed(framed(b"abc")) == [b"abc"]
    with pytest.raises(Unreadable, match="between 0 and 3"):
        Frames(limit=3).feed(framed(b"abcd"))


def test_a_refused_length_after_a_good_message_loses_the_connection() -> None:
    """Who sends nonsense gets no answers any more."""
    with pytest.raises(Unreadable):
        Frames().feed(framed(b"good") + b"\xff\xff\xff\xff")


@pytest.mark.parametrize(("data", "kind"), [(b"GET / HTTP/1.1", "HTTP"), (b"\x16\x03\x01\x02\x00\x01", "TLS")])
def test_what_was_meant_for_another_kind_of_port_is_recognised(data: bytes, kind: str) -> None:
    """A browser, or a client that wants TLS, ends up in the log as that."""
    with pytest.raises(Unreadable, match=f"begins as {kind} does"):
        Frames().feed(data)
