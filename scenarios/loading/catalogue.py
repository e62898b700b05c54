"""The library of scenarios that comes with groupsim, by name.

`demo` is another name for the scenario a newcomer should see first.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from attrs import frozen

from groupsim.scenarios.language.document import STANDARD_INPUT, read_document
from groupsim.scenarios.language.problems import one_problem, suggest_of_library

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
    """The folder of the library."""
    return Path(str(files("groupsim.scenarios.library")))


def names() -> tuple[str, ...]:
    """The names of the library's scenarios, sorted."""
    return tuple(sorted(path.stem for path in library().glob("*.yaml")))


def list_scenarios() -> tuple[Entry, ...]:
    """Every scenario with its title, its sentence and its source."""
    return tuple(_entries())


def _entries() -> Iterator[Entry]:
    for name in names():
        path = library() / f"{name}.yaml"
        data = read_document(path).data
        yield Entry(
            name, path, str(data.get("title", "")), " ".join(str(data.get("shows", "")).split()), data.get("source")
        )


def find(name: str) -> Path:
    """The file a name or path means: a file that exists, a scenario of the library, or standard input (`-`).

    Raises ScenarioError with the nearest name when there is none.
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
        return path  # which is not there: whoever reads it says what lies beside
    known = (*names(), *ALIASES)
    beside = next((f"{name}{ending}" for ending in (".yaml", ".yml") if Path(f"{name}{ending}").is_file()), None)
    remedy = f"did you mean the file `{beside}`?" if beside else suggest_of_library(name, known)
    raise one_problem(name, "no file and no scenario of the library has this name", remedy)
