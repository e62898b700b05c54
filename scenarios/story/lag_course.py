"""The lag at any instant, for who wants more than its end, its maximum and its area: expectations and pictures.

It is worked out when it is asked for: the log end from what made the log grow, what is done from the steps so far.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from groupsim.eventloop.events import TraceEvent
from groupsim.protocol.messages import TopicPartition
from groupsim.scenarios.story.books import Key, Moments, keep_books
from groupsim.scenarios.story.gather import gather
from groupsim.scenarios.story.growth import LogEnds, changes


class LagCourse:
    """How the lag of groups went in one run."""

    def __init__(self, events: Iterable[TraceEvent]) -> None:
        facts = gather(events)
        self._books = keep_books(facts)
        said = (facts.log_ends.payload or {}) if facts.log_ends is not None else {}
        self._changes = changes(said.get("growth", ()))
        self._done: dict[Key, Moments] = {}
        for t_us, group, partition, offset in self._books.steps:
            self._done.setdefault((group, partition), []).append((t_us, offset))

    def at(self, group: str, partition: TopicPartition, t_us: int) -> int:
        """The lag of a partition after everything that falls on an instant; 0 where there is no such log."""
        end, since_us = self._end(partition, t_us)
        return max(0, end - self._come_to((group, partition), since_us, t_us))

    def series(self, group: str, partitions: Sequence[TopicPartition], moments: Iterable[int]) -> list[tuple[int, int]]:
        """The lag of these partitions together, at each of these instants."""
        return [(t_us, sum(self.at(group, tp, t_us) for tp in partitions)) for t_us in moments]

    def _end(self, partition: TopicPartition, t_us: int) -> tuple[int, int]:
        """The log end at an instant, and since when there is this log."""
        log = self._books.logs.get(partition)
        if not self._changes and log is not None:
            index = bisect_right(log.steps, t_us, key=lambda step: step[0])
            return (log.steps[index - 1][1] if index else 0), 0
        ends: LogEnds | None = None
        since_us = 0
        for change in self._changes:
            if change.topic != partition.topic or change.t_us > t_us:
                continue
            if change.make is not None:
                ends, since_us = change.make(change.t_us), change.t_us
            elif change.change is not None and ends is not None:
                change.change(ends, change.t_us)
            else:
                ends = None
        if ends is None or partition.partition >= ends.partitions:
            return 0, since_us
        return ends.end(partition.partition, t_us), since_us

    def _come_to(self, key: Key, since_us: int, t_us: int) -> int:
        """Up to where the group had come: as `lag.py` has it."""
        book = self._books.books.get(key)
        first = next((offset for at_us, offset in book.places if at_us >= since_us), 0) if book is not None else 0
        done = (offset for at_us, offset in self._done.get(key, ()) if since_us <= at_us <= t_us)
        return max(first, max(done, default=0))
