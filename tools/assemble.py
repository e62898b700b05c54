"""Assemble the package `groupsim` as one tree, for tools that cannot follow a package-dir mapping.

    python tools/assemble.py .build/assembled        copies (import-linter, structure viewers)
    python tools/assemble.py --links .build/links    symbolic links (mypy: messages name the real files)

The layout is read from pyproject.toml, so there is one place that says where a room lives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def mapping(root: Path = ROOT) -> dict[str, Path]:
    """Import name of each package → its folder, outermost package first."""
    config = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    folders = config["package-dir"]
    return {name: root / folders[name] for name in sorted(config["packages"], key=lambda n: n.count("."))}


def copy(target: Path) -> None:
    """Copy the packages below `target`, laid out as an import system without a mapping expects them."""
    shutil.rmtree(target, ignore_errors=True)
    for name, source in mapping().items():
        folder = target.joinpath(*name.split("."))
        folder.mkdir(parents=True, exist_ok=True)
        for item in sources(source):
            shutil.copy2(item, folder / item.name)


def link(target: Path) -> None:
    """Link the rooms, and the front door's own files, below `target`; what is right already stays."""
    front = target / "groupsim"
    front.mkdir(parents=True, exist_ok=True)
    wanted = {item.name: item for item in sources(ROOT / "groupsim")}
    wanted |= {name.split(".")[1]: path for name, path in mapping().items() if name.count(".") == 1}
    for stale in [entry for entry in front.iterdir() if entry.name not in wanted and entry.is_symlink()]:
        stale.unlink()
    for name, path in wanted.items():
        entry = front / name
        if not entry.is_symlink() or entry.readlink() != path:
            fresh = front / f".{name}.{os.getpid()}"
            fresh.symlink_to(path)
            fresh.replace(entry)  # at once, for whoever reads the tree meanwhile


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
