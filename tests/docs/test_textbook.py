"""docs/textbook.md shows what its commands print, and leaves no idea without one."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "textbook.md").read_text(encoding="utf-8")


def _tool() -> ModuleType:
    """tools/refresh_textbook.py as a module."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        spec = importlib.util.spec_from_file_location("refresh_textbook", ROOT / "tools" / "refresh_textbook.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


TOOL = _tool()


def _blocks() -> Iterator[object]:
    for found in TOOL.blocks(PAGE):
        name = found["commands"].split("::")[0].split("\n")[0].strip().removeprefix("groupsim ")
        yield pytest.param(
            found["commands"], found["shown"], id=name, marks=[pytest.mark.slow] if found["long"] else []
        )


@pytest.mark.parametrize(("commands", "shown"), list(_blocks()))
def test_a_block_shows_what_its_commands_print(commands: str, shown: str) -> None:
    """What stands below a command in the page is what it prints now; tools/refresh_textbook.py writes it."""
    assert TOOL.shown(commands) == shown


def test_every_idea_has_a_command_or_a_page() -> None:
    """Each heading leads to a command with its output, or to a page that has the figures."""
    sections = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
    assert len(sections) >= 30
    without = [section.split("\n")[0] for section in sections if "\n$ " not in section and "](" not in section]
    assert without == []


def test_the_contents_are_those_of_the_page() -> None:
    """The table on top names every idea with its first command."""
    assert TOOL.refreshed(PAGE, made=dict(_shown()).__getitem__) == PAGE


def _shown() -> Iterator[tuple[str, str]]:
    for found in TOOL.blocks(PAGE):
        yield found["commands"], found["shown"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('groupsim schema :: from "nowhere in it"', "no line contains 'nowhere in it'"),
        ("groupsim run no-such-scene", "ends with exit code 2"),
        ("groupsim schema :: beneath 3", "is no excerpt"),
    ],
)
def test_a_block_that_cannot_be_made_names_its_command(line: str, said: str) -> None:
    """A wrong excerpt or a failing command is an error with the command in it, not an empty block."""
    with pytest.raises(TOOL.BadBlock, match=said):
        TOOL.shown(line)
