"""Carry mistakes from the value to the report, with the path to the value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import field

from groupsim.protocol.values import define
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Problem


class Wrong(ValueError):
    """One mistake with its remedy, at a value or (`at_key`) at its key; `below` is the path from where it is raised."""

    def __init__(self, message: str, remedy: str = "", *, below: Path_ = (), at_key: bool = False) -> None:
        super().__init__(message)
        self.message, self.remedy, self.below, self.at_key = message, remedy, below, at_key


class Several(ValueError):
    """The mistakes of one mapping or list, each with the path to it."""

    def __init__(self, mistakes: list[tuple[Path_, ValueError]]) -> None:
        super().__init__(f"{len(mistakes)} mistakes")
        self.mistakes = mistakes


@define
class Collector:
    """Continues after a mistake, so that one report shows them all."""

    mistakes: list[tuple[Path_, ValueError]] = field(factory=list)

    def attempt(self, path: Path_, act: Callable[..., Any], *args: Any) -> Any:
        """Return `act(*args)`; if it raises ValueError, record a mistake at `path` and return None."""
        try:
            return act(*args)
        except ValueError as error:
            self.mistakes.append((path, error))
            return None

    def add(self, mistake: ValueError) -> None:
        """Record a mistake at the place itself."""
        self.mistakes.append(((), mistake))

    def done(self) -> None:
        """Raise `Several` if mistakes were recorded."""
        if self.mistakes:
            raise Several(self.mistakes)


def problems_of(error: ValueError, document: Document) -> list[Problem]:
    """Return the mistakes in an exception, each at its place in the document."""
    return [_problem(path, mistake, document) for path, mistake in _leaves(error, ())]


def paths_of(error: ValueError) -> list[Path_]:
    """Return the path of each mistake of an exception, in the order of `problems_of`."""
    found = []
    for path, mistake in _leaves(error, ()):
        found.append((*path, *mistake.below) if isinstance(mistake, Wrong) else path)
    return found


def _leaves(error: ValueError, path: Path_) -> Iterator[tuple[Path_, ValueError]]:
    if not isinstance(error, Several):
        yield path, error
        return
    for below, mistake in error.mistakes:
        yield from _leaves(mistake, (*path, *below))


def _problem(path: Path_, mistake: ValueError, document: Document) -> Problem:
    if isinstance(mistake, Wrong):
        whole = (*path, *mistake.below)
        place = document.at_key(whole) if mistake.at_key else document.at_value(whole)
        return Problem(place, _of(path, document) + mistake.message, mistake.remedy)
    message, _, remedy = str(mistake).partition("; ")
    return Problem(document.at_value(path), _of(path, document) + message, remedy)


def _of(path: Path_, document: Document) -> str:
    """Name the key that a mistake is about: the last written key on its path (a short form leaves the last one out)."""
    while path and not document.holds(path):
        path = path[:-1]
    name = next((part for part in reversed(path) if isinstance(part, str)), None)
    return f"`{name}`: " if name else ""
