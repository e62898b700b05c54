"""`groupsim lint --format`: what code scanning, CI servers and workflows read; the pre-commit hooks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import Result
from typer.testing import CliRunner

from groupsim.cli.app import app
from groupsim.scenarios.language.yaml_reader import parse_yaml
from groupsim.scenarios.lint import RULES

ROOT = Path(__file__).resolve().parents[4]
WRONG = "session.timeout.ms=10000\nheartbeat.interval.ms=20000\nfetch.min.bytes=100000\n"


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """Settings with one error, in line 2, and one note."""
    path = tmp_path / "consumer, mine.properties"
    path.write_text(WRONG, "utf-8")
    return path


def lint(path: Path, name: str) -> Result:
    """`groupsim lint` in a format."""
    return CliRunner().invoke(app, ["lint", str(path), "--format", name])


def test_sarif_has_a_result_for_each_finding_with_its_rule(settings: Path) -> None:
    """Each result points at a rule of the tool by its number, and at the line; every rule of the linter is listed."""
    result = lint(settings, "sarif")
    document = json.loads(result.stdout)
    run = document["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert (document["version"], result.exit_code) == ("2.1.0", 1)
    assert {rule.id for rule in RULES} < {rule["id"] for rule in rules}
    error = next(one for one in run["results"] if one["level"] == "error")
    assert rules[error["ruleIndex"]]["id"] == error["ruleId"] == "heartbeat-not-below-session"
    assert error["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}


def test_junit_fails_for_errors_and_not_for_notes(settings: Path) -> None:
    """A finding is a case; a note is one that holds."""
    root = ElementTree.fromstring(lint(settings, "junit").stdout)
    cases = {case.get("name", "").split(":")[0]: case for case in root.iter("testcase")}
    assert cases["heartbeat-not-below-session"].find("failure") is not None
    notes = [name for name, case in cases.items() if case.find("failure") is None]
    assert root.get("failures") == "1"
    assert len(notes) == len(cases) - 1


def test_annotations_escape_what_the_syntax_uses(settings: Path) -> None:
    """One line for each finding: a comma in the name of the file and the ends of lines in the text are escaped."""
    first = lint(settings, "annotations").stdout.splitlines()[0]
    assert first.startswith("::error file=")
    assert "consumer%2C mine.properties,line=2,title=heartbeat-not-below-session::" in first
    assert "%0A" in first


def test_a_file_that_cannot_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    """Its case is an error, not a failure, and the exit code is 2."""
    result = lint(tmp_path / "absent.properties", "junit")
    assert result.exit_code == 2
    assert ElementTree.fromstring(result.stdout).get("errors") == "1"


def test_an_unknown_format_is_refused(settings: Path) -> None:
    """With the nearest that there is."""
    result = lint(settings, "sarf")
    assert result.exit_code == 2
    assert "did you mean `sarif`?" in result.stderr


@pytest.mark.parametrize(
    ("name", "hook", "meant"),
    [
        ("src/main/resources/application-prod.yml", "groupsim-lint", True),
        ("config/consumer.properties", "groupsim-lint", True),
        ("pom.xml", "groupsim-lint", False),
        ("orders.groupsim.yaml", "groupsim-validate", True),
        ("orders.yaml", "groupsim-validate", False),
    ],
)
def test_a_hook_is_for_these_files(name: str, hook: str, meant: bool) -> None:
    """pre-commit hands a hook the files that its pattern finds; each hook is a command that there is."""
    hooks = {one["id"]: one for one in parse_yaml((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"), "hooks")[0]}
    assert bool(re.search(hooks[hook]["files"], name)) is meant
    command = hooks[hook]["entry"].split()
    assert command[0] == "groupsim"
    assert CliRunner().invoke(app, [*command[1:], "--help"]).exit_code == 0
