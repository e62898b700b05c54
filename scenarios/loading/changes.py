"""Change values of a scenario before it is read: `--set PATH=VALUE`, and the settings of a cell of an experiment.

A change keeps the place where it was written, so that an error in its value names that place and not the file that it
changes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import attrs

from groupsim.protocol.values import frozen
from groupsim.scenarios.language.document import Document, parse_document
from groupsim.scenarios.language.mistakes import Wrong
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Place, Problem, ScenarioError
from groupsim.scenarios.loading.paths import put


@frozen
class Change:
    """One value, the path it goes to (`paths.py`), and where it was written; `path_place` if the path was elsewhere."""

    path: str
    value: Any
    place: Place
    path_place: Place | None = None


def changed(document: Document, changes: Iterable[Change]) -> Document:
    """Return the document with every change applied, in order.

    Raises ScenarioError with every invalid path. The values are checked when the document is read.
    """
    data, moved = copy.deepcopy(document.data), dict(document.moved)
    problems: list[Problem] = []
    if not isinstance(data, dict):
        return document  # not a scenario: `scenario_of` reports it
    for change in changes:
        try:
            path = put(data, change.path, copy.deepcopy(change.value))
        except Wrong as wrong:
            problems.append(Problem(change.path_place or change.place, wrong.message, wrong.remedy))
        else:
            moved = {**{old: place for old, place in moved.items() if not _below(old, path)}, path: change.place}
    if problems:
        raise ScenarioError(problems)
    return attrs.evolve(document, data=data, moved=moved)


def _below(path: Path_, top: Path_) -> bool:
    return path[: len(top)] == top


def read_change(text: str) -> Change:
    """Read a change from the text of `--set`. Raises ScenarioError unless it is PATH=VALUE with a value in YAML."""
    place = Place(f"--set {text}")
    path, sign, value = text.partition("=")
    if not sign or not path:
        remedy = "write for example groups.g1.assignor=sticky"
        raise ScenarioError([Problem(place, "not PATH=VALUE", remedy)])
    return Change(path, _value(value, place), place)


def _value(text: str, place: Place) -> Any:
    """Read a value as YAML; no text after the `=` is an empty text."""
    if not text.strip():
        return ""
    if text.strip() in ("null", "~"):
        return None
    try:
        return parse_document(text, place.file).data
    except ScenarioError as error:
        message = error.problems[0].message
        raise ScenarioError([Problem(place, message, "write the value as YAML, in quotes if it is text")]) from None
