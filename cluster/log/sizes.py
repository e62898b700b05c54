"""How many bytes records take in a batch, without writing them.

Source: `DefaultRecord.sizeOf`, `ByteUtils.sizeOfVarint`.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupsim.protocol.batch import HEADER_BYTES, LogRecord


def varint_bytes(number: int) -> int:
    """Bytes of a number as a zigzag varint."""
    zigzag = number * 2 if number >= 0 else -number * 2 - 1
    return max((zigzag.bit_length() + 6) // 7, 1)


def record_bytes(record: LogRecord) -> int:
    """Bytes of one record with its length in front."""
    body = 1 + varint_bytes(record.timestamp_delta) + varint_bytes(record.offset_delta)
    body += _field(record.key) + _field(record.value) + varint_bytes(len(record.headers))
    body += sum(_field(name.encode()) + _field(value) for name, value in record.headers)
    return varint_bytes(body) + body


def batch_bytes(records: Iterable[LogRecord]) -> int:
    """Bytes of an uncompressed batch of these records."""
    return HEADER_BYTES + sum(map(record_bytes, records))


def _field(content: bytes | None) -> int:
    return 1 if content is None else varint_bytes(len(content)) + len(content)
