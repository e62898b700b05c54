"""`--set PATH=VALUE`: one value of a scenario changed before it is read.

A path is keys joined by dots, as in `groups.orders.properties.session.timeout.ms=10000`. Kafka's own names have dots
too, so at each step the longest key that is there wins, and below `properties` (or `broker`) the rest is one key. A
number steps into a list. The value is YAML.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

from groupsim.exits import Trouble
from groupsim.scenarios import catalogue
from groupsim.scenarios.document import Document, parse_document, read_document
from groupsim.scenarios.load import scenario_of
from groupsim.scenarios.model import Scenario
from groupsim.scenarios.problems import ScenarioError

FREE = ("properties", "broker")  # below these the rest of a path is one of Kafka's names


def load(source: str, settings: Iterable[str] = ()) -> Scenario:
    """The scenario of that name or file, with these settings changed.

    Raises `ScenarioError` for a bad file or name and `Trouble` for a setting that is none.
    """
    path = catalogue.find(source)
    _import_from(Path(path).resolve().parent)
    document = changed(read_document(path), settings)
    return scenario_of(document, Path(path).stem)


def _import_from(folder: Path) -> None:
    """Let `module:Class` in a scenario name a file beside it, wherever the command is called."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def changed(document: Document, settings: Iterable[str]) -> Document:
    """The document with every `PATH=VALUE` applied."""
    data = copy.deepcopy(document.data)
    for setting in settings:
        path, sign, text = setting.partition("=")
        if not sign or not path:
            raise Trouble(f"--set {setting}: this is no PATH=VALUE", "such as groups.g1.assignor=sticky")
        _apply(data, path.split("."), _value(text), setting)
    return attrs.evolve(document, data=data)


def _value(text: str) -> Any:
    try:
        return parse_document(text, "--set").data if text else ""
    except ScenarioError as error:
        raise Trouble(
            f"--set …={text}: {error.problems[0].message}", "the value is YAML; quote it if need be"
        ) from None


def _apply(here: Any, parts: list[str], value: Any, setting: str) -> None:
    above = ""
    while True:
        key, parts = _step(here, parts, above, setting)
        if not parts:
            here[key] = value
            return
        if isinstance(here, dict) and not isinstance(here.get(key), dict | list):
            here[key] = {}
        here, above = here[key], str(key)


def _step(here: Any, parts: list[str], above: str, setting: str) -> tuple[Any, list[str]]:
    """The next key and what is left of the path."""
    if isinstance(here, list):
        if not parts[0].isdecimal() or int(parts[0]) >= len(here):
            raise Trouble(f"--set {setting}: {parts[0]!r} is no item of a list of {len(here)}", "items count from 0")
        return int(parts[0]), parts[1:]
    for length in range(len(parts), 0, -1):
        key = ".".join(parts[:length])
        if key in here:
            return key, parts[length:]
    return (".".join(parts), []) if above in FREE else (parts[0], parts[1:])
