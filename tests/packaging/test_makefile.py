"""The recipes of the Makefile that set an environment up."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
@pytest.mark.parametrize("target", [".venv/.runtime", ".venv/.dev", ".venv/.spark"])
def test_a_recipe_is_a_script_that_the_shell_can_read(target: str) -> None:
    """A comma in the arguments of a make function cuts a command in two; the shell reads every recipe to its end."""
    made = subprocess.run(
        ["make", "--dry-run", "--always-make", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "pip install" in made.stdout
    read = subprocess.run(["sh", "-n"], input=made.stdout, capture_output=True, text=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")
