"""The package as one tree, for tools that know nothing of a mapping."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = "tools/assemble.py"


def assemble(checkout: Path, *arguments: str | Path) -> None:
    """Run the tool as the Makefile does."""
    subprocess.run([sys.executable, TOOL, *map(str, arguments)], cwd=checkout, check=True)


def test_copies_are_laid_out_as_imported(checkout: Path, tmp_path: Path) -> None:
    """Each package's files lie where its import name says, equal to the originals, and rooms are no links."""
    assemble(checkout, tmp_path / "tree")
    front = tmp_path / "tree" / "groupsim"
    assert (front / "py.typed").exists()
    copied = front / "protocol" / "errors.py"
    assert copied.read_bytes() == (checkout / "protocol" / "errors.py").read_bytes()
    assert not (front / "protocol").is_symlink()


def test_copying_again_forgets_what_is_gone(checkout: Path, tmp_path: Path) -> None:
    """A module that was deleted does not linger in the tree."""
    assemble(checkout, tmp_path)
    (tmp_path / "groupsim" / "stale.py").touch()
    assemble(checkout, tmp_path)
    assert not (tmp_path / "groupsim" / "stale.py").exists()


def test_links_lead_to_the_checkout(checkout: Path, tmp_path: Path) -> None:
    """Rooms and the front door's own modules are links, so messages of a tool name the real files."""
    assemble(checkout, "--links", tmp_path)
    front = tmp_path / "groupsim"
    assert (front / "protocol").resolve() == checkout / "protocol"
    assert (front / "__init__.py").resolve() == checkout / "groupsim" / "__init__.py"


@pytest.mark.parametrize("target", ["/nowhere", "."])
def test_linking_again_mends_what_is_wrong(checkout: Path, tmp_path: Path, target: str) -> None:
    """A link to elsewhere is replaced, a link that is no longer wanted removed, a right one kept."""
    assemble(checkout, "--links", tmp_path)
    front = tmp_path / "groupsim"
    kept = (front / "members").lstat().st_ino
    (front / "protocol").unlink()
    (front / "protocol").symlink_to(target)
    (front / "gone.py").symlink_to("/nowhere.py")
    assemble(checkout, "--links", tmp_path)
    assert (front / "protocol").resolve() == checkout / "protocol"
    assert not (front / "gone.py").is_symlink()
    assert (front / "members").lstat().st_ino == kept
