"""Public names that are imported at their first use, so that their module is imported quickly."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy(module: str, homes: Mapping[str, str]) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` for a module.

    `homes` maps defining modules to names, separated by blanks; `public=own` renames one.
    """
    found: dict[str, tuple[str, str]] = {}
    for home, names in homes.items():
        for name, _, own in (one.partition("=") for one in names.split()):
            found[name] = (home, own or name)

    def get(name: str) -> Any:
        if name not in found:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, own = found[name]
        value = getattr(importlib.import_module(home), own)
        setattr(sys.modules[module], name, value)
        return value

    public = sorted(found)
    return public, get, lambda: public
