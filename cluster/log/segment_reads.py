"""Reads from a sequence of segments by offset, by timestamp and by bytes, without leaders, epochs or watermarks.

Source: `LocalLog.read`, `LogSegment.read`, `UnifiedLog.fetchOffsetByTimestamp`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from groupsim.cluster.log.interfaces import Found, Segment
from groupsim.protocol.batch.batch import LOG_APPEND_TIME, Batch, LogRecord
from groupsim.protocol.batch.compression import opened


def read(segments: Sequence[Segment], offset: int, limit: int, max_bytes: int, at_least_one: bool) -> tuple[Batch, ...]:
    """Return batches of one segment from the one that holds the offset (or follows it), that begin before `limit`."""
    for index in range(segment_index(segments, offset), len(segments)):
        found: list[Batch] = []
        left = max_bytes
        for batch in segments[index].batches(offset):
            left -= batch.size
            if batch.base_offset >= limit or (left < 0 and (found or not at_least_one)):
                return tuple(found)
            found.append(batch)
        if found:
            return tuple(found)
    return ()


def read_range(segments: Sequence[Segment], from_offset: int, up_to: int) -> Iterator[Batch]:
    """Yield the batches of all segments from the one that holds `from_offset`, that begin before `up_to`."""
    for segment in segments[segment_index(segments, from_offset) :]:
        for batch in segment.batches(from_offset):
            if batch.base_offset >= up_to:
                return
            yield batch


def bytes_between(segments: Sequence[Segment], offset: int, up_to: int) -> int:
    """Return the bytes of the batches from the one that holds `offset`, that begin before `up_to`."""
    if offset >= up_to:
        return 0
    first, last = segment_index(segments, offset), segment_index(segments, up_to)
    holder = next(segments[first].batches(offset), None)
    total = -segments[first].position(offset if holder is None else holder.base_offset)
    total += sum(segment.size for segment in segments[first:last])
    return max(total + segments[last].position(up_to), 0)


def find_time(segments: Sequence[Segment], timestamp_ms: int, start_offset: int) -> Found | None:
    """Return the first record at or after the log's start with this timestamp or a later one."""
    for segment in segments:
        if segment.max_timestamp_ms < timestamp_ms or segment.next_offset <= start_offset:
            continue
        found = segment.find_time(timestamp_ms)
        if found is not None and found.offset < start_offset:
            later = (first_not_older(batch, timestamp_ms, start_offset) for batch in segment.batches(start_offset))
            found = next((one for one in later if one is not None), None)
        if found is not None:
            return found
    return None


def find_max_time(segments: Sequence[Segment]) -> tuple[Found, int] | None:
    """Return the first record with the largest timestamp, and its leader epoch; None without timestamps.

    In a compressed batch that cannot be opened it is the first record.
    """
    newest = max(segments, key=lambda segment: segment.max_timestamp_ms)
    largest = newest.max_timestamp_ms
    if largest < 0:
        return None
    for batch in newest.batches():
        found = first_not_older(batch, largest) if batch.max_timestamp_ms == largest else None
        if found is not None:
            return found, batch.leader_epoch
    return None


def segment_index(segments: Sequence[Segment], offset: int) -> int:
    """Return the index of the segment to which the offset belongs."""
    last = len(segments) - 1
    if not last or offset >= segments[last].base_offset:
        return last
    return max(bisect_right(segments, offset, key=lambda segment: segment.base_offset) - 1, 0)


def segment_base(segments: Sequence[Segment], offset: int) -> int:
    """Return the base offset of the segment to which the offset belongs."""
    return segments[segment_index(segments, offset)].base_offset


def first_not_older(batch: Batch, timestamp_ms: int, from_offset: int = 0) -> Found | None:
    """Return the first record of a batch, at or after an offset, with this timestamp or a later one.

    A counted batch has two known timestamps, of its first and last record; with LogAppendTime all records have the
    batch's. If a compressed batch cannot be opened, all its records count with the largest timestamp.
    """
    records = opened(batch)
    if batch.attributes & LOG_APPEND_TIME or (records is None and batch.raw is not None):
        found = Found(max(batch.base_offset, from_offset), batch.max_timestamp_ms)
        return found if found.timestamp_ms >= timestamp_ms and found.offset <= batch.last_offset else None
    for found in _times(batch, records):
        if found.timestamp_ms >= timestamp_ms and found.offset >= from_offset:
            return found
    return None


def _times(batch: Batch, records: tuple[LogRecord, ...] | None) -> Iterator[Found]:
    if records is None:
        yield Found(batch.base_offset, batch.timestamp_ms)
        yield Found(batch.last_offset, batch.max_timestamp_ms)
    for record in records or ():
        yield Found(batch.base_offset + record.offset_delta, batch.timestamp_ms + record.timestamp_delta)


def records_in(batch: Batch) -> int:
    """Return the number of records in a batch; after compaction it is lower than `count`."""
    return batch.count if batch.records is None else len(batch.records)
