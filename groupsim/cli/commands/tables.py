"""`groupsim sql`, `groupsim tables` and `groupsim compact`: query, describe and rewrite the tables of a sweep."""

from __future__ import annotations

import csv
import io
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rich.table import Table as Shown
from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.exits import SUCCESS, Trouble
from groupsim.cli.terminal import Terminal, width_of
from groupsim.pipeline.tables.schemas import CELLS, QUERIED, TABLES_VERSION
from groupsim.scenarios.language.problems import suggest

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.sweep import EngineOptions

MANY = 1_000  # maximal number of printed rows


def sql(directory: str, query: str, engine: str, options: EngineOptions, wants_json: bool, wants_csv: bool) -> int:
    """Print the result of a query; return the exit code. Raises Trouble and SweepError."""
    if wants_json and wants_csv:
        raise Trouble("--json and --csv are two formats", "leave one of them out")
    _need_pyarrow()
    from groupsim.pipeline.sql import ask
    from groupsim.pipeline.sweep.directory import Directory

    found = ask(Directory.open(directory, options.conf), query, engine, options)
    names, rows = _unique(found.column_names), [[_plain(value) for value in row] for row in _rows(found)]
    if wants_json:
        listed = [dict(zip(names, row, strict=True)) for row in rows]
        print(as_json.text({"schema": as_json.SCHEMA, "columns": names, "rows": listed}))
    elif wants_csv:
        sys.stdout.write(_csv(names, rows))
    else:
        _print(names, rows)
    return SUCCESS


def tables(directory: str, chosen: Sequence[str], wants_json: bool, wants_csv: bool) -> int:
    """Print the tables of a directory: number of rows, columns and their meaning; return the exit code.

    Raises Trouble for an unknown table, and SweepError for a directory that is not a sweep's.
    """
    if wants_json and wants_csv:
        raise Trouble("--json and --csv are two formats", "leave one of them out")
    for name in chosen:
        if name not in QUERIED:
            raise Trouble(f"no table {name!r}", suggest(name, QUERIED, "tables"))
    _need_pyarrow()
    from groupsim.pipeline.sweep.directory import Directory

    swept = Directory.open(directory)
    counts = {name: swept.count(name) for name in QUERIED if name != CELLS.name}
    counts[CELLS.name] = sum(len(cell.labels) for cell in swept.experiment.cells)
    wanted = [table for name, table in QUERIED.items() if not chosen or name in chosen]
    described = [
        {
            "name": table.name,
            "rows": counts[table.name],
            "row": table.row,
            "columns": [
                {"name": one.name, "type": one.type.value, "null": one.null, "meaning": one.meaning}
                for one in table.columns
            ],
        }
        for table in wanted
    ]
    if wants_json:
        print(as_json.text({"schema": as_json.SCHEMA, "version": TABLES_VERSION, "tables": described}))
    elif wants_csv:
        lines = [(table.name, one.name, one.type.value, one.meaning) for table in wanted for one in table.columns]
        sys.stdout.write(_csv(("table", "column", "type", "meaning"), lines))
    else:
        _describe(described)
    return SUCCESS


def compact(directory: str, settings: Mapping[str, str]) -> int:
    """Rewrite the tables of a directory in few large files; return the exit code. Raises Trouble and SweepError."""
    _need_pyarrow()
    from groupsim.pipeline.sweep.compact import compact as compacted

    done = compacted(directory, settings)
    words = f"{done.before:,} files before, {done.after:,} now" if done.before != done.after else "nothing to do"
    Terminal(soft_wrap=True).print(Text(f"{directory}: {words}"))
    return SUCCESS


def _need_pyarrow() -> None:
    if find_spec("pyarrow") is None:
        raise Trouble("tables are Parquet, which needs pyarrow", 'pip install "groupsim[sql]"')


def _rows(table: pa.Table) -> Iterable[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in table.columns]
    return zip(*columns, strict=True)


def _plain(value: Any) -> Any:
    """Convert a value to JSON data. Some engines return sums of integers as decimals."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return as_json.plain(value)


def _unique(names: Sequence[str]) -> list[str]:
    """Number repeated column names, since a query may use a name twice."""
    found: list[str] = []
    for name in names:
        number = 1
        while (name if number == 1 else f"{name}_{number}") in found:
            number += 1
        found.append(name if number == 1 else f"{name}_{number}")
    return found


def _csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return " ".join(str(value).lower().split()) if isinstance(value, bool) else str(value)


def _print(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table: unfolded in a pipe, folded to the width of a terminal."""
    console = Terminal()
    texts = [[_shown(value) for value in row] for row in rows[:MANY]]
    numbers = [all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(names))]
    widths = [max([len(name), *(len(row[at]) for row in texts)]) for at, name in enumerate(names)]
    width = width_of(console)
    if width is None or sum(widths) + 2 * (len(names) - 1) <= width:
        console = Terminal(soft_wrap=True)
        for row in (names, *texts):
            cells = (
                text.rjust(size) if number else text.ljust(size)
                for text, size, number in zip(row, widths, numbers, strict=True)
            )
            console.print(Text("  ".join(cells).rstrip(), "bold" if row is names else ""))
    else:
        shown = Shown(box=None, padding=(0, 1, 0, 0), header_style="bold")
        for name, number in zip(names, numbers, strict=True):
            shown.add_column(Text(name), justify="right" if number else "left", overflow="fold")
        for row in texts:
            shown.add_row(*map(Text, row))
        console.print(shown)
    more = f"{MANY:,} of {len(rows):,} rows; --csv and --json print all" if len(rows) > MANY else ""
    if more or not rows:
        Terminal(stderr=True, soft_wrap=True).print(Text(more or "no rows", "dim"))


def _describe(described: Sequence[dict[str, Any]]) -> None:
    console = Terminal(soft_wrap=True)
    width = min(width_of(console) or 10_000, shutil.get_terminal_size().columns if console.is_terminal else 10_000)
    for at, table in enumerate(described):
        rows = "1 row" if table["rows"] == 1 else f"{table['rows']:,} rows"
        head = f"{table['name']}, {rows}: {table['row']}".replace("`", "")
        first, *rest = textwrap.wrap(head, max(width, 40), subsequent_indent="    ")
        console.print(Text(("\n" if at else "") + "\n".join([first, *rest]), "bold"))
        for one in table["columns"]:
            kind = f"{one['type']} or null" if one["null"] else one["type"]
            begin = f"  {one['name']:<20} {kind:<15} "
            lines = textwrap.wrap(one["meaning"].replace("`", ""), max(width - len(begin), 24))
            console.print(Text(begin + f"\n{' ' * len(begin)}".join(lines)))
