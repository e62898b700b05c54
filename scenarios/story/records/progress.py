"""How far groups and logs had come at any instant, for who wants more than sums: expectations and pictures."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from attrs import Factory, define

Partition = tuple[str, int]  # a partition as a plain tuple: there are many events
Key = tuple[str, Partition]  # group and partition
Moments = list[tuple[int, int]]  # when, and the number from then on
Step = tuple[int, str | None, Partition, int]  # when, group (None: the log), partition, the offset it has come to


@define
class Progress:
    """The steps of groups and logs, one by one; with `instants` no more of them than those instants need."""

    instants: Sequence[int] | None = None
    done: dict[Key, Moments] = Factory(dict)
    ends: dict[Partition, Moments] = Factory(dict)

    def note(self, t_us: int, group: str | None, partition: Partition, offset: int) -> None:
        """A group has come to an offset; without a group the log ends there now."""
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
