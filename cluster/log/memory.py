"""A log in memory: the storage of simulations.

A segment has a list of its newest batches, which nearly all reads want; older ones are packed (`packed_batches.py`). A
lookup is a bisection. The logs of several brokers share batches, packed or not. `flushed` is the offset below which a
crash of the machine loses nothing. `lose_unflushed` models that crash: the log ends at the first unflushed batch, as
recovery truncates a log at its first gap. A crash does not change checkpoints, because Kafka's `CheckpointFile` writes
them atomically and flushes them.

Source: `LogSegment`; `LocalLog.flush` and `markFlushed` for the recovery point.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import attrgetter

from attrs import field

from groupsim.cluster.log.interfaces import Found, Segment, SegmentStore
from groupsim.cluster.log.packed_batches import Block, join, pack, unpack
from groupsim.cluster.log.segment_reads import first_not_older, records_in
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.values import define

_UNPACKED = 64  # the largest length of the list; then the older half is packed
_JOINED = 16  # blocks of that size that are merged into one
_base_offset = attrgetter("base_offset")


@define(eq=False)
class MemorySegment(Segment):
    """The batches of one segment: the newest in a list, the older ones packed in blocks."""

    base_offset: int
    created_ms: int
    size: int = 0
    max_timestamp_ms: int = -1
    flushed: int = -1
    """The offset after the last flushed batch; the base offset if none is flushed."""
    _batches: list[Batch] = field(factory=list)
    _blocks: list[Block] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.flushed = self.base_offset

    @property
    def next_offset(self) -> int:
        """The offset after its last batch; its base offset when it is empty."""
        return self._batches[-1].next_offset if self._batches else self.base_offset

    def append(self, batch: Batch) -> None:
        """Append a batch with assigned offsets."""
        self._batches.append(batch)
        self.size += batch.size
        if batch.max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = batch.max_timestamp_ms
        if len(self._batches) >= _UNPACKED:
            self._pack()

    def batches(self, from_offset: int = 0) -> Iterator[Batch]:
        """Iterate over the batches from the one that holds `from_offset`, or the first after it."""
        batches = self._batches
        if batches and batches[-1].base_offset == from_offset:  # the usual read, of a consumer without lag
            return iter(batches[-1:])
        return self._batches_from(from_offset)

    def _batches_from(self, from_offset: int) -> Iterator[Batch]:
        newest = self._batches[self._index(from_offset) :]
        if self._is_packed(from_offset):
            at = self._block(from_offset)
            later = self._blocks[at + 1 :]
            yield from (batch for batch in unpack(self._blocks[at]) if batch.next_offset > from_offset)
            for block in later:
                yield from block.batches()
        yield from newest

    def _pack(self) -> None:
        """Pack the older half of the list, and merge many small blocks into a large one."""
        half = _UNPACKED // 2
        position = self.size - sum(batch.size for batch in self._batches)
        self._blocks.append(pack(self._batches[:half], position))
        del self._batches[:half]
        small = self._blocks[-_JOINED:]
        if len(small) == _JOINED and all(block.count == half for block in small):
            self._blocks[-_JOINED:] = [join(small)]

    def _unpack(self, at: int) -> None:
        """Move the batches of the blocks from this index on into the list."""
        self._batches[:0] = [batch for block in self._blocks[at:] for batch in block.batches()]
        del self._blocks[at:]

    def _is_packed(self, offset: int) -> bool:
        """Whether the offset lies below those of the list."""
        return bool(self._blocks) and offset < self._blocks[-1].next_offset

    def _block(self, offset: int) -> int:
        """Return the index of the block that holds an offset below the list, or of the last block before it."""
        return max(0, bisect_right(self._blocks, offset, key=_base_offset) - 1)

    def _index(self, offset: int) -> int:
        """Return the index in the list of the batch that holds the offset, or of the first after it."""
        index = bisect_right(self._batches, offset, key=_base_offset) - 1
        if index < 0:
            return 0
        return index if self._batches[index].next_offset > offset else index + 1

    def position(self, offset: int) -> int:
        """Return the bytes of the batches that begin before the offset."""
        if self._is_packed(offset):
            block = self._blocks[self._block(offset)]
            return block.position + sum(batch.size for batch in unpack(block) if batch.base_offset < offset)
        first = bisect_left(self._batches, offset, key=_base_offset)
        return self.size - sum(batch.size for batch in self._batches[first:])

    def find_time(self, timestamp_ms: int) -> Found | None:
        """Return the first record with this timestamp or a later one; None if there is none."""
        if self.max_timestamp_ms < timestamp_ms:
            return None
        old = (block.batches() for block in self._blocks if block.max_timestamp_ms >= timestamp_ms)
        for batch in chain(chain.from_iterable(old), self._batches):
            if batch.max_timestamp_ms >= timestamp_ms:
                found = first_not_older(batch, timestamp_ms)
                if found is not None:
                    return found
        return None

    def truncate(self, to_offset: int) -> None:
        """Remove every batch with an offset at or above `to_offset`; a batch is never split."""
        if self._blocks and to_offset <= self._batches[0].base_offset:
            self._unpack(max(0, self._block(to_offset) - 1))  # the list must not be empty after blocks
        keep = self._index(to_offset)
        if keep < len(self._batches):
            self.size -= sum(batch.size for batch in self._batches[keep:])
            del self._batches[keep:]
            packed_ms = max((block.max_timestamp_ms for block in self._blocks), default=-1)
            self.max_timestamp_ms = max((packed_ms, *(batch.max_timestamp_ms for batch in self._batches)))
            self.flushed = min(self.flushed, self.next_offset)

    def flush(self) -> None:
        """Mark all batches as flushed."""
        self.flushed = self.next_offset

    def lose_unflushed(self) -> int:
        """Drop the unflushed batches; return the number of records."""
        lost = sum(records_in(batch) for batch in self.batches(self.flushed))
        self.truncate(self.flushed)
        return lost


class MemoryStore(SegmentStore):
    """The segments and checkpoints of one partition, in memory; they outlive a crash of the broker."""

    def __init__(self) -> None:
        self._segments: list[MemorySegment] = []
        self._checkpoints: dict[str, str] = {}

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments in rising order of base offsets; empty for a new partition."""
        return self._segments

    def create(self, base_offset: int, now_ms: int) -> Segment:
        """Create a segment after all others."""
        segment = MemorySegment(base_offset, now_ms)
        self._segments.append(segment)
        return segment

    def remove(self, segment: Segment) -> None:
        """Delete a segment."""
        self._segments = [one for one in self._segments if one is not segment]

    def replace(self, old: Sequence[Segment], batches: Sequence[Batch]) -> Segment | None:
        """Replace neighbouring segments with one segment of these batches; return None without batches."""
        at = next(index for index, segment in enumerate(self._segments) if segment is old[0])
        new: list[MemorySegment] = []
        if batches:
            segment = MemorySegment(old[0].base_offset, old[-1].created_ms)
            for batch in batches:
                segment.append(batch)
            segment.flush()
            new = [segment]
        self._segments[at : at + len(old)] = new
        return new[0] if new else None

    def read_checkpoint(self, name: str) -> str | None:
        """Return a checkpoint's text; None if there is none."""
        return self._checkpoints.get(name)

    def write_checkpoint(self, name: str, text: str) -> None:
        """Write a checkpoint."""
        self._checkpoints[name] = text

    def lose_unflushed(self) -> int:
        """Drop everything from the first unflushed batch on; return the number of records."""
        lost = 0
        for number, segment in enumerate(self._segments):
            if segment.flushed < segment.next_offset:
                lost += segment.lose_unflushed()
                behind = self._segments[number + 1 :]
                lost += sum(records_in(batch) for later in behind for batch in later.batches())
                del self._segments[number + 1 :]
                break
        return lost

    def delete(self, after_ms: int) -> None:
        """Delete everything at once."""
        self._segments = []
        self._checkpoints = {}

    def close(self) -> None:
        """Do nothing: there are no files, and the store can be opened again."""
