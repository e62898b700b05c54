"""The zip for the workers: complete, reproducible, with the user's assignors."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from groupsim.pipeline.sweep import assignors
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.spark.bundle import bundle
from groupsim.pipeline.sweep.spark.closure import closure
from tests.helpers import small_sweep

RUN = """
import sys
sys.path[:] = [sys.argv[1], *(p for p in sys.path if "site-packages" not in p)]
from importlib import metadata
from groupsim.scenarios.loading.canonical import scenario_from_json
from groupsim.scenarios.runtime.runner import run_scenario
import groupsim.scenarios.story
run = run_scenario(scenario_from_json(sys.stdin.read()), seed=3)
loaded = {n.split(".")[0] for n, m in sys.modules.items() if sys.argv[1] in (getattr(m, "__file__", "") or "")}
print(metadata.version("groupsim"), len(run.events), sorted(loaded & {"groupsim", "trio", "attr", "cattrs", "ruamel"}))
"""


def test_the_zip_is_all_a_bare_python_needs(tmp_path: Path) -> None:
    """An interpreter without any package runs a document from the zip: no YAML, versions known."""
    document = small_sweep.load(tmp_path).cells[0].document
    path = bundle().write(tmp_path)
    command = [sys.executable, "-I", "-S", "-c", RUN, str(path)]
    done = subprocess.run(command, input=document, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == ""
    version, events, loaded = done.stdout.split(maxsplit=2)
    assert version
    assert int(events) > 100
    assert loaded.strip() == "['attr', 'cattrs', 'groupsim', 'trio']"


def test_the_same_sources_make_the_same_bytes() -> None:
    """Dates, modes and order are fixed; nothing compiled and no tests are in it."""
    one, two = bundle(), bundle()
    assert (one.data, one.name, one.code) == (two.data, two.name, two.code)
    with zipfile.ZipFile(io.BytesIO(one.data)) as archive:
        entries = archive.infolist()
    names = [entry.filename for entry in entries]
    assert names == sorted(names)
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert not [name for name in names if name.endswith((".pyc", ".so", ".yaml")) or "/_tests/" in name]


SHIPPED = "from groupsim.pipeline.sweep.spark.bundle import bundle; print(bundle().code, bundle({'a.py': b''}).code)"


def test_a_shipped_copy_knows_its_own_hash(tmp_path: Path) -> None:
    """What runs from the zip (a data source does) calls its code as the sender does, other assignors included."""
    with zipfile.ZipFile(io.BytesIO(bundle().data)) as archive:
        archive.extractall(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", SHIPPED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.stdout.split() == [bundle().code, bundle({"a.py": b""}).code], done.stderr


def test_the_hash_of_the_code_is_that_of_what_runs_depend_on() -> None:
    """Another assignor is other code; the name of the zip changes with every byte in it."""
    none, one, two = bundle(), bundle({"mine.py": b"a = 1"}), bundle({"mine.py": b"a = 2"})
    assert len({none.code, one.code, two.code}) == 3
    assert len({none.name, one.name, two.name}) == 3
    page = bundle({"groupsim/pipeline/page/more.py": b"a = 1"})
    assert page.code == none.code
    assert page.name != none.name


def test_the_closure_follows_requirements_that_hold_here() -> None:
    """What the simulator needs is in it, what only commands need is not, nor what other systems need."""
    found = closure("groupsim", without=("rich", "typer", "ruamel.yaml"))
    assert {"trio", "attrs", "cattrs", "structlog", "outcome", "sniffio", "sortedcontainers", "idna"} <= found.keys()
    assert not {"cffi", "exceptiongroup", "click", "pyspark", "pyarrow"} & found.keys()


def test_a_missing_distribution_is_named() -> None:
    """A requirement that is not installed ends in a sentence with the remedy."""
    with pytest.raises(SweepError, match="no-such-distribution is not installed"):
        closure("no-such-distribution")


def test_an_assignor_brings_what_lies_beside_it(tmp_path: Path) -> None:
    """A module, the module it imports from its folder and a package travel; what Python has anyway does not."""
    (tmp_path / "mine.py").write_text("import json\nimport helping\nfrom deep.inner import x\n")
    (tmp_path / "helping.py").write_text("import trio\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/__init__.py").write_text("")
    (tmp_path / "deep/inner.py").write_text("x = 1\n")
    (tmp_path / "unrelated.py").write_text("")
    found = assignors.modules(["range", "mine:Fair"], tmp_path)
    assert sorted(found) == ["deep/__init__.py", "deep/inner.py", "helping.py", "mine.py"]


def test_assignors_are_found_wherever_a_document_names_them(tmp_path: Path) -> None:
    """Names come from `assignor` and from Kafka's own key, in lists as well."""
    (tmp_path / "mine.py").write_text(ASSIGNOR)
    experiment = small_sweep.load(tmp_path, assignors="range, 'mine:Own'")
    assert assignors.named(experiment) == ["mine:Own", "range"]


ASSIGNOR = """
from groupsim.assignors.range import RangeAssignor
class Own(RangeAssignor):
    name = "own"
"""


def test_a_module_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The module, the folder, and what to check."""
    with pytest.raises(SweepError, match="no module 'nowhere'") as caught:
        assignors.modules(["nowhere:Own"], tmp_path)
    assert caught.value.bad_input


def test_a_module_of_ours_cannot_be_replaced() -> None:
    """An assignor's module that would hide one of the simulator's is refused."""
    with pytest.raises(ValueError, match="rename"):
        bundle({"trio/__init__.py": b""})
