"""The combinations of axes: values with their labels, the product, its exclusions, and its largest size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groupsim.pipeline.experiment.changing import change_of
from groupsim.pipeline.experiment.file import AxisSpec
from groupsim.pipeline.experiment.model import Axis
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.mistakes import Collector, Wrong
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.values import quote
from groupsim.scenarios.loading.changes import Change

MOST_COMBINATIONS = 100_000
MOST_CELLS = 10_000
MOST_SEEDS = 100_000
MOST_RUNS = 10_000_000


@frozen
class Value:
    """One value of an axis: its label and the changes it makes."""

    label: str
    changes: tuple[Change, ...]


@frozen
class GridColumn:
    """An axis with its values."""

    axis: Axis
    values: tuple[Value, ...]

    @property
    def name(self) -> str:
        """The axis's name."""
        return self.axis.name


def columns_of(vary: Mapping[str, AxisSpec], document: Document) -> tuple[GridColumn, ...]:
    """Return the axes of a file with their values. Raises errors for `problems_of`."""
    collector = Collector()
    found = tuple(collector.attempt(("vary", name), _column, name, spec, document) for name, spec in vary.items())
    collector.done()
    for (above, earlier), (below, later) in itertools.combinations(zip(vary, found), 2):
        collector.attempt(("vary", below), _refuse_overlap, above, earlier, later)
    collector.done()
    return found


def _column(name: str, spec: AxisSpec, document: Document) -> GridColumn:
    if not name.strip():
        raise Wrong("an axis needs a name", "write for example `session: {path: …, values: […]}`")
    at: Path_ = ("vary", name, "values") if document.holds(("vary", name, "values")) else ("vary", name)
    below = at[2:]
    if isinstance(spec.values, list):
        values = _listed(spec.path or name, spec.values, document, at)
    elif isinstance(spec.values, dict):
        values = _labelled(spec.path, spec.values, document, at)
    else:
        remedy = "write `values: [6s, 10s]`, or a label for each: `values: {short: 6s, long: 45s}`"
        raise Wrong(f"expected values, found {quote(spec.values)}", remedy, below=below)
    if not values:
        raise Wrong("this axis has no values", "give at least one, or remove the axis", below=below)
    path = spec.path or (name if isinstance(spec.values, list) else None)
    return GridColumn(Axis(name, tuple(value.label for value in values), path), values)


def _listed(path: str, values: list[Any], document: Document, at: Path_) -> tuple[Value, ...]:
    """Values in a list: their text is their label."""
    found: dict[str, Value] = {}
    path_place = document.at_value((*at[:2], "path")) if document.holds((*at[:2], "path")) else document.at_key(at[:2])
    for index, value in enumerate(values):
        below = (*at[2:], index)
        label = _label(value, below)
        if label in found:
            raise Wrong(f"the value `{label}` stands here twice", "keep one of them", below=below)
        found[label] = Value(label, (change_of(path, value, document, (*at, index), path_place),))
    return tuple(found.values())


def _label(value: object, below: Path_) -> str:
    label = label_text(value)
    if not label.strip():
        remedy = "write the values as a mapping, with a label for each: `values: {short: …, long: …}`"
        raise Wrong(f"{quote(value)} has no text that could be its label", remedy, below=below)
    return label


def label_text(value: object) -> str:
    """The label of a value: its text, or that of a list's items; empty when it has none."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(getattr(value, "text", value))
    if isinstance(value, list) and all(isinstance(one, (str, int, float)) for one in value):
        return ",".join(map(label_text, value))
    return ""


def _labelled(path: str | None, values: Mapping[str, Any], document: Document, at: Path_) -> tuple[Value, ...]:
    """Values with labels: of one path each, or several paths each."""
    if path is not None:
        place = document.at_value((*at[:2], "path"))
        return tuple(
            Value(label, (change_of(path, value, document, (*at, label), place),)) for label, value in values.items()
        )
    collector = Collector()
    found = tuple(
        collector.attempt((*at[2:], label), _several, label, value, document, (*at, label))
        for label, value in values.items()
    )
    collector.done()
    return found


def _several(label: str, settings: object, document: Document, at: Path_) -> Value:
    if not label.strip():
        raise Wrong("a label cannot be empty", "name what this value is", at_key=True)
    if settings is not None and not isinstance(settings, dict):
        remedy = "write `label: {path: value}`, or add `path:` to the axis"
        raise Wrong(f"expected paths with their values, found {quote(settings)}", remedy)
    changes = (
        change_of(path, value, document, (*at, path), document.at_key((*at, path)))
        for path, value in (settings or {}).items()
    )
    return Value(label, tuple(changes))


def _refuse_overlap(name: str, earlier: GridColumn, later: GridColumn) -> None:
    """Refuse a later axis that sets the path of an earlier one, which would then have no effect."""
    mine, theirs = _paths(later), _paths(earlier)
    for path in mine:
        hit = next((one for one in theirs if one == path or one.startswith(f"{path}.")), None)
        if hit is not None:
            message = f"sets `{path}`, which overwrites what the axis `{name}` sets"
            raise Wrong(message, "vary each path in one axis", at_key=True)


def _paths(column: GridColumn) -> list[str]:
    return list(dict.fromkeys(change.path for value in column.values for change in value.changes))


# --- the product ----------------------------------------------------------------------------------------------------


def refuse_too_many(columns: Sequence[GridColumn], seeds: int) -> None:
    """Count before anything is made. Raises `Wrong` when the grid, or the number of runs, is beyond all measure."""
    combinations = math.prod(len(column.values) for column in columns)
    sizes = " × ".join(f"{column.name} {len(column.values)}" for column in columns)
    if combinations > MOST_COMBINATIONS:
        message = f"the grid has {combinations:,} combinations ({sizes}); the limit is {MOST_COMBINATIONS:,}"
        raise Wrong(message, "take fewer values of each axis, or one experiment for each question", below=("vary",))
    if seeds > MOST_SEEDS:
        message = f"{seeds:,} seeds for each cell; the limit is {MOST_SEEDS:,}"
        raise Wrong(message, "30 to 100 seeds show most differences", below=("seeds",))


def refuse_too_many_runs(columns: Sequence[GridColumn], cells: int, seeds: int) -> None:
    """The same once the cells are counted that `skip` leaves."""
    sizes = " × ".join(f"{column.name} {len(column.values)}" for column in columns)
    if cells > MOST_CELLS:
        message = f"the grid has {cells:,} cells ({sizes}, without those of `skip`); the limit is {MOST_CELLS:,}"
        raise Wrong(message, "take fewer values of each axis, or leave out more with `skip`", below=("vary",))
    if cells * seeds > MOST_RUNS:
        message = f"{cells:,} cells ({sizes}) with {seeds:,} seeds each are {cells * seeds:,} runs"
        remedy = f"the limit is {MOST_RUNS:,}: at most {max(MOST_RUNS // cells, 1):,} seeds for so many cells"
        raise Wrong(message, remedy, below=("seeds",))


def combinations_of(columns: Sequence[GridColumn], skip: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Value, ...]]:
    """Return the product without the exclusions, the last axis fastest. Raises errors for `problems_of`."""
    rules = _rules(columns, skip)
    names = [column.name for column in columns]
    for values in itertools.product(*(column.values for column in columns)):
        labels = {name: value.label for name, value in zip(names, values)}
        if not any(all(labels[axis] in allowed for axis, allowed in rule.items()) for rule in rules):
            yield values


def _rules(columns: Sequence[GridColumn], skip: Sequence[Mapping[str, Any]]) -> list[dict[str, list[str]]]:
    collector = Collector()
    rules = [collector.attempt(("skip", index), _rule, columns, rule) for index, rule in enumerate(skip)]
    collector.done()
    return rules


def _rule(columns: Sequence[GridColumn], rule: Mapping[str, Any]) -> dict[str, list[str]]:
    if not rule:
        raise Wrong("this leaves out the whole grid", "name labels by axis, such as `{session: 6s}`")
    found = {}
    for axis, labels in rule.items():
        listed = labels if isinstance(labels, list) else [labels]
        found[axis] = [label_among(columns, axis, label) for label in listed]
    return found


def label_among(columns: Sequence[GridColumn], axis: str, label: object) -> str:
    """A label of an axis as the file names it. Raises `Wrong` for an axis or a label that is not there."""
    by_name = {column.name: column for column in columns}
    if axis not in by_name:
        raise Wrong(f"there is no axis `{axis}`", suggest(axis, by_name, "axes here"), below=(axis,), at_key=True)
    text, labels = label_text(label), by_name[axis].axis.labels
    if text not in labels:
        remedy = suggest(text, labels, f"values of `{axis}`")
        raise Wrong(f"the axis `{axis}` has no value {quote(label)}", remedy, below=(axis,))
    return text
