"""The log of one partition on one broker: where to append, when to roll, what to read, what to delete, where to cut.

Four offsets, never out of order: `start_offset` (nothing below it is served), `last_stable_offset` (every transaction
below it is decided), `high_watermark` (every in-sync replica has what is below it), `end_offset` (the next record's).
A leader's log gives batches offsets and its epoch and checks what producers may write; a follower's takes both as they
are. Who leads and how far the replicas are is the replica manager's business; it moves the high watermark.

What triggers what:

- An append rolls the active segment first when the batches do not fit into `segment.bytes`, when the segment spans
  more than `segment.ms` of record timestamps (or, without timestamps, is older), or when their offsets no longer fit
  beside its base. A roll flushes the old segment and takes a snapshot of the producers. No clock rolls a segment: a
  log to which nothing is appended stays as it is until retention takes even its active segment.
- A new leader epoch is noted where it begins: by the leader when it begins to lead, by a follower with the first batch.
- `maintain` flushes, deletes and compacts what is due; `next_maintenance_ms` says when to call it next. Only a roll, a
  new configuration or a moved start offset can bring that time forward: `on_roll` is called then.
- `truncate_to` cuts batches, epochs, producers and high watermark alike: what the leader does not have never was.
- A crash of the process loses nothing of the log, for the operating system has the bytes; one of the machine loses
  what was not flushed, by default everything in the active segment. What was only known in memory falls back to its
  checkpoint: the high watermark to the last `checkpoint_high_watermark`.

Simpler than Kafka: the log's start offset is checkpointed at once (not every minute); a flush happens within the event
that asks for it; `flush.ms` counts from the first unflushed record (in Kafka the scheduler's interval comes on top).

Source: `UnifiedLog`, `LocalLog`, `LogSegment`, `LogValidator`, `LogManager.cleanupLogs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from groupsim.cluster.config.log import NEVER, LogConfig
from groupsim.cluster.log import compaction, reading, retention
from groupsim.cluster.log import epochs as epoch_cache
from groupsim.cluster.log import producer_state as producers
from groupsim.cluster.log.checks import check_batch, check_total
from groupsim.cluster.log.epochs import EpochCache
from groupsim.cluster.log.errors import LogRefused, OffsetOutOfRange
from groupsim.cluster.log.interfaces import Segment, SegmentStore
from groupsim.cluster.log.producer_state import BatchMetadata, ProducerStates
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.batch.batch import LOG_APPEND_TIME, Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import EpochEnd

__all__ = ["LogRefused", "Note", "OffsetOutOfRange", "PartitionLog"]

MAX_RELATIVE_OFFSET = 2**31 - 1
START_CHECKPOINT = "log-start-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"

Note = Callable[[Kind, str, dict[str, Any]], None]
"""Told of LOG_ROLLED, LOG_DELETED, LOG_COMPACTED: the kind, the reason, the payload."""


def _silent(kind: Kind, reason: str, payload: dict[str, Any]) -> None:
    """Nobody listens."""


class PartitionLog:
    """A log over a store of segments.

    `start_offset`, `end_offset` and `high_watermark` are there to be read; `config` may be replaced. `on_roll` is
    called when the next maintenance may have come nearer. Raises ValueError when a checkpoint cannot be read.
    """

    def __init__(self, store: SegmentStore, config: LogConfig, *, now_ms: int, note: Note | None = None) -> None:
        self.store = store
        self.config = config
        self.on_roll: Callable[[], None] | None = None
        self._note = note or _silent
        self._open(now_ms)

    # --- opening ---------------------------------------------------------------------------------------------------

    def _open(self, now_ms: int) -> None:
        """Find out everything from the store. Source: `LogLoader`."""
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
            self._keep_epochs()
        self._load_producers()

    def _number(self, checkpoint: str, otherwise: int) -> int:
        text = self.store.read_checkpoint(checkpoint)
        if text is None:
            return otherwise
        if not text.strip().isdigit():
            raise ValueError(f"{checkpoint}: expected an offset, found {text!r}; remove it to begin from the segments")
        return int(text)

    def _load_producers(self) -> None:
        """From the snapshot, then from what was appended since; a snapshot of what is no longer there counts not."""
        offset, self.producers = producers.restore(self.store.read_checkpoint(producers.CHECKPOINT))
        if offset > self.end_offset:
            self.store.write_checkpoint(producers.CHECKPOINT, "")
            offset, self.producers = -1, ProducerStates()
        for segment in self.store.segments:
            if segment.size and segment.next_offset > offset:
                for batch in segment.batches(max(offset, 0)):
                    if batch.producer_id >= 0:
                        self.producers.take(batch)
        self.producers.forget_before(self.start_offset)
        self.producers.decided(self.high_watermark)

    # --- appending -------------------------------------------------------------------------------------------------

    def append(self, batches: Sequence[Batch], leader_epoch: int, now_ms: int) -> tuple[Batch, ...]:
        """Append as leader; returns the batches with offsets, epoch and (LogAppendTime) time.

        A batch that an idempotent producer sends again is not appended: it is returned as it was first placed. Raises
        LogRefused, having appended nothing.
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
            elif batch.attributes & LOG_APPEND_TIME:  # not a producer's to set, and let pass, as in Kafka
                batch = batch.stamped(batch.max_timestamp_ms, batch.attributes & ~LOG_APPEND_TIME)
            placed.append(batch)
            offset += batch.count
            numbered = numbered or batch.producer_id >= 0
        if len(placed) > 1 or config.segment_bytes < config.max_message_bytes:
            check_total(placed, config)
        if numbered:
            duplicate = self.producers.check(placed)
            if duplicate is not None:
                return self._as_first_placed(placed, duplicate)
        if placed:
            self._take(placed, now_ms)
        return tuple(placed)

    def append_copied(self, batches: Sequence[Batch], now_ms: int) -> None:
        """Append as follower: offsets and epochs are the leader's. Raises LogRefused when they do not follow.

        An empty log may begin with a batch that holds its end (the leader's start offset lies within a batch).
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
            self._take(batches, now_ms)
            self._start_at(start)
            return
        self._take(batches, now_ms)

    def _as_first_placed(self, placed: Sequence[Batch], duplicate: BatchMetadata) -> tuple[Batch, ...]:
        first = duplicate.first_offset
        return tuple(
            batch.placed(batch.base_offset - self.end_offset + first, self.epoch_at(first)) for batch in placed
        )

    def _take(self, batches: Sequence[Batch], now_ms: int) -> None:
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
                self.producers.take(batch)
        if self._unflushed >= self.config.flush_messages:
            self.flush()

    # --- rolling ---------------------------------------------------------------------------------------------------

    def _segment_for(self, batches: Sequence[Batch], now_ms: int) -> Segment:
        """The active segment, after a roll when it is time for one. Source: `LogSegment.shouldRoll`."""
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
        """How long the active segment spans, by timestamps when its first batch has one (`timeWaitedForRoll`)."""
        if self._roll_from_ms is None:
            first = next(self._active.batches(), None)
            self._roll_from_ms = -1 if first is None else first.max_timestamp_ms
        if self._roll_from_ms >= 0:
            return timestamp_ms - self._roll_from_ms
        return now_ms - self._active.created_ms

    def _roll(self, reason: str, base_offset: int, now_ms: int) -> Segment:
        self.flush()
        self._keep_producers()
        self._active = self.store.create(base_offset, now_ms)
        self._roll_from_ms = None
        self._note(Kind.LOG_ROLLED, reason, {"base": base_offset})
        if self.on_roll is not None:
            self.on_roll()
        return self._active

    def _keep_producers(self) -> None:
        self.store.write_checkpoint(producers.CHECKPOINT, self.producers.text(self.end_offset))

    # --- reading ---------------------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, up_to: int | None = None, at_least_one: bool = True
    ) -> tuple[Batch, ...]:
        """The batches from the one on that holds `offset`, whole, that begin before `up_to` (default: the end).

        At most `max_bytes` of them, though never less than one with `at_least_one`; all out of one segment, as in
        Kafka: what lies behind is the next fetch's. Raises OffsetOutOfRange below the start and above the end.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRange(offset, self.start_offset, self.end_offset)
        limit = self.end_offset if up_to is None else up_to
        if offset >= limit:
            return ()
        return reading.some(self.store.segments, offset, limit, max_bytes, at_least_one)

    def batches(self, from_offset: int, up_to: int) -> Iterator[Batch]:
        """All batches from the one on that holds `from_offset`, that begin before `up_to`; across segments."""
        return reading.across(self.store.segments, from_offset, up_to)

    def bytes_between(self, offset: int, up_to: int) -> int:
        """Bytes of the batches from the one on that holds `offset`, that begin before `up_to`."""
        return reading.bytes_between(self.store.segments, offset, up_to)

    def find_time(self, timestamp_ms: int) -> tuple[int, int, int] | None:
        """The first record not older than this: its offset, timestamp (ms) and epoch."""
        found = reading.find_time(self.store.segments, timestamp_ms, self.start_offset)
        return None if found is None else (found.offset, found.timestamp_ms, self.epoch_at(found.offset))

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self.store.segments)

    # --- transactions ----------------------------------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """Below it every transaction is decided, and everything is below the high watermark."""
        unstable = self.producers.first_unstable
        if unstable < 0 or unstable >= self.high_watermark:
            return self.high_watermark
        return max(unstable, self.start_offset)

    def aborted(self, from_offset: int, up_to: int) -> tuple[tuple[int, int], ...]:
        """(producer id, first offset) of the aborted transactions among these offsets."""
        return self.producers.aborted_between(from_offset, up_to)

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

    # --- the ends --------------------------------------------------------------------------------------------------

    def advance_high_watermark(self, offset: int) -> bool:
        """Records below this offset are on every in-sync replica; returns whether that is news. It never falls here."""
        if offset > self.end_offset:
            offset = self.end_offset
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        self.producers.decided(offset)
        return True

    def checkpoint_high_watermark(self) -> None:
        """Keep the high watermark for the next start (`replica.high.watermark.checkpoint.interval.ms`)."""
        self.store.write_checkpoint(HIGH_WATERMARK_CHECKPOINT, str(self.high_watermark))

    def advance_start(self, offset: int) -> bool:
        """Nothing below this offset is served any more (DeleteRecords; a follower hears it from its leader).

        Returns whether that is news. Raises OffsetOutOfRange above the high watermark.
        """
        if offset > self.high_watermark:
            raise OffsetOutOfRange(offset, self.start_offset, self.high_watermark)
        if offset <= self.start_offset:
            return False
        self._start_at(offset)
        if self.on_roll is not None:
            self.on_roll()
        return True

    def _start_at(self, offset: int) -> None:
        self.start_offset = offset
        self.high_watermark = max(self.high_watermark, offset)
        self.store.write_checkpoint(START_CHECKPOINT, str(offset))
        if self._epochs.truncate_from_start(offset):
            self._keep_epochs()
        self.producers.forget_before(offset)

    # --- cutting ---------------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> int:
        """Cut off everything from this offset on, a batch that holds it included; returns how many offsets are gone.

        Source: `UnifiedLog.truncateTo`. Epochs that begin there go even when no record does.
        """
        before = self.end_offset
        if offset >= before:
            if self._epochs.truncate_from_end(offset):
                self._keep_epochs()
            return 0
        if offset < self.store.segments[0].base_offset:
            self._drop_all(offset)
            self.end_offset = offset
        else:
            self.end_offset = self._cut_segments(offset)
        if self.end_offset < self.start_offset:
            self._start_at(self.end_offset)
        self.high_watermark = min(self.high_watermark, self.end_offset)
        self._forget_beyond_end()
        return before - self.end_offset

    def restart_at(self, offset: int) -> None:
        """Drop everything and begin at this offset: the leader's log no longer reaches back to this one's end."""
        self._drop_all(offset)
        self.start_offset = self.end_offset = self.high_watermark = offset
        self._epochs.clear()
        self._keep_epochs()
        self._forget_beyond_end()
        self._start_at(offset)

    def _drop_all(self, offset: int) -> None:
        for segment in tuple(self.store.segments):
            self.store.remove(segment)
        self._active = self.store.create(offset, self._opened_ms)
        self._roll_from_ms = None

    def _cut_segments(self, offset: int) -> int:
        """Returns the new end: the offset, or the base of the batch that held it."""
        for segment in tuple(self.store.segments)[1:]:
            if segment.base_offset > offset:
                self.store.remove(segment)
        self._active = self.store.segments[-1]
        self._roll_from_ms = None
        holder = next(self._active.batches(offset), None)
        self._active.truncate(offset)
        return offset if holder is None else min(offset, holder.base_offset)

    def _forget_beyond_end(self) -> None:
        if self._epochs.truncate_from_end(self.end_offset):
            self._keep_epochs()
        if self._number(CLEANER_CHECKPOINT, 0) > self.end_offset:
            self.store.write_checkpoint(CLEANER_CHECKPOINT, str(self.end_offset))
        if not self.producers.is_empty:
            self._load_producers()
        elif self.store.read_checkpoint(producers.CHECKPOINT):
            self.store.write_checkpoint(producers.CHECKPOINT, "")

    # --- upkeep ----------------------------------------------------------------------------------------------------

    def maintain(self, now_ms: int) -> None:
        """Flush, forget producers, delete and compact: whatever is due."""
        if self._unflushed and now_ms - self._unflushed_since_ms >= self.config.flush_ms:
            self.flush()
        self.producers.expire(now_ms, self.config.producer_id_expiration_ms)
        while (found := retention.expired(self.store.segments, self._bounds(), self.config, now_ms)) is not None:
            self._delete(*found, now_ms)
        if self.config.compact:
            self._compact(now_ms)

    def next_maintenance_ms(self, now_ms: int) -> int | None:
        """When `maintain` has something to do if nothing is appended, on the grid of Kafka's checks; None for never."""
        segments = self.store.segments
        if len(segments) == 1 and not segments[0].size and not self.producers.entries and not self._unflushed:
            return None  # an empty log, as most of `__consumer_offsets` are
        config = self.config
        check = config.log_cleaner_backoff_ms if config.compact else config.log_retention_check_interval_ms
        times = [_tick(retention.next_expiry_ms(segments, self._bounds(), config, now_ms), check, now_ms)]
        if config.compact:
            due = compaction.next_round_ms(segments, self._first_dirty(), config, now_ms)
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
            self._start_at(after)
        for segment in segments:
            self.store.remove(segment)
        self._note(Kind.LOG_DELETED, reason, {"start": self.start_offset, "segments": len(segments)})

    def _first_dirty(self) -> int:
        """Where the dirty part begins; the whole log is dirty when the checkpoint lies outside of it."""
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
        # The first segment can go altogether; where the log begins is not to be told from the segments then.
        self.store.write_checkpoint(START_CHECKPOINT, str(self.start_offset))
        for old, batches in done.replacements:
            self.store.replace(old, batches)
        end = dirty.first_uncleanable
        known.aborted = [one for one in known.aborted if one.last_offset >= end or one in done.aborted_left]
        self.store.write_checkpoint(CLEANER_CHECKPOINT, str(end))
        payload = {"records": done.records, "left": done.left, "tombstones": done.tombstones}
        self._note(Kind.LOG_COMPACTED, "", payload)

    # --- flushing, crashing, closing -------------------------------------------------------------------------------

    def flush(self) -> None:
        """Make everything survive a crash of the machine."""
        self._active.flush()
        self._unflushed = 0

    def crash(self, *, machine: bool) -> int:
        """The process was killed, or with `machine` the whole machine; returns how many records are lost.

        The log is as its next opening finds it.
        """
        lost = self.store.lose_unflushed() if machine else 0
        self._open(self._opened_ms)
        return lost

    def close(self) -> None:
        """End in order: flush, keep the producers and the high watermark, let go of the store."""
        self.flush()
        self._keep_producers()
        self.checkpoint_high_watermark()
        self.store.close()


def _tick(due_ms: int | None, interval_ms: int, now_ms: int) -> int | None:
    """The first check after now that finds something due."""
    if due_ms is None or due_ms >= NEVER:
        return None
    return -(-max(due_ms, now_ms + 1) // interval_ms) * interval_ms
