"""Members by their number of partitions, fewest first: Java's `TreeSet` ordered by (size, member id).

A member is a number, its place among the ids in Java's string order, so that an entry is one integer: count times the
number of members, plus the member. The entries are one sorted list.

Source: `AbstractStickyAssignor.SubscriptionComparator`; assignors reference, section 4.3.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeAlias

_Best: TypeAlias = Callable[[Iterable[int]], int]


class Load:
    """Counts of partitions, and the order of members by them."""

    def __init__(self, counts: Sequence[int]) -> None:
        self.count = list(counts)
        self._members = len(self.count)
        self._order = sorted(map(self._entry, range(self._members)))

    def _entry(self, member: int) -> int:
        return self.count[member] * self._members + member

    def add(self, member: int, partitions: int) -> None:
        """Add partitions to (or subtract them from) the count of a participating member."""
        entry = self._entry(member)
        del self._order[bisect_left(self._order, entry)]
        insort(self._order, entry + partitions * self._members)
        self.count[member] += partitions

    def add_all(self, members: Iterable[int]) -> None:
        """Add one to each of the members, as often as it is named; cheaper than one by one."""
        for member in members:
            self.count[member] += 1
        self._order = sorted(self._entry(entry % self._members) for entry in self._order)

    def drop(self, members: Iterable[int]) -> None:
        """Remove members from the order; their counts stay."""
        gone = {self._entry(member) for member in members}
        self._order = [entry for entry in self._order if entry not in gone]

    def restore(self, counts: Sequence[int]) -> None:
        """Restore earlier counts, with the members that take part now."""
        members = [entry % self._members for entry in self._order]
        self.count = list(counts)
        self._order = sorted(map(self._entry, members))

    @property
    def least(self) -> int:
        """The smallest count of a member in the order."""
        return self._order[0] // self._members

    @property
    def most(self) -> int:
        """The largest count of a member in the order."""
        return self._order[-1] // self._members

    def __len__(self) -> int:
        return len(self._order)

    def ascending(self) -> list[int]:
        """Return the members, least loaded first, in the present order."""
        return [entry % self._members for entry in self._order]

    def lightest(self, among: Collection[int]) -> int | None:
        """Return the first member of the order that is in `among`."""
        return self._first(self._order, among, min)

    def heaviest(self, among: Collection[int]) -> int | None:
        """Return the last member of the order that is in `among`."""
        return self._first(reversed(self._order), among, max)

    def _first(self, entries: Iterable[int], among: Collection[int], best: _Best) -> int | None:
        # Walking the order meets a member of `among` after members / len(among) steps on average; checking each of
        # `among` costs len(among). The smaller one wins.
        members = self._members
        if len(among) ** 2 < members:
            return best(map(self._entry, among)) % members if among else None
        for entry in entries:
            if entry % members in among:
                return entry % members
        return None
