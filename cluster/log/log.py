"""The log of one partition on one broker: where to append, when to roll, what to read, where to cut."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from groupsim.cluster.log import epochs as epoch_cache
from groupsim.cluster.log.config import LogConfig
from groupsim.cluster.log.epochs import EpochCache
from groupsim.cluster.log.interfaces import Segment, SegmentStore
from groupsim.eventloop.events import Kind
from groupsim.protocol.batch import Batch
from groupsim.protocol.data_messages import EpochEnd
from groupsim.protocol.errors import ErrorCode

MAX_RELATIVE_OFFSET = 2**31 - 1
START_CHECKPOINT = "log-start-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"

Note = Callable[[Kind, str, dict[str, Any]], None]


class LogRefused(Exception):
    """An append that the log does not take; nothing of it was appended."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(f"{error.name}: {message}")
        self.error = error
        self.message = message


class OffsetOutOfRange(Exception):
    """A read below the start of the log or beyond its end."""

    def __init__(self, offset: int, start_offset: int, end_offset: int) -> None:
        super().__init__(f"offset {offset} is out of range: the log holds offsets from {start_offset} to {end_offset}")
        self.offset = offset
        self.start_offset = start_offset
        self.end_offset = end_offset


def _silent(kind: Kind, reason: str, payload: dict[str, Any]) -> None:
    """Nobody listens."""


class PartitionLog:
    """A log over a store of segments; `start_offset`, `end_offset` and `high_watermark` are read, not written."""

    def __init__(self, store: SegmentStore, config: LogConfig, *, now_ms: int, note: Note | None = None) -> None:
        self.store = store
        self.config = config
        self._note = note or _silent
        self._open(now_ms)

    def _open(self, now_ms: int) -> None:
        store = self.store
        if not store.segments:
            store.create(0, now_ms)
        self.end_offset = store.segments[-1].next_offset
        self.start_offset = max(int(store.read_checkpoint(START_CHECKPOINT) or 0), store.segments[0].base_offset)
        self.end_offset = max(self.end_offset, self.start_offset)
        text = store.read_checkpoint(epoch_cache.CHECKPOINT)
        self._epochs = epoch_cache.parse(text) if text else EpochCache()
        if self._epochs.truncate_from_end(self.end_offset) | self._epochs.truncate_from_start(self.start_offset):
            self._keep_epochs()
        self._active = store.segments[-1]
        self._roll_from_ms: int | None = None
        kept = int(store.read_checkpoint(HIGH_WATERMARK_CHECKPOINT) or 0)
        self.high_watermark = min(max(kept, self.start_offset), self.end_offset)

    # --- appending -------------------------------------------------------------------------------------------------

    def append(self, batches: Sequence[Batch], leader_epoch: int, now_ms: int) -> tuple[Batch, ...]:
        """Append as leader: batches get their offsets and the leader's epoch. Raises LogRefused."""
        for batch in batches:
            self._check_size(batch)
        placed = []
        offset = self.end_offset
        for batch in batches:
            placed.append(batch.placed(offset, leader_epoch))
            offset += batch.count
        self._take(placed, now_ms)
        return tuple(placed)

    def append_copied(self, batches: Sequence[Batch], now_ms: int) -> None:
        """Append as follower: offsets and epochs are the leader's. Raises LogRefused when they do not follow."""
        if not batches:
            return
        if batches[0].base_offset < self.end_offset:
            raise LogRefused(
                ErrorCode.UNKNOWN_SERVER_ERROR,
                f"a batch of offset {batches[0].base_offset} cannot follow the log's end at {self.end_offset}; "
                "truncate first",
            )
        self._take(batches, now_ms)

    def _check_size(self, batch: Batch) -> None:
        if batch.size > self.config.max_message_bytes:
            raise LogRefused(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"the batch has {batch.size} bytes, max.message.bytes is {self.config.max_message_bytes}",
            )

    def _take(self, batches: Sequence[Batch], now_ms: int) -> None:
        segment = self._roll_if_due(batches, now_ms)
        for batch in batches:
            if batch.leader_epoch >= 0 and self._epochs.assign(batch.leader_epoch, batch.base_offset):
                self._keep_epochs()
            segment.append(batch)
        self.end_offset = batches[-1].next_offset

    def _roll_if_due(self, batches: Sequence[Batch], now_ms: int) -> Segment:
        segment = self._active
        size = sum(batch.size for batch in batches)
        if segment.size > self.config.segment_bytes - size and segment.size > 0:
            return self._roll("size", batches[0].base_offset, now_ms)
        if batches[-1].last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
            return self._roll("index", batches[0].base_offset, now_ms)
        return segment

    def _roll(self, reason: str, base_offset: int, now_ms: int) -> Segment:
        self._active.flush()
        self._active = self.store.create(base_offset, now_ms)
        self._roll_from_ms = None
        self._note(Kind.LOG_ROLLED, reason, {"base": base_offset})
        return self._active

    # --- reading ---------------------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, up_to: int | None = None, at_least_one: bool = True
    ) -> tuple[Batch, ...]:
        """The batches from the one that holds `offset` on, out of one segment. Raises OffsetOutOfRange."""
        if not self.start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRange(offset, self.start_offset, self.end_offset)
        limit = self.end_offset if up_to is None else up_to
        if offset >= limit:
            return ()
        segments = self.store.segments
        for index in range(self._segment_index(offset), len(segments)):
            found = _some(segments[index], offset, limit, max_bytes, at_least_one)
            if found is not None:
                return found
        return ()

    def _segment_index(self, offset: int) -> int:
        segments = self.store.segments
        last = len(segments) - 1
        if offset >= segments[last].base_offset:
            return last
        return max(bisect_right(segments, offset, key=lambda segment: segment.base_offset) - 1, 0)

    # --- epochs ----------------------------------------------------------------------------------------------------

    @property
    def latest_epoch(self) -> int:
        """The epoch of the last leader that this log knows, -1 for none."""
        return self._epochs.latest

    def epoch_end(self, epoch: int) -> EpochEnd:
        """The largest known epoch not above this one, and where it ends; (-1, -1) unknown."""
        return self._epochs.end_of(epoch, self.end_offset)

    def epoch_at(self, offset: int) -> int:
        """The epoch in which the record of this offset was written, -1 unknown."""
        return self._epochs.at(offset)

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """A leader's new epoch begins at this offset."""
        if self._epochs.assign(epoch, start_offset):
            self._keep_epochs()

    def _keep_epochs(self) -> None:
        self.store.write_checkpoint(epoch_cache.CHECKPOINT, self._epochs.text())

    # --- cutting ---------------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> int:
        """Cut off everything from this offset on; returns how many offsets that was."""
        if offset >= self.end_offset:
            if self._epochs.truncate_from_end(offset):
                self._keep_epochs()
            return 0
        before = self.end_offset
        for segment in reversed(tuple(self.store.segments)):
            if segment.base_offset <= offset:
                break
            if segment is not self.store.segments[0]:
                self.store.remove(segment)
        self._active = self.store.segments[-1]
        holder = next(self._active.batches(offset), None)
        self._active.truncate(offset)
        self.end_offset = offset if holder is None else min(offset, holder.base_offset)
        self.start_offset = min(self.start_offset, self.end_offset)
        self.high_watermark = min(self.high_watermark, self.end_offset)
        self._epochs.truncate_from_end(self.end_offset)
        self._keep_epochs()
        return before - self.end_offset

    def advance_high_watermark(self, offset: int) -> bool:
        """Records below this offset are on every in-sync replica; returns whether that is news."""
        offset = min(offset, self.end_offset)
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        return True

    @property
    def last_stable_offset(self) -> int:
        """The offset below which every transaction is decided."""
        return self.high_watermark

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self.store.segments)


def _some(segment: Segment, offset: int, limit: int, max_bytes: int, at_least_one: bool) -> tuple[Batch, ...] | None:
    """What one segment has to give; None when nothing of it lies at or behind the offset."""
    found: list[Batch] = []
    none = True
    for batch in segment.batches(offset):
        none = False
        if batch.base_offset >= limit:
            break
        max_bytes -= batch.size
        if max_bytes < 0 and (found or not at_least_one):
            break
        found.append(batch)
    return None if none else tuple(found)
