"""Whatever bytes come: a request, or Unreadable, and never anything else."""

from __future__ import annotations

import struct
import tracemalloc
from random import Random

import pytest
from kio.index import load_response_schema
from kio.serial import entity_reader

from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.wire import Unreadable, served
from groupsim.protocol.wire.schema import NEWER
from tests.helpers.wire_samples import any_frame, codec, frame
from tests.protocol.wire.test_group_requests import CASES, EVERY


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


def test_arrays_within_arrays_have_one_limit_together() -> None:
    """Lists of partitions that are short enough each are refused when they are too many; the next message is read."""
    partitions = struct.pack(">i", 250_000) + bytes(4 * 250_000)
    topic = struct.pack(">h", 1) + b"t" + partitions
    header = struct.pack(">hhih", Api.OFFSET_DELETE, 0, 1, -1) + struct.pack(">h", 1) + b"g"
    with pytest.raises(Unreadable, match="claims 250000 elements, the limit of a message is 1000000"):
        codec().understand(header + struct.pack(">i", 4) + topic * 4)
    assert readable(header + struct.pack(">i", 3) + topic * 3)


def test_any_values_in_any_field_are_a_request_or_refused() -> None:
    """Every API and version, with nulls, empty lists, unknown ids, numbers and bytes that mean nothing."""
    stream = Random(6)
    for api, versions in served().items():
        for version in range(versions.oldest, versions.newest + 1):
            for _ in range(10):
                readable(any_frame(api, version, stream))


def test_whatever_was_asked_can_be_refused() -> None:
    """The refusal of any request that could be read is a response of its version, for kio to read to its end."""
    stream = Random(7)
    versions = ((api, range(known.oldest, known.newest + 1)) for api, known in served().items())
    known = [(api, version) for api, all_of in versions for version in all_of if version not in NEWER.get(api, {})]
    refused = 0
    for api, version in known * 4:
        try:
            found = codec().understand(any_frame(api, version, stream))
        except Unreadable:
            continue
        response = found.exchange.refusal(ErrorCode.REQUEST_TIMED_OUT)
        entity = load_response_schema(api, version)
        at = 4 + (entity.__flexible__ and api is not Api.API_VERSIONS)
        assert at + entity_reader(entity)(response, at)[1] == len(response)
        refused += 1
    assert refused > 2 * len(known)


def mutant(stream: Random, seeds: list[bytes]) -> bytes:
    """A request with bytes changed, dropped, put in, or continued by another's."""
    data = bytearray(stream.choice(seeds))
    for _ in range(stream.randrange(1, 5)):
        at = stream.randrange(len(data) + 1)
        match stream.randrange(5):
            case 0:
                data[at : at + 1] = stream.randbytes(1)
            case 1:
                data[at:at] = stream.choice((b"\x00", b"\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f"))
            case 2:
                del data[at : at + stream.randrange(1, 9)]
            case 3:
                data[at:] = stream.choice(seeds)[at:]
            case _:
                data[at : at + 4] = stream.randrange(-(2**31), 2**31).to_bytes(4, "big", signed=True)
    return bytes(data)


@pytest.mark.parametrize("frames", [5_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_mutants_of_requests_are_read_or_refused(frames: int) -> None:
    """Requests of every API and version with a few bytes wrong: some are still requests, none does harm."""
    reads = codec()
    stream = Random(5)
    seeds = [CASES[api][0](version) for api, version in EVERY]
    known = [(api, v) for api, versions in served().items() for v in range(versions.oldest, versions.newest + 1)]
    seeds += [any_frame(api, version, stream) for api, version in known for _ in range(3)]
    refused = 0
    for _ in range(frames):
        try:
            reads.understand(mutant(stream, seeds))
        except Unreadable:
            refused += 1
    assert 0.2 * frames < refused < 0.95 * frames
