"""Counts of a process's fetches: sent, answered without records, and the time they waited at brokers.

A Fetch that stands for several long polls (`members.interfaces.Renewing`) counts as all of them: each but the last was
answered without records after fetch.max.wait.ms. They count back to back, without the round trips between them.
"""

from __future__ import annotations

from typing import NamedTuple


class FetchCounts(NamedTuple):
    """Counts of one process.

    sent         requests sent
    empty        requests answered with neither records nor an error
    waited_us    time that answered requests had waited at brokers
    """

    sent: int = 0
    empty: int = 0
    waited_us: int = 0

    def and_(self, other: FetchCounts) -> FetchCounts:
        """Return the sum of both."""
        return FetchCounts(self.sent + other.sent, self.empty + other.empty, self.waited_us + other.waited_us)
