"""`groupsim sweep` as its user meets it: output, exit codes, interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groupsim.pipeline.sweep.directory import Directory
from tests.helpers import small_sweep

COMMAND = [sys.executable, "-m", "groupsim.cli.app", "sweep"]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command to its end."""
    environment = {**os.environ, "COLUMNS": "200"}
    command = [*COMMAND, *map(str, arguments), "--workers", "2"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_a_sweep_prints_its_answer_and_where_things_lie(tmp_path: Path) -> None:
    """The answer on stdout, the rest on stderr; with --json one document; a second time nothing is run."""
    file, out = small_sweep.write(tmp_path, seeds=1), tmp_path / "out"
    done = run(file, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "Which assignor moves less?" in done.stdout
    assert f"groupsim report {out}" in done.stderr
    assert "3 of 3 runs finished" in done.stderr
    again = run(file, "--out", out, "--json", "--quiet")
    assert (again.returncode, again.stderr) == (0, "")
    document = json.loads(again.stdout)
    assert (document["runs"], document["performed"], document["failed"]) == (3, 0, 0)
    assert json.loads(Path(document["results"]).read_text())["sentence"] == document["answer"]


def test_bad_input_ends_with_2_and_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """Another experiment's directory and a contradiction of options: a sentence, a remedy, no traceback."""
    out = tmp_path / "out"
    Directory.prepare(out, small_sweep.contents(tmp_path / "one")).close()
    other = small_sweep.write(tmp_path / "two", assignors="range, roundrobin")
    before = (out / "experiment.json").read_bytes()
    done = run(other, "--out", out)
    assert (done.returncode, (out / "experiment.json").read_bytes()) == (2, before)
    assert "holds another experiment" in done.stderr
    assert "Traceback" not in done.stderr
    assert run(other, "--out", tmp_path / "x", "--remote", "nonsense").returncode == 2
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_tells_how_far_it_came_and_the_same_command_goes_on(tmp_path: Path, how: signal.Signals) -> None:
    """Exit code 130, no traceback, no process left; the next time only the rest is run. SIGTERM does the same."""
    (file, holds), out = small_sweep.held(tmp_path, seeds=10), tmp_path / "out"
    holds.touch()
    process = subprocess.Popen(
        [*COMMAND, str(file), "--out", str(out), "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not list(out.glob("chunks/*.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does: to the workers, too
    else:
        process.send_signal(how)  # as a batch system does
    _, said = process.communicate(timeout=60)
    holds.unlink()
    assert process.returncode == 130, said
    kept = len(Directory.open(out).finished)
    assert f"interrupted; {kept} of 30 runs finished" in said
    assert "the same command continues" in said
    assert "Traceback" not in said
    done = run(file, "--out", out, "--json")
    assert json.loads(done.stdout)["performed"] == 30 - kept > 0


def test_ctrl_c_while_the_workers_start_shows_no_traceback_of_theirs(tmp_path: Path) -> None:
    """They are still importing when the terminal's signal reaches them, and leave it to the command all the same."""
    file = small_sweep.write(tmp_path, seeds=40)
    process = subprocess.Popen(
        [*COMMAND, str(file), "--out", str(tmp_path / "out"), "--workers", "2"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    assert first.startswith("starting pool")
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert "interrupted" in said


@pytest.mark.parametrize(
    ("package", "extra", "options"), [("pyarrow", "parquet", []), ("pyspark", "spark", ["--master", "local[1]"])]
)
def test_a_missing_extra_is_named(tmp_path: Path, package: str, extra: str, options: list[str]) -> None:
    """A bare installation says what to install, before anything is written."""
    file = small_sweep.write(tmp_path)
    bare = (
        "import importlib.util as u, sys; real = u.find_spec\n"
        f"u.find_spec = lambda name, *more: None if name == '{package}' else real(name, *more)\n"
        "from groupsim.cli.app import main; main()"
    )
    command = [sys.executable, "-c", bare, "sweep", str(file), "--out", str(tmp_path / "out"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert package in done.stderr
    assert f"groupsim[{extra}]" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_sweep_without_a_good_run_has_failed_for_the_answer_too(tmp_path: Path) -> None:
    """`groupsim answer` ends with 3, as the sweep did."""
    (tmp_path / "mine.py").write_text(
        "from groupsim.assignors import Assignor\n\n\nclass Own(Assignor):\n    name = 'own'\n\n"
        "    def assign(self, topics, members):\n        raise OSError('no')\n"
    )
    file, out = small_sweep.write(tmp_path, seeds=1, assignors="'mine:Own'"), tmp_path / "out"
    assert run(file, "--out", out).returncode == 3
    command = [*COMMAND[:-1], "answer", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "No run has ended well" in done.stdout
