"""A small experiment for the tests of sweeps, and chunks of made-up rows.

Its logs are counted ones: what is tested is the machinery around many runs, so a run shall cost little.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from textwrap import dedent

import pyarrow as pa

from groupsim.pipeline.experiment import Experiment, load_experiment
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.pipeline.tables.column_types import Type
from groupsim.pipeline.tables.schemas import TABLES, arrow_schema

TEXT = """
    title: Small
    question: Which assignor moves less?
    scenario:
      run-for: {run_for}
      cluster: {{logs: counted}}
      topics:
        t: {{partitions: 4, rate: 4/s}}
      groups:
        g:
          assignor: range
          members:
            c: {{count: 2, stagger: 100ms}}
      timeline:
        - {{at: 8s, do: crash, member: c-1}}
    vary:
      assignor: {{path: groups.g.assignor, values: [{assignors}]}}
    seeds: {seeds}
    goals:
      - minimise: moved
"""


def write(
    folder: Path, seeds: int = 2, assignors: str = "range, sticky, cooperative-sticky", run_for: str = "20s"
) -> Path:
    """The experiment's file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "small.yaml"
    path.write_text(dedent(TEXT.format(seeds=seeds, assignors=assignors, run_for=run_for)), "utf-8")
    return path


def load(folder: Path, seeds: int = 2, assignors: str = "range, sticky, cooperative-sticky") -> Experiment:
    """The experiment, read."""
    return load_experiment(str(write(folder, seeds, assignors)))


def load_given(folder: Path, seeds: int = 2) -> Experiment:
    """The experiment with a second axis that is given, how long a revocation callback takes: two circumstances."""
    path = write(folder, seeds, "range, cooperative-sticky")
    axis = "  callback: {path: groups.g.on-revoked, values: [0ms, 1s]}\n"
    text = path.read_text("utf-8").replace("seeds:", f"{axis}given: [callback]\nseeds:", 1)
    path.write_text(text, "utf-8")
    return load_experiment(str(path))


def held(folder: Path, seeds: int, run_for: str = "20s") -> tuple[Path, Path]:
    """The experiment's file with an assignor of its own, and what holds up the runs with it for as long as it is there.

    The first runs of all are none of these: so a sweep that is held has something to show and something left to do,
    however quick the machine is.
    """
    holds = folder / HOLDS
    (folder / "held_assignor.py").write_text(dedent(HELD.format(holds=str(holds))), "utf-8")
    return write(folder, seeds, "range, sticky, 'held_assignor:Own'", run_for), holds


HOLDS = "held"
HELD = """
    import os
    import time

    from groupsim.assignors.range import RangeAssignor


    class Own(RangeAssignor):
        name = "own"

        def assign(self, *args, **kwargs):
            while os.path.exists({holds!r}):
                time.sleep(0.01)
            return super().assign(*args, **kwargs)
"""


def chunk(runs: Iterable[tuple[int, int]], status: str = "done") -> dict[str, pa.Table]:
    """Rows of some runs: one in `runs` and `traces` and two in `faults` for each."""
    runs = list(runs)
    rows = {"runs": runs, "traces": runs, "faults": [run for run in runs for _ in range(2)]}
    made = {}
    for name, table in TABLES.items():
        columns: dict[str, list[object]] = {column: [] for column in table.names}
        for number, (cell, seed) in enumerate(rows.get(name, [])):
            values = {"cell": cell, "seed": seed, "status": status, "what": f"row {number}"}
            for column in table.columns:
                blank = {Type.TEXT: "", Type.BOOL: False}.get(column.type, 0)
                columns[column.name].append(values.get(column.name, blank))
        made[name] = pa.table(columns, schema=arrow_schema(table))
    return made


def tables(path: Path | str) -> dict[str, pa.Table]:
    """Every table of a directory, sorted."""
    directory = Directory.open(path)
    return {name: directory.tables(name) for name in TABLES}


def contents(folder: Path) -> Contents:
    """What a sweep of the experiment wants of its directory."""
    return Contents(load(folder), code="c0de")
