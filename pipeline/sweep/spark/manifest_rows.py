"""The answers of executors as batches of Arrow: rows of a manifest, and tables in pieces. No Spark in here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from groupsim.pipeline.sweep.chunks import Chunk, Run
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.work import TaskResult

PIECE = 4 << 20  # bytes of one row: Arrow's batches and gRPC's messages have limits


def _struct(**types: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct([pa.field(name, kind) for name, kind in types.items()]))


_INT, _LONG, _TEXT = pa.int32(), pa.int64(), pa.string()
ROW = pa.schema(
    {
        "task": _LONG,
        "chunk": _TEXT,
        "count": _LONG,
        "failed": _LONG,
        "runs": _struct(first_cell=_INT, last_cell=_INT, first_seed=_LONG, last_seed=_LONG),
        "costs": _struct(cell=_INT, runs=_LONG, us=_LONG),
        "files": _struct(table=_TEXT, file=_TEXT, rows=_LONG, bytes=_LONG),
    }
)
"""`chunks.ROW` in Arrow's words, after the number of the task."""
WRITTEN = pa.schema([*ROW, ("problem", _TEXT), ("remedy", _TEXT), ("bad_input", pa.bool_())])
RETURNED = pa.schema([*ROW, ("name", _TEXT), ("piece", _INT), ("data", pa.binary())])


def runs_of(batches: Iterable[pa.RecordBatch]) -> tuple[int, list[Run]]:
    """The runs of a partition of (task, cell, seed), and the number of their task."""
    task = 0
    runs: list[Run] = []
    for batch in batches:
        tasks, cells, seeds = (column.to_pylist() for column in batch.columns)
        runs += zip(cells, seeds, strict=True)
        task = tasks[0] if tasks else task
    return task, runs


def written(task: int, chunk: Chunk) -> pa.RecordBatch:
    """The row of a chunk that was written."""
    return _batch(WRITTEN, {"task": task, **chunk.row()})


def refused(task: int, error: SweepError) -> pa.RecordBatch:
    """The row of one that could not be written."""
    why = {"problem": error.message, "remedy": error.remedy, "bad_input": error.bad_input}
    return _batch(WRITTEN, {"task": task, **why})


def returned(task: int, answer: TaskResult) -> Iterator[pa.RecordBatch]:
    """The row of a chunk that was not written, and after it each of its tables in pieces."""
    yield _batch(RETURNED, {"task": task, **answer.chunk.row()})
    for name, data in answer.tables:
        for piece, begin in enumerate(range(0, len(data), PIECE)):
            part = data[begin : begin + PIECE]
            yield _batch(RETURNED, {"task": task, "name": name, "piece": piece, "data": part})


def _batch(schema: pa.Schema, row: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([row], schema=schema)
