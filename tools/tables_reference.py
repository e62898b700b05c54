"""Write the reference part of docs/tables.md from the tables' schemas.

python tools/tables_reference.py            write the part between the markers
python tools/tables_reference.py --check    exit 1 when the page differs

A test compares the page with what this module makes, so the page cannot say what the tables do not hold.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from kept_page import keep, replaced

from groupsim.pipeline.tables.column_types import KEY, Column
from groupsim.pipeline.tables.schemas import CELLS, TABLES, TABLES_VERSION

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tables.md"
BEGIN = "<!-- tables: begin (written by tools/tables_reference.py) -->"
END = "<!-- tables: end -->"


def reference() -> str:
    """The whole part, markers included."""
    return "\n".join([BEGIN, *_lines(), END])


def _lines() -> Iterator[str]:
    yield from ("", f"Version {TABLES_VERSION} of the tables.", "")
    yield from (f"### `{CELLS.name}`", "", f"One row: {CELLS.row}.", "", *_columns(CELLS.columns))
    yield from ("", "Every other table begins with these two columns:", "")
    yield from _columns(KEY)
    for table in TABLES.values():
        yield from ("", f"### `{table.name}`", "", f"One row: {table.row}.", "", *_columns(table.own))
    yield ""


def _columns(columns: tuple[Column, ...]) -> Iterator[str]:
    yield from ("| column | type | meaning |", "|---|---|---|")
    for column in columns:
        kind = f"{column.type.value}, or null" if column.null else column.type.value
        yield f"| `{column.name}` | {kind} | {column.meaning} |"


def rewritten(page: str) -> str:
    """The page with the part between its markers. Raises ValueError when it has no markers."""
    return replaced(page, BEGIN, END, reference())


if __name__ == "__main__":
    sys.exit(keep(PAGE, rewritten, __doc__))
