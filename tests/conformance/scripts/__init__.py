"""The scripts, one module for each table of the classic-protocol reference."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from tests.conformance.script import CASES, Case


def all_cases() -> dict[str, Case]:
    """Every case of every module here, by id."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return CASES
