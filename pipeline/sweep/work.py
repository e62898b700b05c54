"""The executor's half of a sweep: a task's runs are simulated, their rows come back as bytes of Arrow.

What a task needs is in its package, of plain types: documents as compressed JSON, no YAML. This module and `runs` are
all of the pipeline that an executor loads; neither knows Spark.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

import pyarrow as pa

from groupsim.eventloop.collector import patient_collector
from groupsim.pipeline import runs
from groupsim.pipeline.sweep.repeat import repeat_command

if TYPE_CHECKING:
    from groupsim.pipeline.experiment import Experiment
    from groupsim.pipeline.sweep.plan import Run

Table = tuple[str, bytes]  # its name, and it as an Arrow IPC stream
COSTS = "(costs)"  # beside the tables: what each run cost, µs, as a JSON list; differs from machine to machine


class CellPackage(TypedDict):
    """One cell: its document (compressed JSON), the hash of it, and the command that repeats a run, less the seed."""

    document: bytes
    digest: str
    repeat: str


class Package(TypedDict):
    """Tasks, and the cells their runs belong to."""

    code: str
    traces: bool
    cells: Mapping[int, CellPackage]
    tasks: Sequence[Sequence[tuple[int, int]]]


def package(experiment: Experiment, tasks: Sequence[Sequence[Run]], code: str, traces: bool) -> Package:
    """Pack tasks with the cells they need, on the driver."""
    needed = {cell for task in tasks for cell, _ in task}
    cells: dict[int, CellPackage] = {
        cell.number: {
            "document": zlib.compress(cell.document.encode()),
            "digest": cell.digest,
            "repeat": repeat_command(experiment, cell),
        }
        for cell in experiment.cells
        if cell.number in needed
    }
    return {"code": code, "traces": traces, "cells": cells, "tasks": [tuple(task) for task in tasks]}


def perform(packed: Package, number: int) -> list[Table]:
    """Simulate the runs of one task. A run that fails is a row; only a defect of ours raises."""
    with patient_collector():  # around all of them: what a run leaves is not worth a walk of its own
        rows, costs = _simulated(packed, packed["tasks"][number])
        tables = [(name, to_bytes(table)) for name, table in runs.to_arrow(rows).items()]
    return [*tables, (COSTS, json.dumps(costs).encode())]


def _simulated(packed: Package, task: Sequence[tuple[int, int]]) -> tuple[runs.Rows, list[int]]:
    """The rows of a task's runs, and what each run took, µs."""
    rows: runs.Rows = {}
    costs = []
    cells = dict.fromkeys(cell for cell, _ in task)
    documents = {cell: zlib.decompress(packed["cells"][cell]["document"]).decode() for cell in cells}
    for cell_number, seed in task:
        cell = packed["cells"][cell_number]
        begun = time.perf_counter_ns()
        made = runs.simulate(
            documents[cell_number],
            seed,
            cell=cell_number,
            digest=cell["digest"],
            code=packed["code"],
            repeat=f"{cell['repeat']} --seed {seed}",
            traces=packed["traces"],
        )
        costs.append((time.perf_counter_ns() - begun) // 1000)
        for name, more in made.items():
            rows.setdefault(name, []).extend(more)
    return rows, costs


def to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow IPC stream."""
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    data: bytes = target.getvalue().to_pybytes()
    return data


def from_bytes(data: bytes) -> pa.Table:
    """The table again."""
    return pa.ipc.open_stream(data).read_all()
