"""The files of an analysis, written where the sweep is, each complete or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs

from groupsim.pipeline.analysis.answer import Answer, Comparison, Statistic, from_document, to_document
from groupsim.pipeline.analysis.engines import as_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.sweep.place import Place

ANSWER, CELLS, COMPARISONS = "results/answer.json", "results/cells.parquet", "results/comparisons.parquet"


def write_results(place: Place, answer: Answer) -> None:
    """Write the tables and then the answer; an interrupted analysis leaves the earlier answer as it was."""
    metrics = [one for cell in answer.cells for one in cell.statistics.values()]
    place.write_table(CELLS, _table(metrics, Statistic))
    place.write_table(COMPARISONS, _table(answer.comparisons, Comparison))
    place.write(ANSWER, answer_text(answer).encode())


def answer_text(answer: Answer) -> str:
    """The answer as the text of `answer.json`: keys in order, shortest floats."""
    return json.dumps(to_document(answer), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_answer(place: Place) -> Answer:
    """The answer of the sweep at a place. Raises FileNotFoundError, or ValueError for one of another version."""
    return from_document(json.loads(place.read(ANSWER)))


def _table(rows: Iterable[Any], kind: type) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist([attrs.asdict(row) for row in rows], schema=as_schema(kind))
