"""Experiments for people and editors: the commands that know them, the JSON Schema, the page."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from experiment_reference import rewritten
from typer.testing import CliRunner, Result

from groupsim.cli.app import app
from groupsim.pipeline.experiment.catalogue import library, names
from groupsim.pipeline.experiment.load import load_experiment
from groupsim.pipeline.experiment.schema import experiment_schema
from groupsim.scenarios.language.document import parse_document, read_document

PAGE = Path(__file__).parents[3] / "docs" / "writing-an-experiment.md"
SERVICE = """\
run-for: 60s
topics: {orders: 3}
groups: {orders: {members: {c: 2}}}
timeline: [{at: 30s, do: rolling-restart, start-time: 20s}]
"""


def call(*args: object) -> Result:
    """Run the command in this process."""
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, [str(arg) for arg in args])


@cache
def validator() -> Any:
    """A validator of the schema, made once."""
    jsonschema.Draft202012Validator.check_schema(experiment_schema())
    return jsonschema.Draft202012Validator(experiment_schema())


# --- commands ------------------------------------------------------------------------------------------------------


def test_list_shows_the_experiments() -> None:
    """Name, title and question; as JSON too."""
    shown = call("list", "--experiments").stdout
    listed = json.loads(call("list", "--experiments", "--json").stdout)["experiments"]
    assert [entry["name"] for entry in listed] == list(names())
    assert all(entry["name"] in shown and entry["title"] in shown for entry in listed)
    assert "rolling-deploy-small" not in call("list").stdout


def test_validate_knows_an_experiment(tmp_path: Path) -> None:
    """By its keys, not by its name; a good one is well, a bad one is exit code 2 with line and remedy."""
    assert call("validate", "rolling-deploy-small", "demo").stdout.splitlines() == [
        "rolling-deploy-small: ok",
        "demo: ok",
    ]
    bad = tmp_path / "e.yaml"
    bad.write_text("scenario: demo\nvary:\n  a: {path: groups.g1.asignor, values: [range]}\n")
    result = call("validate", bad)
    assert result.exit_code == 2
    assert f"{bad}:3:13: error: `groups.g1.asignor` is not a valid path" in result.stdout
    assert "did you mean `groups.g1.assignor`?" in result.stdout


def test_a_bad_value_of_set_is_told_at_the_option() -> None:
    """The library's file is not to blame for what was typed."""
    result = call("run", "demo", "--set", "run-for=yesterday")
    assert result.exit_code == 2
    assert result.stderr.startswith("--set run-for=yesterday: error: `run-for`: 'yesterday' is not a duration")


def test_run_takes_the_scenario_of_an_experiment() -> None:
    """With its own `set`, and with what is set besides; that without the grid is said in one line."""
    result = call("run", "rolling-deploy-small", "--json", "--set", "groups.orders.assignor=sticky")
    assert result.exit_code == 0
    assert result.stderr == (
        "rolling-deploy-small is an experiment: its scenario runs once, without the grid "
        "(`groupsim sweep rolling-deploy-small` runs it)\n"
    )
    assert json.loads(result.stdout)["title"] == "Rolling deploy of six JVM pods, twenty-four partitions"


# --- the schema ------------------------------------------------------------------------------------------------------


def test_schema_prints_the_schema_of_experiments() -> None:
    """The same that the editor's validator is made from here; without the option it is the scenario's."""
    assert json.loads(call("schema", "--experiment").stdout) == experiment_schema()
    assert json.loads(call("schema").stdout)["title"] == "groupsim scenario"


@pytest.mark.parametrize("name", names())
def test_every_library_file_is_valid(name: str) -> None:
    """Editors show no mistake in the library."""
    data = read_document(library() / f"{name}.yaml").data
    assert [error.message[:200] for error in validator().iter_errors(data)] == []


BASE = """\
scenario: demo
vary: {a: {path: run-for, values: [1s, 2s]}}
skip: [{a: 1s}]
seeds: 3
baseline: {a: 2s}
goals: [{minimise: lost, at-most: 3}]
"""


@pytest.mark.parametrize(
    ("old", "new", "good"),
    [
        ("demo", "demo", True),
        ("demo", "{run-for: 1s}", True),
        ("seeds: 3", "seeds: {from: 3}", True),
        ("{a: {path: run-for, values: [1s, 2s]}}", "{run-for: [1s, 2s]}", True),
        ("[1s, 2s]", "{x: 1s}", True),
        ("{a: 1s}", "{a: [1s, 2s]}", True),
        ("demo", "{run-fro: 1s}", False),
        ("demo", "[]", False),
        ("seeds: 3", "seeds: 0", False),
        ("seeds: 3", "seed: 3", False),
        ("values", "value", False),
        ("[1s, 2s]", "[]", False),
        ("[1s, 2s]", "3", False),
        ("{a: 1s}", "{}", False),
        ("at-most", "at-mots", False),
        ("minimise: lost,", "", False),
        ("minimise: lost,", "minimise: lost, maximise: moved,", False),
    ],
)
def test_the_schema_sees_what_an_editor_can_see(old: str, new: str, good: bool) -> None:
    """It accepts each form the loader accepts and refuses wrong shapes."""
    assert old in BASE
    assert validator().is_valid(parse_document(BASE.replace(old, new, 1)).data) is good


# --- the page ------------------------------------------------------------------------------------------------------


def test_the_reference_is_what_the_loader_does() -> None:
    """The page is current; `python tools/experiment_reference.py` makes it so."""
    page = PAGE.read_text(encoding="utf-8")
    assert rewritten(page) == page


def listings() -> list[str]:
    """The YAML listings of the page."""
    return re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(2))
def test_the_examples_load(number: int, tmp_path: Path) -> None:
    """The files a newcomer copies are experiments without a warning."""
    (tmp_path / "my-service.yaml").write_text(SERVICE, encoding="utf-8")
    text = listings()[number]
    path = tmp_path / "e.yaml"
    path.write_text(text if "scenario:" in text else f"scenario: my-service.yaml\n{text}", encoding="utf-8")
    experiment = load_experiment(path)
    assert (len(experiment.cells), experiment.warnings) == ([5, 8][number], ())
