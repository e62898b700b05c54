"""The assignors that a broker loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.assignors.base.errors import AssignorError
from groupsim.assignors.server.range import ServerRange
from groupsim.assignors.server.registry import JAVA_PACKAGE, server_assignors
from groupsim.assignors.server.uniform import ServerUniform

OWN = """
from groupsim.assignors.server.interface import ServerAssignor

class First(ServerAssignor):
    name = "first"
    def assign(self, group, topics):
        return {group.members[0].member_id: {}}

class Nameless(ServerAssignor):
    def assign(self, group, topics):
        return {}

class Broken(First):
    def __init__(self):
        raise RuntimeError("no")

class Range(First):
    name = "range"

class Other:
    pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a user's module."""
    (tmp_path / "own_server_assignors.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_kafkas_are_known_by_name_and_by_java_class() -> None:
    """The order of the list is kept: its first is the default."""
    found = server_assignors(["range", f"{JAVA_PACKAGE}UniformAssignor"])
    assert [type(one) for one in found] == [ServerRange, ServerUniform]


def test_a_users_own_is_loaded_from_its_module(folder: Path) -> None:
    """`module:Class` stands in the list like any other."""
    assert [one.name for one in server_assignors(["uniform", "own_server_assignors:First"], folder)] == [
        "uniform",
        "first",
    ]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("rang", "did you mean 'range'"),
        ("own_server_assignors:Firts", "did you mean 'First'"),
        ("own_server_assignors:Other", "class Other is no assignor of a broker; inherit from ServerAssignor"),
        ("own_server_assignors:Nameless", "Nameless has no `name`"),
        ("own_server_assignors:Broken", "failed: RuntimeError: no"),
        ("no_such_module_at_all:First", "there is no module"),
        ("own_server_assignors:Range", "Assignor name 'range' is already registered"),
    ],
)
def test_what_is_no_assignor_is_refused_with_the_remedy(folder: Path, written: str, message: str) -> None:
    """Unknown names, classes of another kind, missing names, errors of the user's code, a name that is taken."""
    with pytest.raises(AssignorError, match=message):
        server_assignors(["range", written], folder)
