"""Goals and baseline of an experiment: metrics, bounds in the metric's unit, the cell others are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from groupsim.pipeline.experiment.file import GoalSpec
from groupsim.pipeline.experiment.grid import GridColumn, label_among
from groupsim.pipeline.experiment.model import Goal
from groupsim.scenarios.language.mistakes import Collector, Wrong
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.values import quote

if TYPE_CHECKING:
    from groupsim.pipeline.tables.metrics import Metric


def known_metrics() -> Mapping[str, Metric]:
    """Return the metrics of the analysis, imported at the first use."""
    from groupsim.pipeline.tables.metrics import METRICS

    return METRICS


def goals_of(specs: Sequence[GoalSpec], metrics: Mapping[str, Metric]) -> tuple[Goal, ...]:
    """The goals of a file, in terms of these metrics. Raises errors for `problems_of`."""
    collector = Collector()
    found = [collector.attempt(("goals", index), _goal, spec, metrics) for index, spec in enumerate(specs)]
    collector.done()
    for index, goal in enumerate(found):
        if goal.metric in [one.metric for one in found[:index]]:
            wrong = Wrong(f"the metric `{goal.metric}` is a goal already", "keep one of the two")
            collector.mistakes.append((("goals", index), wrong))
    collector.done()
    return tuple(found)


def _goal(spec: GoalSpec, metrics: Mapping[str, Metric]) -> Goal:
    metric = spec.minimise or spec.maximise
    if metric is None or (spec.minimise and spec.maximise):
        raise Wrong("a goal has one metric", "write `minimise: …` or `maximise: …`")
    way: Literal["minimise", "maximise"] = "minimise" if spec.minimise else "maximise"
    if metric not in metrics:
        raise Wrong(f"there is no metric `{metric}`", suggest(metric, metrics, "metrics"), below=(way,))
    collector = Collector()
    at_most = collector.attempt(("at-most",), _bound, metrics[metric], spec.at_most)
    at_least = collector.attempt(("at-least",), _bound, metrics[metric], spec.at_least)
    collector.done()
    if at_most is not None and at_least is not None and at_least > at_most:
        raise Wrong("nothing is at least that and at most this", "swap the two bounds", below=("at-most",))
    return Goal(metric, way, at_most, at_least)


def _bound(metric: Metric, found: object) -> int | float | None:
    """A bound in the metric's unit. A fraction of a count stays one: means over seeds are compared with it."""
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float, str)):
        raise Wrong(f"expected a number or a duration, found {quote(found)}")
    bound = metric.parse(str(getattr(found, "text", found)))
    return float(found) if isinstance(found, float) and bound == int(found) else bound


def baseline_labels(chosen: Mapping[str, Any], columns: Sequence[GridColumn]) -> dict[str, str]:
    """Return the labels of the baseline: those of the file, and the first value of every other axis.

    Raises errors for `problems_of`.
    """
    collector = Collector()
    named = {
        axis: collector.attempt(("baseline",), label_among, columns, axis, label) for axis, label in chosen.items()
    }
    collector.done()
    return {column.name: named.get(column.name, column.axis.labels[0]) for column in columns}


def given_axes(chosen: Sequence[str], columns: Sequence[GridColumn]) -> tuple[str, ...]:
    """Return the axes that are circumstances, in the order of the grid. Raises errors for `problems_of`."""
    names = [column.name for column in columns]
    for index, axis in enumerate(chosen):
        if axis not in names:
            raise Wrong(f"there is no axis {quote(axis)}", suggest(axis, names, "axes"), below=("given", index))
    if chosen and set(chosen) >= set(names):
        raise Wrong("every axis is given, so there is nothing to choose", "leave one of them out", below=("given",))
    return tuple(name for name in names if name in chosen)
