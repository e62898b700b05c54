"""A scenario as canonical JSON: complete in itself, equal to the byte wherever it is made, readable without YAML.

References to the surroundings are resolved: comments, aliases and styles are gone, the name is part of the text, the
contents of .properties files replace their names, and values of secrets are withheld. It keeps two things:

- **The order of keys.** Members start and topics are created in this order, so a run depends on it. Sorted keys
  would be another scenario.
- **The text of a number with a fraction** (3.10 is a version, not 3.1). JSON numbers are text, so most stay as they
  are; one that JSON cannot write (`.5`, `+1.5`) becomes `{"$number": "+1.5"}`.
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
    """Return the canonical text of a document that `scenario_of` accepts; `read` reads a .properties file.

    Raises OSError if such a file cannot be read.
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
    """Return the scenario of a canonical text; it runs to the same trace as the file the text was made from.

    Needs no YAML. Raises ValueError for text that is not JSON, ScenarioError for data that is not a scenario.
    """
    data = parse(text)
    name = str(data.get("name", "scenario")) if isinstance(data, dict) else "scenario"
    return attrs.evolve(scenario_of(Document(name, data, {}, {}), name), file="")


def digest(text: str) -> str:
    """Return the sha256 of a canonical text, in hex."""
    return sha256(text.encode("ascii")).hexdigest()


def dump(value: Any) -> str:
    """Write plain data as ASCII JSON without spaces; keys keep their order, numbers their text."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(str(key))}:{dump(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(dump, value)) + "]"
    if isinstance(value, Decimalish):
        return value.text if _JSON_FRACTION.fullmatch(value.text) else dump({"$number": value.text})
    return json.dumps(value)


def parse(text: str) -> Any:
    """Read what `dump` wrote. Raises ValueError for text that is not JSON."""
    return json.loads(text, parse_float=Decimalish, object_hook=_number)


def _number(found: dict[str, Any]) -> Any:
    return Decimalish(found["$number"]) if list(found) == ["$number"] else found


# --- settings -------------------------------------------------------------------------------------------------------


def _resolve(group: dict[str, Any], folder: Path, read: Reader) -> None:
    """Replace the names of .properties files by their settings, for a group and its members.

    A member's file replaces the group's. Settings in the scenario, those of the group included, take precedence over
    both (`properties_of` in `scenarios/plans/members.py`). So the settings of a file become settings of the member.
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
    """Replace the name of a producer's .properties file by its settings; the scenario's own take precedence."""
    if isinstance(spec, dict):
        written, path = _written(spec), spec.pop("properties-file", None)
        if path is not None:
            spec["properties"] = {**without_secrets(parse_properties(read(folder / path))), **written}


def _resolve_written(spec: object) -> None:
    """Normalize the settings of a broker, a topic or a transforming producer, which have no file."""
    if isinstance(spec, dict):
        _written(spec)


def _written(spec: dict[str, Any]) -> dict[str, object]:
    """Return the settings in the scenario itself, as a mapping without secrets; `spec` gets the same mapping."""
    found = spec.get("properties")
    if found is None:
        return {}
    spec["properties"] = without_secrets(parse_properties(found) if isinstance(found, str) else found)
    return dict(spec["properties"])


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
