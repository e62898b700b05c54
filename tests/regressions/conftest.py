"""The defects (`coordinator_defects` and others) and `caught` are modules beside the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def mutant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Switches on the defect that `caught` asks for, if any; its name."""
    defect = getattr(request, "param", None)
    if defect is None:
        return None
    defect(monkeypatch)
    return str(defect.__name__)
