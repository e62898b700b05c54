"""The tool that counts the structure of the code, on an invented tree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import structure

TREE = {
    "groupsim/__init__.py": "",
    "groupsim/front.py": "from groupsim.shop import Till\nimport groupsim.store.shelf.box\n",
    "shop/__init__.py": "from groupsim.shop.till import Till\n",
    "shop/till.py": (
        "from typing import TYPE_CHECKING\nfrom groupsim.store import shelf\n"
        "if TYPE_CHECKING:\n    from groupsim.shop.clerk import Clerk\nelse:\n    import groupsim.store.door\n\n\n"
        "class Till:\n    class Inner:\n        pass\n"
    ),
    "shop/clerk.py": "from groupsim.shop.till import Till\n\n\nclass Clerk(Till):\n    pass\n",
    "shop/lift.py": "class Clerk:\n    pass\n",
    "store/__init__.py": "",
    "store/door.py": "class Till:\n    pass\n",
    "store/shelf/__init__.py": "",
    "store/shelf/box.py": "def late() -> None:\n    from ...shop import lift\n",
    "store/shelf/deep/__init__.py": "",
    "store/shelf/deep/end.py": "from ..box import late\nimport json\n",
    "tests/__init__.py": "",
    "docs/page.py": "",
    "tools/tool.py": "from groupsim.shop import Till\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with three rooms."""
    for name, text in TREE.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return tmp_path


@pytest.fixture
def measured(tree: Path) -> dict[str, Any]:
    """What is counted of it."""
    return structure.measure(tree)


def test_rooms_are_the_packages_at_the_root(tree: Path) -> None:
    """Tests, tools and documents are no product code."""
    assert structure.rooms(tree) == ["groupsim", "shop", "store"]


def test_boxes_are_rooms_and_packages_directly_in_them(measured: dict[str, Any]) -> None:
    """A package further down belongs to the box of the one above it."""
    assert measured["boxes"] == ["groupsim", "shop", "store", "store/shelf"]


def test_an_edge_is_an_import_from_another_box(measured: dict[str, Any]) -> None:
    """Imports of a name, a module or a package make edges, those that are relative or in a function, too."""
    assert measured["edges"]["run_time"] == [
        ["groupsim", "shop"],
        ["groupsim", "store/shelf"],
        ["shop", "store"],
        ["shop", "store/shelf"],
        ["store/shelf", "shop"],
    ]
    assert measured["edges"]["types_only"] == []


def test_circles_are_counted_with_and_without_types(measured: dict[str, Any]) -> None:
    """An import under TYPE_CHECKING closes a circle of types alone; its `else` branch is one that runs."""
    assert measured["circles_of_modules"]["run_time"] == []
    assert measured["circles_of_modules"]["with_types"] == [["shop/clerk", "shop/till"]]
    assert measured["circles_of_boxes"]["run_time"] == [["shop", "store/shelf"]]


def test_edges_by_types_alone_stand_apart(tree: Path) -> None:
    """A box that is imported from under TYPE_CHECKING only has an edge by types."""
    (tree / "store" / "door.py").write_text("import typing\nif typing.TYPE_CHECKING:\n    import groupsim.shop.lift\n")
    measured = structure.measure(tree)
    assert measured["edges"]["types_only"] == [["store", "shop"]]
    assert measured["circles_of_boxes"]["with_types"] == [["shop", "store", "store/shelf"]]


def test_lines_and_modules_are_counted(measured: dict[str, Any]) -> None:
    """Lines by room, modules by folder; a package's `__init__` has lines and counts as no module of the folder."""
    assert measured["lines"] == {"all": 27, "by_room": {"groupsim": 2, "shop": 19, "store": 6}}
    assert measured["modules"]["by_folder"] == {
        "groupsim": 1,
        "shop": 3,
        "store": 1,
        "store/shelf": 1,
        "store/shelf/deep": 1,
    }


def test_class_names_used_twice_are_found_within_a_room(measured: dict[str, Any]) -> None:
    """Two modules of one room, but not two rooms, may not share a class name; inner classes do not count."""
    assert measured["class_names_used_twice"] == {"shop": {"Clerk": ["shop/clerk", "shop/lift"]}}


def test_three_in_a_circle_are_one_circle() -> None:
    """A circle is a largest set of nodes that reach each other, whatever smaller ones are in it."""
    edges = {("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"), ("c", "d"), ("d", "e"), ("e", "d"), ("f", "a")}
    assert structure.circles(structure.graph(edges)) == [["a", "b", "c"], ["d", "e"]]


def test_table_and_json_have_the_same_figures(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table shows what JSON has; a folder with more modules than it should have is marked."""
    assert structure.main(["--root", str(tree), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured == structure.measure(tree)
    table = [line.split() for line in structure.tables(measured, most=2).splitlines()]
    assert ["boxes", "(rooms", "and", "packages", "directly", "in", "them)", "4"] in table
    assert ["shop", "3", "above", "2"] in table
    assert ["store", "1"] in table


def test_a_folder_without_packages_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no checkout ends with exit code 2 and its path."""
    with pytest.raises(SystemExit) as ended:
        structure.main(["--root", str(tmp_path)])
    assert ended.value.code == 2
    assert str(tmp_path) in capsys.readouterr().err
