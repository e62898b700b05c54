"""The effect of each axis: the change of one axis alone, on average over the settings of all other axes.

For every value of an axis and the value the baseline has there, each pair of cells that differ in this axis only is a
context. Per seed the differences of all contexts are averaged; over the seeds of these averages go the interval and the
test of `significance`. Seeds that a cell of any context lacks are left out. The disagreement of the contexts is shown
by the extremes of their means: an effect from -9 s to +3 s depends on the other settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from groupsim.pipeline.analysis.answer import NOTHING, Effect, StatedGoal
from groupsim.pipeline.analysis.cells import verdict
from groupsim.pipeline.analysis.intervals import Interval, Pooled, mean
from groupsim.pipeline.analysis.observations import Observed
from groupsim.pipeline.analysis.significance import holm, sign_flip

Labels = Mapping[int, Mapping[str, str]]


def effects(cells: Mapping[int, Observed], labels: Labels, baseline: int, goals: Sequence[StatedGoal]) -> list[Effect]:
    """The effects of every value of every axis on these goals, Holm-corrected per goal, in the order of the axes."""
    found: list[Effect] = []
    for goal in goals:
        family = [
            _effect(cells, pairs, axis, value, labels[baseline][axis], goal)
            for axis in labels[baseline]
            for value, pairs in _contexts(labels, axis, labels[baseline][axis]).items()
        ]
        corrected = holm([one.p for one in family])
        found += [_judged(one, p, goal) for one, p in zip(family, corrected, strict=True)]
    return found


def _contexts(labels: Labels, axis: str, base: str) -> dict[str, list[tuple[int, int]]]:
    """Value of the axis → the pairs (cell with it, cell with the base value) that agree in every other axis."""
    bases = {_others(one, axis): cell for cell, one in labels.items() if one[axis] == base}
    found: dict[str, list[tuple[int, int]]] = {}
    for cell, one in labels.items():
        if one[axis] != base:
            other = bases.get(_others(one, axis))
            found.setdefault(one[axis], [])
            if other is not None:
                found[one[axis]].append((cell, other))
    return found


def _others(labels: Mapping[str, str], axis: str) -> tuple[str, ...]:
    return tuple(value for name, value in labels.items() if name != axis)


def _values(cell: Observed, goal: StatedGoal) -> dict[int, int]:
    """Seed → value: of a pooled metric the quantile within the run."""
    which = goal.of.quantile
    if which is None:
        return cell.values.get(goal.metric, {})
    return dict(zip(cell.done, Pooled(cell.clusters(goal.of.pool, cell.done), which).within(), strict=True))


def _effect(
    cells: Mapping[int, Observed], pairs: Sequence[tuple[int, int]], axis: str, value: str, base: str, goal: StatedGoal
) -> Effect:
    known = [
        (_values(cells[one], goal), _values(cells[other], goal)) for one, other in pairs if {one, other} <= set(cells)
    ]
    seeds = (
        [seed for seed in known[0][0] if all(seed in one and seed in other for one, other in known)] if known else []
    )
    sums = [sum(one[seed] - other[seed] for one, other in known) for seed in seeds]
    each = [sum(one[seed] - other[seed] for seed in seeds) / len(seeds) for one, other in known] if seeds else []
    found = mean(sums) if seeds else Interval(None)
    middle, low, high = (None if end is None else end / len(known) for end in (found.value, found.low, found.high))
    p = sign_flip(sums) if seeds else 1.0
    return Effect(
        axis=axis,
        value=value,
        base=base,
        metric=goal.metric,
        contexts=len(known),
        seeds=len(seeds),
        difference=middle,
        low=low,
        high=high,
        p=p,
        p_corrected=p,
        verdict=NOTHING,
        least=min(each, default=None),
        most=max(each, default=None),
    )


def _judged(one: Effect, p: float, goal: StatedGoal) -> Effect:
    judged = verdict(one.difference, one.low, one.high, one.seeds, p, goal.sign, (None, None))
    return attrs.evolve(one, p_corrected=p, verdict=judged)
