"""Record batches as bytes: sizes, round trips, what a broker patches, and everything that is refused."""

from __future__ import annotations

import struct

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from groupsim.protocol.batch.batch import CONTROL, HEADER_BYTES, TRANSACTIONAL, Batch, LogRecord
from groupsim.protocol.batch.checksum import crc32c_function, crc32c_in_python
from groupsim.protocol.batch.codec import (
    EncodedBatch,
    check_records,
    decode_records,
    encode,
    encode_records,
    read_batch,
    read_batches,
)
from groupsim.protocol.batch.sizes import batch_of, counted_size, record_size, varint_size
from groupsim.protocol.errors import ProtocolError
from tests.helpers.counted_batches import counted_batch

content = st.none() | st.binary(max_size=300)
headers = st.lists(st.tuples(st.text(max_size=5), content), max_size=3).map(tuple)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Any uncompressed batch."""
    count = draw(st.integers(1, 12))
    deltas = sorted(draw(st.sets(st.integers(0, 20_000), min_size=count, max_size=count)))
    records = tuple(
        LogRecord(delta, draw(content), draw(content), draw(st.integers(-(2**40), 2**40)), draw(headers))
        for delta in deltas
    )
    return batch_of(
        records,
        draw(st.integers(-1, 2**42)),
        base_offset=draw(st.integers(0, 2**62)),
        leader_epoch=draw(st.integers(-1, 2**31 - 1)),
        producer_id=draw(st.integers(-1, 2**63 - 1)),
        producer_epoch=draw(st.integers(-1, 2**15 - 1)),
        base_sequence=draw(st.integers(-1, 2**31 - 1)),
        attributes=draw(st.sampled_from((0, TRANSACTIONAL, TRANSACTIONAL | CONTROL, 0x40, 0x08))),
    )


@given(batches())
def test_a_batch_is_read_as_it_was_written_and_has_the_size_it_said(batch: Batch) -> None:
    """Whatever it holds; a second encoding is the same."""
    data = encode(batch)
    assert len(data) == batch.size
    read = read_batch(data)
    assert read == batch
    assert batch == read
    assert read.record_count == len(batch.records or ())
    assert encode(read) == encode(attrs.evolve(batch)) == data


@given(batches(), st.integers(0, 2**62), st.integers(0, 2**31 - 1))
def test_placing_changes_the_offset_and_the_epoch_and_no_checksum(batch: Batch, offset: int, epoch: int) -> None:
    """As a leader does with a producer's bytes: nobody decodes them, and they are those of the placed batch."""
    placed = read_batch(encode(batch)).placed(offset, epoch)
    assert isinstance(placed, EncodedBatch)
    assert encode(placed) == encode(batch.placed(offset, epoch))
    assert read_batch(encode(placed)) == placed


@given(batches(), st.data())
def test_no_flipped_bit_behind_the_front_goes_unnoticed(batch: Batch, data: st.DataObject) -> None:
    """Only the base offset and the leader's epoch are outside of the checksum, as in Kafka."""
    raw = bytearray(encode(batch))
    raw[data.draw(st.integers(16, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ProtocolError):
        read_batch(bytes(raw))


@given(st.integers(1, 300), st.integers(0, 400), st.integers(0, 100))
def test_a_counted_batch_takes_exactly_the_bytes_it_counts(count: int, value: int, span: int) -> None:
    """It comes back with as many records of zeros; the last one has the last timestamp."""
    batch = counted_batch(count, value, 1_000, max_timestamp_ms=1_000 + span)
    read = read_batch(encode(batch))
    assert (read.size, read.count, len(read.records or ())) == (batch.size, count, count)
    assert {record.value for record in read.records or ()} == {bytes(value)}
    assert [record.timestamp_delta for record in read.records or ()] == [0] * (count - 1) + [span]


@pytest.mark.parametrize("count", [2, 3, 64, 65, 100])
def test_a_counted_batch_of_several_records_can_have_any_size(count: int) -> None:
    """From empty values on, with values of as good as equal length."""
    for size in range(counted_size(count, 0), counted_size(count, 0) + 140 * count, 37 + count):
        read = read_batch(encode(Batch(0, count, size, 0, 0)))
        assert (read.size, len(read.records or ())) == (size, count)


@pytest.mark.parametrize(("count", "size"), [(1, 67), (1, 126), (100, 700), (2, 61)])
def test_a_size_that_cannot_be_is_refused(count: int, size: int) -> None:
    """Too small, or in the gap where a length takes its second byte; the error says what could be."""
    with pytest.raises(ProtocolError, match=f"found a size of {size}"):
        encode(Batch(0, count, size, 0, 0))


def test_a_size_that_is_not_its_records_is_refused() -> None:
    """Otherwise the log would not be as long as it says."""
    batch = attrs.evolve(batch_of((LogRecord(0, b"k", b"v"),), 0), size=100)
    with pytest.raises(ProtocolError, match=r"expected a size of 70, which its records take, found 100"):
        encode(batch)


def test_compressed_records_are_left_alone() -> None:
    """They are kept as they came; there are no records to see."""
    batch = Batch(5, 3, HEADER_BYTES + 4, 1, 2, attributes=1, raw=b"\x1f\x8b\x00\x01")
    read = read_batch(encode(batch))
    assert (read.records, read.raw) == (None, b"\x1f\x8b\x00\x01")
    assert read == batch


def test_an_empty_batch_keeps_its_producers_numbers() -> None:
    """Compaction leaves such headers."""
    batch = Batch(5, 3, HEADER_BYTES, -1, 2, producer_id=7, producer_epoch=1, base_sequence=4, records=())
    assert read_batch(encode(batch)) == batch
    assert read_batch(encode(batch)).records == ()


def test_changing_a_batch_that_was_read_makes_a_plain_one() -> None:
    """Its bytes would no longer be true."""
    read = read_batch(encode(batch_of((LogRecord(0, b"k", b"v"),), 10)))
    changed = attrs.evolve(read, timestamp_ms=20)
    assert type(changed) is Batch
    assert (read_batch(encode(changed)).timestamp_ms, changed.records) == (20, read.records)


def test_batches_lie_one_behind_the_other() -> None:
    """As in a Produce request."""
    made = [counted_batch(3, 10, 0, base_offset=3 * number) for number in range(4)]
    assert list(read_batches(b"".join(map(encode, made)))) == made
    with pytest.raises(ProtocolError, match=r"at byte 224: expected a header of 61 bytes, found the end after 5"):
        read_batches(encode(made[0]) + encode(made[1]) + b"12345")


HEADER_FAULTS = [
    (0, ">q", -1, "a base offset of at least 0"),
    (8, ">i", 48, "a length of at least 49"),
    (8, ">i", 2**31 - 1, "a length of at most the 58 bytes that follow"),
    (16, ">b", 1, "magic 2"),
    (17, ">I", 0, "the checksum"),
    (23, ">i", -1, "a last offset delta of at least 0"),
    (57, ">i", 2, "between 0 and 1 records"),
]


@pytest.mark.parametrize(("at", "form", "value", "expected"), HEADER_FAULTS)
def test_a_header_that_cannot_be_is_named_by_its_byte(at: int, form: str, value: int, expected: str) -> None:
    """The byte of the field, counted from where the data came from."""
    raw = bytearray(encode(batch_of((LogRecord(0, b"k", b"v"),), 0)))
    struct.pack_into(form, raw, at, value)
    with pytest.raises(ProtocolError, match=expected) as raised:
        read_batch(b"......" + bytes(raw), 6, origin=1_000)
    assert raised.value.offset == 1_006 + at


BROKEN_RECORDS = [
    (b"", 1, "record 0 of 1"),
    (b"\x0c\x00\x00\x00\x01\x01\x00\x00", 1, "the end after 1 records"),
    (b"\x0e\x00\x00\x00\x01\x01\x00", 1, "a length of"),
    (b"\x0a\x00\x00\x00\x01\x01\x00", 1, "a length of"),
    (b"\x0c\x00\x00\x00\x08\x01\x00", 1, "a length of at most"),
    (b"\x0c\x00\x00\x00\x01\x01\x01", 1, "a count of headers"),
    (b"\x10\x00\x00\x00\x01\x01\x02\x01\x01", 1, "the name of a header"),
    (b"\x0e\x00\x00\x00\x01\x01\x00\x00", 1, "its end"),
    (b"\x20\x00" + b"\xff" * 15, 1, "a varint"),
]


@pytest.mark.parametrize(("section", "count", "expected"), BROKEN_RECORDS)
def test_a_broken_record_is_named_by_its_byte(section: bytes, count: int, expected: str) -> None:
    """A checksum says nothing of what a producer wrote."""
    with pytest.raises(ProtocolError, match=expected) as raised:
        decode_records(section, count, origin=61)
    assert raised.value.offset is not None
    assert 61 <= raised.value.offset <= 61 + len(section)


@given(st.binary(max_size=200), st.integers(0, 5))
def test_garbage_is_refused_and_nothing_else_happens(section: bytes, count: int) -> None:
    """Only ProtocolError, whatever the bytes."""
    try:
        records = decode_records(section, count)
    except ProtocolError:
        return
    assert len(records) == count


def test_kafka_python_reads_what_is_written_here() -> None:
    """Another implementation of the format sees the same records."""
    records = tuple(LogRecord(i, b"k%d" % i, None if i == 2 else b"v" * i, i * 3, (("h", b"x"),)) for i in range(5))
    batch = batch_of(records, 1_000, base_offset=70, producer_id=4, producer_epoch=1, base_sequence=9)
    theirs = DefaultRecordBatch(encode(batch))
    assert theirs.validate_crc()
    assert [(one.offset, one.timestamp, one.key, one.value, one.headers) for one in theirs] == [
        (70 + i, 1_000 + i * 3, b"k%d" % i, None if i == 2 else b"v" * i, [("h", b"x")]) for i in range(5)
    ]


def test_what_kafka_python_writes_is_read_here() -> None:
    """And written again, the same bytes."""
    builder = DefaultRecordBatchBuilder(2, 0, True, 77, 3, 12, 1 << 20)
    for index in range(4):
        builder.append(index, 5_000 + index, b"key", b"value", [("a", b"b")])
    theirs = bytes(builder.build())
    read = read_batch(theirs)
    assert (read.producer_id, read.producer_epoch, read.base_sequence, read.count) == (77, 3, 12, 4)
    assert read.is_transactional
    assert read.records == tuple(LogRecord(i, b"key", b"value", i, (("a", b"b"),)) for i in range(4))
    assert encode(attrs.evolve(read)) == theirs


@given(st.integers(-(2**63), 2**63 - 1))
def test_the_size_of_a_varint_is_known_without_writing_it(number: int) -> None:
    """Seven bits a byte, zigzag."""
    record = LogRecord(0, None, None, number)
    assert record_size(record) == 7 + varint_size(number) - 1


@given(st.binary(max_size=100))
def test_the_table_gives_the_librarys_checksum(data: bytes) -> None:
    """CRC-32C both; the check value of the standard is known."""
    assert crc32c_in_python(data) == crc32c_function()(data)
    assert crc32c_in_python(b"123456789") == 0xE3069283


@given(batches(), st.data())
def test_checking_records_refuses_just_what_reading_them_refuses(batch: Batch, data: st.DataObject) -> None:
    """Whole, cut, or with a byte changed: both read them, with the same largest time, or neither does."""
    assert batch.records is not None
    section = bytearray(encode_records(batch.records))
    if data.draw(st.booleans()):
        section[data.draw(st.integers(0, len(section) - 1))] = data.draw(st.integers(0, 255))
    made = bytes(section[: data.draw(st.sampled_from((len(section), len(section) // 2)))])
    try:
        records = decode_records(made, len(batch.records))
    except ProtocolError:
        with pytest.raises(ProtocolError, match="record"):
            check_records(made, len(batch.records))
    else:
        assert check_records(made, len(batch.records)) == max(record.timestamp_delta for record in records)
