"""The user's own code that a scenario names: assignors as `module:Class`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def import_from(folder: Path) -> None:
    """Let `module:Class` in a scenario name a file beside it, wherever the command is called."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def plugin_modules(data: dict[str, Any]) -> list[str]:
    """The modules that a scenario's assignors come from, each once, in the order of the file."""
    found: dict[str, None] = {}
    for name in _assignors(data):
        module, sign, _ = name.strip().partition(":")
        if sign:
            found[module] = None
    return list(found)


def _assignors(data: dict[str, Any]) -> Iterator[str]:
    for group in (data.get("groups") or {}).values():
        if not isinstance(group, dict):
            continue
        for spec in (group, *(group.get("members") or {}).values()):
            if isinstance(spec, dict):
                yield from _names(spec.get("assignor"))
                properties = spec.get("properties")
                strategy = properties.get("partition.assignment.strategy") if isinstance(properties, dict) else None
                yield from _names(strategy)


def _names(found: object) -> list[str]:
    if isinstance(found, str):
        return found.split(",")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
