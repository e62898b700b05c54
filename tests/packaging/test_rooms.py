"""The lists of modules at the front of rooms."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOMS = [
    "protocol.batch",
    "protocol.embedded",
    "protocol.messages",
    "assignors",
    "assignors.base",
    "assignors.sticky",
    "coordinator",
    "coordinator.base",
    "coordinator.classic",
    "coordinator.offsets",
    "coordinator.partition",
    "eventloop",
    "eventloop.trace",
    "members",
    "members.classic",
    "members.commit",
    "members.consumer",
    "members.fetch",
]


@pytest.mark.parametrize("room", ROOMS)
def test_the_list_of_a_room_names_every_module_and_no_other(room: str) -> None:
    """Whoever looks for a place finds each module in the room's docstring; `profiles` stands for `profiles_…`, too."""
    package = importlib.import_module(f"groupsim.{room}")
    rows = re.findall(r"^ {4}(\w+(?:, \w+)*)  +\w", package.__doc__ or "", re.M)
    listed = {name for row in rows for name in row.split(", ")}
    there = {path.stem for path in Path(str(package.__file__)).parent.glob("*.py")} - {"__init__"}
    assert {name for name in there if name.split("_")[0] not in listed} <= listed
    packages = {path.parent.name for path in Path(str(package.__file__)).parent.glob("*/__init__.py")}
    assert listed <= there | packages
