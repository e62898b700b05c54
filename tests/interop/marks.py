"""Cases as pytest's parameters: all are `interop` (not in `make test`), some of them the short form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.interop.cases import Case


def each(cases: Iterable[Case]) -> list[Any]:
    """Each case with its id and its marks."""
    found = []
    for case in cases:
        marks = [pytest.mark.slow, pytest.mark.interop, *([pytest.mark.interop_short] if case.short else [])]
        found.append(pytest.param(case, id=case.name, marks=marks))
    return found
