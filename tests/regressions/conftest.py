"""A test runs with the defect that its `caught` asks for."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def mutant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Switches on the defect that `caught` asks for, if any; its name."""
    defect = getattr(request, "param", None)
    if defect is None:
        return None
    defect(monkeypatch)
    return str(defect.__name__)
