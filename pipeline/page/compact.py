"""Rows for a page: by column, each text once, without the key.

A page holds the rows of many runs, and a run repeats the same few names. `pack` writes a table as its
columns and a text as a number into one list of the run's texts; `unpack` in `base.js` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from groupsim.pipeline.tables.column_types import KEY, Table, Type
from groupsim.pipeline.tables.schemas import TABLES

# What a page shows of a run; traces are files of their own.
SHOWN = tuple(name for name in TABLES if name != "traces")


def pack(rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> dict[str, Any]:
    """The rows of one run, all tables; a table that is not there counts as empty."""
    strings: dict[str, int] = {}
    tables = {name: _packed(TABLES[name], rows.get(name, ()), strings) for name in SHOWN}
    return {"strings": list(strings), "tables": tables}


def _packed(table: Table, rows: Sequence[tuple[Any, ...]], strings: dict[str, int]) -> dict[str, Any]:
    """One table; `strings` learns the texts that are new."""
    columns: dict[str, list[Any]] = {}
    for index, column in enumerate(table.columns[len(KEY) :], len(KEY)):
        cells = [row[index] for row in rows]
        if column.type is Type.TEXT:
            cells = [None if cell is None else strings.setdefault(cell, len(strings)) for cell in cells]
        columns[column.name] = cells
    texts = [column.name for column in table.own if column.type is Type.TEXT]
    return {"rows": len(rows), "texts": texts, "columns": columns}


def as_json(document: Any) -> str:
    """JSON that may stand inside a `<script>` element: nothing in it can end the element or begin a comment."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
