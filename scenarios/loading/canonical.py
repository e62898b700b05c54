"""A scenario as one JSON text: complete in itself, the same to the byte wherever it is made, readable without YAML.

What a file leaves to its surroundings is resolved: comments, aliases and styles are gone, the name is in it, the
.properties files it names are read in, values of secrets are withheld. Two things are kept that JSON would lose:

- **The order of keys.** It is the order in which members start and topics are created, so a run depends on it. Sorting
  would make another scenario.
- **The text of a number with a fraction** (3.10 is a version, not 3.1). JSON writes numbers as text, so most go as they
  are; one that JSON has no spelling for (`.5`, `+1.5`) goes as `{"$number": "+1.5"}`.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import attrs

from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.plain_data import Decimalish
from groupsim.scenarios.language.properties import parse_properties, without_secrets
from groupsim.scenarios.loading.load import scenario_of

Reader = Callable[[Path], str]

_JSON_FRACTION = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


def canonical_json(document: Document, name: str, read: Reader | None = None) -> str:
    """The canonical text of a document that `scenario_of` accepts; `read` reads a .properties file.

    Raises OSError when such a file cannot be read.
    """
    data = {"name": name} | copy.deepcopy(document.data)
    data["name"] = data["name"] or name
    for group in data.get("groups", {}).values():
        if group is not None:
            _resolve(group, Path(document.file).parent, read or _read)
            _resolve_written(group.get("produces"))
    _resolve_written(data.get("broker"))
    for spec in (data.get("topics") or {}).values():
        _resolve_written(spec)
    for spec in (data.get("producers") or {}).values():
        _resolve_producer(spec, Path(document.file).parent, read or _read)
    return dump(data)


def scenario_from_json(text: str) -> Scenario:
    """The scenario of a canonical text; it runs to the same trace as the file the text was made from.

    Needs no YAML. Raises ValueError when it is no JSON, ScenarioError when it is no scenario.
    """
    data = parse(text)
    name = str(data.get("name", "scenario")) if isinstance(data, dict) else "scenario"
    return attrs.evolve(scenario_of(Document(name, data, {}, {}), name), file="")


def digest(text: str) -> str:
    """The sha256 of a canonical text, in hex."""
    return sha256(text.encode("ascii")).hexdigest()


def dump(value: Any) -> str:
    """Plain data as JSON in ASCII, without spaces, keys in their order, numbers as they were written."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(str(key))}:{dump(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(dump, value)) + "]"
    if isinstance(value, Decimalish):
        return value.text if _JSON_FRACTION.fullmatch(value.text) else dump({"$number": value.text})
    return json.dumps(value)


def parse(text: str) -> Any:
    """What `dump` wrote, as it was. Raises ValueError when it is no JSON."""
    return json.loads(text, parse_float=Decimalish, object_hook=_number)


def _number(found: dict[str, Any]) -> Any:
    return Decimalish(found["$number"]) if list(found) == ["$number"] else found


# --- settings -------------------------------------------------------------------------------------------------------


def _resolve(group: dict[str, Any], folder: Path, read: Reader) -> None:
    """Read in the .properties files of a group and its members.

    A member's file takes the place of the group's, and what is written in the scenario, for the group too, goes before
    either (`properties_of` in `scenarios/plans/members.py`): so what a file says goes to the member.
    """
    shared = _written(group)
    theirs = group.pop("properties-file", None)
    for key, spec in group.get("members", {}).items():
        own = {"count": spec} if isinstance(spec, int) else (spec or {})
        written = _written(own)
        path: str | None = own.pop("properties-file", theirs)
        if path is not None:
            from_file = without_secrets(parse_properties(read(folder / path)))
            own["properties"] = {**from_file, **shared, **written}
        group["members"][key] = own


def _resolve_producer(spec: object, folder: Path, read: Reader) -> None:
    """Read in the .properties file of a producer; what is written in the scenario goes before it."""
    if isinstance(spec, dict):
        written, path = _written(spec), spec.pop("properties-file", None)
        if path is not None:
            spec["properties"] = {**without_secrets(parse_properties(read(folder / path))), **written}


def _resolve_written(spec: object) -> None:
    """Settings without a file of their own: of brokers, topics, transforming producers."""
    if isinstance(spec, dict):
        _written(spec)


def _written(spec: dict[str, Any]) -> dict[str, object]:
    """The settings of a group or member in the scenario itself, as a mapping without secrets, left there as such."""
    found = spec.get("properties")
    if found is None:
        return {}
    spec["properties"] = without_secrets(parse_properties(found) if isinstance(found, str) else found)
    return dict(spec["properties"])


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
