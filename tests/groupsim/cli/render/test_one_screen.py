"""How `run` keeps to the height of a screen: what is cut, in which order, how it is named, and what is never cut."""

from __future__ import annotations

import pytest
from attrs import evolve
from rich.text import Text
from typer.testing import CliRunner

from groupsim.cli.app import app
from groupsim.cli.render.screen import CUTS, EVERYTHING, SCREEN, USUAL, Limits, Part, draw, fitting
from groupsim.cli.terminal import Terminal
from tests.helpers.front_stage import call

LONG = "deploy-jvm-S-cooperative"  # 77 lines where nothing is cut for the height


def drawn(*options: str, columns: int = 100) -> list[str]:
    """The lines of the scene on a terminal of this width."""
    result = CliRunner(env={"COLUMNS": str(columns), "NO_COLOR": "1"}).invoke(app, ["run", LONG, *options])
    assert result.exit_code == 0
    return result.stdout.splitlines()


def part(limit: str, *, asked: bool = False) -> Part:
    """A part of as many lines as the limit has: forty where there is none."""

    def lines(console: Terminal, limits: Limits) -> None:
        most = getattr(limits, limit)
        for _ in range(40 if most is None else most):
            console.print(Text("x"))

    return Part(lines, asked=asked)  # type: ignore[arg-type]


def test_a_long_run_of_three_members_fits_on_a_screen() -> None:
    """Every generation has its row and names who began it; the rest is named with the option that shows it."""
    lines = drawn()
    assert len(lines) <= SCREEN
    assert sum(" deploy-" in line and ": pod-" in line for line in lines) == 9
    text = "\n".join(lines)
    for remark in (f"{EVERYTHING} explains", "--owners shows", f"{EVERYTHING} lists", "--checks lists"):
        assert remark in text


def test_all_is_every_line() -> None:
    """Nothing is named as left out; each generation, standstill, assignment and expectation has its line."""
    lines = drawn("--all")
    text = "\n".join(lines)
    assert not any(f"{option} " in text for option in (EVERYTHING, "--owners", "--checks"))
    assert text.count("last to join") == 9
    assert text.count("✓") == 7
    assert "| gen 1 " in text
    assert "| gen 5 " in text


@pytest.mark.parametrize(("option", "sign"), [("--owners", " | "), ("--checks", "✓")])
def test_what_is_asked_for_costs_the_other_parts_nothing(option: str, sign: str) -> None:
    """The part comes whole, and the others get the lines that its short form took."""
    usual, more = drawn(), drawn(option)
    assert len(more) > SCREEN
    kept, others = ([line for line in lines if sign not in line] for lines in (usual, more))
    assert len(kept) - 1 <= len(others)  # without the remark on what is left out
    assert len(others) <= SCREEN + 2  # with the head of the part, and the blank line before it


def test_the_height_of_a_terminal_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of ten lines, and one of a hundred, show the same."""
    monkeypatch.setenv("LINES", "10")
    low = drawn()
    monkeypatch.setenv("LINES", "100")
    assert drawn() == low


def test_nothing_is_cut_where_all_fits() -> None:
    """The limits are the usual ones up to the very line."""
    parts = [part("standstills"), part("doings")]
    assert fitting(parts, Terminal(), 21) == USUAL  # 8, a blank line, 12


def test_the_first_cuts_that_are_enough_are_taken() -> None:
    """Three lines too many: the standstills lose theirs, which come first; the doings lose none."""
    found = fitting([part("standstills"), part("doings")], Terminal(), 18)
    assert (found.standstills, found.doings) == (5, 12)


def test_a_cut_that_gains_nothing_is_taken_back() -> None:
    """Only what has to be cut is cut, whatever comes before it in the order."""
    found = fitting([part("introduction")], Terminal(), 2)
    assert found == evolve(USUAL, introduction=2)


def test_the_height_is_exceeded_where_all_cuts_are_not_enough() -> None:
    """What is never cut is printed nevertheless."""
    console = Terminal()
    fixed = Part(lambda console, _: [console.print(Text("x")) for _ in range(60)] and None)
    found = fitting([fixed, part("standstills")], console, SCREEN)
    with console.capture() as captured:
        draw([fixed], console, found)
    assert captured.get().count("x") == 60
    assert found == evolve(USUAL, **{name: value for cut in CUTS for name, value in cut.items()})


def test_what_was_asked_for_does_not_count() -> None:
    """A part of forty lines that the reader wanted leaves the others as they are."""
    parts = [part("introduction", asked=True), part("standstills")]
    assert fitting(parts, Terminal(), 8) == USUAL


def test_failed_expectations_are_never_cut() -> None:
    """Thirty failed ones stand there, each with what was found."""
    checks = ", ".join(["rebalances: 7"] * 30)
    text = f"run-for: 10s\ntopics: {{t: {{partitions: 1}}}}\ngroups: {{g: {{members: {{c: 1}}}}}}\nexpect: [{checks}]\n"
    shown = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["run", "-"], input=text).stdout
    assert shown.count("found:") == 30


def test_json_has_everything_at_any_length() -> None:
    """`--all` changes nothing in it."""
    assert call("run", LONG, "--json").stdout == call("run", LONG, "--json", "--all").stdout


def test_a_member_without_a_revocation_is_the_last_to_reconcile() -> None:
    """In a consumer group that lost a member the others only take over; where one joined, an owner revokes."""
    runner = CliRunner(env={"COLUMNS": "150", "NO_COLOR": "1"})
    result = runner.invoke(app, ["run", "consumer-group-config-altered", "--all"])
    assert "last to reconcile: c2 after 4.0 s (learned of the rebalance at its next heartbeat)" in result.stdout
    result = runner.invoke(app, ["run", "consumer-stuck-revocation", "--all"])
    assert "last to revoke: pod-1 after 4 min (was in its revoked callback for 4 min)" in result.stdout
