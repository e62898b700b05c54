"""The scripts, one module for each table of the classic-protocol reference; `consumer` has those of KIP-848."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from tests.conformance.script import CASES, Case


def all_cases() -> dict[str, Case]:
    """Every case of every module here, by id."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        import_module(module.name)
    return CASES
