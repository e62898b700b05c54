"""The executor's half of a sweep: simulate a task's runs, and write their rows where the sweep is.

What a task needs is in its package, of plain types: documents as compressed JSON, no YAML. What comes back is one row
of a manifest; where the executor does not share the sweep's storage, the tables themselves as bytes of Arrow. Neither
this module nor what it imports knows Spark.
"""

from __future__ import annotations

import gc
import os
import re
import socket
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import pyarrow as pa
from attrs import field

from groupsim.eventloop.collector import patient_collector
from groupsim.pipeline import runs
from groupsim.pipeline.sweep import chunks
from groupsim.pipeline.sweep.chunks import Chunk, Cost, Run
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.parts import write_tables
from groupsim.pipeline.sweep.place import Place
from groupsim.pipeline.sweep.repeat import repeat_command
from groupsim.pipeline.tables.schemas import TABLES
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.pipeline.experiment import Cell, Experiment

Table = tuple[str, bytes]  # its name, and it as an Arrow IPC stream


class CellPackage(TypedDict):
    """One cell: its document (compressed JSON), the hash of it, and the command that repeats a run, less the seed."""

    document: bytes
    digest: str
    repeat: str


class Package(TypedDict):
    """What tasks need: the cells, how their chunks are called, and where they are to be written (nothing: nowhere)."""

    code: str
    traces: bool
    cells: Mapping[int, CellPackage]
    name: str
    place: Place | None


@frozen
class TaskResult:
    """A task that has been performed: the row of its chunk, and its tables when they were not written there."""

    chunk: Chunk
    tables: Sequence[Table] = field(default=(), repr=False)


def package(cells: Mapping[int, CellPackage], code: str, traces: bool, name: str, place: Place | None) -> Package:
    """What some tasks need, of whose runs these are the cells."""
    return {"code": code, "traces": traces, "cells": cells, "name": name, "place": place}


def packed_cell(experiment: Experiment, cell: Cell) -> CellPackage:
    """Pack a cell, on the driver."""
    return {
        "document": zlib.compress(cell.document.encode()),
        "digest": cell.digest,
        "repeat": repeat_command(experiment, cell),
    }


def chunk_name(packed: Package, task: int) -> str:
    """The name of a task's chunk, for all attempts at it."""
    return f"{packed['name']}-{task:06d}"


def perform(packed: Package, task: int, mine: Sequence[Run], commit: bool = True) -> TaskResult:
    """Simulate the runs of one task and write their tables; with `commit` the task's row, too, so that it counts.

    A run that fails is a row; only a defect of ours raises, and a SweepError when the rows cannot be written.
    """
    with patient_collector():  # around all of them: their rows are no garbage, and need not be visited for each run
        rows, costs = _simulated(packed, mine)
        tables = runs.to_arrow(rows)
        name, place = chunk_name(packed, task), packed["place"]
        if place is None:
            keys = chunks.spans(mine)
            failed = tables["runs"]["status"].to_pylist().count("failed")
            sent = [(table, to_bytes(found)) for table, found in tables.items() if len(found)]
            return TaskResult(Chunk(name, len(mine), failed, tuple(keys), tuple(costs), ()), sent)
        chunk = write_tables(place, name, tables, costs, packed["traces"], attempt())
        if commit:
            chunks.write(place, chunk)
    return TaskResult(chunk)


def attempt() -> str:
    """What sets the files of this process apart from those of others that try the same task."""
    host = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:40]
    return f"{host}-{os.getpid()}"


def _simulated(packed: Package, mine: Sequence[Run]) -> tuple[runs.Rows, list[Cost]]:
    """Return the rows of a task's runs, and the cost of the runs of each cell."""
    rows: runs.Rows = {}
    costs: dict[int, list[int]] = {}
    cells = dict.fromkeys(cell for cell, _ in mine)
    documents = {cell: zlib.decompress(packed["cells"][cell]["document"]).decode() for cell in cells}
    for cell_number, seed in sorted(mine):  # so that its files are sorted by cell and seed
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
        gc.collect(0)  # a run leaves one large cycle: it costs least while the processor's caches have it
        costs.setdefault(cell_number, []).append((time.perf_counter_ns() - begun) // 1000)
        for name, more in made.items():
            rows.setdefault(name, []).extend(more)
    return rows, [Cost(cell, len(took), sum(took)) for cell, took in costs.items()]


def storage_problem(place: Place) -> str:
    """Why this process cannot write where the sweep lies; nothing when it can.

    A folder of this name that is not the sweep's (this is another machine) has no `experiment.json`.
    """
    try:
        if not place.is_file("experiment.json"):
            return "it is not there"
        place.try_writing(attempt())
    except SweepError as error:
        return error.message
    return ""


def problem(error: SweepError) -> dict[str, Any]:
    """An error as data, for its way back to the driver."""
    return {"message": error.message, "remedy": error.remedy, "bad_input": error.bad_input}


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


def whole(tables: Sequence[Table]) -> dict[str, pa.Table]:
    """All tables of a task, those without rows too, from the ones that came back."""
    found = runs.to_arrow(dict.fromkeys(TABLES, ()))
    return found | {name: from_bytes(data) for name, data in tables}
