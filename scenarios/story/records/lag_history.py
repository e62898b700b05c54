"""The lag at any instant, which expectations and pictures need beside its end, its maximum and its area.

It is computed on demand: the log end from the growth of the log, the offset that a group has reached from its steps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story.builder import StoryBuilder
from groupsim.scenarios.story.facts import Facts
from groupsim.scenarios.story.records.log_growth import LogEnds, changes
from groupsim.scenarios.story.records.progress import Progress


class LagHistory:
    """The lag of groups over one run, whose facts have the progress of its steps."""

    def __init__(self, facts: Facts) -> None:
        self._books = facts.ledgers
        self._progress = facts.ledgers.progress or Progress()
        self._changes = changes(facts.growth.listed or ())

    @staticmethod
    def of(events: Iterable[TraceEvent]) -> LagHistory:
        """Make it from a trace."""
        return LagHistory(StoryBuilder.of(events, Progress()).ended)

    def at(self, group: str, partition: TopicPartition, t_us: int) -> int:
        """Return the lag of a partition after all events of an instant; 0 without such a log."""
        end, since_us = self._end(partition, t_us)
        return max(0, end - self._done_until(group, partition)(since_us, t_us))

    def series(self, group: str, partitions: Sequence[TopicPartition], moments: Iterable[int]) -> list[tuple[int, int]]:
        """Return the sum of the lags of these partitions at each of these instants, earliest first.

        Walks through the run once for each partition, for any number of instants.
        """
        when = sorted(moments)
        sums = [0] * len(when)
        for partition in partitions:
            ends = self._ends(partition, when)
            done = self._done_until(group, partition)
            for index, (t_us, (end, since_us)) in enumerate(zip(when, ends, strict=True)):
                sums[index] += max(0, end - done(since_us, t_us))
        return list(zip(when, sums, strict=True))

    def _end(self, partition: TopicPartition, t_us: int) -> tuple[int, int]:
        """Return the log end at an instant, and when this log was created."""
        return next(self._ends(partition, (t_us,)))

    def _ends(self, partition: TopicPartition, when: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the log end at each of these instants, in order, and when this log was created."""
        if not self._changes and partition in self._books.logs:
            steps = self._progress.ends.get(partition, ())
            for t_us in when:
                index = bisect_right(steps, t_us, key=lambda step: step[0])
                yield (steps[index - 1][1] if index else 0), 0
            return
        mine = [change for change in self._changes if change.topic == partition.topic]
        ends: LogEnds | None = None
        since_us = at = 0
        for t_us in when:
            while at < len(mine) and mine[at].t_us <= t_us:
                ends = mine[at].after(ends)
                since_us = since_us if mine[at].make is None else mine[at].t_us
                at += 1
            known = ends is not None and partition.partition < ends.partitions
            yield (ends.end(partition.partition, t_us) if ends is not None and known else 0), since_us

    def _done_until(self, group: str, partition: TopicPartition) -> Callable[[int, int], int]:
        """Return a function of the offset that the group had reached, for instants in order; as `lag.py` defines it."""
        key = (group, partition)
        ledger, steps = self._books.ledgers.get(key), self._progress.done.get(key, [])
        places = () if ledger is None else ledger.places
        at, most, since = 0, 0, -1

        def done(since_us: int, t_us: int) -> int:
            nonlocal at, most, since
            if since_us != since:  # another log with that name: earlier steps do not count
                since = since_us
                most = next((offset for at_us, offset in places if at_us >= since_us), 0)
            while at < len(steps) and steps[at][0] <= t_us:
                if steps[at][0] >= since_us:
                    most = max(most, steps[at][1])
                at += 1
            return most

        return done
