"""Where the bytes of a partition's log lie: one small interface, two storages (memory and files).

A log is a row of *segments*, each named by its base offset; only the last one grows. A `SegmentStore` holds the
segments of one partition and its checkpoints; `PartitionLog` (`log.py`) decides everything else: where to append, when
to roll, what to delete, where to cut. Neither storage knows of leaders, epochs or high watermarks.

What a crash loses is the store's business: memory forgets what was not flushed when told to (`lose_unflushed`), files
lose what the operating system had not written, and find torn tails when they are opened.

Source: `LogSegment`, `LocalLog`, `UnifiedLog`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from groupsim.protocol.batch.batch import Batch


class Found(NamedTuple):
    """An offset found by time, with the timestamp (ms) of its record."""

    offset: int
    timestamp_ms: int


class Segment(Protocol):
    """Batches of one segment, by rising offset."""

    base_offset: int
    size: int  # bytes of its batches
    created_ms: int  # when it was made, for rolling by time when its records carry no timestamps
    max_timestamp_ms: int  # largest timestamp in it, -1 when it is empty

    @property
    def next_offset(self) -> int:
        """The offset after its last batch; its base offset when it is empty."""

    def append(self, batch: Batch) -> None:
        """Append a batch that has its offsets."""

    def batches(self, from_offset: int = 0) -> Iterator[Batch]:
        """Its batches from the one on that holds `from_offset` or follows it."""

    def position(self, offset: int) -> int:
        """Bytes of its batches that begin before the offset; an estimate by the index will do (`fetch.min.bytes`)."""

    def find_time(self, timestamp_ms: int) -> Found | None:
        """The first record not older than this; None when all are older."""

    def truncate(self, to_offset: int) -> None:
        """Cut off every batch that reaches beyond `to_offset` (a batch is never split)."""

    def flush(self) -> None:
        """Make what is in it survive a crash of the machine."""


class SegmentStore(Protocol):
    """The segments of one partition on one broker, and the small facts kept beside them."""

    @property
    def segments(self) -> Sequence[Segment]:
        """By rising base offset; empty for a new partition."""

    def create(self, base_offset: int, now_ms: int) -> Segment:
        """Begin a segment, behind all others."""

    def remove(self, segment: Segment) -> None:
        """Delete a segment."""

    def replace(self, old: Sequence[Segment], batches: Sequence[Batch]) -> Segment | None:
        """Put one segment with these batches in the place of neighbours, whole or not at all; None when none are left.

        It has the base offset of the first of the old ones. Compaction needs this.
        """

    def read_checkpoint(self, name: str) -> str | None:
        """A small text kept beside the log (leader epochs, start offset …); None when there is none."""

    def write_checkpoint(self, name: str, text: str) -> None:
        """Keep a small text, whole or not at all."""

    def lose_unflushed(self) -> int:
        """The machine crashed: forget what was not flushed; returns how many records that was."""

    def delete(self, after_ms: int) -> None:
        """The log is nobody's any more; the store is not used again. What lies on a disk goes after so long."""

    def close(self) -> None:
        """Let go of files; the store is not used again."""
