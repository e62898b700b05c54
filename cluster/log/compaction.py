"""Compaction: the log keeps the last value of every key, and offsets never change.

A log has a *clean* part, which an earlier cleaning has processed, and a *dirty* part after it. A cleaning is due when
the dirty part has more than `min.cleanable.dirty.ratio` of the cleanable bytes, or when its oldest record is older than
`max.compaction.lag.ms`. A cleaning stops at the first segment that must not be cleaned: the active segment, a segment
above the last stable offset, or a segment younger than `min.compaction.lag.ms`.

A cleaning has two passes. The first pass reads the dirty part and finds the last offset of each key. The second pass
reads both parts and keeps each record that has no later record with its key. Neighbouring segments are merged up to
`segment.bytes`. A cleaning also keeps:

- A tombstone (a record without a value), so that consumers read it: the first cleaning that copies its batch writes the
  *delete horizon* into the batch, `delete.retention.ms` from now (KIP-534). A cleaning after that time drops it.
- A marker, as long as a record of its transaction is left; then the marker gets a delete horizon. Records of aborted
  transactions are dropped at once, and do not supersede other records.
- The batch with a producer's last sequence number, even when it is empty: duplicates are still detected.
- The last batch of the cleaned part, even when it is empty: it holds the end offset.

A record without a key is dropped: a compacted topic refuses it, so it is older than the topic's `cleanup.policy`. A
counted batch has no keys, and a compressed batch is not opened: both are kept unless they are aborted.

Source: `LogCleaner.Cleaner`, `LogCleanerManager.cleanableOffsets`, `CleanedTransactionMetadata`,
`MemoryRecords.filterTo`, `DefaultRecordBatch.writeEmptyHeader`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from attrs import Factory, evolve

from groupsim.cluster.config.log import LogConfig
from groupsim.cluster.log.interfaces import Segment
from groupsim.cluster.log.markers import marker_of
from groupsim.cluster.log.producer_state import Aborted, ProducerEntry
from groupsim.cluster.log.retention import largest_timestamp_ms
from groupsim.protocol.batch.batch import (
    DELETE_HORIZON,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    NO_PRODUCER,
    NO_TIMESTAMP,
    Batch,
    LogRecord,
)
from groupsim.protocol.batch.sizes import record_size
from groupsim.protocol.values import define, frozen

MAX_OFFSET_RANGE = 2**31 - 1


# --- when ------------------------------------------------------------------------------------------------------------


@frozen
class Dirty:
    """The dirty part of a log that can be cleaned: from `first_dirty` to below `first_uncleanable`."""

    first_dirty: int
    first_uncleanable: int
    clean_bytes: int
    dirty_bytes: int
    overdue: bool

    def is_due(self, config: LogConfig) -> bool:
        """Whether a cleaning is due. Source: `LogCleanerManager.grabFilthiestCompactedLog`."""
        if self.dirty_bytes == 0:
            return False
        ratio = self.dirty_bytes / (self.clean_bytes + self.dirty_bytes)
        return self.overdue or ratio > config.min_cleanable_dirty_ratio


def dirty_part(
    segments: Sequence[Segment], first_dirty: int, stable_offset: int, config: LogConfig, now_ms: int
) -> Dirty:
    """Return the part that can be cleaned now (`LogCleanerManager.cleanableOffsets`, `calculateCleanableBytes`)."""
    closed = segments[:-1]
    end = segments[-1].base_offset
    for index, segment in enumerate(closed):
        after = segments[index + 1].base_offset
        young = largest_timestamp_ms(segment) > now_ms - config.min_compaction_lag_ms
        if after > stable_offset or (config.min_compaction_lag_ms > 0 and after > first_dirty and young):
            end = segment.base_offset
            break
    dirty = [segment for segment in _holding(closed, first_dirty) if segment.base_offset < end]
    return Dirty(
        first_dirty,
        end,
        sum(segment.size for segment in segments if segment.base_offset < min(first_dirty, end)),
        sum(segment.size for segment in dirty),
        _oldest_ms(_holding(closed, first_dirty)) < now_ms - config.max_compaction_lag_ms,
    )


def next_cleaning_ms(segments: Sequence[Segment], first_dirty: int, config: LogConfig, now_ms: int) -> int | None:
    """Return the earliest time at which a cleaning can be due if nothing is appended; None for never.

    The last stable offset is taken for the end offset; the caller asks again until it is.
    """
    end = segments[-1].base_offset
    if dirty_part(segments, first_dirty, end, config, now_ms).is_due(config):
        return now_ms
    times = []
    waiting = [segment for segment in _holding(segments[:-1], first_dirty) if segment.size]
    if waiting:
        times.append(_oldest_ms(waiting) + config.max_compaction_lag_ms + 1)
        times += [largest_timestamp_ms(segment) + config.min_compaction_lag_ms for segment in waiting]
    return min((time for time in times if time > now_ms), default=None)


def _holding(segments: Sequence[Segment], offset: int) -> list[Segment]:
    """Return the segment that holds the offset, and all after it."""
    first = 0
    for index, segment in enumerate(segments):
        if segment.base_offset <= offset:
            first = index
    return list(segments[first:])


def _oldest_ms(segments: Iterable[Segment]) -> int:
    """Return the smallest timestamp of the segments' first batches (`LogSegment.getFirstBatchTimestamp`)."""
    firsts = (next(segment.batches(), None) for segment in segments)
    times = (batch.max_timestamp_ms for batch in firsts if batch is not None and batch.max_timestamp_ms > 0)
    return min(times, default=2**63 - 1)


# --- what ------------------------------------------------------------------------------------------------------------


@define
class Cleaning:
    """The result of a cleaning: groups of segments with the batches that replace them, and counts of records."""

    replacements: list[tuple[list[Segment], list[Batch]]] = Factory(list)
    aborted_left: set[Aborted] = Factory(set)
    records: int = 0
    left: int = 0
    tombstones: int = 0


def clean(
    segments: Sequence[Segment],
    dirty: Dirty,
    producers: Mapping[int, ProducerEntry],
    aborted: Sequence[Aborted],
    config: LogConfig,
    now_ms: int,
) -> Cleaning:
    """Compute one cleaning; the segments stay unchanged. Source: `Cleaner.doClean`."""
    below = [segment for segment in segments if segment.base_offset < dirty.first_uncleanable]
    keys = _last_offsets(_holding(below, dirty.first_dirty), dirty.first_dirty, aborted)
    done = Cleaning()
    cleaner = _Cleaner(keys, dirty.first_uncleanable, producers, _CleanedTransactions(aborted), config, now_ms, done)
    for group in _groups(below, dirty.first_uncleanable, config.segment_bytes):
        kept: list[Batch] = []
        changed = len(group) > 1
        for batch in chain.from_iterable(segment.batches() for segment in group):  # they are too many for a list
            new = cleaner.clean(batch)
            changed = changed or new is not batch
            if new is not None:
                kept.append(new)
        if changed:
            done.replacements.append((group, kept))
    done.aborted_left = cleaner.transactions.observed
    return done


def _last_offsets(segments: Sequence[Segment], first_dirty: int, aborted: Sequence[Aborted]) -> dict[bytes, int]:
    """Return the last offset of each key in the dirty part. Source: `Cleaner.buildOffsetMap`."""
    transactions = _CleanedTransactions(aborted)
    keys: dict[bytes, int] = {}
    for segment in segments:
        for batch in segment.batches(first_dirty):
            if transactions.discards(batch) or batch.is_control or batch.raw is not None:
                continue
            for record in batch.records or ():
                if record.key is not None:
                    keys[record.key] = batch.base_offset + record.offset_delta
    return keys


def _groups(segments: Sequence[Segment], end: int, max_bytes: int) -> Iterator[list[Segment]]:
    """Yield groups of neighbours that fit into one segment, in bytes and relative offsets (`groupSegmentsBySize`)."""
    group: list[Segment] = []
    size = 0
    for index, segment in enumerate(segments):
        last = (segments[index + 1].base_offset if index + 1 < len(segments) else end) - 1
        if group and (size + segment.size > max_bytes or last - group[0].base_offset > MAX_OFFSET_RANGE):
            yield group
            group, size = [], 0
        group.append(segment)
        size += segment.size
    if group:
        yield group


class _CleanedTransactions:
    """The transactions of a pass over a log in order of offsets. Source: `CleanedTransactionMetadata`."""

    def __init__(self, aborted: Sequence[Aborted]) -> None:
        self._ahead = sorted(aborted, key=lambda one: one.first_offset, reverse=True)
        self._aborting: dict[int, Aborted] = {}
        self._committing: dict[int, bool] = {}
        self._seen: set[Aborted] = set()
        self.observed: set[Aborted] = set()
        """Aborted transactions of which a batch is left: consumers still need them to filter records."""

    def discards(self, batch: Batch) -> bool:
        """Whether the content can be dropped: aborted records, or a marker without a batch of its transaction."""
        while self._ahead and self._ahead[-1].first_offset <= batch.last_offset:
            one = self._ahead.pop()
            self._aborting[one.producer_id] = one
        if batch.is_control:
            return self._discards_marker(batch)
        if not batch.is_transactional:
            return False
        aborting = self._aborting.get(batch.producer_id)
        if aborting is None:
            self._committing[batch.producer_id] = True
            return False
        self._seen.add(aborting)
        return True

    def _discards_marker(self, batch: Batch) -> bool:
        marker = marker_of(batch)
        if marker is None:
            return not batch.records
        if marker.committed:
            return not self._committing.pop(batch.producer_id, False)
        aborting = self._aborting.pop(batch.producer_id, None)
        if aborting is None or aborting not in self._seen:
            return True
        self.observed.add(aborting)
        return False


@define
class _Cleaner:
    """The second pass: filters the records of each batch. Source: `Cleaner.cleanInto`, `MemoryRecords.filterTo`."""

    keys: Mapping[bytes, int]
    end: int
    producers: Mapping[int, ProducerEntry]
    transactions: _CleanedTransactions
    config: LogConfig
    now_ms: int
    done: Cleaning

    def clean(self, batch: Batch) -> Batch | None:
        """Return the batch itself if nothing changes, a smaller batch, or None if it is dropped."""
        can_go = self.transactions.discards(batch)
        discard = can_go and (not batch.is_control or self._is_past_horizon(batch))
        records = batch.records
        self.done.records += batch.count if records is None else len(records)
        if not discard and (records is None or batch.raw is not None):
            self.done.left += batch.count if records is None else len(records)
            return batch
        left = () if discard or records is None else tuple(self._retained_records(batch, records))
        if left:
            return self._copy(batch, left, can_go and batch.is_control)
        if self._retains_empty(batch):
            return batch if not records and batch.size == HEADER_BYTES else _empty_copy(batch)
        return None

    def _retained_records(self, batch: Batch, records: tuple[LogRecord, ...]) -> Iterator[LogRecord]:
        if batch.is_control:
            yield from records
            return
        past = self._is_past_horizon(batch)
        for record in records:
            if record.key is None or (record.value is None and past):
                continue
            if batch.base_offset + record.offset_delta >= self.keys.get(record.key, -1):
                yield record

    def _copy(self, batch: Batch, left: tuple[LogRecord, ...], marker_without_records: bool) -> Batch:
        tombstones = 0 if batch.is_control else sum(record.value is None for record in left)
        self.done.left += len(left)
        self.done.tombstones += tombstones
        needs_horizon = (tombstones > 0 or marker_without_records) and not batch.attributes & DELETE_HORIZON
        if len(left) == len(batch.records or ()) and not needs_horizon:
            return batch
        horizon = self.now_ms + self.config.delete_retention_ms if needs_horizon else None
        return _rewrite(batch, left, horizon)

    def _is_past_horizon(self, batch: Batch) -> bool:
        return bool(batch.attributes & DELETE_HORIZON) and batch.timestamp_ms <= self.now_ms

    def _retains_empty(self, batch: Batch) -> bool:
        if batch.next_offset == self.end:
            return True
        entry = self.producers.get(batch.producer_id) if batch.producer_id != NO_PRODUCER else None
        if entry is None:
            return False
        # Without a data batch the producer's last marker is kept, which has its epoch (`isBatchLastRecordOfProducer`).
        if entry.batches:
            return batch.last_offset == entry.batches[-1].last_offset
        return batch.is_control and batch.producer_epoch == entry.epoch


def _rewrite(batch: Batch, left: tuple[LogRecord, ...], horizon: int | None) -> Batch:
    """Copy a batch with these records; a delete horizon is written in place of the base timestamp (KIP-534)."""
    base = batch.timestamp_ms
    if horizon is not None:
        base = horizon
    elif not batch.attributes & DELETE_HORIZON:
        base = batch.timestamp_ms + left[0].timestamp_delta
    moved = batch.timestamp_ms - base
    if moved:
        left = tuple(evolve(record, timestamp_delta=record.timestamp_delta + moved) for record in left)
    newest = max(base + record.timestamp_delta for record in left)
    return evolve(
        batch,
        size=HEADER_BYTES + sum(map(record_size, left)),
        timestamp_ms=base,
        max_timestamp_ms=batch.max_timestamp_ms if batch.attributes & LOG_APPEND_TIME else newest,
        attributes=batch.attributes | (DELETE_HORIZON if horizon is not None else 0),
        records=left,
    )


def _empty_copy(batch: Batch) -> Batch:
    """Copy the header alone: it keeps the offsets, the producer and the sequence numbers (`writeEmptyHeader`)."""
    attributes = batch.attributes & ~DELETE_HORIZON & ~0x07
    return evolve(batch, size=HEADER_BYTES, timestamp_ms=NO_TIMESTAMP, attributes=attributes, records=(), raw=None)
