"""An experiment as values: its axes, the cells of its grid, its seeds, its goals."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

from attrs import field

from groupsim.pipeline.experiment.catalogue import called
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import Problem
from groupsim.scenarios.loading.canonical import dump

FORMAT = 1  # of the JSON a sweep keeps; raised when its meaning changes


@frozen
class Axis:
    """One thing that is varied: its name and the labels of its values, in order; `path` when it is one path."""

    name: str
    labels: tuple[str, ...]
    path: str | None = None


@frozen
class Cell:
    """One cell of the grid: a scenario with these settings.

    `number` counts from 0 in the order of the grid, the last axis fastest, combinations left out not counted. `labels`
    has one label per axis, `settings` the path and value of each change that the axes make. `document` is the
    canonical JSON of the whole scenario, `digest` its sha256 in hex.
    """

    number: int
    labels: Mapping[str, str]
    settings: Mapping[str, Any]
    document: str = field(repr=False)
    digest: str

    @property
    def title(self) -> str:
        """The cell in words, such as `session=6s, membership=static`."""
        return ", ".join(f"{axis}={label}" for axis, label in self.labels.items()) or "the scenario as it is"


@frozen
class Goal:
    """A goal: a metric, its direction, and bounds that must hold (in the metric's unit)."""

    metric: str
    direction: Literal["minimise", "maximise"]
    at_most: int | float | None = None
    at_least: int | float | None = None


@frozen(kw_only=True)
class Experiment:
    """An experiment that can be run: every cell has been read and judged.

    `baseline` is the number of a cell. `given` are names of axes that are circumstances and no choice. `common` are
    changes of every cell (`set:` in the file, and `command_line`). `file` is the experiment's file, `folder` that of
    its scenario, where `module:Class` is searched. `warnings` are warnings and notes on the file; they are not stored
    in JSON.
    """

    name: str
    title: str
    question: str = ""
    source: str | None = None
    notes: str = ""
    file: str = ""
    folder: str = ""
    common: Mapping[str, Any] = field(factory=dict)
    command_line: Mapping[str, Any] = field(factory=dict)
    axes: tuple[Axis, ...] = ()
    cells: tuple[Cell, ...] = field(repr=False)
    seeds: tuple[int, ...] = field(repr=False)
    baseline: int = 0
    given: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = ()
    warnings: tuple[Problem, ...] = field(default=(), eq=False, repr=False)

    @property
    def runs(self) -> int:
        """How many runs it is: cells times seeds."""
        return len(self.cells) * len(self.seeds)

    def repeat(self, cell: Cell) -> str:
        """The command that runs a cell alone; ` --seed N` is to be added."""
        every = (*self.command_line.items(), *cell.settings.items())
        settings = (("--set", f"{path}={as_yaml(value)}") for path, value in every)
        return shlex.join(["groupsim", "run", called(self.file), *itertools.chain(*settings)])

    @property
    def digest(self) -> str:
        """What decides the result of a run with a given cell number and seed, as sha256 in hex.

        The axes, the labels and the documents of all cells count. Seeds do not: a sweep may be taken up again with
        more of them. Nor do title, question, notes, baseline, given axes and goals, which only the analysis reads.
        """
        cells = [[dict(cell.labels), cell.digest] for cell in self.cells]
        return sha256(dump([FORMAT, [axis.name for axis in self.axes], cells]).encode("ascii")).hexdigest()


# Text that YAML reads as text without quotes: words, and amounts with a unit.
_PLAIN = re.compile(r"[A-Za-z_][\w./-]*|\d+(\.\d+)?(us|ms|s|m|h|d|/s|/min)")
_NO_TEXT = ("true", "false", "null")


def as_yaml(value: Any) -> str:
    """A value as one line of YAML; a text without quotes where it can be."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NO_TEXT:
        return value
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # YAML has no surrogate pairs
    return str(getattr(value, "text", dump(value)))
