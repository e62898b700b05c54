"""docs/writing-an-assignor.md: the code in it runs, and what it says comes out does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from groupsim import Simulation, load_text, run_scenario
from groupsim.cli.assign.command import assign
from groupsim.cli.assign.results import run_document
from groupsim.cli.render.assign_steps import Explain

GUIDE = (Path(__file__).parents[2] / "docs" / "writing-an-assignor.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


def test_the_smallest_assignor_runs_on_the_group_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first listing, saved under its name, assigns the document of the first command."""
    (tmp_path / "everything_to_the_first.py").write_text(PYTHON[0])
    monkeypatch.chdir(tmp_path)
    document = json.loads(re.findall(r"echo '(.*?)'", GUIDE)[0])
    result = run_document(document, "everything_to_the_first:EverythingToTheFirst")
    assert result["counts"] == {"c1": 3, "c2": 0}


def test_the_test_in_the_guide_passes() -> None:
    """The second listing is a test of the first."""
    names: dict[str, object] = {}
    exec(PYTHON[0] + PYTHON[1], names)
    test = names["test_one_member_gets_everything"]
    assert callable(test)
    test()


def test_the_test_of_a_group_in_the_guide_passes() -> None:
    """The listings after it give the class of the first one to the members of simulated groups."""
    names: dict[str, Any] = {}
    exec(PYTHON[0] + PYTHON[3] + PYTHON[4], names)
    Simulation().run(names["test_a_second_member_stands_by"])
    story = names["test_when_the_worker_dies_another_takes_its_partitions_and_nothing_else_moves"]
    (mark,) = story.pytestmark
    for seed in range(mark.kwargs["seeds"]):
        Simulation(seed=seed).run(story)


def test_the_property_in_the_guide_holds() -> None:
    """The third listing is a property of the first one's class."""
    names: dict[str, Any] = {}
    exec(PYTHON[0] + PYTHON[1] + PYTHON[2], names)
    names["test_only_the_first_member_gets_partitions"]()


def test_the_assignor_of_the_coordinator_in_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The listing of a ServerAssignor, saved under its name, gives everything to the member with the least id."""
    (listing,) = [one for one in PYTHON if "FirstTakesAll" in one]
    (tmp_path / "first_takes_all.py").write_text(listing)
    monkeypatch.chdir(tmp_path)
    document = json.loads(re.findall(r"echo '(.*?)'", GUIDE)[0])
    assert run_document(document, "first_takes_all:FirstTakesAll")["counts"] == {"c1": 3, "c2": 0}


def test_the_scenario_in_the_guide_keeps_its_expectations() -> None:
    """Racks of members and of replicas reach the brokers' assignor: each partition is read within its rack."""
    (scenario,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    run = run_scenario(load_text(scenario))
    assert run.failed == ()


def test_the_example_differs_from_range_as_told() -> None:
    """The document in the guide gives 3 and 1 under `rack-first`, 2 and 2 under `range`."""
    document = json.loads(re.findall(r"\$ cat group.json\n(.*?)\n\$", GUIDE, re.DOTALL)[0])
    assert list(run_document(document, "rack-first")["counts"].values()) == [3, 1]
    assert list(run_document(document, "range")["counts"].values()) == [2, 2]


def test_the_assignor_that_explains_itself_prints_the_lines_in_the_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The listing of `explain`, saved under its name, explains the first document as the guide shows."""
    (listing,) = [one for one in PYTHON if "class FewestFirst" in one]
    (tmp_path / "fewest_first.py").write_text(listing)
    (tmp_path / "group.json").write_text(re.findall(r"echo '(.*?)'", GUIDE)[0])
    monkeypatch.chdir(tmp_path)
    assert assign("group.json", "fewest_first:FewestFirst", False, Explain.SOME) == 0
    (shown,) = re.findall(r"```text\n(fewest-first.*?)```", GUIDE, re.DOTALL)
    assert capsys.readouterr().out.startswith(shown)
