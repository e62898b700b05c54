"""Sets of offsets, kept as sorted ranges that neither touch nor overlap."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator


class Ranges:
    """A set of offsets."""

    __slots__ = ("begins", "ends")

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []

    def __len__(self) -> int:
        """How many offsets it holds."""
        return sum(self.ends) - sum(self.begins)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Its ranges, as [begin, end)."""
        return zip(self.begins, self.ends, strict=True)

    def add(self, begin: int, end: int) -> int:
        """Put [begin, end) in; returns how many of its offsets were there already."""
        if self.ends and begin == self.ends[-1]:  # as nearly always: it goes on where the last one ended
            self.ends[-1] = end
            return 0
        if begin >= end:
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

    def within(self, begin: int, end: int) -> list[tuple[int, int]]:
        """What it holds of [begin, end)."""
        first = bisect_right(self.ends, begin)
        last = bisect_left(self.begins, end)
        return [
            (max(b, begin), min(e, end)) for b, e in zip(self.begins[first:last], self.ends[first:last], strict=True)
        ]

    def gaps(self, begin: int, end: int) -> list[tuple[int, int]]:
        """What it lacks of [begin, end)."""
        found = []
        for b, e in self.within(begin, end):
            if b > begin:
                found.append((begin, b))
            begin = e
        if begin < end:
            found.append((begin, end))
        return found

    def count(self, begin: int, end: int) -> int:
        """How many offsets of [begin, end) it holds."""
        return sum(e - b for b, e in self.within(begin, end))

    def cut(self, at: int) -> int:
        """Take out everything from `at` on; returns how many offsets that were."""
        before = len(self)
        keep = bisect_left(self.begins, at)
        del self.begins[keep:], self.ends[keep:]
        if self.ends and self.ends[-1] > at:
            self.ends[-1] = at
        return before - len(self)
