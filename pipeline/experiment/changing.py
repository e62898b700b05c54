"""The changes of an experiment to its scenario, and their form for display."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Place
from groupsim.scenarios.language.properties import WITHHELD, is_secret, parse_properties, without_secrets
from groupsim.scenarios.loading.changes import Change


def change_of(path: str, value: Any, document: Document, at: Path_, path_place: Place) -> Change:
    """A change whose value stands at `at` of the experiment's document.

    A .properties file is searched beside the experiment, not beside the scenario.
    """
    if isinstance(value, str) and path.endswith(".properties-file"):
        value = str((Path(document.file).parent / value).resolve())
    return Change(path, value, document.at_value(at), path_place)


def shown(path: str, value: Any) -> Any:
    """Return a setting for display and storage: without the values of secrets."""
    group, _, key = path.rpartition(".properties.")
    if group:
        return WITHHELD if is_secret(key) else value
    return _shown(path.rpartition(".")[2], value)


def _shown(key: str, value: Any) -> Any:
    if key == "properties" and isinstance(value, str | Mapping):
        return without_secrets(parse_properties(value) if isinstance(value, str) else value)
    if isinstance(value, Mapping):
        return {name: _shown(name, inner) for name, inner in value.items()}
    return value
