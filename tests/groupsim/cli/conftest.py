"""The small scenario of this folder as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.front_stage import BOUNCE


@pytest.fixture
def bounce(tmp_path: Path) -> Path:
    """A scenario file."""
    path = tmp_path / "bounce.yaml"
    path.write_text(BOUNCE)
    return path
