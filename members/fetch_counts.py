"""How many fetches a process has sent, how many of them brought nothing, and how long they waited at brokers.

A Fetch that stands for long polls (`members.interfaces.Renewing`) counts as these: each but the last was answered
without records after fetch.max.wait.ms. They are counted back to back, without the round trip between two of them.
"""

from __future__ import annotations

from typing import NamedTuple


class FetchCounts(NamedTuple):
    """Fetches of one process.

    sent         requests sent
    empty        of these, answered with neither records nor an error
    waited_us    time that those answered had waited at brokers
    """

    sent: int = 0
    empty: int = 0
    waited_us: int = 0

    def and_(self, other: FetchCounts) -> FetchCounts:
        """Both together."""
        return FetchCounts(self.sent + other.sent, self.empty + other.empty, self.waited_us + other.waited_us)
