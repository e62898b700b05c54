"""What a command prints or writes does no harm: no control characters, no mixture of two runs' logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupsim.scenarios.language.printable import visible
from tests.helpers.front_stage import BOUNCE, call

COMMANDS = "\\u001b]0;title\\u0007\\u009b2J"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A scenario whose title and sentence hold escape sequences."""
    file = tmp_path / "hostile.yaml"
    text = BOUNCE.replace("title: A bounced member", f'title: "{COMMANDS}"')
    file.write_text(text.replace("shows: The old", f'shows: "{COMMANDS}').replace("ends.", 'ends."', 1), "utf-8")
    return file


def test_control_characters_are_shown_as_escapes() -> None:
    """Controls and marks that turn the direction of a text become visible; newlines and tabs stay."""
    assert visible("a\x1b[2J\x07\x9b\u202eb\n\tc") == "a\\x1b[2J\\x07\\x9b\\u202eb\n\tc"


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_no_control_character_of_a_scenario_reaches_the_terminal(hostile: Path, more: tuple[str, ...]) -> None:
    """A title with escape sequences is printed with them as text, in the story and in JSON."""
    done = call("run", hostile, *more)
    assert done.exit_code == 0
    assert not any(code in done.output for code in "\x1b\x07\x9b")
    assert "x1b]0;title" in done.output or json.loads(done.stdout)["title"].startswith("\x1b]0;title")


def test_no_control_character_of_a_mistake_reaches_the_terminal(tmp_path: Path) -> None:
    """An error that quotes a hostile key shows its escapes."""
    file = tmp_path / "bad.yaml"
    file.write_text(BOUNCE + f'"{COMMANDS}": 1\n', "utf-8")
    done = call("validate", file)
    assert done.exit_code == 2
    assert not any(code in done.output for code in "\x1b\x07\x9b")


def test_logs_are_refused_beside_foreign_files(bounce: Path, tmp_path: Path) -> None:
    """A directory with a foreign file is refused, with its name, before anything runs; it stays as it is."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "broker-0.log").write_text("of a real broker", "utf-8")
    done = call("run", bounce, "--logs", logs)
    assert done.exit_code == 2
    assert "broker-0.log" in done.output
    assert [entry.name for entry in logs.iterdir()] == ["broker-0.log"]


def test_logs_of_an_earlier_run_are_replaced(bounce: Path, tmp_path: Path) -> None:
    """The files of the last run are the only ones: those of members that are gone are removed."""
    logs = tmp_path / "logs"
    assert call("run", bounce, "--logs", logs).exit_code == 0
    bounce.write_text(BOUNCE.replace("c1", "worker"), "utf-8")
    assert call("run", bounce, "--logs", logs).exit_code == 0
    names = {entry.name for entry in logs.iterdir()}
    assert "worker.log" in names
    assert "c1.log" not in names


def test_a_rate_above_one_record_for_each_tick_is_refused(bounce: Path) -> None:
    """More than 1,000,000 records per second cannot be kept: the rate is refused with its place."""
    bounce.write_text(BOUNCE.replace("40/s", "1000000000/s"), "utf-8")
    done = call("validate", bounce)
    assert done.exit_code == 2
    assert ":5:" in done.output
    assert "above 1,000,000/s" in done.output


def test_a_producer_that_cannot_keep_its_rate_warns(bounce: Path) -> None:
    """One partition takes fewer than a million records a second: the run says that records leave late."""
    bounce.write_text(
        BOUNCE.replace("4, rate: 40/s", "1, rate: 1000000/s").replace("2m", "3s").split("timeline")[0], "utf-8"
    )
    assert "warning: send has waited for 1 s" in " ".join(call("run", bounce).stdout.split())


def test_a_step_with_the_key_fault_names_the_right_key(bounce: Path) -> None:
    """`fault: isolate` is answered with `do: isolate`, at its place."""
    bounce.write_text(BOUNCE.replace("do: crash, member: c1", "fault: isolate, member: c1, for: 4s"), "utf-8")
    done = call("validate", bounce)
    assert done.exit_code == 2
    assert "write `do: isolate`" in done.output
