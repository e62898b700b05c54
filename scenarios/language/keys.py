"""Map attrs classes to the mappings of a scenario file.

A class of the model is one mapping of the file; a field is one key: `run_for` is written `run-for`, `from_` is written
`from`. `key("…")` holds the description of the key, which the JSON Schema shows, and
the table of `docs/writing-a-scenario.md`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs

REQUIRED = attrs.NOTHING


def key(doc: str, default: Any = REQUIRED, *, factory: Any = None, short: bool = False) -> Any:
    """Return a field with its description; `short` marks the field that a bare value stands for."""
    metadata = {"doc": doc, "short": short}
    if factory is not None:
        return attrs.field(factory=factory, metadata=metadata)
    return attrs.field(default=default, metadata=metadata)


def key_of(field_name: str) -> str:
    """Return the key in the file for a field of the class."""
    return field_name.rstrip("_").replace("_", "-")


def fields_of(cls: type[Any]) -> dict[str, attrs.Attribute[Any]]:
    """Return the described fields of a class by their keys, with types resolved."""
    found: dict[str, attrs.Attribute[Any]] = _fields(cls)  # type: ignore[arg-type]
    return found


@cache
def _fields(cls: Any) -> dict[str, attrs.Attribute[Any]]:
    attrs.resolve_types(cls)
    return {key_of(field.name): field for field in attrs.fields(cls) if "doc" in field.metadata}


def short_key(cls: type[Any]) -> str | None:
    """Return the key that a bare value stands for."""
    return next((name for name, field in fields_of(cls).items() if field.metadata["short"]), None)


def sentence(cls: type) -> str:
    """Return the first paragraph of a class's docstring, in one line."""
    return " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split())


def required(cls: type) -> tuple[str, ...]:
    """Return the keys without a default."""
    return tuple(name for name, field in fields_of(cls).items() if field.default is REQUIRED)
