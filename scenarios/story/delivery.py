"""Records delivered, and delivered again: ranges of offsets per group and partition."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter

from attrs import Factory, define

from groupsim.protocol.messages import TopicPartition
from groupsim.scenarios.story.facts import Facts


@define
class Deliveries:
    """Totals by group, duplicates also by the process that was given them."""

    delivered: Counter[str] = Factory(Counter)
    duplicates: Counter[str] = Factory(Counter)
    duplicates_by_host: Counter[str] = Factory(Counter)


class Ranges:
    """A set of offsets, kept as sorted ranges that neither touch nor overlap."""

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []

    def add(self, begin: int, end: int) -> int:
        """Put [begin, end) in; returns how many of its offsets were there already."""
        first = bisect_left(self.ends, begin)
        last = bisect_right(self.begins, end)
        known = sum(
            max(0, min(e, end) - max(b, begin))
            for b, e in zip(self.begins[first:last], self.ends[first:last], strict=True)
        )
        if last > first:
            begin, end = min(begin, self.begins[first]), max(end, self.ends[last - 1])
        self.begins[first:last] = [begin]
        self.ends[first:last] = [end]
        return known


def deliveries(facts: Facts) -> Deliveries:
    """Count what every group was given, and what it was given before."""
    result = Deliveries()
    seen: dict[tuple[str, TopicPartition], Ranges] = {}
    for event in facts.delivery:
        host = event.host or "?"
        group = event.group or facts.host(host).group or "?"
        payload = event.payload or {}
        base, count = int(payload.get("base", 0)), int(payload.get("count", 0))
        partition = TopicPartition(event.topic or "?", event.partition or 0)
        again = seen.setdefault((group, partition), Ranges()).add(base, base + count)
        result.delivered[group] += count
        result.duplicates[group] += again
        result.duplicates_by_host[host] += again
    return result
