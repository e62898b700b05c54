"""Checks of a query before it runs: one statement, that only reads, and the tables it names."""

from __future__ import annotations

import re

from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.tables.schemas import QUERIED

READS = ("select", "with", "from", "values", "table", "explain", "describe", "desc", "show", "summarize", "pivot")
WRITES = frozenset(
    [
        "insert",
        "update",
        "delete",
        "merge",
        "create",
        "drop",
        "alter",
        "truncate",
        "copy",
        "overwrite",
        "attach",
        "detach",
        "export",
        "import",
        "install",
        "vacuum",
        "checkpoint",
    ]
)
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[a-z_][a-z_0-9]*")


def checked(query: str) -> str:
    """The query without the semicolon at its end. Raises SweepError for one that is empty, that writes, or for two."""
    bare = _QUOTED.sub(" ", query)
    first, *rest = [part for part in bare.split(";") if part.strip()] or [""]
    words = _WORD.findall(first.lower())
    if not words:
        raise SweepError(
            "the query is empty", 'such as "select cause, count(*) from changes group by cause"', bad_input=True
        )
    if rest:
        raise SweepError("the query has two statements", "ask one at a time", bad_input=True)
    writes = next((word for word in words if word in WRITES), None)
    if writes or words[0] not in READS:
        raise SweepError(
            f"`{writes or words[0]}`: only queries are answered, and the directory is only read",
            "begin with select, with, describe or explain; --csv and --json write what was found to standard output",
            bad_input=True,
        )
    return query.strip().rstrip(";")


def named(query: str) -> list[str]:
    """The tables whose names occur in the query."""
    words = set(_WORD.findall(query.lower()))
    every = "tables" in words  # `show tables`
    return [name for name in QUERIED if every or name in words]
