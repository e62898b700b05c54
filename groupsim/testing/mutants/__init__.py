"""Historical bugs of brokers, clients and assignors: each function restores one with a few changed lines.

    from groupsim.testing import mutants

    mutants.no_sync_deadline(monkeypatch)  # KAFKA-12890, until the test ends

A function's docstring begins with the ids of its issues; `groupsim.testing.mutant` takes one of them, or the function's
name. docs/regressions.md lists all mutants, each with the test that catches it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from types import FunctionType

from groupsim.testing.patcher import Mutant

#: Modules of this package whose public functions are mutants.
MODULES = (
    "coordinator",
    "offsets",
    "consumer",
    "answers",
    "commits",
    "assignors",
    "kip848",
    "consumer_groups",
    "consumer_members",
)


@cache
def by_name() -> Mapping[str, Mutant]:
    """Return all mutants by name."""
    return {
        name: value
        for module in (importlib.import_module(f"{__name__}.{name}") for name in MODULES)
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__ and not name.startswith("_")
    }


@cache
def by_issue() -> Mapping[str, Mutant]:
    """Return all mutants by issue id: `KAFKA-12890`, `sarama 1608`."""
    return {issue: mutant for mutant in by_name().values() for issue in issues(mutant)}


def issues(mutant: Mutant) -> list[str]:
    """Return the issue ids at the start of a mutant's docstring."""
    return (mutant.__doc__ or "").partition(": ")[0].split(", ")


def __getattr__(name: str) -> Mutant:
    if not name.startswith("_") and name in by_name():
        return by_name()[name]
    raise AttributeError(f"module {__name__!r} has no mutant {name!r}")


def __dir__() -> list[str]:
    return [*by_name()]
