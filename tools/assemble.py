"""Assemble the package `groupsim` as one tree, for tools that cannot follow a package-dir mapping.

    python tools/assemble.py .build/assembled        copies (import-linter, structure viewers)
    python tools/assemble.py --links .build/links    symbolic links (mypy: messages name the real files)

pyproject.toml says where a room lives; a package is a folder with an `__init__.py` below one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def rooms(root: Path = ROOT) -> dict[str, Path]:
    """Import name of each room → its folder, the front door first."""
    config = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    return {name: root / folder for name, folder in config["package-dir"].items()}


def mapping(root: Path = ROOT) -> dict[str, Path]:
    """Import name of each package → its folder."""
    found = rooms(root)
    for room, folder in rooms(root).items():
        inner = [file.parent for file in sorted(folder.glob("*/**/__init__.py"))]
        found |= {".".join([room, *package.relative_to(folder).parts]): package for package in inner}
    return found


def copy(target: Path) -> None:
    """Copy the packages below `target`, laid out as an import system without a mapping expects them."""
    shutil.rmtree(target, ignore_errors=True)
    for name, folder in rooms().items():
        hidden = shutil.ignore_patterns(".*", "__pycache__")
        shutil.copytree(folder, target.joinpath(*name.split(".")), ignore=hidden, dirs_exist_ok=True)


def link(target: Path) -> None:
    """Link the rooms, and the front door's own files, below `target`; what is right already stays."""
    front = target / "groupsim"
    front.mkdir(parents=True, exist_ok=True)
    own = [item for item in (ROOT / "groupsim").iterdir() if not item.name.startswith((".", "__pycache__"))]
    wanted = {item.name: item for item in own}
    wanted |= {name.split(".")[1]: folder for name, folder in rooms().items() if "." in name}
    for stale in [entry for entry in front.iterdir() if entry.name not in wanted and entry.is_symlink()]:
        stale.unlink()
    for name, path in wanted.items():
        entry = front / name
        if not entry.is_symlink() or entry.readlink() != path:
            fresh = front / f".{name}.{os.getpid()}"
            fresh.symlink_to(path)
            fresh.replace(entry)  # atomic, so that a concurrent reader finds the entry


def sources(folder: Path) -> list[Path]:
    """The files of one package that belong to it, data included, sorted."""
    return sorted(f for f in folder.iterdir() if f.is_file() and not f.name.startswith("."))


def main() -> None:
    """Parse the command line and assemble."""
    parser = argparse.ArgumentParser(description="assemble the package as one tree")
    parser.add_argument("target", type=Path)
    parser.add_argument("--links", action="store_true", help="symbolic links instead of copies")
    args = parser.parse_args()
    (link if args.links else copy)(args.target)


if __name__ == "__main__":
    main()
