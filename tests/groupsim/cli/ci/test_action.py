"""`action.yml`: the steps of the reusable CI action, executed here as a runner does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[4]
DOCS = ROOT / "docs" / "linting.md"
BAD = "group.id=shop\nsession.timeout.ms=10000\nheartbeat.interval.ms=10000\n"


def action() -> dict[str, Any]:
    """The action."""
    found: dict[str, Any] = YAML(typ="safe").load(ROOT / "action.yml")
    return found


def step(name: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run a step of that name in a folder, with inputs for those that are not the default."""
    (found,) = [one for one in action()["runs"]["steps"] if one.get("name") == name]
    defaults = {key: value["default"] for key, value in action()["inputs"].items()}
    env = {}
    for variable, expression in found["env"].items():
        key = expression.removeprefix("${{ inputs.").removesuffix(" }}")
        env[variable] = inputs.get(key, defaults[key])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env |= {"PATH": path, "GITHUB_OUTPUT": str(folder.parent / "outputs"), "COLUMNS": "100", "NO_COLOR": "1"}
    bash = shutil.which("bash")
    assert bash is not None
    command = [bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def service(tmp_path: Path) -> Path:
    """A checkout with one bad file in a folder whose name has a blank, and one that is none of ours."""
    folder = tmp_path / "checkout"
    (folder / "my app").mkdir(parents=True)
    (folder / "my app" / "consumer.properties").write_text(BAD)
    (folder / "other.txt").write_text("nothing")
    return folder


def test_annotations_name_the_line_and_the_step_fails(service: Path) -> None:
    """The default: a finding beside its line, and the exit code of the linter."""
    done = step("Lint", service)
    assert done.returncode == 1, done.stderr
    assert "::error file=my app/consumer.properties,line=" in done.stdout or "::warning" in done.stdout
    assert "heartbeat.interval.ms" in done.stdout


@pytest.mark.parametrize("kind", ["sarif", "junit"])
def test_a_file_for_other_tools_is_written_and_named(service: Path, kind: str) -> None:
    """The findings are in the file that the output names, and printed as text; the step fails all the same."""
    done = step("Lint", service, format=kind, output="found.out", args="--client=java-3.9\n--broker=3.9")
    assert done.returncode == 1, done.stderr
    assert "heartbeat.interval.ms" in done.stdout
    text = (service / "found.out").read_text("utf-8")
    if kind == "sarif":
        assert json.loads(text)["runs"][0]["results"]
    else:
        assert ET.fromstring(text).findall(".//failure")
    assert (service.parent / "outputs").read_text() == "file=found.out\n"


def test_good_settings_pass(service: Path) -> None:
    """Without a finding above a note the step ends well."""
    (service / "my app" / "consumer.properties").write_text("group.id=shop\nsession.timeout.ms=45000\n")
    done = step("Lint", service)
    assert done.returncode == 0, done.stdout


def test_no_file_is_a_notice(tmp_path: Path) -> None:
    """A checkout without such files passes, and says so."""
    done = step("Lint", tmp_path)
    assert (done.returncode, done.stdout[:10]) == (0, "::notice::")


def test_another_format_is_refused(service: Path) -> None:
    """A misspelt format ends as bad input."""
    done = step("Lint", service, format="text")
    assert done.returncode == 2
    assert "::error::format: text is none of" in done.stdout


def test_inputs_are_no_commands(service: Path) -> None:
    """What a file name or an option says is not executed."""
    evil = "$(touch owned)"
    step("Lint", service, files=f"{evil}\n**/consumer*.properties", args=f"--client={evil}")
    step("Install groupsim", service, package=f"none; touch owned; {evil}")
    assert not list(service.rglob("owned"))


def test_the_package_is_installed(service: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step before calls pip with what is asked for; here another `python` writes down what it is called with."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > called\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    assert step("Install groupsim", service, package="groupsim==0.2.0").returncode == 0
    assert (service / "called").read_text().split()[:3] == ["-m", "pip", "install"]
    assert (service / "called").read_text().split()[-1] == "groupsim==0.2.0"


def test_the_page_shows_inputs_that_there_are() -> None:
    """The listing of docs/linting.md uses the action with inputs that it has."""
    text = DOCS.read_text("utf-8")
    listing = text[text.index("# .github/workflows/lint.yml") :].partition("```")[0]
    steps = YAML(typ="safe").load(listing)["jobs"]["lint"]["steps"]
    (used,) = [one for one in steps if "groupsim/groupsim@" in one.get("uses", "")]
    assert set(used["with"]) <= set(action()["inputs"])
