"""What two scenarios say differently: path by path, so that two files need not be read side by side.

Compared is the canonical form, in which comments, styles and the files that are named make no difference, and secrets
are withheld.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from groupsim.cli.scenario_source import load, written
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.loading.canonical import canonical_json, parse

WORDS = ("name", "title", "shows", "source", "known", "expect")  # what a run does not depend on


@frozen
class Difference:
    """One path and what it has on either side; None where it is not written, and a default holds."""

    path: str
    left: str | None
    right: str | None


def differences(left: str, right: str, settings: list[str]) -> tuple[Difference, ...]:
    """Where two scenarios, named as on the command line, differ; `settings` are changes of the right one.

    Raises ScenarioError, and OSError for properties that cannot be read.
    """
    for source, changes in ((left, []), (right, settings)):
        load(source, changes)  # a canonical form is of what is a scenario: judged first, and before anything runs
    return between(written(left, []), written(right, settings))


def between(left: tuple[Document, str], right: tuple[Document, str]) -> tuple[Difference, ...]:
    """The same for two documents that are scenarios, each with the name it has when it gives itself none."""
    return tuple(_between(_said(*left), _said(*right), ()))


def _said(document: Document, name: str) -> dict[str, Any]:
    data: dict[str, Any] = parse(canonical_json(document, name))
    return {key: value for key, value in data.items() if key not in WORDS}


def _between(left: Any, right: Any, path: tuple[str, ...]) -> Iterator[Difference]:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in dict.fromkeys((*left, *right)):
            yield from _between(left.get(key), right.get(key), (*path, str(key)))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _between(one, other, (*path, str(index)))
    elif left != right:
        yield Difference(".".join(path), _text(left), _text(right))


def _text(value: Any) -> str | None:
    """A value as a file would have it, in one line."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(str(_text(inner)) for inner in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(getattr(value, "text", value))
