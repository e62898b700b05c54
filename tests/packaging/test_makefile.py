"""The recipes of the Makefile that set an environment up."""

from __future__ import annotations

import re
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


def test_the_tools_that_make_pages_exist() -> None:
    """`make docs` runs a list of tools by name; each is a file of tools/ whose first lines say that it writes."""
    made = re.search(r"^MADE := (.*?[^\\])$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert made is not None
    names = made[1].replace("\\\n", " ").split()
    assert len(names) > 10
    for name in names:
        text = (ROOT / "tools" / f"{name}.py").read_text("utf-8")
        assert re.search(r"writ|draw|put", text[:600], re.IGNORECASE), name
