"""`groupsim run --junit`, and several scenarios in one command."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import Result
from typer.testing import CliRunner

from groupsim.cli.app import app

SCENARIO = """\
run-for: 10s
cluster: {logs: counted}
topics: {t: {partitions: 2, rate: 1/s}}
groups: {g: {members: {c: 1}}}
expect:
  - rebalances: COUNT
    because: one member starts
"""


@pytest.fixture
def well(tmp_path: Path) -> Path:
    """A scenario whose expectation holds."""
    path = tmp_path / "well.groupsim.yaml"
    path.write_text(SCENARIO.replace("COUNT", "0"), "utf-8")
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """One whose expectation does not hold."""
    path = tmp_path / "wrong.groupsim.yaml"
    path.write_text(SCENARIO.replace("COUNT", "7"), "utf-8")
    return path


def run(*arguments: str | Path) -> Result:
    """`groupsim run` with these arguments."""
    return CliRunner().invoke(app, ["run", *map(str, arguments)])


def test_several_scenarios_get_a_line_each_and_the_gravest_exit_code(well: Path, wrong: Path) -> None:
    """What failed stands below its scenario, with what was found and why it must hold."""
    result = run(well, wrong)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"✓ {well}: ")
    assert lines[1].startswith(f"✗ {wrong}: ")
    assert "found 0" in result.stdout
    assert "because one member starts" in result.stdout


def test_junit_has_a_suite_for_each_scenario(well: Path, wrong: Path, tmp_path: Path) -> None:
    """A case for each expectation, with file and line; the one that does not hold is a failure."""
    target = tmp_path / "results.xml"
    assert run(well, wrong, "--junit", target).exit_code == 1
    root = ElementTree.parse(target).getroot()
    assert [(suite.get("name"), suite.get("failures")) for suite in root] == [(str(well), "0"), (str(wrong), "1")]
    assert {case.get("line") for case in root.iter("testcase")} == {"6"}


def test_one_scenario_prints_its_story_and_writes_junit_too(wrong: Path, tmp_path: Path) -> None:
    """The story stays what it is; the exit code is that of the run."""
    target = tmp_path / "results.xml"
    result = run(wrong, "--junit", target)
    assert result.exit_code == 1
    assert "g · formed in" in result.stdout
    assert ElementTree.parse(target).getroot().get("failures") == "1"


def test_json_has_every_run(well: Path, wrong: Path) -> None:
    """One document with a run for each scenario and the exit code."""
    found = json.loads(run(well, wrong, "--json").stdout)
    assert [one["exit_code"] for one in found["runs"]] == [0, 1]
    assert found["exit_code"] == 1


def test_nothing_runs_when_one_cannot_be_read(well: Path, tmp_path: Path) -> None:
    """All scenarios are read before the first runs."""
    bad = tmp_path / "bad.groupsim.yaml"
    bad.write_text("run-for: 1s\n", "utf-8")
    result = run(well, bad)
    assert result.exit_code == 2
    assert result.stdout == ""


@pytest.mark.parametrize("options", [("--trace", "t.jsonl"), ("--seeds", "3"), ("--owners",)])
def test_options_of_one_run_do_not_go_with_several(well: Path, wrong: Path, options: tuple[str, ...]) -> None:
    """They are named, and nothing runs."""
    result = run(well, wrong, *options)
    assert result.exit_code == 2
    assert options[0] in result.stderr


def test_the_name_of_a_scenario_is_without_the_suffix(well: Path) -> None:
    """`well.groupsim.yaml` holds the scenario `well`."""
    assert "\nwell · seed 0" in run(well).stdout


def test_a_schemas_id_leads_to_it() -> None:
    """`groupsim schema` with the `$id` of a schema prints that one; an unknown id is refused."""
    for name in ("scenario", "experiment"):
        identity = f"urn:groupsim:schema:{name}"
        assert json.loads(CliRunner().invoke(app, ["schema", identity]).stdout)["$id"] == identity
    assert CliRunner().invoke(app, ["schema", "urn:groupsim:schema:scenari"]).exit_code == 2


def test_the_shell_can_complete_commands() -> None:
    """The script for bash is printed, and knows the command."""
    result = CliRunner().invoke(app, ["--show-completion", "bash"], prog_name="groupsim")
    assert result.exit_code == 0
    assert "groupsim" in result.stdout
