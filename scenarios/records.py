"""The account of the records: delivered once, again, or passed over.

Deliveries stand in the trace as ranges (base offset, count). Per partition of a group the ranges are merged; what is
covered twice was delivered again, a hole between two ranges was never delivered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import frozen

from groupsim.eventloop.events import Kind

if TYPE_CHECKING:
    from groupsim.scenarios.evidence import Evidence


@frozen
class Account:
    """What became of a group's records."""

    delivered: int
    again: int
    never: int
    first_gap: str


def account(evidence: Evidence, group: str) -> Account:
    """The account of one group, over all its partitions."""
    ranges: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for event in evidence.events:
        if event.kind is Kind.RECORDS_DELIVERED and event.group in (None, group) and event.topic is not None:
            payload = event.payload or {}
            base = int(payload.get("base", 0))
            ranges.setdefault((event.topic, event.partition or 0), []).append(
                (base, base + int(payload.get("count", 0)))
            )
    delivered = again = never = 0
    first_gap = ""
    for (topic, partition), spans in sorted(ranges.items()):
        total, covered, gaps = merge(spans)
        delivered += total
        again += total - covered
        never += sum(end - begin for begin, end in gaps)
        if gaps and not first_gap:
            first_gap = f"{topic}-{partition}: offsets {gaps[0][0]} to {gaps[0][1] - 1}"
    return Account(delivered, again, never, first_gap)


def merge(spans: Iterable[tuple[int, int]]) -> tuple[int, int, list[tuple[int, int]]]:
    """Length of all spans together, length they cover, and the holes between them."""
    total = covered = 0
    gaps: list[tuple[int, int]] = []
    reached: int | None = None
    for begin, end in sorted(spans):
        total += end - begin
        if reached is not None and begin > reached:
            gaps.append((reached, begin))
        start = begin if reached is None else max(begin, reached)
        covered += max(end - start, 0)
        reached = end if reached is None else max(reached, end)
    return total, covered, gaps
