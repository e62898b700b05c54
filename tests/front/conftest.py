"""The small scenario of this folder as a file; its tests may import the hand-made traces of `tests/story`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "story")]


@pytest.fixture
def bounce(tmp_path: Path) -> Path:
    """A scenario file."""
    from front_stage import BOUNCE

    path = tmp_path / "bounce.yaml"
    path.write_text(BOUNCE)
    return path
