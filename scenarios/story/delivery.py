"""Records delivered, delivered again, or passed over: ranges of offsets per group and partition."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from operator import itemgetter

from attrs import Factory, define

from groupsim.protocol.messages import TopicPartition
from groupsim.scenarios.story.facts import Facts
from groupsim.scenarios.story.model import Account


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
        if self.ends and begin == self.ends[-1]:  # as nearly always: it goes on where the last one ended
            self.ends[-1] = end
            return 0
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
    seen: dict[tuple[str, tuple[str, int]], Ranges] = {}  # a partition as a plain tuple: there are many events
    again_of: Counter[tuple[str, tuple[str, int]]] = Counter()
    given: Counter[tuple[str, tuple[str, int]]] = Counter()
    for event in facts.delivery:
        host = event.host or "?"
        group = event.group or facts.host(host).group or "?"
        payload = event.payload or {}
        base, count = payload.get("base", 0), payload.get("count", 0)
        key = (group, (event.topic or "?", event.partition or 0))
        ranges = seen.get(key)
        if ranges is None:
            ranges = seen[key] = Ranges()
        again = ranges.add(base, base + count)
        given[key] += count
        result.delivered_by_host[host] += count
        if again:
            again_of[key] += again
            result.duplicates_by_host[host] += again
    for key in sorted(seen):
        result.delivered[key[0]] += given[key]
        result.duplicates[key[0]] += again_of[key]
    result.accounts = tuple(
        Account(group, TopicPartition(*partition), given[group, partition], again_of[group, partition], ranges.missing)
        for (group, partition), ranges in sorted(seen.items(), key=itemgetter(0))
    )
    return result
