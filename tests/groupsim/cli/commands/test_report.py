"""`groupsim report` and `groupsim run --report`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groupsim.cli.app import app
from groupsim.cli.commands import report
from tests.helpers import page_samples


def call(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command."""
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_a_run_with_its_page(tmp_path: Path) -> None:
    """`--report` writes the page beside what the terminal shows; the page has the command that repeats the run."""
    page = tmp_path / "run.html"
    code, out, err = call("run", "demo", "--seed", "3", "--set", "run-for=60s", "--report", str(page))
    assert code in (0, 1)
    assert f"page: {page}" in err
    text = page.read_text("utf-8")
    assert f"<h1>{out.splitlines()[0]}" in text
    assert "groupsim run demo --set run-for=60s --seed 3" in text


@pytest.mark.parametrize(
    ("name", "says"),
    [("run.txt", "a page ends in .html"), ("nowhere/run.html", "does not exist"), (".", "is a directory")],
)
def test_a_page_that_cannot_be_is_refused_first(tmp_path: Path, name: str, says: str) -> None:
    """Before anything runs: a wrong ending, a directory that is not there, a directory instead of a file."""
    code, out, err = call("run", "demo", "--report", str(tmp_path / name))
    assert (code, out) == (2, "")
    assert says in err


def test_without_plotly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep's page needs it, and the message names what installs it; the page of one run does not."""
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    code, out, err = call("report", str(tmp_path))
    assert (code, out) == (2, "")
    assert 'pip install "groupsim[report]"' in err
    assert call("run", "demo", "--report", str(tmp_path / "run.html"))[0] == 0


def test_a_sweeps_page(tmp_path: Path) -> None:
    """The answer is printed and on the page; the analysis runs again if runs were added since."""
    directory, answer = page_samples.sweep(tmp_path, seeds=2)
    code, out, err = call("report", str(directory.path))
    assert (code, out.strip()) == (0, answer.sentence)
    assert f"page: {directory.report}" in err
    assert answer.sentence in directory.report.read_text("utf-8")
    kept = directory.results / "answer.json"
    document = json.loads(kept.read_text("utf-8"))
    kept.write_text(json.dumps({**document, "sentence": "As it was."}), "utf-8")
    elsewhere = tmp_path / "elsewhere.html"
    assert call("report", str(directory.path), "--out", str(elsewhere))[1].strip() == "As it was."
    assert "As it was." in elsewhere.read_text("utf-8")
    newer = kept.stat().st_mtime + 5
    os.utime(next(directory.path.glob("chunks/*.json")), (newer, newer))
    assert call("report", str(directory.path))[1].strip() == answer.sentence


def test_no_sweep(tmp_path: Path) -> None:
    """A directory that is not a sweep's, and one that does not exist, are errors."""
    code, _, err = call("report", str(tmp_path))
    assert code == 2
    assert "no directory of a sweep" in err
    assert "no such directory" in call("report", str(tmp_path / "nowhere"))[2]


def test_nothing_finished_yet(tmp_path: Path) -> None:
    """A sweep without a finished run has no answer, and no page."""
    directory, _ = page_samples.sweep(tmp_path, seeds=1)
    for manifest in directory.path.glob("chunks/*.json"):
        manifest.unlink()
    for command in ("report", "answer"):
        code, _, err = call(command, str(directory.path))
        assert code == 2
        assert "no run of this sweep has finished yet" in err
