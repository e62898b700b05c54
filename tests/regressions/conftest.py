"""The defects and `caught` are modules beside the tests; hand-made groups come from `tests/assignors`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "assignors")]


@pytest.fixture(autouse=True)
def mutant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Switches on the defect that `caught` asks for, if any; its name."""
    defect = getattr(request, "param", None)
    if defect is None:
        return None
    defect(monkeypatch)
    return str(defect.__name__)
