"""What records take in a batch of format v2, in bytes, and how many fit.

A record is its length, an attribute byte, the deltas of time and offset, key, value and headers, with lengths and
deltas as zigzag varints. Of a counted batch nobody knows the deltas of time; they are reckoned as one byte each.

Source: `DefaultRecord.sizeInBytes`, `DefaultRecordBatch`.
"""

from __future__ import annotations

from functools import lru_cache

from groupsim.protocol.batch.batch import HEADER_BYTES
from groupsim.protocol.batch.sizes import field_size, varint_size

_MOST_OVERHEAD = 21  # length, attributes and deltas of a record, each as long as it can be
_NO_HEADERS = 1


def record_bytes(offset_delta: int, key_length: int, value_length: int, time_delta_ms: int = 0) -> int:
    """One record; a length of -1 stands for null."""
    fields = field_size(key_length) + field_size(value_length)
    body = 2 + varint_size(time_delta_ms) + varint_size(offset_delta) + fields
    return varint_size(body) + body


@lru_cache(maxsize=1 << 12)
def serialized_bytes(key_length: int, value_length: int) -> int:
    """What `send` holds against `max.request.size` and `buffer.memory`: a batch of this record at its largest.

    Source: `DefaultRecordBatch.estimateBatchSizeUpperBound`, `KafkaProducer.ensureValidRecordSize`.
    """
    return HEADER_BYTES + _MOST_OVERHEAD + field_size(key_length) + field_size(value_length) + _NO_HEADERS


@lru_cache(maxsize=1 << 14)
def batch_bytes(count: int, key_length: int, value_length: int) -> int:
    """A batch of so many equal records. The offset's delta grows by a byte at records 64 and 8,192 and 1,048,576."""
    total, start, limit = HEADER_BYTES, 0, 64
    while start < count:
        end = min(count, limit)
        total += (end - start) * record_bytes(start, key_length, value_length)
        start, limit = end, limit << 7
    return total


@lru_cache(maxsize=1 << 10)
def capacity(batch_size: int, key_length: int, value_length: int) -> int:
    """How many equal records fit into `batch_size` bytes; at least one, as a larger one gets a batch of its own."""
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
