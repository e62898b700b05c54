"""The size limit of a page: parts are taken in order of importance while there is room; the page names the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from groupsim.pipeline.page.compact import as_json

RUNS_BYTES = 3_500_000  # rows of whole runs
FIGURES_BYTES = 700_000  # each of: values per seed, statistics per cell, comparisons

PATIENCE = 8  # parts in a row that did not fit before the rest is not looked at

T = TypeVar("T")


def within(budget: int, parts: Iterable[tuple[T, Any]]) -> tuple[dict[T, Any], int]:
    """The parts (name, data) that fit, in order, the first in any case; and the bytes they take as JSON.

    A part that is too large is left out; smaller ones behind it may still fit, until too many in a row did not.
    """
    taken: dict[T, Any] = {}
    used = missed = 0
    for name, data in parts:
        size = len(as_json(data).encode())
        if not taken or used + size <= budget:
            taken[name] = data
            used += size
            missed = 0
        else:
            missed += 1
            if missed == PATIENCE:
                break
    return taken, used
