"""Unknown names in a query: the likely table or column, from the errors of DuckDB and Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable

from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.tables.schemas import QUERIED
from groupsim.scenarios.language.problems import suggest

_TABLE = (
    re.compile(r"Table with name (\S+?) does not exist"),
    re.compile(r"table or view `?([^`]+?)`? cannot be found", re.IGNORECASE),
)
_COLUMN = (
    re.compile(r'Referenced column "([^"]+)" not found'),
    re.compile(r'does not have a column named "([^"]+)"'),
    re.compile(r"column, variable, or function parameter with name ((?:`[^`]+`\.?)+) cannot be resolved"),
)
_PLACE = re.compile(r"(LINE \d+: .*?\n\s*\^)", re.DOTALL)
_CLAUSE = re.compile(r"\b(group|partition)\b(?!\s+by\b)", re.IGNORECASE)  # as a column it cannot stand there
# What tables and columns were called, or are called in traces and elsewhere.
OTHERWISE = {
    "generations": "changes",
    "rebalances": "changes",
    "actions": "faults",
    "group": "group_id",
    "partition": "partition_id",
    "member": "member_id",
    "from": "from_state",
    "to": "to_state",
    "count": "n",
    "span": "span_id",
}


def explained(error: Exception, tables: Iterable[str], query: str) -> SweepError:
    """An engine's error in a sentence, with the place in the query and the remedy; `tables` are those it names."""
    text = str(error)
    if name := _found(_TABLE, text):
        return SweepError(f"no table {name!r}", _remedy(name, QUERIED, "tables"), bad_input=True)
    if name := _found(_COLUMN, text):
        columns = dict.fromkeys(column for table in tables for column in QUERIED[table].names)
        return SweepError(f"no column {name!r}", _remedy(name, columns, "columns"), bad_input=True)
    place = _PLACE.search(text)
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    where = f"\n{place[1]}" if place else ""
    clause = _CLAUSE.search(query)
    remedy = f"the column is {OTHERWISE[clause[1].lower()]}" if clause else "`groupsim tables DIR` lists names"
    return SweepError(f"the query cannot be answered: {first}{where}", remedy, bad_input=True)


def _found(patterns: Iterable[re.Pattern[str]], text: str) -> str | None:
    matches = (pattern.search(text) for pattern in patterns)
    name = next((match[1] for match in matches if match), None)
    return name and name.replace("`", "").split(".")[-1]


def _remedy(name: str, known: Iterable[str], what: str) -> str:
    names = list(known)
    other = OTHERWISE.get(name.lower())
    near = f"did you mean {other}?" if other in names else suggest(name, names, what)
    return f"{near} `groupsim tables DIR` lists them all" if what == "tables" else near
