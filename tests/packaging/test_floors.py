"""The contract between the floors really bites: a module that breaks it is found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINT = Path(sys.executable).with_name("lint-imports")


@pytest.fixture(scope="module")
def tree(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The assembled package, with a front-door package that does not exist yet."""
    target = tmp_path_factory.mktemp("tree")
    subprocess.run([sys.executable, "tools/assemble.py", str(target)], cwd=checkout, check=True)
    report = target / "groupsim" / "report"
    report.mkdir()
    (report / "__init__.py").touch()
    (report / "html.py").touch()
    return target


ABOVE = [
    ("members", "from groupsim.coordinator import interfaces"),
    ("coordinator", "import groupsim.members"),
    ("protocol", "from groupsim.eventloop import interface"),
    ("cluster", "import groupsim.scenarios"),
    ("scenarios", "import groupsim"),
    ("members", "from groupsim.report.html import page"),
    ("eventloop", "from groupsim.report import html"),
    ("assignors", "from groupsim.eventloop import interface"),
]
BELOW = [
    ("scenarios", "from groupsim.cluster import *"),
    ("members", "from groupsim.protocol import messages"),
    ("coordinator", "from groupsim.assignors import registry"),
    ("report", "from groupsim.scenarios import *"),
]


def lint(checkout: Path, tree: Path, folder: Path, imports: list[tuple[str, str]]) -> subprocess.CompletedProcess[str]:
    """Run the contracts once on the tree with a module `newcomer_N` for each import."""
    shutil.copytree(tree, folder, dirs_exist_ok=True)
    for number, (room, line) in enumerate(imports):
        (folder / "groupsim" / room / f"newcomer_{number}.py").write_text(f"{line}\n")
    command = [str(LINT), "--no-logo", "--no-cache", "--config", str(checkout / "pyproject.toml")]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)


def test_each_import_from_above_is_found(checkout: Path, tree: Path, tmp_path: Path) -> None:
    """A room that imports from its own floor, from above or from the front door breaks the contract, and is named."""
    done = lint(checkout, tree, tmp_path, ABOVE)
    assert done.returncode == 1
    said = done.stdout.replace("\n", " ")
    for number, (room, line) in enumerate(ABOVE):
        assert f"groupsim.{room}.newcomer_{number} -> {line.split()[1]}" in said


def test_an_import_from_below_is_fine(checkout: Path, tree: Path, tmp_path: Path) -> None:
    """Downwards everything may be imported, and the front door may import any room."""
    done = lint(checkout, tree, tmp_path, BELOW)
    assert done.returncode == 0, done.stdout
