"""`groupsim explain` explains an incident by its logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groupsim.cli.app import app
from tests.helpers.front_stage import call

LEFT = "2026-03-01 10:00:00,000 WARN [Consumer clientId=c1, groupId=orders] consumer poll timeout has expired."
AGAIN = "2026-03-01 10:00:05,000 INFO [Consumer clientId=c2, groupId=orders] group is already rebalancing"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of a client that was not polled, and of another that had to join again."""
    path = tmp_path / "app.log"
    path.write_text(f"starting\n{LEFT}\n{AGAIN}\n{AGAIN}\n", "utf-8")
    return path


def test_the_group_its_headline_the_line_and_what_helps_are_printed(log: Path) -> None:
    """The output has group, member, place and text of the line, cause, remedy, scenes, and what follows from it."""
    shown = " ".join(call("explain", log).stdout.split())
    assert shown.startswith(
        "orders: c1 did not poll for longer than max.poll.interval.ms, and left the group app.log:2"
    )
    for part in ("why between two polls", "do give calls", "like groupsim run poll-loop-blocked-leaves"):
        assert part in shown
    assert "also rebalancing 2 × (app.log:3)" in shown


def test_of_a_long_line_its_start_and_what_decides_are_quoted(tmp_path: Path) -> None:
    """A line that is too long to quote is cut in the middle, so that the message that decides is read."""
    path = tmp_path / "a.log"
    path.write_text(LEFT.replace("consumer poll", "x" * 400 + " consumer poll") + "y" * 400, "utf-8")
    shown = " ".join(call("explain", path).stdout.split())
    assert "WARN [Consumer" in shown
    assert "… poll timeout has expired" in shown
    assert "y" * 250 not in shown.replace(" ", "")


def test_a_folder_and_standard_input_are_read(log: Path) -> None:
    """A folder is read with its files; `-` reads what is piped in."""
    assert "app.log:2" in call("explain", log.parent).stdout
    piped = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["explain", "-"], input=LEFT)
    assert "stdin:1" in piped.stdout


def test_json_has_every_finding_of_every_group(log: Path) -> None:
    """With --json each group is a list of findings, the most decisive first, with the quoted line."""
    document = json.loads(call("explain", log, "--json").stdout)
    ((first, second),) = document["incident"]
    assert (first["group"], first["sign"], first["members"]) == ("orders", "poll-limit", ["c1"])
    assert (first["file"], first["line"], first["text"]) == ("app.log", 2, LEFT)
    assert (second["sign"], second["count"]) == ("rebalancing", 2)


def test_only_the_worst_groups_are_printed(tmp_path: Path) -> None:
    """Five groups are printed; the number of the others is said."""
    lines = [AGAIN.replace("groupId=orders", f"groupId=g{n}") for n in range(7)]
    (tmp_path / "a.log").write_text("\n".join(lines), "utf-8")
    shown = call("explain", tmp_path).stdout
    assert shown.count("why") == 5
    assert "2 more groups (--json)" in shown


def test_logs_that_decide_nothing_are_an_error(tmp_path: Path) -> None:
    """A log without a line of a consumer group ends the command with code 2 and names what logs are needed."""
    (tmp_path / "a.log").write_text("10:00:00 INFO all is well\n", "utf-8")
    ended = call("explain", tmp_path)
    assert ended.exit_code == 2
    assert "no line of these logs says why" in ended.stderr
    assert "logs of the group's coordinator" in " ".join(ended.stderr.split())


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    """The path and the reason are named."""
    ended = call("explain", tmp_path / "no.log")
    assert ended.exit_code == 2
    assert "no.log: No such file" in " ".join(ended.stderr.split())
