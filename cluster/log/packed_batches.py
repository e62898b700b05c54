"""Packed batches: the older batches of a log in memory, at a few bytes a batch instead of some hundreds.

A block holds neighbouring batches by columns, compressed; numbers are differences from the batch before. Unpacked
batches equal the packed ones.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from attrs import frozen

from groupsim.protocol.batch.batch import Batch, LogRecord


@frozen(eq=False)
class Block:
    """Packed batches of one segment, with their range of offsets, first position, largest timestamp and number."""

    base_offset: int
    next_offset: int
    position: int
    max_timestamp_ms: int
    count: int
    data: bytes

    def batches(self) -> list[Batch]:
        """Unpack the batches."""
        columns = pickle.loads(zlib.decompress(self.data))
        found: list[Batch] = []
        offset = time_ms = sequence = 0
        for base, count, size, first_ms, last_ms, epoch, producer, producer_epoch, first, flags, rows, raw in zip(
            *columns, strict=True
        ):
            offset, time_ms, sequence = offset + base, time_ms + first_ms, sequence + first
            records = None if rows is None else tuple(LogRecord(*row) for row in rows)
            found.append(
                Batch(
                    offset,
                    count,
                    size,
                    time_ms,
                    time_ms + last_ms,
                    epoch,
                    producer,
                    producer_epoch,
                    sequence,
                    flags,
                    records,
                    raw,
                )
            )
            offset += count
        return found


@lru_cache(maxsize=64)
def unpack(block: Block) -> list[Batch]:
    """Return the batches of a block. The cache lets a read of consecutive batches unpack each block once."""
    return block.batches()


def pack(batches: Sequence[Batch], position: int) -> Block:
    """Pack neighbouring batches; `position` is the first one's position in the segment, in bytes."""
    rows: list[tuple[Any, ...]] = []
    offset = time_ms = sequence = 0
    for one in batches:
        records = None if one.records is None else [_plain(record) for record in one.records]
        numbers = (one.base_offset - offset, one.count, one.size, one.timestamp_ms - time_ms)
        span_ms = one.max_timestamp_ms - one.timestamp_ms
        producer = (one.producer_id, one.producer_epoch)
        first = one.base_sequence - sequence
        rows.append((*numbers, span_ms, one.leader_epoch, *producer, first, one.attributes, records, one.raw))
        offset, time_ms, sequence = one.next_offset, one.timestamp_ms, one.base_sequence
    last = batches[-1].next_offset
    latest_ms = max(one.max_timestamp_ms for one in batches)
    data = zlib.compress(pickle.dumps(tuple(zip(*rows, strict=True)), 5), 1)
    return Block(batches[0].base_offset, last, position, latest_ms, len(batches), data)


def _plain(record: LogRecord) -> tuple[Any, ...]:
    return record.offset_delta, record.key, record.value, record.timestamp_delta, record.headers
