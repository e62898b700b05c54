"""Rows as Arrow tables. pyarrow is only needed, and only imported, here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from groupsim.pipeline.tables.column_types import Table
from groupsim.pipeline.tables.schemas import TABLES, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa


def to_arrow(rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> dict[str, pa.Table]:
    """Each table of `rows` with its schema, in the order of the rows; a table without rows is there, and empty.

    Raises pyarrow's ArrowInvalid when a value does not fit its column.
    """
    return {name: _table(TABLES[name], found) for name, found in rows.items()}


def _table(table: Table, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    import pyarrow as pa

    schema = arrow_schema(table)
    if not rows:
        return schema.empty_table()
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
