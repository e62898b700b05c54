"""The bytes of a batch in Kafka's format, without encoding it; and batches of the right size.

A simulation counts bytes in fetches, segments and retention but never reads them. So the size is computed, and it is
exact: the same batch takes the same number of bytes in a file.

A record is its length, one byte of attributes, the deltas of timestamp and offset, key, value and headers; lengths and
deltas are zigzag varints, which is what makes a size depend on them. In a *counted* batch the keys are null, the values
as equal as the size allows, and every record but the last has the batch's first timestamp.

Source: `DefaultRecord.sizeInBytes`, `ByteUtils.sizeOfVarint`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from groupsim.protocol.batch.batch import HEADER_BYTES, NO_PRODUCER, NO_SEQUENCE, Batch, LogRecord
from groupsim.protocol.errors import ProtocolError

_FIXED = 1 + 1 + 1  # of a record with a null key and no headers: attributes, the key's length, the count of headers


def varint_size(number: int) -> int:
    """Bytes of a zigzag varint (int32 and int64 alike)."""
    zigzag = number << 1 if number >= 0 else (~number << 1) | 1
    return (zigzag.bit_length() + 6) // 7 or 1


def record_size(record: LogRecord) -> int:
    """Bytes of one record, its length included."""
    body = 1 + varint_size(record.timestamp_delta) + varint_size(record.offset_delta)
    body += _bytes_size(record.key) + _bytes_size(record.value) + varint_size(len(record.headers))
    for name, value in record.headers:
        body += _bytes_size(name.encode()) + _bytes_size(value)
    return varint_size(body) + body


def _bytes_size(data: bytes | None) -> int:
    return field_size(-1 if data is None else len(data))


def field_size(length: int) -> int:
    """Bytes of a key or a value, its length included; -1 stands for null."""
    return 1 if length < 0 else varint_size(length) + length


def batch_of(
    records: Sequence[LogRecord],
    timestamp_ms: int,
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    attributes: int = 0,
) -> Batch:
    """Return a batch of these records; deltas of time are against `timestamp_ms`. Raises ValueError without records."""
    if not records:
        raise ValueError("a batch needs at least one record")
    return Batch(
        base_offset,
        records[-1].offset_delta + 1,
        HEADER_BYTES + sum(map(record_size, records)),
        timestamp_ms,
        timestamp_ms + max(record.timestamp_delta for record in records),
        leader_epoch,
        producer_id,
        producer_epoch,
        base_sequence,
        attributes,
        tuple(records),
    )


@lru_cache(maxsize=1 << 12)  # traffic makes the same few shapes again and again
def counted_size(count: int, value_bytes: int, span_ms: int = 0) -> int:
    """Bytes of a batch of `count` records with null keys, values of this size, and `span_ms` between first and last."""
    return HEADER_BYTES + sum(
        record_bytes(overhead, value_bytes) * number for overhead, number in _overheads(count, span_ms)
    )


@lru_cache(maxsize=256)
def counted_values(count: int, size: int, span_ms: int = 0) -> tuple[int, ...]:
    """Return the values' lengths of a counted batch of exactly `size` bytes. Raises ProtocolError when none fit.

    They differ by as little as possible. A single record cannot have every size: where a length takes a second byte
    there is a gap.
    """
    overheads = [overhead for overhead, number in _overheads(count, span_ms) for _ in range(number)]
    value = _largest_value(count, size, span_ms)
    if value < 0:
        raise _unreachable(count, size, f"at least {counted_size(count, 0, span_ms)} bytes")
    values = [value] * count
    left = size - counted_size(count, value, span_ms)
    for index in range(count - 1, -1, -1):
        more = record_bytes(overheads[index], value + 1) - record_bytes(overheads[index], value)
        if 0 < more <= left:
            values[index] += 1
            left -= more
    if left:
        values[-2:] = _last_two(overheads[-2:], values[-2:], left, count, size)
    return tuple(values)


def _largest_value(count: int, size: int, span_ms: int) -> int:
    """Return the largest value length that fits, by bisection; -1 when even empty values do not."""
    low, high = -1, max(size // max(count, 1), 0)
    while low < high:
        middle = (low + high + 1) // 2
        if counted_size.__wrapped__(count, middle, span_ms) <= size:
            low = middle
        else:
            high = middle - 1
    return low


def _last_two(overheads: list[int], values: list[int], left: int, count: int, size: int) -> list[int]:
    """Fit a remainder that falls into a gap: shorten the last record but one until the last can take it."""
    if len(values) == 2:
        room = sum(map(record_bytes, overheads, values)) + left
        for first in range(values[0], -1, -1):
            rest = room - record_bytes(overheads[0], first)
            last = rest - overheads[1] - varint_size(rest)
            for second in range(max(last - 5, 0), last + 1):
                if record_bytes(overheads[1], second) == rest:
                    return [first, second]
    raise _unreachable(count, size, f"{size - left} or {size + 1} bytes")


def _unreachable(count: int, size: int, expected: str) -> ProtocolError:
    return ProtocolError(
        "counted batch", None, f"{expected} for {count} records (counted_size computes it)", f"a size of {size}"
    )


def _overheads(count: int, span_ms: int) -> list[tuple[int, int]]:
    """Return (bytes of a record without value and length, number of such records), by rising offset."""
    found: list[tuple[int, int]] = []
    first = 0
    for width in range(1, 6):
        end = min(count - 1, 1 << (7 * width - 1))  # the last record may have a timestamp of its own
        if end > first:
            found.append((_FIXED + 1 + width, end - first))
            first = end
    return [*found, (_FIXED + varint_size(span_ms) + varint_size(count - 1), 1)]


def record_bytes(overhead: int, value_bytes: int) -> int:
    """Return the bytes of a record: the overhead, the value with its length, and the record's length."""
    body = overhead + field_size(value_bytes)
    return varint_size(body) + body
