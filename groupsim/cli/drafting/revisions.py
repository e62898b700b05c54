"""Files at a revision of git."""

from __future__ import annotations

import subprocess
from pathlib import Path

from groupsim.cli.exits import Trouble
from groupsim.scenarios.language.document import utf8


def check_revision(revision: str, folder: Path) -> str:
    """Return the short commit id of a revision. Raises Trouble without git, a repository or the revision."""
    found = _git(folder, "rev-parse", "--verify", "--short", "--quiet", f"{revision}^{{commit}}")
    if found.returncode == 0:
        return found.stdout.decode().strip()
    if _git(folder, "rev-parse", "--git-dir").returncode != 0:
        raise Trouble(f"{folder} is not in a git repository", "name files of a checkout")
    raise Trouble(f"--git {revision}: no such revision", "name a branch, tag or commit; `git fetch` may be missing")


def text_at(revision: str, file: Path) -> str | None:
    """Return a file's text at a revision; None if it did not exist. Raises ScenarioError for text that is not UTF-8."""
    folder = file.resolve().parent
    found = _git(folder, "show", f"{revision}:./{file.name}")
    return utf8(found.stdout, file) if found.returncode == 0 else None


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    if not folder.is_dir():
        raise Trouble(f"{folder} is not a directory", "check the path")
    try:
        return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise Trouble("git is not installed", "install it, or compare two scenarios: groupsim diff A B") from None
