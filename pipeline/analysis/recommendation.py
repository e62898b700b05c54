"""The cell to recommend: limits first, then the goals in order, each decided only where the seeds allow it.

1. Cells whose mean breaks a limit are out.
2. The cell with the best mean in the first goal leads; every cell that differs from it significantly is out.
3. Those left are tied. The second goal decides among them in the same way, then the third …
4. Of the cells that are still tied, the one nearest to the baseline: a change needs a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from groupsim.pipeline.analysis.answer import BETTER, TOO_FEW, WORSE, Comparison, Limit, StatedGoal, Statistic
from groupsim.pipeline.analysis.observations import Observed
from groupsim.pipeline.tables.metrics import METRICS
from groupsim.protocol.values import frozen

# Cells, the cell they are compared with, a goal → one corrected comparison each.
Compare = Callable[[Sequence[int], int, StatedGoal], Mapping[int, Comparison]]


@frozen
class Step:
    """One goal's turn: the leader, and the cells that are still tied with it afterwards."""

    goal: StatedGoal
    leader: int
    before: tuple[int, ...]
    tied: tuple[int, ...]


@frozen
class Choice:
    """The chosen cell, with every step on the way; `none` is chosen where no cell is left."""

    chosen: int | None
    steps: tuple[Step, ...] = ()

    @property
    def all_tied(self) -> bool:
        """Whether no goal separates any two cells."""
        return all(step.tied == step.before for step in self.steps)


def limits(cell: Observed, statistics: Mapping[str, Statistic], goals: Sequence[StatedGoal]) -> tuple[Limit, ...]:
    """How one cell stands to the limits of the goals. A cell without a value breaks none: nothing happened in it."""
    found = []
    for goal in goals:
        for bound, limit, sign in (("at most", goal.at_most, 1), ("at least", goal.at_least, -1)):
            if limit is not None:
                found.append(_limit(cell, statistics[goal.metric], bound, limit, sign))
    return tuple(found)


def _limit(cell: Observed, found: Statistic, bound: str, limit: int | float, sign: int) -> Limit:
    def keeps(value: float | None) -> bool:
        return value is None or sign * value <= sign * limit

    which = METRICS[found.metric]
    runs = cell.values.get(found.metric, {}).values() if not which.pool else cell.pools.get(which.pool, {}).values()
    worst = (max(run) if isinstance(run, list) else run for run in runs)
    end = found.high if sign > 0 else found.low
    return Limit(
        metric=found.metric,
        bound=bound,
        limit=limit,
        value=found.value,
        keeps=keeps(found.value),
        surely=keeps(found.value) and (found.value is None or (end is not None and keeps(end))),
        breaking=sum(1 for value in worst if not keeps(value)),
    )


def leader(cells: Sequence[int], means: Mapping[int, float], goal: StatedGoal, changes: Mapping[int, int]) -> int:
    """The cell with the best mean; of equals the one nearest to the baseline, then the first."""
    return min(cells, key=lambda cell: (goal.sign * means[cell], changes[cell], cell))


def choose(
    cells: Sequence[int],
    goals: Sequence[StatedGoal],
    means: Mapping[str, Mapping[int, float]],
    changes: Mapping[int, int],
    compare: Compare,
) -> Choice:
    """Choose among cells that keep the limits; `means` has goal → cell → value, for cells with one."""
    tied = tuple(cells)
    steps: list[Step] = []
    for goal in goals:
        known = [cell for cell in tied if cell in means[goal.metric]]
        if len(tied) < 2 or not known:
            continue
        first = leader(known, means[goal.metric], goal, changes)
        found = compare([cell for cell in known if cell != first], first, goal)
        left = tuple(cell for cell in tied if cell not in found or found[cell].verdict not in {WORSE, BETTER})
        steps.append(Step(goal, first, tied, left))
        tied = left
    if not tied:
        return Choice(None)
    return Choice(min(tied, key=lambda cell: (changes[cell], cell)), tuple(steps))


def too_few(comparisons: Sequence[Comparison]) -> bool:
    """Every comparison that could be made has too few seeds."""
    return bool(comparisons) and all(one.verdict == TOO_FEW for one in comparisons)


def seeds_needed(comparisons: int) -> int:
    """The fewest seeds with which a difference that every seed shows is significant among so many comparisons."""
    return next(n for n in range(6, 64) if 2 * max(1, comparisons) * 20 <= 2**n)
