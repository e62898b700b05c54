"""Records delivered, delivered again, or passed over: ranges of offsets per group and partition."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter

from attrs import Factory, define

from groupsim.protocol.messages import TopicPartition
from groupsim.scenarios.story.facts import Facts
from groupsim.scenarios.story.model import Account

Key = tuple[str, TopicPartition]


@define
class Deliveries:
    """Totals by group and by the process that was given them, and the account of each partition."""

    delivered: Counter[str] = Factory(Counter)
    duplicates: Counter[str] = Factory(Counter)
    delivered_by_host: Counter[str] = Factory(Counter)
    duplicates_by_host: Counter[str] = Factory(Counter)
    accounts: tuple[Account, ...] = ()


class Ranges:
    """A set of offsets, kept as sorted ranges that neither touch nor overlap."""

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []

    @property
    def missing(self) -> int:
        """How many offsets lie between the ranges."""
        return sum(self.begins[1:]) - sum(self.ends[:-1])

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
    """Count what every group was given, what it was given before, and what was passed over."""
    result = Deliveries()
    seen: dict[Key, Ranges] = {}
    counts: dict[Key, tuple[int, int]] = {}  # delivered, again
    for event in facts.delivery:
        host = event.host or "?"
        group = event.group or facts.host(host).group or "?"
        payload = event.payload or {}
        base, count = int(payload.get("base", 0)), int(payload.get("count", 0))
        key = (group, TopicPartition(event.topic or "?", event.partition or 0))
        if key not in seen:
            seen[key], counts[key] = Ranges(), (0, 0)
        again = seen[key].add(base, base + count)
        given, before = counts[key]
        counts[key] = given + count, before + again
        result.delivered_by_host[host] += count
        result.duplicates_by_host[host] += again
    for (group, _), (count, again) in counts.items():
        result.delivered[group] += count
        result.duplicates[group] += again
    result.accounts = tuple(
        Account(group, partition, *counts[group, partition], seen[group, partition].missing)
        for group, partition in sorted(seen)
    )
    return result
