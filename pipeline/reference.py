"""The reference part of docs/tables.md, made from the tables' schemas.

    python -m groupsim.pipeline.reference docs/tables.md     rewrites the part between the markers

A test compares the page with what this module makes, so the page cannot say what the tables do not hold.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from groupsim.pipeline.columns import KEY, Column
from groupsim.pipeline.schemas import CELLS, TABLES, TABLES_VERSION

BEGIN = "<!-- tables: begin (written by python -m groupsim.pipeline.reference) -->"
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
    """A page with the part between its markers made anew. Raises ValueError when it has no markers."""
    head, found, rest = page.partition(BEGIN)
    _, ended, tail = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"the page has no markers; it needs the lines {BEGIN} and {END}")
    return head + reference() + tail


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(rewritten(target.read_text(encoding="utf-8")), encoding="utf-8")
