"""The log of one partition on one broker: append, roll, read, retention, compaction, truncation.

A log has four offsets, in this order: `start_offset` (the lowest that is served), `last_stable_offset` (every
transaction below it has ended), `high_watermark` (every in-sync replica has the records below it), `end_offset` (the
next record's). A leader's log checks batches and assigns offsets and the leader epoch; a follower's log copies both.
The replica manager knows the leader and the followers' positions, and advances the high watermark.

Triggers:

- An append rolls the active segment first if the batches do not fit into `segment.bytes`, if the segment spans more
  than `segment.ms` of record timestamps (or, without timestamps, is older), or if their offsets are too far from the
  base offset. A roll flushes the old segment and writes a producer snapshot. As in Kafka, only an append rolls by time:
  a log without appends keeps its active segment until retention deletes it (`LogSegment.shouldRoll`).
- A leader adds a new leader epoch when it becomes leader, a follower with the first batch of the epoch.
- `maintain` does the flush, retention and compaction that are due; `next_maintenance_ms` is the time of the next call.
  A roll, a new configuration or a new start offset can bring that time forward: `on_roll` is called then.
- `truncate_to` truncates batches, epochs, producer state and the high watermark.
- A crash of the process loses no records, because the operating system has the bytes. A crash of the machine loses the
  unflushed batches, by default the whole active segment. Values in memory fall back to their checkpoints: the high
  watermark to the last `checkpoint_high_watermark`.

Simpler than Kafka: the start offset is checkpointed at once (not every minute); a flush takes no time; `flush.ms`
counts from the first unflushed record (Kafka adds the scheduler's interval).

Source: `UnifiedLog`, `LocalLog`, `LogSegment`, `LogValidator`, `LogManager.cleanupLogs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from groupsim.cluster.config.log import NEVER, LogConfig
from groupsim.cluster.log import compaction, retention, segment_reads
from groupsim.cluster.log import epochs as epoch_cache
from groupsim.cluster.log import producer_state as producers
from groupsim.cluster.log.epochs import EpochCache
from groupsim.cluster.log.errors import LogRefused, OffsetOutOfRange
from groupsim.cluster.log.interfaces import Segment, SegmentStore
from groupsim.cluster.log.producer_state import BatchMetadata, ProducerStates
from groupsim.cluster.log.validation import check_batch, check_total
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.batch.batch import LOG_APPEND_TIME, Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import EpochEnd

__all__ = ["EmitEvent", "LogRefused", "OffsetOutOfRange", "PartitionLog"]

MAX_RELATIVE_OFFSET = 2**31 - 1
START_CHECKPOINT = "log-start-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"

EmitEvent = Callable[[Kind, str, dict[str, Any]], None]
"""Emits LOG_ROLLED, LOG_DELETED and LOG_COMPACTED: the kind, the reason, the payload."""


def _emit_nothing(kind: Kind, reason: str, payload: dict[str, Any]) -> None:
    """Ignore an event of a log outside of a run."""


class PartitionLog:
    """A log over a store of segments. Source: `UnifiedLog`.

    `start_offset`, `end_offset` and `high_watermark` are read-only for callers; `config` may be replaced. `on_roll` is
    called when the next maintenance may be due earlier. Raises ValueError when a checkpoint cannot be read.
    """

    def __init__(self, store: SegmentStore, config: LogConfig, *, now_ms: int, emit: EmitEvent | None = None) -> None:
        self.store = store
        self.config = config
        self.on_roll: Callable[[], None] | None = None
        self._emit = emit or _emit_nothing
        self._open(now_ms)

    # --- opening ---------------------------------------------------------------------------------------------------

    def _open(self, now_ms: int) -> None:
        """Restore the state from the store. Source: `LogLoader`."""
        store = self.store
        if not store.segments:
            store.create(0, now_ms)
        self._active = store.segments[-1]
        self._roll_from_ms: int | None = None
        self._opened_ms = now_ms
        self._unflushed = 0
        self._unflushed_since_ms = now_ms
        self.start_offset = self._number(START_CHECKPOINT, store.segments[0].base_offset)
        self.end_offset = max(self._active.next_offset, self.start_offset)
        kept = self._number(HIGH_WATERMARK_CHECKPOINT, 0)
        self.high_watermark = min(max(kept, self.start_offset), self.end_offset)
        text = store.read_checkpoint(epoch_cache.CHECKPOINT)
        self._epochs = epochs = epoch_cache.parse(text) if text else EpochCache()
        if text and epochs.truncate_from_end(self.end_offset) | epochs.truncate_from_start(self.start_offset):
            self._write_epochs()
        self._load_producers()

    def _number(self, checkpoint: str, otherwise: int) -> int:
        text = self.store.read_checkpoint(checkpoint)
        if text is None:
            return otherwise
        if not text.strip().isdigit():
            raise ValueError(f"{checkpoint}: expected an offset, found {text!r}; remove it to begin from the segments")
        return int(text)

    def _load_producers(self) -> None:
        """Load the snapshot and the batches after it; a snapshot above the log's end is ignored (`LogLoader`)."""
        offset, self.producers = producers.restore(self.store.read_checkpoint(producers.CHECKPOINT))
        if offset > self.end_offset:
            self.store.write_checkpoint(producers.CHECKPOINT, "")
            offset, self.producers = -1, ProducerStates()
        for segment in self.store.segments:
            if segment.size and segment.next_offset > offset:
                for batch in segment.batches(max(offset, 0)):
                    if batch.producer_id >= 0:
                        self.producers.update(batch)
        self.producers.advance_start(self.start_offset)
        self.producers.advance_high_watermark(self.high_watermark)

    # --- appending -------------------------------------------------------------------------------------------------

    def append(self, batches: Sequence[Batch], leader_epoch: int, now_ms: int) -> tuple[Batch, ...]:
        """Append as leader; return the batches with offsets, leader epoch and (LogAppendTime) timestamp.

        A duplicate of an idempotent producer is not appended: its first offsets are returned. Raises LogRefused before
        anything is appended.
        """
        config = self.config
        placed = []
        offset = self.end_offset
        numbered = False
        for batch in batches:
            check_batch(batch, config, now_ms)
            batch = batch.placed(offset, leader_epoch)
            if config.log_append_time:
                batch = batch.stamped(now_ms, batch.attributes | LOG_APPEND_TIME)
            elif batch.attributes & LOG_APPEND_TIME:  # Kafka accepts and clears it (`LogValidator`)
                batch = batch.stamped(batch.max_timestamp_ms, batch.attributes & ~LOG_APPEND_TIME)
            placed.append(batch)
            offset += batch.count
            numbered = numbered or batch.producer_id >= 0
        if len(placed) > 1 or config.segment_bytes < config.max_message_bytes:
            check_total(placed, config)
        if numbered:
            duplicate = self.producers.check(placed)
            if duplicate is not None:
                return self._first_placement(placed, duplicate)
        if placed:
            self._write(placed, now_ms)
        return tuple(placed)

    def append_copied(self, batches: Sequence[Batch], now_ms: int) -> None:
        """Append as follower, with the leader's offsets and epochs. Raises LogRefused if they do not follow the end.

        An empty log may begin with a batch that holds its end offset: the leader's start offset lies within a batch.
        """
        if not batches:
            return
        first = batches[0]
        if first.base_offset < self.end_offset:
            if self.start_offset < self.end_offset or first.next_offset <= self.end_offset:
                raise LogRefused(
                    ErrorCode.UNKNOWN_SERVER_ERROR,
                    f"a batch of offset {first.base_offset} cannot follow the log's end at {self.end_offset}; "
                    "truncate first",
                )
            start = self.start_offset
            self.restart_at(first.base_offset)
            self._write(batches, now_ms)
            self._set_start(start)
            return
        self._write(batches, now_ms)

    def _first_placement(self, placed: Sequence[Batch], duplicate: BatchMetadata) -> tuple[Batch, ...]:
        first = duplicate.first_offset
        return tuple(
            batch.placed(batch.base_offset - self.end_offset + first, self.epoch_at(first)) for batch in placed
        )

    def _write(self, batches: Sequence[Batch], now_ms: int) -> None:
        segment = self._segment_for(batches, now_ms)
        if self._unflushed == 0:
            self._unflushed_since_ms = now_ms
        epochs = self._epochs
        for batch in batches:
            epoch, count = batch.leader_epoch, batch.count
            if epoch != epochs.latest and epoch >= 0:
                self.assign_epoch(epoch, batch.base_offset)
            segment.append(batch)
            self._unflushed += count
            self.end_offset = batch.base_offset + count
            if batch.producer_id >= 0:
                self.producers.update(batch)
        if self._unflushed >= self.config.flush_messages:
            self.flush()

    # --- rolling ---------------------------------------------------------------------------------------------------

    def _segment_for(self, batches: Sequence[Batch], now_ms: int) -> Segment:
        """Return the active segment, after a roll if one is due. Source: `LogSegment.shouldRoll`."""
        active, config = self._active, self.config
        first, last = batches[0], batches[-1]
        if last.base_offset + last.count - 1 - active.base_offset > MAX_RELATIVE_OFFSET:
            return self._roll("index", first.base_offset, now_ms)
        if active.size == 0:
            return active
        size, newest_ms = first.size, first.max_timestamp_ms
        for batch in batches[1:]:
            size += batch.size
            newest_ms = max(newest_ms, batch.max_timestamp_ms)
        if active.size > config.segment_bytes - size:
            return self._roll("size", batches[0].base_offset, now_ms)
        if self._waited_ms(newest_ms, now_ms) > config.max_segment_ms:
            return self._roll("time", batches[0].base_offset, now_ms)
        return active

    def _waited_ms(self, timestamp_ms: int, now_ms: int) -> int:
        """Return the active segment's span; by timestamps if its first batch has one (`timeWaitedForRoll`)."""
        if self._roll_from_ms is None:
            first = next(self._active.batches(), None)
            self._roll_from_ms = -1 if first is None else first.max_timestamp_ms
        if self._roll_from_ms >= 0:
            return timestamp_ms - self._roll_from_ms
        return now_ms - self._active.created_ms

    def _roll(self, reason: str, base_offset: int, now_ms: int) -> Segment:
        self.flush()
        self._write_producer_snapshot()
        self._active = self.store.create(base_offset, now_ms)
        self._roll_from_ms = None
        self._emit(Kind.LOG_ROLLED, reason, {"base": base_offset})
        if self.on_roll is not None:
            self.on_roll()
        return self._active

    def _write_producer_snapshot(self) -> None:
        self.store.write_checkpoint(producers.CHECKPOINT, self.producers.text(self.end_offset))

    # --- reading ---------------------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, up_to: int | None = None, at_least_one: bool = True
    ) -> tuple[Batch, ...]:
        """Return whole batches from the one that holds `offset`, and that begin before `up_to` (default: the end).

        They have at most `max_bytes` in all; with `at_least_one` the first may be larger. As in Kafka a read ends with
        its segment (`LocalLog.read`). Raises OffsetOutOfRange below the start and above the end.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRange(offset, self.start_offset, self.end_offset)
        limit = self.end_offset if up_to is None else up_to
        if offset >= limit:
            return ()
        return segment_reads.read(self.store.segments, offset, limit, max_bytes, at_least_one)

    def batches(self, from_offset: int, up_to: int) -> Iterator[Batch]:
        """Iterate over all batches from the one that holds `from_offset`, and that begin before `up_to`."""
        return segment_reads.read_range(self.store.segments, from_offset, up_to)

    def bytes_between(self, offset: int, up_to: int) -> int:
        """Return the bytes of the batches from the one that holds `offset`, and that begin before `up_to`."""
        return segment_reads.bytes_between(self.store.segments, offset, up_to)

    def find_time(self, timestamp_ms: int) -> tuple[int, int, int] | None:
        """Return offset, timestamp (ms) and epoch of the first record with this timestamp or a later one."""
        found = segment_reads.find_time(self.store.segments, timestamp_ms, self.start_offset)
        return None if found is None else (found.offset, found.timestamp_ms, self.epoch_at(found.offset))

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        return sum(segment.size for segment in self.store.segments)

    # --- transactions ----------------------------------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """The offset below which every transaction has ended; at most the high watermark."""
        unstable = self.producers.first_unstable
        if unstable < 0 or unstable >= self.high_watermark:
            return self.high_watermark
        return max(unstable, self.start_offset)

    def aborted(self, from_offset: int, up_to: int) -> tuple[tuple[int, int], ...]:
        """Return (producer id, first offset) of the aborted transactions that overlap these offsets."""
        return self.producers.aborted_between(from_offset, up_to)

    # --- epochs ----------------------------------------------------------------------------------------------------

    @property
    def latest_epoch(self) -> int:
        """The last known leader epoch, -1 for none."""
        return self._epochs.latest

    def epoch_end(self, epoch: int) -> EpochEnd:
        """Return the largest known epoch not above this one, and its end offset; (-1, -1) if unknown."""
        return self._epochs.end_of(epoch, self.end_offset)

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch of the record at this offset, -1 if unknown."""
        return self._epochs.at(offset)

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Add a leader epoch that begins at this offset."""
        if self._epochs.assign(epoch, start_offset):
            self._write_epochs()

    def _write_epochs(self) -> None:
        self.store.write_checkpoint(epoch_cache.CHECKPOINT, self._epochs.text())

    # --- the ends --------------------------------------------------------------------------------------------------

    def advance_high_watermark(self, offset: int) -> bool:
        """Raise the high watermark to this offset, at most to the log's end; return whether it rose."""
        if offset > self.end_offset:
            offset = self.end_offset
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        self.producers.advance_high_watermark(offset)
        return True

    def checkpoint_high_watermark(self) -> None:
        """Write the high watermark's checkpoint (`replica.high.watermark.checkpoint.interval.ms`)."""
        self.store.write_checkpoint(HIGH_WATERMARK_CHECKPOINT, str(self.high_watermark))

    def advance_start(self, offset: int) -> bool:
        """Raise the start offset (DeleteRecords, or a follower with its leader's start offset).

        Return whether it rose. Raises OffsetOutOfRange above the high watermark.
        """
        if offset > self.high_watermark:
            raise OffsetOutOfRange(offset, self.start_offset, self.high_watermark)
        if offset <= self.start_offset:
            return False
        self._set_start(offset)
        if self.on_roll is not None:
            self.on_roll()
        return True

    def _set_start(self, offset: int) -> None:
        self.start_offset = offset
        self.high_watermark = max(self.high_watermark, offset)  # as `UnifiedLog.updateLogStartOffset`
        self.store.write_checkpoint(START_CHECKPOINT, str(offset))
        if self._epochs.truncate_from_start(offset):
            self._write_epochs()
        self.producers.advance_start(offset)

    # --- truncation ------------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> int:
        """Remove all batches with this offset or a later one; return the number of removed offsets.

        Epochs that begin there are removed even if no record is. Source: `UnifiedLog.truncateTo`.
        """
        before = self.end_offset
        if offset >= before:
            if self._epochs.truncate_from_end(offset):
                self._write_epochs()
            return 0
        if offset < self.store.segments[0].base_offset:
            self._replace_all_segments(offset)
            self.end_offset = offset
        else:
            self.end_offset = self._truncate_segments(offset)
        if self.end_offset < self.start_offset:
            self._set_start(self.end_offset)
        self.high_watermark = min(self.high_watermark, self.end_offset)
        self._truncate_checkpoints()
        return before - self.end_offset

    def restart_at(self, offset: int) -> None:
        """Delete all records and begin at this offset, above the log's end (`UnifiedLog.truncateFullyAndStartAt`)."""
        self._replace_all_segments(offset)
        self.start_offset = self.end_offset = self.high_watermark = offset
        self._epochs.clear()
        self._write_epochs()
        self._truncate_checkpoints()
        self._set_start(offset)

    def _replace_all_segments(self, offset: int) -> None:
        for segment in tuple(self.store.segments):
            self.store.remove(segment)
        self._active = self.store.create(offset, self._opened_ms)
        self._roll_from_ms = None

    def _truncate_segments(self, offset: int) -> int:
        """Truncate the segments; return the new end: the offset, or the base offset of the batch that held it."""
        for segment in tuple(self.store.segments)[1:]:
            if segment.base_offset > offset:
                self.store.remove(segment)
        self._active = self.store.segments[-1]
        self._roll_from_ms = None
        holder = next(self._active.batches(offset), None)
        self._active.truncate(offset)
        return offset if holder is None else min(offset, holder.base_offset)

    def _truncate_checkpoints(self) -> None:
        if self._epochs.truncate_from_end(self.end_offset):
            self._write_epochs()
        if self._number(CLEANER_CHECKPOINT, 0) > self.end_offset:
            self.store.write_checkpoint(CLEANER_CHECKPOINT, str(self.end_offset))
        if not self.producers.is_empty:
            self._load_producers()
        elif self.store.read_checkpoint(producers.CHECKPOINT):
            self.store.write_checkpoint(producers.CHECKPOINT, "")

    # --- maintenance -----------------------------------------------------------------------------------------------

    def maintain(self, now_ms: int) -> None:
        """Do what is due of flush, expiry of producers, retention and compaction."""
        if self._unflushed and now_ms - self._unflushed_since_ms >= self.config.flush_ms:
            self.flush()
        self.producers.expire(now_ms, self.config.producer_id_expiration_ms)
        while (found := retention.expired(self.store.segments, self._bounds(), self.config, now_ms)) is not None:
            self._delete(*found, now_ms)
        if self.config.compact:
            self._compact(now_ms)

    def next_maintenance_ms(self, now_ms: int) -> int | None:
        """Return when `maintain` is due if nothing is appended, at an instant of Kafka's checks; None for never."""
        segments = self.store.segments
        if len(segments) == 1 and not segments[0].size and not self.producers.entries and not self._unflushed:
            return None  # an empty log, as most of `__consumer_offsets` are
        config = self.config
        check = config.log_cleaner_backoff_ms if config.compact else config.log_retention_check_interval_ms
        times = [_tick(retention.next_expiry_ms(segments, self._bounds(), config, now_ms), check, now_ms)]
        if config.compact:
            due = compaction.next_cleaning_ms(segments, self._first_dirty(), config, now_ms)
            times.append(_tick(due, config.log_cleaner_backoff_ms, now_ms))
        if self._unflushed:
            times.append(_tick(self._unflushed_since_ms + config.flush_ms, 1, now_ms))
        quiet = self.producers.next_expiry_ms(config.producer_id_expiration_ms)
        times.append(_tick(quiet, config.producer_id_expiration_check_interval_ms, now_ms))
        return min((time for time in times if time is not None), default=None)

    def _bounds(self) -> retention.Bounds:
        return retention.Bounds(self.start_offset, self.high_watermark, self.end_offset)

    def _delete(self, reason: str, segments: Sequence[Segment], now_ms: int) -> None:
        if segments[-1] is self._active:
            self._roll(reason, self.end_offset, now_ms)
        after = self.store.segments[len(segments)].base_offset
        if after > self.start_offset:
            self._set_start(after)
        for segment in segments:
            self.store.remove(segment)
        self._emit(Kind.LOG_DELETED, reason, {"start": self.start_offset, "segments": len(segments)})

    def _first_dirty(self) -> int:
        """Return where the dirty part begins; the whole log is dirty if the checkpoint lies outside of it."""
        kept = self._number(CLEANER_CHECKPOINT, self.start_offset)
        return kept if self.start_offset <= kept <= self.end_offset else self.start_offset

    def _compact(self, now_ms: int) -> None:
        dirty = compaction.dirty_part(
            self.store.segments, self._first_dirty(), self.last_stable_offset, self.config, now_ms
        )
        if not dirty.is_due(self.config):
            return
        known = self.producers
        done = compaction.clean(self.store.segments, dirty, known.entries, known.aborted, self.config, now_ms)
        # A cleaning can delete the first segment, and then the segments no longer show where the log begins.
        self.store.write_checkpoint(START_CHECKPOINT, str(self.start_offset))
        for old, batches in done.replacements:
            self.store.replace(old, batches)
        end = dirty.first_uncleanable
        known.aborted = [one for one in known.aborted if one.last_offset >= end or one in done.aborted_left]
        self.store.write_checkpoint(CLEANER_CHECKPOINT, str(end))
        payload = {"records": done.records, "left": done.left, "tombstones": done.tombstones}
        self._emit(Kind.LOG_COMPACTED, "", payload)

    # --- flush, crash, close ----------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Flush all batches, so that they survive a crash of the machine."""
        self._active.flush()
        self._unflushed = 0

    def crash(self, *, machine: bool) -> int:
        """Reopen the log as after a crash of the process, or of the machine; return the number of lost records."""
        lost = self.store.lose_unflushed() if machine else 0
        self._open(self._opened_ms)
        return lost

    def close(self) -> None:
        """Close in order: flush, write the producer snapshot and the high watermark, close the store."""
        self.flush()
        self._write_producer_snapshot()
        self.checkpoint_high_watermark()
        self.store.close()


def _tick(due_ms: int | None, interval_ms: int, now_ms: int) -> int | None:
    """Return the time of the first check after now that is at or after `due_ms`."""
    if due_ms is None or due_ms >= NEVER:
        return None
    return -(-max(due_ms, now_ms + 1) // interval_ms) * interval_ms
