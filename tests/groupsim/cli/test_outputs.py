"""Full disks, readers that go away, terminals and streams of all kinds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.front_stage import BOUNCE, call, shell


@pytest.mark.parametrize("option", ["--trace=x.jsonl", "--trace=x.parquet", "--logs=x", "--data-dir=x", "--svg=x.svg"])
def test_a_full_disk_is_named_and_nothing_half_written_stays(bounce: Path, tmp_path: Path, option: str) -> None:
    """The error has the place and the remedy; a limit on the size of files simulates the full disk."""
    place = tmp_path / "full" / option.split("=")[1]
    place.parent.mkdir()
    before = f"ulimit -f 1; cd '{tmp_path}'; exec '{sys.executable}' -m groupsim.cli.app run '{bounce}'"
    done = subprocess.run(
        ["sh", "-c", f"{before} {option.split('=')[0]} '{place}'"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert str(place) in done.stderr
    assert "free disk space, or name another path" in done.stderr
    left = [path for path in place.parent.rglob("*") if path.is_file()]
    assert not [path for path in left if path.suffix == ".part" or path.name.startswith(".")]


OUTPUTS = (["--trace", "x.jsonl"], ["--report", "x.html"], ["--svg", "x.svg"], ["--logs", "x/y"], ["--data-dir", "x"])


@pytest.mark.parametrize(("option", "name"), OUTPUTS)
def test_a_place_where_nothing_may_be_written_is_refused_before_the_run(
    bounce: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, name: str
) -> None:
    """A trace, page or log that cannot be written is an error before the run, without other output."""
    monkeypatch.setattr(os, "access", lambda *_: False)  # root, as in a container, may write anywhere
    result = call("run", bounce, option, tmp_path / name)
    assert (result.exit_code, result.stdout) == (2, "")
    message = f"groupsim: {tmp_path / name}: no permission to write in {tmp_path}\n    name another path\n"
    assert result.stderr == message
    assert list(tmp_path.iterdir()) == [bounce]


@pytest.mark.parametrize(("option", "name"), OUTPUTS)
def test_a_place_below_a_file_is_refused_before_the_run(bounce: Path, option: str, name: str) -> None:
    """A path below a file is an error that names the file, without the advice to make a directory."""
    result = call("run", bounce, option, bounce / name.split("/")[-1])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f": {bounce} is a file" in result.stderr


def unread(*args: str) -> tuple[int, str]:
    """Exit code and standard error of the real command when no process reads its output, which is buffered as usual."""
    command = [sys.executable, "-m", "groupsim.cli.app", *args]
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


def test_a_command_is_completed_without_a_reader(bounce: Path, tmp_path: Path) -> None:
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


def test_no_line_ends_in_blanks(bounce: Path) -> None:
    """Wrapped and indented texts end where their words do, in stories, lists and comparisons alike."""
    setting = "groups.g1.properties.session.timeout.ms=10000"
    for args in (
        ("run", bounce),
        ("list", "crash"),
        ("describe", bounce, "--at", "40s"),
        ("diff", bounce, "--set", setting),
    ):
        shown = call(*args).stdout.splitlines()
        assert len(shown) > 10
        assert [line for line in shown if line != line.rstrip()] == []


def test_closed_streams_are_no_defect(bounce: Path) -> None:
    """A closed output is an error; a closed input has nothing to read."""
    for command in (f"run {bounce}", "list --json", "--version"):
        done = shell(f"groupsim {command} >&-")
        assert (done.returncode, done.stderr) == (2, b"groupsim: the output: Bad file descriptor\n")
    done = shell(f"groupsim validate {bounce} 2>&-")
    assert (done.returncode, done.stdout) == (0, f"{bounce}: ok\n".encode())
    done = shell("groupsim assign --assignor range - <&-")
    assert done.returncode == 2
    assert b"standard input is closed" in done.stderr


def test_a_full_disk_behind_the_output_is_an_error(bounce: Path) -> None:
    """What could not be written was the output."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    for command in (f"run {bounce}", "list --experiments --json", "--help"):
        done = shell(f"groupsim {command} >/dev/full")
        assert (done.returncode, done.stderr) == (2, b"groupsim: the output: No space left on device\n")
