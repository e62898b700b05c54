"""Module docstrings of product code: the modules that they name exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    "assignors", "cluster", "coordinator", "eventloop", "groupsim", "members", "pipeline", "protocol", "scenarios",
    "serving",
)  # fmt: skip
OF_OTHERS = frozenset({"aiokafka", "attrs", "java", "kgo", "org", "sarama", "scala", "zookeeper"})
"""First words of names that belong to other projects."""
HEADING = "Where to read:"


def docstring(file: Path) -> str:
    """The docstring of a module; empty where it has none."""
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def modules(room: str) -> Iterator[Path]:
    """The files of a room."""
    yield from sorted((ROOT / room).rglob("*.py"))


def is_there(name: str, file: Path) -> bool:
    """A path (`members/links.py`, `links.py`) from the root or a folder above; `links.Links` in the file's own room."""
    if name.endswith(".py"):
        return any((folder / name).is_file() for folder in file.parents)
    *parts, last = name.removeprefix("groupsim.").split(".")
    found = "/".join(parts)
    homes = [ROOT / found, *(ROOT / file.relative_to(ROOT).parts[0]).rglob(found)]
    files = [home / "__init__.py" for home in homes]
    files += [ROOT / f"{found}.py", *(ROOT / file.relative_to(ROOT).parts[0]).rglob(f"{found}.py")]
    texts = (one.read_text(encoding="utf-8") for one in files if one.is_file())
    return any(re.search(rf"\b{last}\b", text) for text in texts) or any(
        (home / place).is_file() for home in homes for place in (f"{last}.py", f"{last}/__init__.py")
    )


def stale(file: Path) -> list[str]:
    """What the module docstring names in backticks as a place, and what is not there."""
    rooms = "|".join(ROOMS)
    places = re.findall(rf"`([\w/]+\.py|(?:{rooms})(?:\.\w+)+|[a-z_]+(?:\.[a-z_]+)*\.[A-Z]\w+)`", docstring(file))
    return [name for name in places if re.split(r"[./]", name)[0] not in OF_OTHERS and not is_there(name, file)]


@pytest.mark.parametrize("room", ROOMS)
def test_the_modules_that_a_docstring_names_exist(room: str) -> None:
    """A path, a dotted module name or `module.Name` in backticks leads to a file of the product and to the name."""
    assert {str(file.relative_to(ROOT)): found for file in modules(room) if (found := stale(file))} == {}


def listed(file: Path) -> set[str]:
    """The names of the list "Where to read" in a package's docstring: what stands before two spaces, by commas."""
    section = re.split(r"^\S", docstring(file).split(HEADING, 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    lines = re.findall(r"^ {4,}(\w+(?:, \w+)*) {2,}\S", section, re.MULTILINE)
    return {name for line in lines for name in line.split(", ")}


LISTS = [file for room in ROOMS for file in modules(room) if file.name == "__init__.py" and HEADING in docstring(file)]
"""The packages whose docstring has the list."""


@pytest.mark.parametrize("file", LISTS, ids=lambda file: str(file.parent.relative_to(ROOT)))
def test_where_to_read_lists_what_is_there_and_leaves_nothing_out(file: Path) -> None:
    """The list names modules and sub-packages of the package; each that there is stands in the package's docstring."""
    inside = {one.stem for one in file.parent.glob("[a-z]*.py")}
    inside |= {one.name for one in file.parent.iterdir() if (one / "__init__.py").is_file()}
    assert listed(file) <= inside
    assert inside <= set(re.findall(r"\w+", docstring(file)))


def test_no_package_loses_its_list() -> None:
    """The packages with a list become more only."""
    assert len(LISTS) >= 32


def test_a_name_that_is_stale_is_found() -> None:
    """A moved module and a renamed class are found, what exists is not."""
    file = ROOT / "members" / "invented.py"
    names = ("members/links.py", "links.Links", "members/gone.py", "links.Gone", "cluster.gone", "members.links")
    assert [is_there(name, file) for name in names] == [True, True, False, False, False, True]
