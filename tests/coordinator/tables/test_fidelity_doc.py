"""docs/fidelity.md tells the truth: its tests exist, and the tests of the tables all stand in it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import fidelity
import pytest

from groupsim.protocol.messages.releases import BASELINE

HERE = Path(__file__).parent
FOLDER = "tests/coordinator/tables"
ROWS = fidelity.rows(fidelity.DOC.read_text(encoding="utf-8"))
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
    assert list(fidelity.faults(ROWS)) == []


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


def test_faults_are_found() -> None:
    """Doubled ids, unknown statuses, missing tests and modelled rows without a test are all named with their line."""
    text = "\n".join(
        [
            "| id | rule | status | test |",
            "| --- | --- | --- | --- |",
            "| `a-{b,c}` | r | modelled | `tests/nowhere.py::test_x` |",
            "| `a-b` | r | modelled | – |",
            "| `d` | r | certain | – |",
        ]
    )
    found = list(fidelity.faults(fidelity.rows(text)))
    assert [line.split(":")[0] for line in found] == ["3", "3", "4", "4", "5"]
    assert "stands 2 times" in found[0]
    assert "no test tests/nowhere.py::test_x" in found[1]


def test_the_document_names_the_baseline() -> None:
    """The release on the first page is the one the code calls its baseline."""
    assert f"Apache Kafka {BASELINE}.0" in fidelity.DOC.read_text(encoding="utf-8")
