"""Report what is wrong with a scenario file: one problem per place, several in one report.

Every problem has a place (file, line, column), the fact, and the remedy. `ScenarioError` carries them
all, so that one run of `groupsim validate` shows every mistake.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from groupsim.protocol.values import frozen

ERROR = "error"
WARNING = "warning"
NOTE = "note"
_MANY = 60  # the most names in one remedy: all steps fit, all scenarios of the library do not


@frozen
class Place:
    """A position in a file; line and column count from 1, 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@frozen
class Problem:
    """One finding: `message` states the fact, `remedy` what to write instead."""

    place: Place
    message: str
    remedy: str = ""
    severity: str = ERROR

    def __str__(self) -> str:
        remedy = f"\n    {self.remedy}" if self.remedy else ""
        return f"{self.place}: {self.severity}: {self.message}{remedy}"


class ScenarioError(ValueError):
    """The error of a scenario that cannot be run, with `problems` in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (p.place.file, p.place.line, p.place.column)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def one_problem(file: str | Path, message: str, remedy: str = "") -> ScenarioError:
    """Return an error about a file as a whole."""
    return ScenarioError([Problem(Place(str(file)), message, remedy)])


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `word`, if any is similar."""
    by_folded = {name.casefold(): name for name in known}
    found = difflib.get_close_matches(word.casefold(), list(by_folded), n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def suggest(word: str, known: Iterable[str], what: str = "known") -> str:
    """Return a remedy for a misspelt name: the nearest one, or the list of names."""
    names = sorted(set(known))
    near = nearest(word, names)
    if near is not None:
        return f"did you mean `{near}`?"
    if not names:
        return f"{what}: none"
    shown = ", ".join(names[:_MANY]) + (", …" if len(names) > _MANY else "")
    return f"{what}: {shown}"


def suggest_of_library(word: str, known: Iterable[str]) -> str:
    """Return a remedy for a name that the library does not have: the nearest one, else the three least unlike it."""
    by_folded = {name.casefold(): name for name in sorted(set(known))}
    if nearest(word, by_folded.values()) is not None:
        return suggest(word, by_folded.values())
    found = difflib.get_close_matches(word.casefold(), list(by_folded), n=3, cutoff=0.0)
    some = f"nearest: {', '.join(by_folded[name] for name in found)}; " if found else ""
    return f"{some}`groupsim list` shows all"
