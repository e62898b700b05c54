"""The notebook of runs, sweeps and assignments: what they show themselves as, and their tables as DataFrames."""

from __future__ import annotations

import ast
import asyncio
import base64
import importlib.util
import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from groupsim import Simulation, frame, load_text, run_scenario
from groupsim.assignors import MemberSubscription, RangeAssignor, TopicMetadata, run_assignor
from groupsim.pipeline import frames

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "in-a-notebook.ipynb"
IMAGE = re.compile(r'src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)"')
MOST = 200_000


def cells() -> list[dict[str, Any]]:
    """The cells of the notebook."""
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return found


def shown_by(source: str, names: dict[str, Any], place: str) -> Any:
    """Execute a cell and return the value of its last line, as a notebook does."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    return eval(compile(ast.Expression(last.value), place, "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """The names that the cells leave, and what they show by its name: run inside a loop of asyncio, as Jupyter does."""
    names: dict[str, Any] = {}
    shown: dict[str, Any] = {}

    async def kernel() -> None:
        for number, cell in enumerate(cells()):
            if cell["cell_type"] == "code":
                source = "".join(cell["source"])
                shown[source.splitlines()[-1]] = shown_by(source, names, f"{NOTEBOOK.name}, cell {number}")

    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("notebook"))
    try:
        asyncio.run(kernel())
    finally:
        os.chdir(before)
    return names, shown


def html(value: Any) -> str:
    """What a notebook shows, which is small."""
    found = str(value._repr_html_())
    assert len(found.encode()) < MOST
    return found


@pytest.mark.parametrize(("name", "headline"), [("run", "1 rebalance of shop"), ("sim", "1 rebalance of g1")])
def test_a_run_shows_its_headline_and_its_lanes(played: Any, name: str, headline: str) -> None:
    """A scenario and a story in Python: the sentence, and the picture as an image that touches nothing else."""
    found = html(played[1][name])
    assert found.startswith(f"<p><b>{headline}")
    (drawn,) = IMAGE.findall(found)
    texts = {one.text for one in ET.fromstring(base64.b64decode(drawn)).iter("{http://www.w3.org/2000/svg}text")}
    assert texts & {"c-1", "c1"}
    assert "<style" not in found
    assert ("1 of 1 expectations hold" in found) == (name == "run")


def test_a_sweep_shows_its_cells_and_the_answer(played: Any) -> None:
    """Question, runs and a row for each cell; the answer with its sentence, and the directory has it from then on."""
    _, shown = played
    found = html(shown["outcome"])
    assert "How long are partitions without a consumer when a member crashes?" in found
    assert "16 of 16 runs are there, 0 failed" in found
    assert found.count("<tr>") == 3
    answer = html(shown["answer"])
    assert answer.startswith("<p><b>Use session=6000: unserved time")
    assert "recommended" in answer
    assert "better " in answer
    assert shown["answer"].sentence in html(shown["outcome"].directory).replace("&#x27;", "'")


def test_an_assignment_shows_who_has_what(played: Any) -> None:
    """A row for each member, with its count and its partitions as ranges."""
    found = html(played[1]["assignment"])
    assert found.startswith("<p><b>10 partitions to 3 members, 3 to 4 each")
    assert "<td style='text-align:left'>orders 0–2; returns 0</td>" in found


def test_tables_are_frames(played: Any) -> None:
    """Of a run, of a sweep and of an assignment."""
    names, _ = played
    assert list(names["changes"]["cause"]) == ["first start", "session-expiry (crash)"]
    assert names["runs"].groupby("cell")["unserved_us"].mean().is_monotonic_decreasing
    assert list(names["owners"].columns) == ["member", "topic", "partition"]
    assert len(names["owners"]) == 10
    assert list(frame(names["outcome"], "cells")["axis"]) == ["session", "session"]
    assert "c1" in set(frame(names["sim"], "phases")["host"])


def test_names_are_escaped() -> None:
    """A name with markup is text, in a table and in a picture's words."""
    evil = "<img src=x>"
    assignment = run_assignor(RangeAssignor(), {evil: TopicMetadata(evil, 1)}, [MemberSubscription(evil, (evil,))])
    assert "<img" not in html(assignment)
    assert "&lt;img src=x&gt; 0" in html(assignment)


def test_large_values_stay_small() -> None:
    """Ten thousand members, and a run of a hundred: a line says what is left out."""
    many = [MemberSubscription(f"c{number}", ("t",)) for number in range(10_000)]
    found = html(run_assignor(RangeAssignor(), {"t": TopicMetadata("t", 20_000)}, many))
    assert "9,940 more members" in found
    text = "run-for: 20s\ncluster: {logs: counted}\ntopics: {t: {partitions: 100}}\ngroups: {g: {members: {c: 100}}}\n"
    assert "76 of 100 lanes" in base64.b64decode(IMAGE.findall(html(run_scenario(load_text(text, "many"))))[0]).decode()


def test_failed_expectations_are_named() -> None:
    """What does not hold stands below the picture, with what was found."""
    text = "run-for: 9s\ncluster: {logs: counted}\ntopics: {t: {partitions: 1}}\ngroups: {g: {members: {c: 1}}}\n"
    found = html(run_scenario(load_text(text + "expect: [{rebalances: 7}]\n", "seven")))
    assert "0 of 1 expectations hold" in found
    assert "failed: rebalances: 7" in found


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says which package is missing and what installs it."""
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name == "pandas" else importlib.util.find_spec(name))
    with pytest.raises(ModuleNotFoundError, match=r'needs pandas: pip install "groupsim\[notebook\]"'):
        frame(Simulation(), "runs")


def test_what_has_no_such_table_is_refused(played: Any) -> None:
    """A misspelt table gets the nearest name, another value the list of those that have tables."""
    names, _ = played
    for source in (names["run"], names["outcome"]):
        with pytest.raises(ValueError, match="did you mean `changes`"):
            frame(source, "change")
    with pytest.raises(ValueError, match="there is no table 'changes'"):
        frame(names["assignment"], "changes")
    with pytest.raises(TypeError, match="str has no tables; a Run, a Simulation"):
        frame("run", "changes")
    with pytest.raises(ValueError, match="kept no events"):
        frame(Simulation(), "changes")


def test_no_output_is_kept_in_the_file() -> None:
    """The notebook is stored without outputs and counts."""
    code = [cell for cell in cells() if cell["cell_type"] == "code"]
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []
    assert len(code) > 5
