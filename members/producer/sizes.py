"""Sizes of records in a batch of format v2, in bytes, and how many fit.

A record is its length, an attribute byte, the deltas of time and offset, key, value and headers, with lengths and
deltas as zigzag varints. The time deltas of a counted batch are unknown, and taken as one byte each.

Source: `DefaultRecord.sizeInBytes`, `DefaultRecordBatch`.
"""

from __future__ import annotations

from functools import lru_cache

from groupsim.protocol.batch.batch import HEADER_BYTES
from groupsim.protocol.batch.sizes import field_size, varint_size

_MOST_OVERHEAD = 21  # length, attributes and deltas of a record, each at its longest
_NO_HEADERS = 1


def record_bytes(offset_delta: int, key_length: int, value_length: int, time_delta_ms: int = 0) -> int:
    """Return the size of one record; a length of -1 means null."""
    fields = field_size(key_length) + field_size(value_length)
    body = 2 + varint_size(time_delta_ms) + varint_size(offset_delta) + fields
    return varint_size(body) + body


@lru_cache(maxsize=1 << 12)
def serialized_bytes(key_length: int, value_length: int) -> int:
    """Return the upper bound that `send` checks against `max.request.size` and `buffer.memory`: a batch of this record.

    Source: `DefaultRecordBatch.estimateBatchSizeUpperBound`, `KafkaProducer.ensureValidRecordSize`.
    """
    return HEADER_BYTES + _MOST_OVERHEAD + field_size(key_length) + field_size(value_length) + _NO_HEADERS


@lru_cache(maxsize=1 << 14)
def batch_bytes(count: int, key_length: int, value_length: int) -> int:
    """Return the size of `count` equal records; the offset delta grows a byte at records 64, 8,192, 1,048,576."""
    total, start, limit = HEADER_BYTES, 0, 64
    while start < count:
        end = min(count, limit)
        total += (end - start) * record_bytes(start, key_length, value_length)
        start, limit = end, limit << 7
    return total


@lru_cache(maxsize=1 << 10)
def capacity(batch_size: int, key_length: int, value_length: int) -> int:
    """Return how many equal records fit into `batch_size` bytes; at least one, as a larger one gets its own batch."""
    low, high = 1, 2
    while batch_bytes(high, key_length, value_length) <= batch_size:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        if batch_bytes(middle, key_length, value_length) <= batch_size:
            low = middle
        else:
            high = middle
    return low
