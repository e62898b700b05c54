from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import refresh_api

import groupsim

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = {name: refresh_api.public_names(importlib.import_module(name)) for name in refresh_api.MODULES}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "docs").rglob("*.py"))]


def test_the_page_is_made_from_the_code() -> None:
    """docs/api.md is what `python tools/refresh_api.py` writes."""
    assert (ROOT / "docs" / "api.md").read_text(encoding="utf-8") == refresh_api.page()


def test_every_public_name_has_one_home() -> None:
    """No name stands in two public modules, and the page lists each once."""
    names = [name for module in PUBLIC.values() for name in module]
    assert sorted(set(names)) == sorted(names)
    listed = re.findall(r"^- `(\w+)", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(names)


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_described(module: str) -> None:
    """A class and a function have a docstring of their own, a constant a comment that begins with `#:`."""
    home = importlib.import_module(module)
    assert [name for name, value in PUBLIC[module].items() if not refresh_api.described(home, name, value)] == []


@pytest.mark.parametrize("module", ["groupsim", "groupsim.testing"])
def test_type_checkers_see_the_names_that_are_imported_lazily(module: str) -> None:
    """The imports under TYPE_CHECKING bring the same names, from the same modules, as the table beside them."""
    home = importlib.import_module(module)
    tree = ast.parse(Path(str(home.__file__)).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        f"{node.module}:{one.name}": one.asname
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }
    for node in block.body:
        if isinstance(node, ast.Assign):
            renamed = ast.unparse(node.value).strip("()").split(", ")
            for public, hidden in zip(ast.unparse(node.targets[0]).strip("()").split(", "), renamed, strict=True):
                (own,) = [place for place, name in seen.items() if name == hidden]
                seen[own] = public
    (table,) = [ast.literal_eval(node) for node in ast.walk(block) if isinstance(node, ast.Dict)]
    lazily = {}
    for place, names in table.items():
        for public, _, own in (one.partition("=") for one in names.split()):
            lazily[f"{place}:{own or public}"] = public
    assert seen == lazily


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    """A misspelt name fails as on any module."""
    assert not hasattr(groupsim, "Clutser")
    assert not hasattr(importlib.import_module("groupsim.testing"), "Bnech")


def test_importing_the_package_imports_no_room() -> None:
    """`import groupsim` is cheap: rooms are loaded when a name is first used."""
    code = "import sys, groupsim, groupsim.testing; print(sorted(m for m in sys.modules if m.startswith('groupsim.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['groupsim.testing', 'groupsim.testing.lazy']"


def imports(text: str) -> list[tuple[str, str]]:
    """Module and name of each import of groupsim that a page or a listing shows; a module alone has the name ""."""
    found = [(module, "") for module in re.findall(r"^\s*import (groupsim[\w.]*)", text, re.MULTILINE)]
    for module, names in re.findall(r"^\s*from (groupsim[\w.]*) import (\([^)]*\)|.*)", text, re.MULTILINE):
        found += [(module, name.split(" as ")[0].strip()) for name in re.sub(r"#.*|[()]", "", names).split(",")]
    return found


def test_listings_import_public_names_alone() -> None:
    """Every import of groupsim in README, docs and the notebook is of a name that docs/api.md lists."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
    for path in (ROOT / "docs").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts[path.name] = "\n".join("".join(cell["source"]) for cell in cells)
    shown = {(page, *one) for page, text in texts.items() for one in imports(text)}
    private = [
        f"{page}: {module} {name}"
        for page, module, name in sorted(shown)
        if module not in PUBLIC
        or (name and name not in PUBLIC[module] and f"{module}.{name}" not in refresh_api.MODULES)
    ]
    assert private == []
    assert len(shown) > 40
