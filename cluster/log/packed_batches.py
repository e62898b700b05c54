"""Packed batches: the older batches of a log in memory, at a few bytes a batch instead of some hundreds.

A block holds neighbouring batches by columns, compressed; numbers are differences from the batch before. Unpacked
batches equal the packed ones.

The replicas of a partition have the same batches, and pack the same ones shortly after each other. The first one makes
the block, the others find it by its last batch and share it. A replica with another batch, after a truncation, finds
none and makes its own.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from groupsim.protocol.batch.batch import Batch, LogRecord
from groupsim.protocol.values import frozen


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


_packed: WeakKeyDictionary[Batch, tuple[list[Batch], Block]] = WeakKeyDictionary()
"""The batches before a batch, and the block that ends with it, as long as a log has that batch unpacked."""
_joined: WeakKeyDictionary[Block, tuple[list[Block], Block]] = WeakKeyDictionary()
"""The same for a small block and the large one that ends with it."""


@lru_cache(maxsize=16)
def unpack(block: Block) -> list[Batch]:
    """Return the batches of a block. The cache lets small reads in a row unpack each block once."""
    return block.batches()


def pack(batches: Sequence[Batch], position: int) -> Block:
    """Pack neighbouring batches; `position` is the first one's position in the segment, in bytes."""
    *before, last = batches
    if type(last) is not Batch:  # one of a real client has its bytes, and no hash by which it could be found
        return _block(batches, position)
    known = _packed.get(last)
    if known is not None and known[1].position == position and known[0] == before:
        return known[1]
    block = _block(batches, position)
    _packed[last] = before, block
    return block


def join(blocks: Sequence[Block]) -> Block:
    """Merge neighbouring blocks into one."""
    *before, last = blocks
    known = _joined.get(last)
    if known is not None and known[0] == before:
        return known[1]
    joined = _block([batch for block in blocks for batch in block.batches()], blocks[0].position)
    _joined[last] = before, joined
    return joined


def _block(batches: Sequence[Batch], position: int) -> Block:
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
