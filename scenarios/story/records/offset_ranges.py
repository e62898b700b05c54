"""Sets of offsets, as sorted ranges that neither touch nor overlap."""

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
        """Return the number of its offsets."""
        return sum(self.ends) - sum(self.begins)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield its ranges, as [begin, end)."""
        return zip(self.begins, self.ends, strict=True)

    def add(self, begin: int, end: int) -> int:
        """Add [begin, end); return how many of these offsets it had already."""
        if self.ends and begin == self.ends[-1]:  # nearly always: it continues the last range
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
        """Return its ranges within [begin, end)."""
        first = bisect_right(self.ends, begin)
        last = bisect_left(self.begins, end)
        return [
            (max(b, begin), min(e, end)) for b, e in zip(self.begins[first:last], self.ends[first:last], strict=True)
        ]

    def gaps(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Return the ranges of [begin, end) that it lacks."""
        found = []
        for b, e in self.within(begin, end):
            if b > begin:
                found.append((begin, b))
            begin = e
        if begin < end:
            found.append((begin, end))
        return found

    def count(self, begin: int, end: int) -> int:
        """Return the number of its offsets in [begin, end)."""
        return sum(e - b for b, e in self.within(begin, end))

    def cut(self, at: int) -> int:
        """Remove everything from `at` on; return the number of removed offsets."""
        before = len(self)
        keep = bisect_left(self.begins, at)
        del self.begins[keep:], self.ends[keep:]
        if self.ends and self.ends[-1] > at:
            self.ends[-1] = at
        return before - len(self)
