"""Where a class of ours stands in Kafka's schemas (as kio has them), and which fields it has there in which version."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

from attrs import frozen


@frozen
class Place:
    """A schema's file, the class there (the first of several that the version has), our fields it names otherwise."""

    file: str
    classes: tuple[str, ...]
    renamed: Mapping[str, str]

    def fields(self, version: int) -> set[str] | None:
        """The schema's fields in a version; None for a version it lacks."""
        api, kind = self.file.split(".")
        try:
            module = importlib.import_module(f"kio.schema.{api}.v{version}.{kind}")
        except ModuleNotFoundError:
            return None
        found: Any = next((getattr(module, name) for name in self.classes if hasattr(module, name)), None)
        return None if found is None else {field.name for field in dataclasses.fields(found)}

    def theirs(self, field: str) -> str:
        """The schema's name of a field of ours."""
        return self.renamed.get(field, field)


def at(file: str, *classes: str, **renamed: str) -> Place:
    """A place in the schemas."""
    return Place(file, classes, renamed)
