"""The experiment file as values, and their decoding from its text.

The classes are the format, as in `scenarios/language/model.py`: a class is a mapping of the file, a field is a key.
What is free (the values of an axis, the scenario) is judged where its meaning is known (`grid.py`, `load.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.protocol.values import frozen
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.values import Count, Positive


@frozen
class AxisSpec:
    """One thing to vary: values at one path, or values with a label each that set several paths."""

    values: Any = key(
        "A list of values for `path`; or a mapping of label to value (with `path`) or to `{path: value, …}`.",
        short=True,
    )
    path: str | None = key("Path of the scenario that gets the values; by default the name of the axis.", None)


@frozen
class SeedsSpec:
    """The seeds that every cell is run with."""

    count: Positive = key("How many.", 30, short=True)
    from_: Count = key("The first of them.", 0)


@frozen
class GoalSpec:
    """What to strive for: a metric to minimise or to maximise, and bounds it must keep."""

    minimise: str | None = key("A metric that should be small.", None)
    maximise: str | None = key("A metric that should be large.", None)
    at_most: Any = key("Cells above this are no answer; a duration where the metric is one.", None)
    at_least: Any = key("Cells below this are no answer.", None)


@frozen(kw_only=True)
class ExperimentFile:
    """A whole experiment: a scenario, axes, a number of seeds."""

    title: str = key("One line: what is compared.", "")
    question: str = key("The question that the answer of the report answers.", "")
    source: str | None = key("Where the question comes from: a public thread (owner/repo#number), a KIP, a page.", None)
    scenario: Any = key("A name from `groupsim list`, a file relative to this one, or a whole scenario written here.")
    set_: Mapping[str, Any] = key("Changes for every cell: path to value, as `groupsim run --set`.", factory=dict)
    vary: Mapping[str, AxisSpec] = key("Axes by name; the grid is their product, the last axis fastest.", factory=dict)
    skip: tuple[Mapping[str, Any], ...] = key(
        "Combinations to leave out: labels by axis, one or a list; an axis left out means all of its values.", ()
    )
    given: tuple[str, ...] = key(
        "Axes that are not a choice (the group's size, the start of pods): an answer for each of their values.", ()
    )
    seeds: SeedsSpec = key("Seeds for each cell: how many, from 0, or `{from: 100, count: 30}`.", factory=SeedsSpec)
    baseline: Mapping[str, Any] = key(
        "The cell that others are compared with: labels by axis; by default the first value.", factory=dict
    )
    goals: tuple[GoalSpec, ...] = key("What to strive for; the first decides, the first two span the Pareto front.", ())
    notes: str = key("What was assumed, and from where.", "")
