"""The rows of docs/fidelity/ name tests that exist, and all tests of the tables; the pages are made of the rows."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import fidelity
import fidelity_pages
import pytest

from groupsim.protocol.messages.releases import BASELINE

HERE = Path(__file__).parent
FOLDER = "tests/coordinator/tables"
PAGES = fidelity.pages()
ROWS = [row for page in PAGES for row in page.rows]
TABLES = sorted(path for path in HERE.glob("test_*.py") if path.name != "test_fidelity_doc.py")


def load(path: Path) -> ModuleType:
    """A test module, for its parameters."""
    spec = importlib.util.spec_from_file_location(f"fidelity_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parameter_ids(module: ModuleType, function: str) -> list[str]:
    """The ids given to a test's parameters with `id=`."""
    marks = getattr(getattr(module, function), "pytestmark", [])
    values = [value for mark in marks if mark.name == "parametrize" for value in mark.args[1]]
    return [value.id for value in values if getattr(value, "id", None)]


def test_every_row_is_sound() -> None:
    """Ids are unique, statuses known, and every test named exists; each modelled row names one."""
    assert list(fidelity.faults(PAGES)) == []


@pytest.mark.parametrize("path", TABLES, ids=[path.stem for path in TABLES])
def test_every_test_of_the_tables_stands_in_a_row(path: Path) -> None:
    """No test function of this folder is without a row."""
    here = f"{FOLDER}/{path.name}"
    named = {test for row in ROWS for test in row.tests}
    own = {f"{here}::{name}" for name in fidelity.functions(here) if name.startswith("test_")}
    assert own - named == set()


@pytest.mark.parametrize("path", TABLES, ids=[path.stem for path in TABLES])
def test_ids_of_parameters_are_ids_of_rows(path: Path) -> None:
    """A parameter's id is an id of a row that names its test, and the row has no other ids than those."""
    module = load(path)
    for name in sorted(n for n in fidelity.functions(f"{FOLDER}/{path.name}") if n.startswith("test_")):
        used = parameter_ids(module, name)
        listed = [one for row in ROWS if f"{FOLDER}/{path.name}::{name}" in row.tests for one in row.ids]
        if used:
            assert sorted(used) == sorted(listed), name


def rows_of(text: str) -> fidelity.Page:
    """A page of one section with these rows, as TOML."""
    return fidelity.read("members", f'title = "t"\n[[sections]]\ntitle = "s"\n{text}')


def test_faults_are_found() -> None:
    """Doubled ids, unknown statuses, missing tests and modelled rows without a test are all named with their row."""
    text = """rows = [
        {id = "a-{b,c}", rule = "r", status = "modelled", tests = ["tests/nowhere.py::test_x"]},
        {id = "a-b", rule = "r", status = "modelled"},
        {id = "d", rule = "r", status = "certain"},
    ]"""
    found = list(fidelity.faults([rows_of(text)]))
    named = [line.removeprefix("docs/fidelity/members.toml: ").split(":")[0] for line in found]
    assert named == ["a-{b,c}", "a-{b,c}", "a-b", "a-b", "d"]
    assert "stands 2 times" in found[0]
    assert "no test tests/nowhere.py::test_x" in found[1]


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ('{id = "a", rule = "r"}', "toml: a: the row has no status"),
        ('{id = "a", rule = "r", status = "s", test = "t"}', "no test;"),
    ],
)
def test_a_row_with_other_keys_is_refused(row: str, wrong: str) -> None:
    """A missing or misspelt key is an error that names the file and the row."""
    with pytest.raises(ValueError, match=wrong):
        rows_of(f"rows = [{row}]")


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_a_file_has_the_one_layout(page: fidelity.Page) -> None:
    """The text of each file is what `python tools/fidelity.py --format` writes."""
    assert fidelity.path_of(page.name).read_text(encoding="utf-8") == fidelity.written(page)


def test_the_pages_are_made_of_the_rows() -> None:
    """docs/fidelity/*.md and the counts on docs/fidelity.md are what `make docs` writes, and no page is left over."""
    made = fidelity_pages.made()
    docs = fidelity_pages.INDEX.parent
    assert {name: (docs / name).read_text(encoding="utf-8") for name in made} == made
    assert {f"fidelity/{path.name}" for path in fidelity.FOLDER.glob("*.md")} == set(made) - {"fidelity.md"}


def test_the_document_names_the_baseline() -> None:
    """The release on the first page is the one the code calls its baseline."""
    assert f"Apache Kafka {BASELINE}.0" in fidelity_pages.INDEX.read_text(encoding="utf-8")
