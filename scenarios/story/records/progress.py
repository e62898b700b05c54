"""The offsets of groups and logs over time, which expectations and pictures need beside sums."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from attrs import Factory

from groupsim.protocol.values import define

Partition = tuple[str, int]  # a partition as a plain tuple, which is quick: there are many events
Key = tuple[str, Partition]  # group and partition
Moments = list[tuple[int, int]]  # a time, and the offset from then on
Step = tuple[int, str | None, Partition, int]  # time, group (None: the log), partition, new offset


@define
class Progress:
    """The steps of groups and logs in order; with `instants`, only those that these instants need."""

    instants: Sequence[int] | None = None
    done: dict[Key, Moments] = Factory(dict)
    ends: dict[Partition, Moments] = Factory(dict)

    def note(self, t_us: int, group: str | None, partition: Partition, offset: int) -> None:
        """Note that a group has reached an offset, or, without a group, that the log ends there."""
        if group is None:
            steps = self.ends.setdefault(partition, [])
        else:
            steps = self.done.setdefault((group, partition), [])
        if self.instants is not None:
            part = bisect_left(self.instants, t_us)
            while steps and (group is None or steps[-1][1] <= offset) and self._part(steps[-1][0]) == part:
                steps.pop()
        steps.append((t_us, offset))

    def _part(self, t_us: int) -> int:
        return 0 if self.instants is None else bisect_left(self.instants, t_us)
