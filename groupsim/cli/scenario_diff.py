"""The differences between two scenarios, path by path.

The comparison uses the canonical form, in which comments, styles and the names of included files make no difference,
and secrets are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from groupsim.cli.scenario_source import load, written
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.loading.canonical import canonical_json, parse

WORDS = ("name", "title", "shows", "source", "known", "expect")  # keys that a run does not depend on


@frozen
class Difference:
    """One path and its value on both sides; None where the file has no value and a default holds."""

    path: str
    left: str | None
    right: str | None


def differences(left: str, right: str, settings: list[str]) -> tuple[Difference, ...]:
    """Return the differences of two scenarios, named as on the command line; `settings` change the right one.

    Raises ScenarioError, and OSError for unreadable properties.
    """
    for source, changes in ((left, []), (right, settings)):
        load(source, changes)  # only a valid scenario has a canonical form
    return between(written(left, []), written(right, settings))


def between(left: tuple[Document, str], right: tuple[Document, str]) -> tuple[Difference, ...]:
    """Return the differences of two valid documents, each with its default name."""
    return tuple(_between(_compared(*left), _compared(*right), ()))


def _compared(document: Document, name: str) -> dict[str, Any]:
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
    """Return a value as YAML in one line."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(str(_text(inner)) for inner in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(getattr(value, "text", value))
