"""The room's front: what it re-exports, and what its essay promises."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import groupsim.protocol as room


def test_every_reexported_name_is_there_once() -> None:
    """`__all__` is sorted, without doubles, and each name can be had."""
    assert len(set(room.__all__)) == len(room.__all__)
    assert all(hasattr(room, name) for name in room.__all__)


def test_the_essay_lists_the_modules_that_exist() -> None:
    """The table in the docstring names each module of the room, and no other."""
    assert room.__doc__ is not None
    listed = {name for row in re.findall(r"^ {4}(\w+(?:, \w+)*)  +", room.__doc__, re.M) for name in row.split(", ")}
    present = {path.stem for path in Path(str(room.__file__)).parent.glob("*.py")} - {"__init__"}
    assert present <= listed
    assert all(importlib.import_module(f"groupsim.protocol.{name}") for name in present)
