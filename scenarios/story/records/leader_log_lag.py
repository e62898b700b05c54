"""The lag on logs that leaders wrote: it rises with every append and falls with every processed record.

The rules are those of `lag.py`. A truncated log may end below the offset that the group has reached; the lag is then 0
until the log has grown past it. Of several steps in one instant only the last counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import Factory

from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import define
from groupsim.scenarios.story.model import Lag
from groupsim.scenarios.story.records.lag import Key, Places, Subscription
from groupsim.scenarios.story.records.progress import Partition, Step


@define
class _Sum:
    """A lag that changes in steps: its maximum, and its area up to the last change."""

    lag: int = 0
    since_us: int = 0
    most: int = 0
    most_us: int = 0
    area_us: int = 0

    def change(self, t_us: int, lag: int) -> None:
        """Set the lag from now on."""
        self.area_us += self.lag * (t_us - self.since_us)
        self.lag, self.since_us = lag, t_us
        if lag > self.most:
            self.most, self.most_us = lag, t_us

    def at_the_end(self, end_us: int) -> Lag:
        """Return the lag at the end of the run."""
        return Lag(self.lag, self.most, self.most_us, (self.area_us + self.lag * (end_us - self.since_us)) // 1000)


@define(eq=False)
class _Cell:
    """One partition of a group."""

    group: _Whole
    done: int
    end: int
    sum: _Sum = Factory(_Sum)


@define(eq=False)
class _Whole:
    """One group during the walk."""

    cells: dict[Partition, _Cell] = Factory(dict)
    sum: _Sum = Factory(_Sum)


class LeaderLogWalk:
    """The walk through logs and groups."""

    def __init__(self) -> None:
        self._groups: dict[str, _Whole] = {}
        self._of: dict[Partition, list[_Cell]] = {}  # every group's on one partition
        self._ends: dict[Partition, int] = {}
        self._now_us = 0
        self._touched: dict[_Cell, None] = {}

    def follow(self, partitions: Iterable[Partition], groups: Mapping[str, Subscription], placed: Places) -> None:
        """Set the partitions, the groups' subscriptions and the positions of members, as far as they are known."""
        partitions = sorted(partitions)
        for name, subscription in groups.items():
            group = self._groups.setdefault(name, _Whole())
            for partition in partitions:
                tp = TopicPartition(*partition)
                if partition in group.cells or not subscription.includes(tp):
                    continue
                first = next((offset for _, offset in placed.get((name, tp), ())), 0)
                cell = group.cells[partition] = _Cell(group, first, self._ends.get(partition, 0))
                cell.sum.since_us = self._now_us
                self._of.setdefault(partition, []).append(cell)
                self._touched[cell] = None

    def through(self, steps: Iterable[Step]) -> None:
        """Walk through these steps, in order of time."""
        for t_us, name, partition, offset in steps:
            if t_us > self._now_us:
                self._settle()
                self._now_us = t_us
            if name is None:
                self._ends[partition] = offset
                for cell in self._of.get(partition, ()):
                    cell.end = offset
                    self._touched[cell] = None
                continue
            group = self._groups.get(name or "")
            mine = group.cells.get(partition) if group is not None else None
            if mine is not None and offset > mine.done:
                mine.done = offset
                self._touched[mine] = None
        self._settle()

    def _settle(self) -> None:
        """Update the lags at the end of an instant."""
        changed: dict[_Whole, int] = {}
        for cell in self._touched:
            lag = max(0, cell.end - cell.done)
            if lag != cell.sum.lag:
                changed[cell.group] = changed.get(cell.group, cell.group.sum.lag) + lag - cell.sum.lag
                cell.sum.change(self._now_us, lag)
        for group, lag in changed.items():
            group.sum.change(self._now_us, lag)
        self._touched.clear()

    def finish(self, end_us: int) -> tuple[dict[Key, Lag], dict[str, Lag]]:
        """Return the lag of every partition of a group, and that of each whole group, at the end of the run."""
        found = {
            (name, TopicPartition(*partition)): cell.sum.at_the_end(end_us)
            for name, group in self._groups.items()
            for partition, cell in group.cells.items()
        }
        return found, {name: group.sum.at_the_end(end_us) for name, group in self._groups.items()}
