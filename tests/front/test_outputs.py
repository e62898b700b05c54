"""Full disks, readers that go away, terminals and streams of all kinds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from front_stage import BOUNCE, shell


@pytest.mark.parametrize("option", ["--trace=x.jsonl", "--trace=x.parquet", "--logs=x", "--data-dir=x"])
def test_a_full_disk_is_named_and_nothing_half_written_stays(bounce: Path, tmp_path: Path, option: str) -> None:
    """The place is told, with the remedy; a limit on the size of files stands for the disk."""
    place = tmp_path / "full" / option.split("=")[1]
    place.parent.mkdir()
    before = f"ulimit -f 1; cd '{tmp_path}'; exec '{sys.executable}' -m groupsim.cli run '{bounce}'"
    done = subprocess.run(
        ["sh", "-c", f"{before} {option.split('=')[0]} '{place}'"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert str(place) in done.stderr
    assert "make room, or name another place" in done.stderr
    left = [path for path in place.parent.rglob("*") if path.is_file()]
    assert not [path for path in left if path.suffix == ".part" or path.name.startswith(".")]


def unread(*args: str) -> tuple[int, str]:
    """Exit code and standard error of the real command when nobody reads its output, which is buffered as usual."""
    command = [sys.executable, "-m", "groupsim.cli", *args]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    return process.wait(timeout=60), errors


@pytest.mark.parametrize("command", ["--help", "--version", "lint --help", "list", "validate demo --json"])
def test_a_reader_that_goes_away_is_no_failure(command: str) -> None:
    """With `| head` the command ends well, and says nothing of pipes, however little it had to print."""
    assert unread(*command.split()) == (0, "")


def test_what_was_asked_for_is_done_when_nobody_reads(bounce: Path, tmp_path: Path) -> None:
    """Without a reader the run keeps its exit code, and its files are written."""
    bounce.write_text(BOUNCE + "expect: [{rebalances: 99}]\n")
    code, errors = unread("run", str(bounce), "--logs", str(tmp_path / "logs"))
    assert (code, errors) == (1, f"logs: {tmp_path / 'logs'}\n")
    assert list((tmp_path / "logs").iterdir())
    code, errors = unread("describe", "nowhere.yaml", "--at", "1s", "--json")
    assert code == 2
    assert "BrokenPipe" not in errors


# --- terminals and streams of all kinds ----------------------------------------------------------------------------


def test_a_terminal_without_utf_8_gets_plainer_characters(bounce: Path) -> None:
    """An encoding that lacks dashes and dots is no reason to fail."""
    done = shell(f"groupsim run {bounce}", encoding="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"bounce - seed 0 - 2 min of virtual time" in done.stdout


def test_closed_streams_are_no_defect(bounce: Path) -> None:
    """Without an output the run is as good as with one; without an input there is no document to read."""
    done = shell(f"groupsim run {bounce} >&-")
    assert (done.returncode, done.stderr) == (0, b"")
    done = shell("groupsim assign --assignor range - <&-")
    assert done.returncode == 2
    assert b"standard input is closed" in done.stderr


def test_a_full_disk_behind_the_output_is_said(bounce: Path) -> None:
    """What could not be written was the output."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    for command in (f"run {bounce}", "list --experiments --json", "--help"):
        done = shell(f"groupsim {command} >/dev/full")
        assert (done.returncode, done.stderr) == (2, b"groupsim: the output: No space left on device\n")
