"""Retention: finds the segments to delete, always whole segments from the oldest on.

Three rules apply in this order. With every `cleanup.policy`, a segment below the log's start offset (after
DeleteRecords) is deleted. With `delete`, a segment is deleted if the log has `retention.bytes` without it, or if its
newest record is older than `retention.ms`. Records at or above the high watermark are never deleted, nor a segment
after one that is kept. A non-empty active segment can be deleted too; the log rolls first (`deleteOldSegments`).

Source: `UnifiedLog.deleteOldSegments` and the three functions it calls, `LocalLog.deletableSegments`,
`LogSegment.largestTimestamp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from groupsim.cluster.config.log import LogConfig
from groupsim.cluster.log.interfaces import Segment

Rule = Callable[[Segment, Segment | None], bool]
"""Whether this segment may be deleted; the second argument is its successor, None for the active segment."""


class Bounds(NamedTuple):
    """The offsets of a log that limit retention."""

    start_offset: int
    high_watermark: int
    end_offset: int


def expired(
    segments: Sequence[Segment], bounds: Bounds, config: LogConfig, now_ms: int
) -> tuple[str, list[Segment]] | None:
    """Return the first rule that applies and its segments; None if there is nothing to delete."""
    for reason, rule in _rules(segments, bounds, config, now_ms):
        found = _prefix(segments, bounds, rule)
        if found:
            return reason, found
    return None


def next_expiry_ms(segments: Sequence[Segment], bounds: Bounds, config: LogConfig, now_ms: int) -> int | None:
    """Return the earliest time at which a segment can be deleted if nothing is appended; None for never.

    A segment that only the high watermark protects counts as deletable now; the caller asks again until it is deleted.
    """
    above = bounds._replace(high_watermark=bounds.end_offset)
    if expired(segments, above, config, now_ms):
        return now_ms
    first = segments[0]
    if not config.delete or config.retention_ms < 0 or (len(segments) == 1 and first.size == 0):
        return None
    return largest_timestamp_ms(first) + config.retention_ms + 1


def largest_timestamp_ms(segment: Segment) -> int:
    """Return the newest record's timestamp; for a segment without timestamps its time of creation."""
    return segment.max_timestamp_ms if segment.max_timestamp_ms >= 0 else segment.created_ms


def _rules(segments: Sequence[Segment], bounds: Bounds, config: LogConfig, now_ms: int) -> Iterator[tuple[str, Rule]]:
    yield "start offset", lambda _, after: after is not None and after.base_offset <= bounds.start_offset
    if not config.delete:
        return
    if config.retention_bytes >= 0:
        yield "size", _too_much(sum(segment.size for segment in segments) - config.retention_bytes)
    if config.retention_ms >= 0:
        yield "time", lambda segment, _: now_ms - largest_timestamp_ms(segment) > config.retention_ms


def _too_much(excess: int) -> Rule:
    left = excess

    def rule(segment: Segment, _: Segment | None) -> bool:
        nonlocal left
        if left - segment.size < 0:
            return False
        left -= segment.size
        return True

    return rule


def _prefix(segments: Sequence[Segment], bounds: Bounds, rule: Rule) -> list[Segment]:
    found: list[Segment] = []
    for index, segment in enumerate(segments):
        after = segments[index + 1] if index + 1 < len(segments) else None
        ends = bounds.end_offset if after is None else after.base_offset
        if bounds.high_watermark < ends or (after is None and segment.size == 0) or not rule(segment, after):
            break
        found.append(segment)
    return found
