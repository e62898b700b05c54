"""CONTRIBUTING.md: what it shows how to add works as it stands, and each place that it lists has its example."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from groupsim import load_text, run_scenario

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL))


def read_yaml(text: str) -> Any:
    """A YAML document as plain data."""
    return YAML(typ="safe").load(text)


def listing(section: str, kind: str) -> str:
    """The only listing of a section."""
    (found,) = re.findall(rf"```{kind}\n(.*?)```", SECTIONS[section], re.DOTALL)
    return str(found)


def test_the_page_shows_how_to_add_six_things() -> None:
    """A request, a fault, an assignor, a client profile, a scenario, a column: each has its section."""
    assert sorted(SECTIONS) == ["A client profile", "A column", "A fault", "A request", "A scenario", "An assignor"]


def test_the_scenario_runs_and_holds() -> None:
    """What the scenario expects is so."""
    run = run_scenario(load_text(listing("A scenario", "yaml")))
    assert len(run.checks) == 1
    assert [str(check) for check in run.failed] == []


@pytest.mark.parametrize("section", ["An assignor", "A client profile", "A fault"])
def test_the_listing_runs(section: str, tmp_path: Path) -> None:
    """The listing ends well in a process of its own, for it may register a name; what it asserts holds."""
    code = listing(section, "python")
    assert "assert " in code
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("section", "name"), [("A request", "OffsetDelete"), ("A column", "moved_back")])
def test_each_place_has_what_the_page_takes_for_an_example(section: str, name: str) -> None:
    """In each numbered step, one of the files at least knows the request or the column."""
    steps = re.findall(r"^\d+\. (.*?)(?=^\d+\. |\Z)", SECTIONS[section], re.MULTILINE | re.DOTALL)
    assert len(steps) >= 4
    for step in steps:
        files = re.findall(r"`([\w/]+\.(?:py|md))`", step)
        assert any(name in (ROOT / file).read_text(encoding="utf-8") for file in files), step


def test_hosted_ci_runs_what_a_person_runs() -> None:
    """The workflow calls `.ci/run`; the form of an issue asks for scenario and seed."""
    workflow = read_yaml((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    steps = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    assert any(".ci/run" in step for step in steps)
    form = read_yaml((ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text(encoding="utf-8"))
    asked = {part.get("id"): part.get("validations", {}).get("required") for part in form["body"]}
    assert (asked["scenario"], asked["seed"]) == (True, True)


def test_every_hook_before_a_commit_can_be_run() -> None:
    """Hooks are local commands of the development environment: none is fetched from elsewhere."""
    settings = read_yaml((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repo["repo"] for repo in settings["repos"]] == ["local"]
    entries = [hook["entry"].split() for hook in settings["repos"][0]["hooks"]]
    assert {entry[0] for entry in entries} == {".venv/bin/ruff", ".venv/bin/python"}
    assert [name for entry in entries for name in entry if name.endswith(".py") and not (ROOT / name).is_file()] == []
