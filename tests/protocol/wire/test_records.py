"""Records on their way in and out: kept to the byte, and refused for Kafka's reasons."""

from __future__ import annotations

import random
from struct import pack_into

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record import MemoryRecords

from groupsim.protocol.batch.batch import HEADER_BYTES, LogRecord
from groupsim.protocol.batch.codec import encode, read_batch
from groupsim.protocol.batch.sizes import batch_of
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.wire.records import Joined, RecordsRefused, batch_of_producer
from tests.helpers.counted_batches import counted_batch
from tests.helpers.data_samples import GZIP, NONE, ZSTD, records

SEED = 20_261_122


def changed(data: bytes, at: int, kind: str, value: int, *, checked: bool = True) -> bytes:
    """The batch with another field, and a checksum that fits."""
    made = bytearray(data)
    pack_into(kind, made, at, value)
    if checked:
        pack_into(">I", made, 17, crc32c.crc32c(bytes(made[21:])))
    return bytes(made)


def refusal(data: bytes | None, version: int = 12) -> ErrorCode:
    """Why the records are refused."""
    with pytest.raises(RecordsRefused) as refused:
        batch_of_producer(data, version)
    return refused.value.error


@pytest.mark.parametrize("compression", [NONE, GZIP, ZSTD])
def test_a_batch_passes_byte_for_byte(compression: int) -> None:
    """Only base offset and leader epoch, 12 bytes at the front, become the broker's; kafka-python reads it again."""
    data = records(50, compression=compression)
    batch = batch_of_producer(data, 12)
    assert encode(batch) == data
    assert (batch.count, batch.max_timestamp_ms) == (50, 1_700_000_000_049)
    placed = batch.placed(1_000, 7)
    out = bytearray()
    out += Joined([placed])
    assert bytes(out) == encode(placed)
    assert (bytes(out[:8]), bytes(out[12:16])) == ((1_000).to_bytes(8, "big"), (7).to_bytes(4, "big"))
    assert (out[8:12], out[16:]) == (data[8:12], data[16:])
    found = MemoryRecords(bytes(out)).next_batch()
    assert [(record.offset, record.key) for record in found] == [(1_000 + n, b"key-%d" % n) for n in range(50)]


def test_several_batches_are_joined_in_one_copy() -> None:
    """Batches that are bytes and batches that are values, one behind the other, behind what is there already."""
    batches = [
        read_batch(records(2)).placed(0, 1),
        counted_batch(3, 100, 5).placed(2, 1),
        batch_of([LogRecord(0, b"k", b"v")], 7).placed(5, 2),
    ]
    joined = Joined(batches)
    out = bytearray(b"before")
    same = out
    out += joined
    assert out is same
    assert bytes(out) == b"before" + b"".join(encode(batch) for batch in batches)
    assert len(joined) == len(out) - 6 == sum(batch.size for batch in batches)
    assert len(Joined(())) == 0


GOOD = records()
REFUSED: dict[str, tuple[bytes | None, ErrorCode]] = {
    "null": (None, ErrorCode.INVALID_RECORD),
    "nothing": (b"", ErrorCode.INVALID_RECORD),
    "cut": (GOOD[:-1], ErrorCode.INVALID_RECORD),
    "two batches": (GOOD + GOOD, ErrorCode.INVALID_RECORD),
    "length 13": (changed(GOOD, 8, ">i", 13), ErrorCode.CORRUPT_MESSAGE),
    "length -1": (changed(GOOD, 8, ">i", -1), ErrorCode.CORRUPT_MESSAGE),
    "shorter than a header": (changed(GOOD, 8, ">i", 20)[:32], ErrorCode.CORRUPT_MESSAGE),
    "magic 0": (changed(GOOD, 16, "B", 0), ErrorCode.INVALID_RECORD),
    "magic 1": (changed(GOOD, 16, "B", 1), ErrorCode.INVALID_RECORD),
    "magic 3": (changed(GOOD, 16, "B", 3), ErrorCode.CORRUPT_MESSAGE),
    "checksum": (changed(GOOD, 70, "B", 1, checked=False), ErrorCode.CORRUPT_MESSAGE),
    "base offset": (changed(GOOD, 0, ">q", 1), ErrorCode.INVALID_RECORD),
    "unknown codec": (changed(GOOD, 21, ">h", 6), ErrorCode.UNKNOWN_SERVER_ERROR),
    "control": (changed(GOOD, 21, ">h", 0x20), ErrorCode.INVALID_RECORD),
    "last delta": (changed(GOOD, 23, ">i", 5), ErrorCode.INVALID_RECORD),
    "last delta -1": (changed(GOOD, 23, ">i", -1), ErrorCode.INVALID_RECORD),
    "count": (changed(GOOD, 57, ">i", 4), ErrorCode.INVALID_RECORD),
    "count and delta": (changed(changed(GOOD, 57, ">i", 4), 23, ">i", 3), ErrorCode.INVALID_RECORD),
    "no records": (changed(changed(GOOD, 57, ">i", 0), 23, ">i", -1), ErrorCode.INVALID_RECORD),
    "sequence": (changed(GOOD, 43, ">q", 5), ErrorCode.INVALID_RECORD),
    "a record's length": (changed(GOOD, HEADER_BYTES, "B", 4), ErrorCode.INVALID_RECORD),
    "a time beyond int64": (
        changed(changed(GOOD, 27, ">q", 2**63 - 1), 35, ">q", 2**63 - 1),
        ErrorCode.INVALID_RECORD,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_broker_does_not_append_is_refused(name: str) -> None:
    """Each with the error that Kafka answers."""
    data, error = REFUSED[name]
    assert refusal(data) is error


def test_zstd_is_taken_from_version_7_on() -> None:
    """An older Produce cannot carry it (KIP-110); what else is wrong with it does not matter then."""
    data = records(compression=ZSTD)
    assert refusal(data, 6) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert refusal(data + data, 6) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert encode(batch_of_producer(data, 7)) == data


def test_a_tail_too_short_for_a_batch_is_left_off() -> None:
    """As Kafka trims what it appends."""
    assert encode(batch_of_producer(GOOD + GOOD[:-1], 12)) == GOOD
    assert encode(batch_of_producer(GOOD + b"123", 12)) == GOOD


def test_a_wrong_maximum_timestamp_is_put_right() -> None:
    """The header then says what the records say, and its checksum is that of its bytes."""
    data = changed(GOOD, 35, ">q", 5)
    batch = batch_of_producer(data, 12)
    assert batch.max_timestamp_ms == 1_700_000_000_002
    assert encode(batch) == GOOD


@pytest.mark.parametrize("stamp", [5, 2**63 - 1, -1])
def test_a_stamped_batch_keeps_its_records(stamp: int) -> None:
    """LogAppendTime changes a header and its checksum; compressed or not, the records stay as they came."""
    for compression in (NONE, GZIP):
        data = records(compression=compression)
        placed = read_batch(data).placed(9, 4)
        stamped = placed.stamped(stamp, placed.attributes | 0x08)
        assert (stamped.base_offset, stamped.leader_epoch, stamped.max_timestamp_ms) == (9, 4, stamp)
        out = encode(stamped)
        assert out[HEADER_BYTES:] == data[HEADER_BYTES:]
        assert read_batch(out, verify=True).attributes == compression | 0x08


@given(st.binary(max_size=200), st.integers(3, 13))
def test_garbage_is_refused_and_nothing_else(data: bytes, version: int) -> None:
    """No bytes make it raise anything but its own refusal."""
    with pytest.raises(RecordsRefused):
        batch_of_producer(data, version)


def test_no_changed_byte_passes_unless_the_checksum_is_made_to_fit() -> None:
    """One byte changed at random: refused, or a batch that reads; with a checksum that fits it, too."""
    chance = random.Random(SEED)
    for _ in range(2_000):
        at, value = chance.randrange(len(GOOD)), chance.randrange(256)
        made = bytearray(GOOD)
        made[at] = value
        if at >= 16 and bytes(made) != GOOD:
            assert refusal(bytes(made)) in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD)
        if at > 20:
            pack_into(">I", made, 17, crc32c.crc32c(bytes(made[21:])))
        try:
            batch = batch_of_producer(bytes(made), 12)
        except RecordsRefused:
            continue
        assert read_batch(encode(batch)).records == batch.records


Content = tuple[bytes | None, bytes | None, int, tuple[tuple[str, bytes | None], ...]]
_RECORD = st.tuples(
    st.none() | st.binary(max_size=40),
    st.none() | st.binary(max_size=200),
    st.integers(-(2**40), 2**40),
    st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=8)), max_size=3).map(tuple),
)


@given(st.lists(_RECORD, min_size=1, max_size=20), st.integers(2**41, 2**42))
def test_any_records_come_back_as_they_were(
    content: list[tuple[bytes, bytes, int, tuple[tuple[str, bytes], ...]]], base: int
) -> None:
    """Keys, values, times and headers of whatever length survive the way in and the way out."""
    made = batch_of(
        [LogRecord(n, key, value, delta, headers) for n, (key, value, delta, headers) in enumerate(content)], base
    )
    data = encode(made)
    batch = batch_of_producer(data, 12)
    assert batch.records == made.records
    out = bytearray()
    out += Joined([batch])
    assert bytes(out) == data


def test_header_names_that_are_no_text_stay_as_they_are() -> None:
    """Neither the way through nor LogAppendTime writes records anew, so nothing in them can get lost."""
    plain = encode(batch_of([LogRecord(0, b"k", b"v", headers=(("name", b"x"),))], 1_700_000_000_000))
    data = changed(plain.replace(b"name", b"\xff\xfe\xfd\xfc"), 0, ">q", 0)
    batch = batch_of_producer(data, 12)
    assert encode(batch) == data
    assert encode(batch.placed(3, 1).stamped(9, 0x08))[HEADER_BYTES:] == data[HEADER_BYTES:]
