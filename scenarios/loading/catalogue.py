"""Find the scenarios of the library by name.

`demo` is another name for the scenario that README.md shows. Titles come from an index, because to read all the
files takes more than a second; `tools/refresh_titles.py` writes it, and a test fails if it is out of date.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path

from groupsim.protocol.values import frozen
from groupsim.scenarios.language.document import STANDARD_INPUT
from groupsim.scenarios.language.problems import one_problem, suggest_of_library

INDEX = "titles.json"
ALIASES = {"demo": "bounced-member-holds-rebalance-open"}


@frozen
class Entry:
    """One scenario of the library."""

    name: str
    path: Path
    title: str
    shows: str
    source: str | None


def library() -> Path:
    """Return the folder of the library."""
    return Path(str(files("groupsim.scenarios.library")))


def names() -> tuple[str, ...]:
    """Return the names of the library's scenarios, sorted."""
    return tuple(sorted(path.stem for path in library().glob("*.yaml")))


def list_scenarios() -> tuple[Entry, ...]:
    """Return every scenario with its title, its sentence and its source, from the index."""
    rows = json.loads((library() / INDEX).read_text("utf-8"))
    return tuple(Entry(path=library() / f"{row['name']}.yaml", **row) for row in rows)


def find(name: str) -> Path:
    """Find the file for a name or path: a file that exists, a scenario of the library, or standard input (`-`).

    Raises ScenarioError with the nearest name as remedy if there is none.
    """
    path = Path(name)
    if name == "-":
        return STANDARD_INPUT
    if path.suffix in (".yaml", ".yml") or path.exists() or "/" in name:
        return path
    wanted = ALIASES.get(name, name)
    if wanted in names():
        return library() / f"{wanted}.yaml"
    if path.suffix[1:].isalpha():
        return path  # a file that does not exist: its reader proposes a similar name
    known = (*names(), *ALIASES)
    raise one_problem(name, "neither a file nor a scenario of the library", suggest_file(name, known))


def suggest_file(name: str, known: Collection[str]) -> str:
    """Return the remedy for a name that is none of the library: a file called like that, or the nearest name."""
    beside = next((f"{name}{ending}" for ending in (".yaml", ".yml") if Path(f"{name}{ending}").is_file()), None)
    return f"did you mean the file `{beside}`?" if beside else suggest_of_library(name, known)
