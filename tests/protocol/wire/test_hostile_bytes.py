"""Whatever bytes come: a request, or Unreadable, and never anything else."""

from __future__ import annotations

import struct
import tracemalloc
from random import Random

import pytest
from test_group_requests import CASES, EVERY
from wire_samples import codec, frame

from groupsim.protocol.basics import Api
from groupsim.protocol.wire import Unreadable, served


def readable(data: bytes) -> bool:
    """Whether the bytes are a request; anything but Unreadable is a failure of the test."""
    try:
        return codec().understand(data).api in served()
    except Unreadable:
        return False


@pytest.mark.parametrize(("api", "version"), EVERY, ids=lambda value: getattr(value, "title", value))
def test_a_request_cut_short_anywhere_is_unreadable(api: Api, version: int) -> None:
    """No prefix of a request is another request, and none breaks anything."""
    data = CASES[api][0](version)
    assert readable(data)
    assert not any(readable(data[:cut]) for cut in range(len(data)))


@pytest.mark.parametrize(("api", "version"), EVERY, ids=lambda value: getattr(value, "title", value))
def test_a_request_with_a_byte_changed_is_read_or_refused(api: Api, version: int) -> None:
    """Every byte in turn, made the largest, the smallest, and one more: lengths, counts, tags, text, numbers."""
    data = CASES[api][0](version)
    for at in range(4, len(data)):
        for value in (0, 0x7F, 0x80, 0xFF, data[at] + 1 & 0xFF):
            readable(data[:at] + bytes([value]) + data[at + 1 :])


def test_garbage_behind_any_header_is_read_or_refused() -> None:
    """Six thousand frames of random bytes, each behind the header of some API and version."""
    stream = Random(20)
    known = 0
    for _ in range(6_000):
        key = stream.choice([*(int(api) for api in served()), stream.randrange(-5, 120)])
        head = struct.pack(">hhih", key, stream.randrange(-1, 15), stream.randrange(2**31), stream.choice((-1, 0, 3)))
        known += readable(head + stream.randbytes(stream.choice((0, 5, 20, 80, 300))))
    assert 50 < known < 500  # short messages are easily met


@pytest.mark.parametrize("version", [1, 9, 12])
def test_an_array_that_claims_billions_costs_nothing(version: int) -> None:
    """Nine bytes cannot reserve gigabytes: what an array claims is held against what is left."""
    head = frame("Metadata", version, topics=[])
    body = {1: 4, 9: 5, 12: 4}[version]
    claim = b"\x7f\xff\xff\xff" if version == 1 else b"\xff\xff\xff\xff\x07"
    tracemalloc.start()
    try:
        with pytest.raises(Unreadable, match="claims 21474836"):
            codec().understand(head[:-body] + claim)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_long_array_of_nothing_is_refused() -> None:
    """A frame within the limit may still hold more elements than anyone needs; a million is the most."""
    head = frame("DescribeGroups", 5, groups=[], include_authorized_operations=False)
    count = bytearray()
    value = 1_000_002
    while value > 0x7F:
        count.append(value & 0x7F | 0x80)
        value >>= 7
    count.append(value)
    with pytest.raises(Unreadable, match="claims 1000001 elements"):
        codec().understand(head[:-3] + bytes(count) + b"\x01" * 1_000_001 + b"\x00\x00")
