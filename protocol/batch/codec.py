"""Record batches as Kafka's bytes: format v2, in files and on the wire.

A batch is a header of 61 bytes and its records. The checksum covers everything after itself, from the attributes on. In
front of it are the two fields that a broker changes when it places a batch, the base offset and the leader's epoch. So
a broker can take a producer's bytes, patch the first 16 and write them as they are, without decoding any record. That
is an `EncodedBatch`: a `Batch` whose `records` are decoded at their first read. `read_batch` makes one from bytes,
`encode` encodes both kinds. Compressed records stay compressed: `raw` holds them, `records` is None. A counted batch is
encoded with zeros as values and is decoded with records.
counted batch is written with values of zeros and comes back with records.

Unreadable bytes raise ProtocolError with the position of the byte; positions count from `origin`, which a reader
of a file sets to where its bytes came from.

Source: `DefaultRecordBatch`, `DefaultRecord`; KIP-98, KIP-534 (delete horizon).
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Any, Final

from groupsim.protocol.batch.batch import COMPRESSION_MASK, HEADER_BYTES, Batch, LogRecord
from groupsim.protocol.batch.checksum import crc32c_function
from groupsim.protocol.batch.sizes import counted_values
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.record_fields import varint as unsigned_varint

Bytes = bytes | memoryview

MAGIC: Final = 2
LENGTH_END: Final = 12
"""Where the length field ends: it counts what follows."""
CRC_AT: Final = 17
CHECKED_FROM: Final = 21
"""Where the checksum's range begins: at the attributes."""

HEADER: Final = Struct(">qiibIhiqqqhii")
_PLACE = Struct(">qii")  # base offset, length, leader epoch: what the checksum leaves out
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_MAX_TIMESTAMP = Struct(">q")
_MAX_TIMESTAMP_AT = 35
_CHECKED = Struct(">hiqqqhii")
_WHAT = "record batch"
_RECORD = "record"
_SHORTEST_RECORD = 7


class EncodedBatch(Batch):
    """A batch with its bytes. `records` and `raw` are decoded at their first read.

    Made by `read_batch`; calling the class, as `attrs.evolve` does, makes a plain Batch: other values have other bytes.
    """

    __slots__ = ("_data", "record_count")

    _data: Bytes
    record_count: int  # as the header has it: fewer than `count` after compaction

    def __new__(cls, *args: Any, **fields: Any) -> Any:
        """A plain Batch."""
        return Batch(*args, **fields)

    def __getattr__(self, name: str) -> Any:
        """Only slots that are not filled yet come here."""
        if name not in ("records", "raw"):
            raise AttributeError(name)
        section = self._data[HEADER_BYTES:]
        if self.attributes & COMPRESSION_MASK:
            self.records, self.raw = None, bytes(section)
        else:
            self.records, self.raw = decode_records(section, self.record_count, origin=HEADER_BYTES), None
        return getattr(self, name)

    def __eq__(self, other: object) -> bool:
        """Equal to any batch with the same values; a counted one has no content that could differ."""
        if not isinstance(other, Batch):
            return NotImplemented
        counted = other.records is None and other.raw is None
        return _frame(self) == _frame(other) and (counted or (self.records == other.records and self.raw == other.raw))

    __hash__ = None  # type: ignore[assignment]  # equal to counted and to full batches, which hash differently

    def encoded(self) -> bytes:
        """Return all bytes, with the present offset and leader epoch."""
        return _PLACE.pack(self.base_offset, self.size - LENGTH_END, self.leader_epoch) + self._data[_PLACE.size :]

    def pieces(self) -> tuple[bytes, memoryview]:
        """Return the bytes in two pieces, without a copy of the long one."""
        front = _PLACE.pack(self.base_offset, self.size - LENGTH_END, self.leader_epoch)
        return front, memoryview(self._data)[_PLACE.size :]

    def verify(self, origin: int = 0) -> None:
        """Raise ProtocolError when the checksum does not match the bytes; `origin` is the position of the batch."""
        kept: int = _CRC.unpack_from(self._data, CRC_AT)[0]
        found = crc32c_function()(self._data[CHECKED_FROM:])
        if found != kept:
            raise ProtocolError(_WHAT, origin + CRC_AT, f"the checksum {found:#010x} of its bytes", f"{kept:#010x}")

    def stamped(self, max_timestamp_ms: int, attributes: int) -> Batch:
        """Return the batch with these values in its header, and its checksum. Raises struct.error out of int64."""
        changed = bytearray(self._data)
        _ATTRIBUTES.pack_into(changed, CHECKED_FROM, attributes)
        _MAX_TIMESTAMP.pack_into(changed, _MAX_TIMESTAMP_AT, max_timestamp_ms)
        _CRC.pack_into(changed, CRC_AT, crc32c_function()(memoryview(changed)[CHECKED_FROM:]))
        return read_batch(bytes(changed), verify=False).placed(self.base_offset, self.leader_epoch)

    def placed(self, base_offset: int, leader_epoch: int) -> Batch:
        """Return the batch with the offsets of the leader's log: the same bytes after another first part."""
        copy = object.__new__(EncodedBatch)
        copy.base_offset = base_offset
        copy.count = self.count
        copy.size = self.size
        copy.timestamp_ms = self.timestamp_ms
        copy.max_timestamp_ms = self.max_timestamp_ms
        copy.leader_epoch = leader_epoch
        copy.producer_id = self.producer_id
        copy.producer_epoch = self.producer_epoch
        copy.base_sequence = self.base_sequence
        copy.attributes = self.attributes
        copy.record_count = self.record_count
        copy._data = self._data
        return copy


def _frame(batch: Batch) -> tuple[int, ...]:
    """Return the fields of the header."""
    return (
        batch.base_offset,
        batch.count,
        batch.size,
        batch.timestamp_ms,
        batch.max_timestamp_ms,
        batch.leader_epoch,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.attributes,
    )


# --- reading ---------------------------------------------------------------------------------------------------------


def read_batch(data: Bytes, at: int = 0, *, verify: bool = True, origin: int = 0) -> EncodedBatch:
    """Return the batch that begins at `data[at]`. It holds a slice of `data`, without a copy when that is a memoryview.

    Raises ProtocolError when it is no batch of format v2, is incomplete, or (`verify`) fails its checksum; the
    error's offset is the byte's place in `data` plus `origin`.
    """
    if len(data) - at < HEADER_BYTES:
        raise ProtocolError(_WHAT, at + origin, f"a header of {HEADER_BYTES} bytes", f"the end after {len(data) - at}")
    batch = object.__new__(EncodedBatch)
    (
        batch.base_offset,
        length,
        batch.leader_epoch,
        magic,
        _,
        batch.attributes,
        last_delta,
        batch.timestamp_ms,
        batch.max_timestamp_ms,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.record_count,
    ) = HEADER.unpack_from(data, at)
    end = at + LENGTH_END + length
    if magic != MAGIC or length < HEADER_BYTES - LENGTH_END or end > len(data) or last_delta < 0:
        raise _bad_header(at + origin, magic, length, len(data) - at - LENGTH_END, last_delta)
    if batch.base_offset < 0 or not 0 <= batch.record_count <= last_delta + 1:
        raise _bad_counts(at + origin, batch, last_delta)
    batch.count = last_delta + 1
    batch.size = length + LENGTH_END
    batch._data = data[at:end]
    if verify:
        batch.verify(at + origin)
    return batch


def read_batches(data: Bytes) -> tuple[EncodedBatch, ...]:
    """Return all batches of a Produce or Fetch. Raises ProtocolError as `read_batch`."""
    found = []
    at = 0
    while at < len(data):
        batch = read_batch(data, at)
        found.append(batch)
        at += batch.size
    return tuple(found)


def _bad_header(at: int, magic: int, length: int, there: int, last_delta: int) -> ProtocolError:
    """Return the error for the first invalid field of a header."""
    if length < HEADER_BYTES - LENGTH_END:
        return ProtocolError(_WHAT, at + 8, f"a length of at least {HEADER_BYTES - LENGTH_END}", str(length))
    if magic != MAGIC:
        return ProtocolError(_WHAT, at + 16, f"magic {MAGIC} (formats 0 and 1 are not read)", str(magic))
    if length > there:
        return ProtocolError(_WHAT, at + 8, f"a length of at most the {there} bytes that follow", str(length))
    return ProtocolError(_WHAT, at + 23, "a last offset delta of at least 0", str(last_delta))


def _bad_counts(at: int, batch: EncodedBatch, last_delta: int) -> ProtocolError:
    if batch.base_offset < 0:
        return ProtocolError(_WHAT, at, "a base offset of at least 0", str(batch.base_offset))
    return ProtocolError(_WHAT, at + 57, f"between 0 and {last_delta + 1} records", str(batch.record_count))


def decode_records(section: Bytes, count: int, *, origin: int = 0) -> tuple[LogRecord, ...]:
    """Return the records after a header. Raises ProtocolError when they are not exactly `count`, or invalid."""
    data = bytes(section)
    found = []
    at = 0
    try:
        for _ in range(count):
            record, at = _record(data, at, origin)
            found.append(record)
    except IndexError:
        raise ProtocolError(_RECORD, len(data) + origin, f"record {len(found)} of {count}", "the end") from None
    except OverflowError as longer:
        raise ProtocolError(_RECORD, longer.args[0] + origin, "a varint of at most 10 bytes", "a longer") from None
    if at != len(data):
        raise ProtocolError(_RECORD, at + origin, f"the end after {count} records", f"{len(data) - at} more bytes")
    return tuple(found)


def check_records(section: Bytes, count: int, *, origin: int = 0) -> int:
    """Return the largest timestamp delta of the records; raises as `decode_records`, at a third of its cost.

    With `count` 0 it is the smallest possible delta.
    """
    data = bytes(section)
    at, found, latest = 0, 0, -(1 << 63)
    try:
        for found in range(count):  # noqa: B007  # read in the error below
            delta, at = _checked_record(data, at, origin)
            if delta > latest:
                latest = delta
    except IndexError:
        raise ProtocolError(_RECORD, len(data) + origin, f"record {found} of {count}", "the end") from None
    except OverflowError as longer:
        raise ProtocolError(_RECORD, longer.args[0] + origin, "a varint of at most 10 bytes", "a longer") from None
    if at != len(data):
        raise ProtocolError(_RECORD, at + origin, f"the end after {count} records", f"{len(data) - at} more bytes")
    return latest


def _checked_record(data: bytes, at: int, origin: int) -> tuple[int, int]:
    """Return the timestamp delta of one record and the position of the next."""
    length, begin = _varint(data, at)
    end = begin + length
    if length < _SHORTEST_RECORD - 1 or end > len(data):
        raise ProtocolError(
            _RECORD, at + origin, f"a length of {_SHORTEST_RECORD - 1} to {len(data) - begin}", str(length)
        )
    delta, at = _varint(data, begin + 1)
    at = at + 1 if data[at] < 0x80 else _varint(data, at)[1]
    at = _skip(data, at, end, origin)  # the key
    at = _skip(data, at, end, origin)  # the value
    number, at = (0, at + 1) if not data[at] else _varint(data, at)
    if number < 0:
        raise ProtocolError(_RECORD, at + origin, "a count of headers of at least 0", str(number))
    for _ in range(number):
        if data[at] & 1 and _varint(data, at)[0] < 0:
            raise ProtocolError(_RECORD, at + origin, "the name of a header", "null")
        at = _skip(data, at, end, origin)
        at = _skip(data, at, end, origin)
    if at != end:
        raise ProtocolError(_RECORD, at + origin, f"its end at byte {end + origin}", f"{end - at} more bytes")
    return delta, at


def _skip(data: bytes, at: int, end: int, origin: int) -> int:
    """Return the position after bytes with a length prefix."""
    byte = data[at]
    if byte < 0x80:
        length, begin = (byte >> 1) ^ -(byte & 1), at + 1
    else:
        length, begin = _varint(data, at)
    if length <= 0:
        return begin
    stop = begin + length
    if stop > end:
        raise ProtocolError(_RECORD, begin + origin, f"a length of at most {end - begin}", str(length))
    return stop


def _record(data: bytes, at: int, origin: int) -> tuple[LogRecord, int]:
    """Return one record and the position of the next. Numbers of one byte, nearly all of them, are read inline."""
    length, begin = _varint(data, at)
    end = begin + length
    if length < _SHORTEST_RECORD - 1 or end > len(data):
        raise ProtocolError(
            _RECORD, at + origin, f"a length of {_SHORTEST_RECORD - 1} to {len(data) - begin}", str(length)
        )
    byte, at = data[begin + 1], begin + 2  # one byte of attributes, unused
    timestamp_delta = (byte >> 1) ^ -(byte & 1)
    if byte > 0x7F:
        timestamp_delta, at = _varint(data, begin + 1)
    byte = data[at]
    offset_delta, at = ((byte >> 1) ^ -(byte & 1), at + 1) if byte < 0x80 else _varint(data, at)
    key, at = (None, at + 1) if data[at] == 1 else _field(data, at, end, origin)
    value, at = _field(data, at, end, origin)
    headers: tuple[tuple[str, bytes | None], ...] = ()
    if data[at]:
        headers, at = _headers(data, at, end, origin)
    else:
        at += 1
    if at != end:
        raise ProtocolError(_RECORD, at + origin, f"its end at byte {end + origin}", f"{end - at} more bytes")
    return LogRecord(offset_delta, key, value, timestamp_delta, headers), at


def _headers(data: bytes, at: int, end: int, origin: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    number, at = _varint(data, at)
    if number < 0:
        raise ProtocolError(_RECORD, at + origin, "a count of headers of at least 0", str(number))
    headers = []
    for _ in range(number):
        name, at = _field(data, at, end, origin)
        if name is None:
            raise ProtocolError(_RECORD, at + origin, "the name of a header", "null")
        content, at = _field(data, at, end, origin)
        headers.append((name.decode("utf-8", "replace"), content))
    return tuple(headers), at


def _field(data: bytes, at: int, end: int, origin: int) -> tuple[bytes | None, int]:
    """Return bytes with a length prefix; -1 is null."""
    length, begin = _varint(data, at)
    if length < 0:
        return None, begin
    stop = begin + length
    if stop > end:
        raise ProtocolError(_RECORD, at + origin, f"a length of at most {end - begin}", str(length))
    return data[begin:stop], stop


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a zigzag varint and the position after it. Raises IndexError at the end, OverflowError at byte 11."""
    byte = data[at]
    at += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at
    number = byte & 0x7F
    shift = 7
    while byte >= 0x80:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if shift > 70:
            raise OverflowError(at)
    return (number >> 1) ^ -(number & 1), at


# --- writing ---------------------------------------------------------------------------------------------------------


def encode(batch: Batch) -> bytes:
    """Return a batch as bytes, exactly `batch.size` of them. Raises ProtocolError when its content differs."""
    if isinstance(batch, EncodedBatch):
        return batch.encoded()
    if batch.raw is not None:
        section, count = batch.raw, batch.count
    elif batch.records is not None:
        section, count = encode_records(batch.records), len(batch.records)
    else:
        section, count = _counted(batch.count, batch.size, batch.max_timestamp_ms - batch.timestamp_ms), batch.count
    if len(section) + HEADER_BYTES != batch.size:
        raise ProtocolError(
            _WHAT, None, f"a size of {len(section) + HEADER_BYTES}, which its records take", f"{batch.size}"
        )
    checked = (
        _CHECKED.pack(
            batch.attributes,
            batch.count - 1,
            batch.timestamp_ms,
            batch.max_timestamp_ms,
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            count,
        )
        + section
    )
    place = _PLACE.pack(batch.base_offset, batch.size - LENGTH_END, batch.leader_epoch)
    return b"".join((place, b"\x02", _CRC.pack(crc32c_function()(checked)), checked))


def encode_records(records: tuple[LogRecord, ...]) -> bytes:
    """Return the uncompressed bytes of records, as they follow a header."""
    parts: list[bytes] = []
    for record in records:
        key, value, headers = record.key, record.value, record.headers
        body = [
            b"\x00",
            varint(record.timestamp_delta),
            varint(record.offset_delta),
            b"\x01" if key is None else varint(len(key)) + key,
            b"\x01" if value is None else varint(len(value)) + value,
            varint(len(headers)),
        ]
        for name, content in headers:
            body += (*_with_length(name.encode()), *_with_length(content))
        joined = b"".join(body)
        parts += (varint(len(joined)), joined)
    return b"".join(parts)


def _with_length(data: bytes | None) -> tuple[bytes, ...]:
    return (b"\x01",) if data is None else (varint(len(data)), data)


def varint(number: int) -> bytes:
    """A zigzag varint: seven bits a byte, the lowest first."""
    if 0 <= number < len(_SMALL):
        return _SMALL[number]
    zigzag = number << 1 if number >= 0 else (~number << 1) | 1
    return unsigned_varint(zigzag)


_SMALL = tuple(unsigned_varint(number << 1) for number in range(1024))


@lru_cache(maxsize=64)  # traffic makes the same few shapes again and again
def _counted(count: int, size: int, span_ms: int) -> bytes:
    """Return the records of a counted batch: null keys, zeros as values, the last one `span_ms` after the others."""
    values = counted_values(count, size, span_ms)
    return encode_records(
        tuple(
            LogRecord(index, None, bytes(length), span_ms if index == count - 1 else 0)
            for index, length in enumerate(values)
        )
    )
