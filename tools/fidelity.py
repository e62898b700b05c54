"""Reads docs/fidelity.md and holds it to what it says: unique ids, known statuses, tests that exist.

    python tools/fidelity.py        counts rows by status; prints `line: what is wrong` and exits 1 when anything is

A row is a line of a table whose first cell is an id in backquotes. Tables have a header with the columns `id`, `rule`,
`status` and `test`, some also `source`. `a-{b,c}` stands for the ids a-b and a-c.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOC = ROOT / "docs" / "fidelity.md"
STATUSES = ("modelled", "simplified", "left out")


class Row(NamedTuple):
    """One rule of the document; `tests` are `path::function`."""

    line: int
    ids: tuple[str, ...]
    rule: str
    status: str
    tests: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The status without its explanation."""
        return self.status.split(":")[0]


def rows(text: str) -> list[Row]:
    """Every row of every table of the document."""
    found: list[Row] = []
    columns: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = _cells(line)
        if "id" in cells and "status" in cells:
            columns = cells
        elif columns and cells and cells[0].startswith("`"):
            named = dict(zip(columns, cells, strict=True))
            found.append(
                Row(number, expand(named["id"].strip("`")), named["rule"], named["status"], _tests(named["test"]))
            )
        elif not cells:
            columns = []
    return found


def _cells(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    return [cell.strip().replace("\\|", "|") for cell in line.replace("\\|", "\x00").strip("|\n ").split("|")]


def _tests(cell: str) -> tuple[str, ...]:
    return tuple(part.strip(" `") for part in cell.split(",") if "::" in part)


def expand(text: str) -> tuple[str, ...]:
    """`a-{b,c}-d` as a-b-d and a-c-d; without braces the id itself."""
    if "{" not in text:
        return (text,)
    before, rest = text.split("{", 1)
    choices, after = rest.split("}", 1)
    return tuple(f"{before}{choice}{after}" for choice in choices.split(","))


@lru_cache(maxsize=256)
def functions(path: str) -> frozenset[str]:
    """The names of the functions a file defines at its top level; none when there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def faults(found: list[Row]) -> Iterator[str]:
    """What is wrong with the rows, each as `line: what`."""
    count = Counter(one for row in found for one in row.ids)
    for row in found:
        for one in row.ids:
            if count[one] > 1:
                yield f"{row.line}: the id {one} stands {count[one]} times"
        if row.kind not in STATUSES or (row.kind == "modelled") != (row.status == "modelled"):
            yield f"{row.line}: status {row.status!r}: write modelled, `simplified: how` or `left out: why`"
        if row.kind == "modelled" and not row.tests:
            yield f"{row.line}: {row.ids[0]} is said to be modelled and names no test"
        for test in row.tests:
            path, _, name = test.partition("::")
            if name not in functions(path):
                yield f"{row.line}: there is no test {test}"


def main() -> int:
    """Check the document, count its rows."""
    found = rows(DOC.read_text(encoding="utf-8"))
    wrong = list(faults(found))
    for fault in wrong:
        print(f"docs/fidelity.md:{fault}")
    kinds = Counter(row.kind for row in found)
    ids = sum(len(row.ids) for row in found)
    print(f"{len(found)} rows, {ids} ids: " + ", ".join(f"{kinds[status]} {status}" for status in STATUSES))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
