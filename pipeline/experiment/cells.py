"""The cells of a grid: each combination applied to the scenario, validated, written as canonical JSON.

The same mistake shows in many cells; it is reported once, with a cell that has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
from attrs import field

from groupsim.pipeline.experiment.changing import shown
from groupsim.pipeline.experiment.grid import GridColumn, Value
from groupsim.pipeline.experiment.model import Cell
from groupsim.protocol.values import define, frozen
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.problems import ERROR, WARNING, Problem, ScenarioError
from groupsim.scenarios.loading.canonical import canonical_json, digest
from groupsim.scenarios.loading.changes import Change, changed
from groupsim.scenarios.loading.load import scenario_of

_NUMBER = re.compile(r"\d+")

MORE_AFTER_AN_ERROR = 50  # cells that are still looked at, so that a report shows more than the first mistake


@frozen
class Base:
    """What every cell starts from: the scenario's document and name, and the changes that hold in every cell."""

    document: Document
    name: str
    common: tuple[Change, ...]


def cells_of(
    base: Base, columns: Sequence[GridColumn], combinations: Sequence[tuple[Value, ...]]
) -> tuple[tuple[Cell, ...], tuple[Problem, ...]]:
    """Every cell, with warnings and notes. Raises ScenarioError with each mistake and a cell that has it."""
    maker = _Maker(base, [column.name for column in columns], len(combinations))
    cells: list[Cell] = []
    for number, values in enumerate(combinations):
        cell = maker.cell(number, values)
        if cell is not None:
            cells.append(cell)
        if len(maker.failed) > MORE_AFTER_AN_ERROR:
            break
    problems = maker.report()
    if maker.failed:
        raise ScenarioError(problem for problem in problems if problem.severity == ERROR)
    return tuple(cells), (*problems, *_alike(cells, base))


@define
class _Maker:
    """Makes cells and collects their problems."""

    base: Base
    axes: list[str]
    combinations: int
    failed: list[str] = field(factory=list)
    _found: dict[tuple[Any, ...], tuple[Problem, list[str]]] = field(factory=dict)
    _files: dict[Path, str] = field(factory=dict)

    def cell(self, number: int, values: tuple[Value, ...]) -> Cell | None:
        """Return the cell of a combination, or None and collect its problems."""
        labels = {axis: value.label for axis, value in zip(self.axes, values)}
        changes = [change for value in values for change in value.changes]
        settings = {change.path: shown(change.path, change.value) for change in changes}
        draft = Cell(number, labels, settings, "", "")
        try:
            document = changed(self.base.document, (*self.base.common, *changes))
            self._keep(draft, scenario_of(document, self.base.name).notes)
        except ScenarioError as error:
            self.failed.append(draft.title)
            self._keep(draft, error.problems)
            return None
        text = canonical_json(document, self.base.name, self._read)
        return attrs.evolve(draft, document=text, digest=digest(text))

    def _keep(self, cell: Cell, problems: Sequence[Problem]) -> None:
        for problem in problems:
            same = (problem.place, problem.severity, _NUMBER.sub("#", problem.message))
            cells = self._found.setdefault(same, (problem, []))[1]
            if cells[-1:] != [cell.title]:
                cells.append(cell.title)

    def _read(self, path: Path) -> str:
        if path not in self._files:
            self._files[path] = path.read_text(encoding="utf-8")
        return self._files[path]

    def report(self) -> tuple[Problem, ...]:
        """Return each problem once; where not every cell has it, with the first that has."""
        return tuple(self._shown(problem, cells) for problem, cells in self._found.values())

    def _shown(self, problem: Problem, cells: list[str]) -> Problem:
        if len(cells) == self.combinations:
            return problem
        more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
        return attrs.evolve(problem, message=f"{problem.message} (in the cell {cells[0]}{more})")


def _alike(cells: Sequence[Cell], base: Base) -> Iterator[Problem]:
    """A warning where two cells are one and the same scenario."""
    seen: dict[str, Cell] = {}
    for cell in cells:
        first = seen.setdefault(cell.digest, cell)
        if first is not cell:
            message = f"the cells {first.title} and {cell.title} are the same scenario"
            yield Problem(base.document.at_value(()), message, "what differs between them changes nothing", WARNING)
            return
