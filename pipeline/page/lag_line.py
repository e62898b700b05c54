"""The lag of each group during the run: a line for the page of one run.

A sweep's runs have their largest lag, its area and its end in the tables; the line itself is worked out from the trace,
which the page of one run still has at hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.protocol.basics import TopicPartition
from groupsim.scenarios.story import Story
from groupsim.scenarios.story.records.lag_history import LagHistory

_POINTS = 600

Line = list[tuple[int, int]]
"""Instants (µs), and the lag of the group over all its partitions after each."""


def lag_lines(events: Sequence[TraceEvent], story: Story) -> dict[str, Line]:
    """Group → its line: `_POINTS` instants evenly apart, those at which a rebalance began or ended, and its peak.

    A group that was never behind, or with logs of unknown ends, has none.
    """
    course = LagHistory.of(events)
    partitions: dict[str, list[TopicPartition]] = {}
    for account in story.accounts:
        partitions.setdefault(account.group, []).append(account.partition)
    edges = [t_us for group in story.groups for one in group.generations for t_us in (one.began_us, one.ended_us)]
    peaks = [total.lag.most_us for total in story.totals if total.lag is not None]
    moments = sorted({*edges, *peaks, *(story.end_us * point // _POINTS for point in range(_POINTS + 1))})
    lines = {group: course.series(group, mine, moments) for group, mine in partitions.items()}
    return {group: line for group, line in lines.items() if any(lag for _, lag in line)}
