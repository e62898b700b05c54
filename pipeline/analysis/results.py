"""The files of an analysis: read its tables from a sweep's directory, write its results whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from groupsim.pipeline.analysis.answer import Answer, Comparison, Statistic, from_document
from groupsim.pipeline.analysis.engines import as_schema
from groupsim.pipeline.schemas import TABLES, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.analysis.analyse import DirectoryLike

ANSWER, CELLS, COMPARISONS = "answer.json", "cells.parquet", "comparisons.parquet"


def read_columns(directory: DirectoryLike, name: str, columns: Sequence[str]) -> pa.Table:
    """Some columns of a table, all parts together, in no order. Raises SweepError for parts that cannot be read."""
    import pyarrow as pa

    from groupsim.pipeline.sweep.parts import read_part

    full = arrow_schema(TABLES[name])
    schema = pa.schema([full.field(column) for column in columns])
    return pa.concat_tables([schema.empty_table(), *(read_part(path, schema) for path in directory.parts(name))])


def write_results(folder: Path, answer: Answer) -> None:
    """Write the tables and then the answer; an interrupted analysis leaves the earlier answer as it was."""
    from groupsim.pipeline.analysis.analyse import answer_text

    folder.mkdir(parents=True, exist_ok=True)
    metrics = [one for cell in answer.cells for one in cell.statistics.values()]
    write_table(folder / CELLS, _table(metrics, Statistic))
    write_table(folder / COMPARISONS, _table(answer.comparisons, Comparison))
    _whole(folder / ANSWER, answer_text(answer).encode())


def read_answer(folder: Path) -> Answer:
    """The answer in a folder of results. Raises FileNotFoundError, or ValueError for one of another version."""
    return from_document(json.loads((folder / ANSWER).read_text("utf-8")))


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as Parquet, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    _whole(path, sink.getvalue().to_pybytes())


def _table(rows: Iterable[Any], kind: type) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist([attrs.asdict(row) for row in rows], schema=as_schema(kind))


def _whole(path: Path, content: bytes) -> None:
    from groupsim.pipeline.sweep.files import write_whole

    write_whole(path, lambda file: file.write(content))
