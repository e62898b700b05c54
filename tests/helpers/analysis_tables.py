"""Tables of a sweep made by hand, small and with a truth that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import Factory, define

from groupsim.pipeline.experiment.model import Cell, Experiment, Goal
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.pipeline.tables.column_types import Table, Type
from groupsim.pipeline.tables.schemas import TABLES, arrow_schema

FILLERS = {Type.INT: 0, Type.LONG: 0, Type.BOOL: False, Type.TEXT: ""}
GOALS = (Goal("stopped_us", "minimise"), Goal("lag_area", "minimise"))


def experiment(
    grid: Sequence[Mapping[str, str]], seeds: int, goals: Sequence[Goal] = GOALS, baseline: int = 0
) -> Experiment:
    """An experiment whose cells have these labels and no document."""
    cells = tuple(Cell(number, labels, {}, "{}", "") for number, labels in enumerate(grid))
    return Experiment(
        name="made",
        title="Made by hand",
        question="Which one?",
        cells=cells,
        seeds=tuple(range(seeds)),
        goals=tuple(goals),
        baseline=baseline,
    )


def table(name: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """A table with these rows; columns that a row lacks are null, or empty where null is not allowed."""
    found: Table = TABLES[name]
    full = [
        {column.name: row.get(column.name, None if column.null else FILLERS[column.type]) for column in found.columns}
        for row in rows
    ]
    return pa.Table.from_pylist(full, schema=arrow_schema(found))


@define
class Made:
    """The tables of a sweep under way."""

    runs: list[dict[str, Any]] = Factory(list)
    stops: list[dict[str, Any]] = Factory(list)
    changes: list[dict[str, Any]] = Factory(list)
    deliveries: list[dict[str, Any]] = Factory(list)

    def run(self, cell: int, seed: int, **values: Any) -> None:
        """A run that ended well, or with `status="failed"` one that did not."""
        self.runs.append({"cell": cell, "seed": seed, "status": "done", "expectations_failed": 0, **values})

    def stop(self, cell: int, seed: int, partition: int, us: int, **values: Any) -> None:
        """A standstill of one partition; the old owner began to let go of it half a second after its last record."""
        row = {"cell": cell, "seed": seed, "group_id": "g", "topic": "t", "partition_id": partition}
        self.stops.append({**row, "began_us": 1_000_000, "ended_us": 1_000_000 + us, **values})

    def read(self, name: str, columns: Sequence[str]) -> pa.Table:
        """As the analysis reads tables."""
        return table(name, getattr(self, name)).select(list(columns))


def on_disk(
    path: Path,
    of: Experiment,
    made: Made,
    parts: int = 3,
    turn: Callable[[int], int] = lambda n: n,
    more: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> Directory:
    """A directory as a sweep leaves it: each table in several parts, rows in an order of their own.

    `turn` decides which part a seed's rows are in; `more` are rows of other tables.
    """
    rows = {name: getattr(made, name) for name in ("runs", "stops", "changes", "deliveries")} | dict(more or {})
    with Directory.prepare(path, Contents(of, "code", traces="traces" in rows)) as directory:
        for part in range(parts):
            mine = {name: [row for row in found if turn(row["seed"]) % parts == part] for name, found in rows.items()}
            directory.write({name: table(name, reversed(found)) for name, found in mine.items()})
    return directory
