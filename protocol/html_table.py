"""A small table as HTML, for values that a notebook shows (`_repr_html_`): escaped, bounded, in no style of its own.

It is the lowest room that has such a value (an assignment), so it stands here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

ROWS = 60  # of a table
CELL = 300  # characters of a cell


def html_table(headings: Sequence[str], rows: Iterable[Sequence[object]], count: int, more: str = "rows") -> str:
    """The table; of more than ROWS rows the first, and a line that says how many there are (`count`, of `more`)."""
    head = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in headings)
    lines = [f"<tr>{''.join(map(_cell, row))}</tr>" for row in islice(rows, ROWS)]
    rest = f"<p>… {count - ROWS:,} more {escape(more)}</p>" if count > ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{rest}"


def paragraph(text: str, *, bold: bool = False) -> str:
    """A line of text."""
    return f"<p><b>{escape(text)}</b></p>" if bold else f"<p>{escape(text)}</p>"


def _cell(value: object) -> str:
    text = str(value)
    return f"<td style='text-align:left'>{escape(text if len(text) <= CELL else text[: CELL - 1] + '…')}</td>"
