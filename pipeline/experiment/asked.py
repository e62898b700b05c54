"""Changes of an experiment on the command line: `--set PATH=VALUE`, and `--only AXIS=LABEL`.

So a question of the library becomes one's own without a file: one's own session timeout in every cell, and only the
values of the axes that are a choice. What is set on the command line is part of the cells, so results of it are never
mixed with those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from groupsim.pipeline.experiment.changing import shown
from groupsim.pipeline.experiment.grid import GridColumn, Value
from groupsim.pipeline.experiment.model import Goal
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import Place, Problem, ScenarioError, nearest, suggest
from groupsim.scenarios.loading.changes import Change, read_change

if TYPE_CHECKING:
    from groupsim.pipeline.tables.metrics import Metric


@frozen
class Grid:
    """The axes of the grid: all axes of the file, with the values that `--only` leaves.

    An axis with one value left is none any more: its settings, `fixed`, are set in every cell.
    """

    every: tuple[GridColumn, ...]
    wanted: tuple[GridColumn, ...]
    fixed: tuple[Change, ...] = ()

    @property
    def axes(self) -> tuple[GridColumn, ...]:
        """Those that are left."""
        return tuple(column for column in self.wanted if not self._is_fixed(column))

    def _is_fixed(self, column: GridColumn) -> bool:
        return len(column.values) == 1 and column not in self.every

    def cells(self, combinations: Iterable[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
        """Return the combinations of the file that are left, as values of the remaining axes."""
        return [
            tuple(value for value, column in zip(values, self.wanted, strict=True) if not self._is_fixed(column))
            for values in combinations
            if all(value in column.values for value, column in zip(values, self.wanted, strict=True))
        ]

    def baseline(self, labels: Mapping[str, str]) -> dict[str, str]:
        """Return the baseline of the file on the remaining axes: the first value where its own is left out."""
        return {
            column.name: label if (label := labels[column.name]) in column.axis.labels else column.axis.labels[0]
            for column in self.axes
        }

    def has(self, labels: Mapping[str, str]) -> bool:
        """Whether every one of these labels is left, so that the file's statement about them still holds."""
        return all(labels[column.name] in column.axis.labels for column in self.wanted)

    def given(self, names: Sequence[str]) -> tuple[str, ...]:
        """Of the axes that are circumstances those that are left; none where nothing else is."""
        left = [column.name for column in self.axes]
        mine = tuple(name for name in names if name in left)
        return () if len(mine) == len(left) else mine


@frozen
class Asked:
    """The texts behind `--set`, `--only` and `--goal`, in the order in which they stand on the command line."""

    settings: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()

    def grid(self, columns: Sequence[GridColumn]) -> Grid:
        """Return the remaining grid. Raises ScenarioError for an unknown axis or value."""
        wanted: dict[str, list[Value]] = {}
        for text in self.only:
            column, values = _chosen(text, columns)
            wanted.setdefault(column.name, []).extend(values)
        less = tuple(_less(column, wanted[column.name]) if column.name in wanted else column for column in columns)
        alone = (column.values[0] for column in less if column not in columns and len(column.values) == 1)
        return Grid(tuple(columns), less, tuple(change for value in alone for change in value.changes))

    def changes(self, grid: Grid) -> tuple[Change, ...]:
        """What is set in every cell. Raises ScenarioError for a text that is no change, or one that an axis undoes."""
        found = tuple(read_change(text) for text in self.settings)
        problems = [problem for change in found if (problem := _undone(change, grid.axes)) is not None]
        if problems:
            raise ScenarioError(problems)
        return (*grid.fixed, *found)

    def added_to(self, question: str) -> str:
        """Return the experiment's question, with the changes of the command line; without the values of secrets."""
        found = [read_change(text) for text in self.settings]
        words = [*self.only, *(f"{one.path}={_in_words(shown(one.path, one.value))}" for one in found)]
        return f"{question} (asked with {'; '.join(words)})".lstrip() if words else question


def _in_words(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


AS_WRITTEN = Asked()

_GOAL = re.compile(r"(?P<metric>[\w-]+)\s*(?:(?P<bound><=|>=)\s*(?P<limit>\S.*))?")


def goals_named(texts: Sequence[str], metrics: Mapping[str, Metric]) -> tuple[Goal, ...]:
    """The goals of `--goal METRIC` or `--goal METRIC<=LIMIT`, in order; `_us` may be left out of a name.

    Raises ScenarioError for a name that no metric has, with all names, and for a limit that is none.
    """
    found: dict[str, Goal] = {}
    for text in texts:
        goal = _goal_named(text.strip(), metrics)
        if goal.metric in found:
            raise _refused(text, f"the metric `{goal.metric}` is a goal already", "keep one of the two")
        found[goal.metric] = goal
    return tuple(found.values())


def _goal_named(text: str, metrics: Mapping[str, Metric]) -> Goal:
    parts = _GOAL.fullmatch(text)
    if parts is None:
        raise _refused(text, "this is no METRIC, METRIC<=LIMIT or METRIC>=LIMIT", "such as --goal unserved_us")
    written = parts["metric"].replace("-", "_")
    name = written if written in metrics else f"{written}_us"
    if name not in metrics:
        near = nearest(written, metrics)
        remedy = f"{f'did you mean `{near}`? ' if near else ''}the metrics: {', '.join(metrics)}"
        raise _refused(text, f"there is no metric `{written}`", remedy)
    metric, at_most, at_least = metrics[name], None, None
    if parts["bound"]:
        try:
            limit = metric.parse(parts["limit"])
        except ValueError as error:
            raise _refused(text, str(error), f"such as --goal '{name}{parts['bound']}5'") from None
        at_most, at_least = (limit, None) if parts["bound"] == "<=" else (None, limit)
    return Goal(name, "minimise" if metric.better == "lower" else "maximise", at_most, at_least)


def _refused(text: str, message: str, remedy: str) -> ScenarioError:
    return ScenarioError([Problem(Place(f"--goal {text}"), message, remedy)])


def _chosen(text: str, columns: Sequence[GridColumn]) -> tuple[GridColumn, list[Value]]:
    """One axis and some of its values: `AXIS=LABEL`, or several labels with commas between them."""
    place = Place(f"--only {text}")
    by_name = {column.name: column for column in columns}
    name, sign, rest = text.partition("=")
    if not sign:
        axes = ", ".join(by_name) or "none"
        raise ScenarioError([Problem(place, "this is no AXIS=LABEL", f"the axes here: {axes}")])
    if name not in by_name:
        raise ScenarioError([Problem(place, f"there is no axis `{name}`", suggest(name, by_name, "axes here"))])
    column = by_name[name]
    by_label = {value.label: value for value in column.values}
    labels = [rest] if rest in by_label else [label.strip() for label in rest.split(",")]
    for label in labels:
        if label not in by_label:
            remedy = suggest(label, by_label, f"values of `{name}`")
            raise ScenarioError([Problem(place, f"the axis `{name}` has no value `{label}`", remedy)])
    return column, [by_label[label] for label in labels]


def _less(column: GridColumn, wanted: Sequence[Value]) -> GridColumn:
    """The axis with these values, in the order of the file."""
    values = tuple(value for value in column.values if value in wanted)
    return GridColumn(attrs.evolve(column.axis, labels=tuple(value.label for value in values)), values)


def _undone(change: Change, columns: Sequence[GridColumn]) -> Problem | None:
    """A cell's own settings come last: one that an axis sets, too, would do nothing there."""
    for column in columns:
        for path in (one.path for value in column.values for one in value.changes):
            if path == change.path or change.path.startswith(f"{path}.") or path.startswith(f"{change.path}."):
                remedy = f"choose one of its values: --only {column.name}=…; for others write an experiment of your own"
                return Problem(change.place, f"the axis `{column.name}` sets `{path}` in each cell", remedy)
    return None
