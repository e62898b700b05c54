"""`groupsim run --data-dir`: all of a run's logs as files, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from groupsim.cli.app import app

SCENARIO = """\
run-for: 15s
topics: {t: {partitions: 2, replication: 2, rate: 10/s}}
groups: {g: {members: {c: 1}}}
"""
TWICE_DELETED = "timeline:\n  - {at: 5s, do: delete-topic, topic: t}\n  - {at: 6s, do: delete-topic, topic: t}\n"
COUNTED = ["--set", "cluster.logs=counted"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small scenario."""
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO)
    return path


def groupsim(*arguments: object) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_the_logs_are_there_and_their_offsets_can_be_read(source: Path, tmp_path: Path) -> None:
    """A folder for each broker and partition; `groupsim offsets` finds what the run committed, as it says itself."""
    data = tmp_path / "data"
    done = groupsim("run", source, "--data-dir", data)
    assert done.exit_code == 0, done.output
    assert [one.name for one in sorted(data.iterdir())] == ["broker-0", "broker-1", "broker-2"]
    assert len(list(data.glob("broker-*/t-0"))) == 2
    shown = groupsim("offsets", data, "--live")
    assert shown.exit_code == 0, shown.output
    assert " 3 live" in shown.output
    assert not (tmp_path / "data.unfinished").exists()


def test_an_empty_directory_is_taken(source: Path, tmp_path: Path) -> None:
    """As `mkdir` leaves it, or a volume is mounted there: it stays the same directory, and only that is written to."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    before = data.stat()
    assert groupsim("run", source, "--data-dir", data).exit_code == 0
    assert [one.name for one in sorted(data.iterdir())] == ["broker-0", "broker-1", "broker-2"]
    assert (data.stat().st_ino, data.stat().st_mode) == (before.st_ino, before.st_mode)


def test_an_empty_directory_stays_empty_when_the_run_fails(source: Path, tmp_path: Path) -> None:
    """What a killed run left in one is refused with the remedy."""
    data = tmp_path / "data"
    data.mkdir()
    source.write_text(SCENARIO + TWICE_DELETED)
    assert groupsim("run", source, "--data-dir", data).exit_code != 0
    assert list(data.iterdir()) == []
    (data / ".unfinished").mkdir()
    assert f"rm -r {data / '.unfinished'}" in "".join(groupsim("run", source, "--data-dir", data).output.split("\n"))


def test_what_cannot_be_is_refused_before_anything_runs(source: Path, tmp_path: Path) -> None:
    """A directory in use, a file, no parent, what a killed run left, counted logs: each with its remedy."""
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "something").touch()
    (tmp_path / "killed.unfinished").mkdir()
    for name, message in (
        ("used", "name another directory, or empty this one"),
        ("s.yaml", "is a file"),
        ("none/data", "mkdir -p"),
        ("killed", "rm -r"),
    ):
        refused = groupsim("run", source, "--data-dir", tmp_path / name)
        assert refused.exit_code == 2, name
        assert message in " ".join(refused.output.split()), name
    counted = groupsim("run", source, *COUNTED, "--data-dir", tmp_path / "data")
    assert counted.exit_code == 2
    assert "leave `logs: counted` out of `cluster`" in " ".join(counted.output.split())
    assert not (tmp_path / "data").exists()


def test_a_run_that_fails_leaves_nothing(source: Path, tmp_path: Path) -> None:
    """Neither under the name nor under the other one."""
    source.write_text(SCENARIO + TWICE_DELETED)
    failed = groupsim("run", source, "--data-dir", tmp_path / "data")
    assert failed.exit_code != 0
    assert [one.name for one in tmp_path.iterdir()] == ["s.yaml"]
