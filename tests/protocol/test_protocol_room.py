"""The room's front: what its essay promises."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import groupsim.protocol as room


def test_the_essay_lists_the_modules_that_exist() -> None:
    """The table in the docstring names each module of the room, and no other."""
    assert room.__doc__ is not None
    listed = {name for row in re.findall(r"^ {4}(\w+(?:, \w+)*)  +", room.__doc__, re.M) for name in row.split(", ")}
    present = {path.stem for path in Path(str(room.__file__)).parent.glob("*.py")} - {"__init__"}
    assert present <= listed
    assert all(importlib.import_module(f"groupsim.protocol.{name}") for name in present)
