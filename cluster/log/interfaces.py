"""The interface between a partition's log and its storage, of which there are two: memory and files.

A log is a sequence of *segments*, each named by its base offset; only the last one grows. A `SegmentStore` holds the
segments and checkpoints of one partition. `PartitionLog` (`log.py`) decides when to roll, delete and truncate. The
storages know nothing of leaders, epochs or high watermarks.

The store decides what a crash loses: memory drops unflushed batches on `lose_unflushed`; files lose the bytes that the
operating system had not written, and a torn tail is found when they are opened.

Source: `LogSegment`, `LocalLog`, `UnifiedLog`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from groupsim.protocol.batch.batch import Batch


class Found(NamedTuple):
    """An offset found by timestamp, with the timestamp (ms) of its record."""

    offset: int
    timestamp_ms: int


class Segment(Protocol):
    """The batches of one segment, in rising order of offsets."""

    base_offset: int
    size: int  # bytes of its batches
    created_ms: int  # time of creation, for rolls by time when the records have no timestamps
    max_timestamp_ms: int  # largest timestamp, -1 when it is empty

    @property
    def next_offset(self) -> int:
        """The offset after its last batch; its base offset when it is empty."""

    def append(self, batch: Batch) -> None:
        """Append a batch with assigned offsets."""

    def batches(self, from_offset: int = 0) -> Iterator[Batch]:
        """Iterate over the batches from the one that holds `from_offset`, or the first after it."""

    def position(self, offset: int) -> int:
        """Return the bytes of the batches that begin before the offset; an estimate suffices (`fetch.min.bytes`)."""

    def find_time(self, timestamp_ms: int) -> Found | None:
        """Return the first record with this timestamp or a later one; None if there is none."""

    def truncate(self, to_offset: int) -> None:
        """Remove every batch with an offset at or above `to_offset`; a batch is never split."""

    def flush(self) -> None:
        """Write the batches to the disk, so that they survive a crash of the machine."""


class SegmentStore(Protocol):
    """The segments and checkpoints of one partition on one broker."""

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments in rising order of base offsets; empty for a new partition."""

    def create(self, base_offset: int, now_ms: int) -> Segment:
        """Create a segment after all others."""

    def remove(self, segment: Segment) -> None:
        """Delete a segment."""

    def replace(self, old: Sequence[Segment], batches: Sequence[Batch]) -> Segment | None:
        """Replace neighbouring segments with one segment of these batches, atomically; return None without batches.

        The new segment has the base offset of the first old one. Compaction uses this.
        """

    def read_checkpoint(self, name: str) -> str | None:
        """Return a checkpoint's text (leader epochs, start offset …); None if there is none."""

    def write_checkpoint(self, name: str, text: str) -> None:
        """Write a checkpoint atomically."""

    def lose_unflushed(self) -> int:
        """Drop the unflushed batches, as a crash of the machine does; return the number of records."""

    def delete(self, after_ms: int) -> None:
        """Delete the log; the store is not used again. Files are removed from the disk after `after_ms`."""

    def close(self) -> None:
        """Close the files; the store is not used again."""
