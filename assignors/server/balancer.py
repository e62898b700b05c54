"""The choice of the members that get, and that give, the next partition of a topic.

The subscribers of a topic are sorted by their number of partitions. The low range holds the members with the fewest,
the high range those with the most. A partition goes to each member of the low range in turn; then its level rises by
one, and members that have as many join it. The high range falls in the same way. The topic is balanced when the levels
differ by at most one.

Source: `UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer`.
"""

from __future__ import annotations

from collections.abc import Sequence


class Balancer:
    """Balances the subscribers of one topic. `sizes` are the numbers of partitions of all members; the caller updates
    them.
    """

    def __init__(self, members: Sequence[int], sizes: list[int]) -> None:
        self._sizes = sizes
        self._sorted = sorted(members, key=lambda member: (sizes[member], member))
        self.imbalance = sizes[self._sorted[-1]] - sizes[self._sorted[0]]
        self._low_end, self._low_level, self._low_next = 0, sizes[self._sorted[0]] - 1, 0
        self._high_begin = self._high_end = len(self._sorted)
        self._high_level, self._high_next = sizes[self._sorted[-1]] + 1, len(self._sorted) - 1

    def is_balanced(self) -> bool:
        """Whether the levels of both ranges differ by at most one."""
        return self._high_level - self._low_level <= 1

    def next_low(self) -> int:
        """Return the member that gets the next partition."""
        if self._low_next >= self._low_end:
            self._low_level += 1
            while self._low_end < len(self._sorted) and self._size(self._low_end) == self._low_level:
                self._low_end += 1
            self._low_next = 0
        self._low_next += 1
        return self._sorted[self._low_next - 1]

    def next_high(self) -> int | None:
        """Return the member that gives the next partition; None when no member is left."""
        if self._high_next < self._high_begin:
            if self._high_end <= self._high_begin and self._high_begin > 0:
                self._high_level = self._size(self._high_begin - 1)  # all of the range were excluded
            else:
                self._high_level -= 1
            while self._high_begin > 0 and self._size(self._high_begin - 1) == self._high_level:
                self._high_begin -= 1
            self._high_next = self._high_end - 1
        if self._high_next < 0:
            return None
        self._high_next -= 1
        return self._sorted[self._high_next + 1]

    def exclude_high(self) -> None:
        """Exclude the member that `next_high` returned last: it has no partition of this topic."""
        at, last = self._high_next + 1, self._high_end - 1
        self._sorted[at], self._sorted[last] = self._sorted[last], self._sorted[at]
        self._high_end -= 1

    def _size(self, place: int) -> int:
        return self._sizes[self._sorted[place]]
