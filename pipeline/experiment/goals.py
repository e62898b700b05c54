"""Goals and baseline of an experiment: metrics, bounds in the metric's unit, the cell others are compared with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from groupsim.pipeline.experiment.file import GoalSpec
from groupsim.pipeline.experiment.grid import Column, label_among
from groupsim.pipeline.experiment.model import Goal
from groupsim.scenarios.mistakes import Collector, Wrong
from groupsim.scenarios.problems import suggest
from groupsim.scenarios.values import quote, read_duration


def goals_of(specs: Sequence[GoalSpec], metrics: Collection[str] | None) -> tuple[Goal, ...]:
    """The goals of a file; `metrics` are the names there are, None when that is not to be judged.

    Raises what `problems_of` understands.
    """
    collector = Collector()
    found = [collector.attempt(("goals", index), _goal, spec, metrics) for index, spec in enumerate(specs)]
    collector.done()
    for index, goal in enumerate(found):
        if goal.metric in [one.metric for one in found[:index]]:
            wrong = Wrong(f"the metric `{goal.metric}` is a goal already", "keep one of the two")
            collector.mistakes.append((("goals", index), wrong))
    collector.done()
    return tuple(found)


def _goal(spec: GoalSpec, metrics: Collection[str] | None) -> Goal:
    metric = spec.minimise or spec.maximise
    if metric is None or (spec.minimise and spec.maximise):
        raise Wrong("a goal has one metric", "write `minimise: …` or `maximise: …`")
    way: Literal["minimise", "maximise"] = "minimise" if spec.minimise else "maximise"
    if metrics is not None and metric not in metrics:
        raise Wrong(f"there is no metric `{metric}`", suggest(metric, metrics, "metrics"), below=(way,))
    collector = Collector()
    at_most = collector.attempt(("at-most",), _bound, metric, spec.at_most)
    at_least = collector.attempt(("at-least",), _bound, metric, spec.at_least)
    collector.done()
    if at_most is not None and at_least is not None and at_least > at_most:
        raise Wrong("nothing is at least that and at most this", "swap the two bounds", below=("at-most",))
    return Goal(metric, way, at_most, at_least)


def _bound(metric: str, found: object) -> int | float | None:
    """A bound in the metric's unit: times (`…_us`) are written as durations and kept in microseconds."""
    if found is None:
        return None
    if metric.endswith("_us"):
        return int(read_duration(found))
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise Wrong(f"expected a number, found {quote(found)}", "durations are for metrics in microseconds (`…_us`)")
    return found if isinstance(found, int) else float(found)


def baseline_labels(said: Mapping[str, Any], columns: Sequence[Column]) -> dict[str, str]:
    """The labels of the baseline: what the file says, the first value of every other axis.

    Raises what `problems_of` understands.
    """
    collector = Collector()
    named = {axis: collector.attempt(("baseline",), label_among, columns, axis, label) for axis, label in said.items()}
    collector.done()
    return {column.name: named.get(column.name, column.axis.labels[0]) for column in columns}
