from __future__ import annotations

import subprocess
import sys

import groupsim


def test_every_public_name_can_be_imported() -> None:
    """What `groupsim.__all__` promises is there, and documented."""
    for name in groupsim.__all__:
        assert getattr(groupsim, name) is not None
    assert set(groupsim._HOMES) == set(groupsim.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    """A misspelt name fails as on any module."""
    assert not hasattr(groupsim, "Clutser")


def test_importing_the_package_imports_no_room() -> None:
    """`import groupsim` is cheap: rooms are loaded when a name is first used."""
    code = "import sys, groupsim; print([m for m in sys.modules if m.startswith('groupsim.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
