"""Which segments are old enough, or too many, to be deleted: always the oldest ones, whole, in a row.

Three rules, in this order: a segment that lies before the log's start offset (DeleteRecords moved it) goes whatever
`cleanup.policy` says; with `delete` also one without which the log still has `retention.bytes`, and one whose newest
record is older than `retention.ms`. Nothing at or above the high watermark goes, and the first segment that stays
protects all behind it. The active segment can go too, when it is not empty; the log rolls a new one first.

Source: `UnifiedLog.deleteOldSegments` and the three functions it calls, `LocalLog.deletableSegments`,
`LogSegment.largestTimestamp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from groupsim.cluster.config.log import LogConfig
from groupsim.cluster.log.interfaces import Segment

Rule = Callable[[Segment, Segment | None], bool]
"""May this segment be deleted? The second one is its successor, None for the active segment."""


class Bounds(NamedTuple):
    """The offsets of a log that decide about deletion."""

    start_offset: int
    high_watermark: int
    end_offset: int


def expired(
    segments: Sequence[Segment], bounds: Bounds, config: LogConfig, now_ms: int
) -> tuple[str, list[Segment]] | None:
    """The first rule that has something to delete, and the segments; None when nothing is."""
    for reason, rule in _rules(segments, bounds, config, now_ms):
        found = _prefix(segments, bounds, rule)
        if found:
            return reason, found
    return None


def next_expiry_ms(segments: Sequence[Segment], bounds: Bounds, config: LogConfig, now_ms: int) -> int | None:
    """The earliest time at which a segment can be deleted if nothing is appended; None for never.

    What only the high watermark protects counts as deletable now: it is asked for again until it goes.
    """
    above = bounds._replace(high_watermark=bounds.end_offset)
    if expired(segments, above, config, now_ms):
        return now_ms
    first = segments[0]
    if not config.delete or config.retention_ms < 0 or (len(segments) == 1 and first.size == 0):
        return None
    return largest_timestamp_ms(first) + config.retention_ms + 1


def largest_timestamp_ms(segment: Segment) -> int:
    """The newest record's timestamp; the time of its making for a segment without timestamps."""
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
