"""The one place that says where a room lives, and everything that has to agree with it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import assemble
import pytest

NOT_SHIPPED = {"tests", "tools", "benchmarks", "docs", "build", "dist"}


@pytest.fixture
def config(checkout: Path) -> dict[str, Any]:
    """The tool tables of pyproject.toml."""
    tools: dict[str, Any] = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["tool"]
    return tools


def rooms() -> set[str]:
    """The rooms: packages with a folder of their own at the root."""
    return {folder.name for name, folder in assemble.rooms().items() if "." in name}


def test_no_folder_with_code_is_forgotten(checkout: Path) -> None:
    """Each folder that holds Python files is a package of a room that pyproject.toml maps."""
    listed = set(assemble.mapping().values())
    holding = {file.parent for file in checkout.glob("[a-z]*/**/*.py")}
    ours = {folder for folder in holding if folder.relative_to(checkout).parts[0] not in NOT_SHIPPED}
    assert sorted(str(folder.relative_to(checkout)) for folder in ours - listed) == []


def test_every_room_is_there() -> None:
    """A room is a folder with an `__init__.py`: git keeps no empty folder, and a clean clone must build."""
    assert [name for name, folder in assemble.rooms().items() if not (folder / "__init__.py").exists()] == []


def test_a_packages_name_follows_its_folder(checkout: Path) -> None:
    """`assignors` is `groupsim.assignors`; only the front door has its own name at the root."""
    for name, folder in assemble.mapping().items():
        parts = folder.relative_to(checkout).parts
        assert name == ".".join(parts if parts[0] == "groupsim" else ("groupsim", *parts))


def test_every_room_has_a_floor(config: dict[str, Any]) -> None:
    """The layers of import-linter name each room once, and no room that is not there, save optional ones."""
    (layers,) = [c["layers"] for c in config["importlinter"]["contracts"] if c["id"] == "floors"]
    named = [room.strip() for layer in layers for room in layer.split("|")]
    assert {room for room in named if not room.startswith("(")} == rooms() - {
        r.strip("()") for r in named if r[0] == "("
    }
    assert len(named) == len(set(named))


def test_every_room_is_kept_from_the_front_door(config: dict[str, Any]) -> None:
    """The contract on the front door lists each room as a source, and sets imports of each room aside."""
    (contract,) = [c for c in config["importlinter"]["contracts"] if c["id"] == "front-door"]
    both = {f"groupsim.{room}{deep}" for room in rooms() for deep in ("", ".**")}
    assert set(contract["source_modules"]) == both
    assert set(contract["ignore_imports"]) == {f"groupsim.** -> {module}" for module in both}


def test_every_room_is_measured(config: dict[str, Any]) -> None:
    """Coverage is taken of each room and of the front door."""
    assert set(config["coverage"]["run"]["source"]) == rooms() | {"groupsim"}
