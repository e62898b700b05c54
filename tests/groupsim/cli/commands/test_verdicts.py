"""How `run` prints expectations: failed ones always, those that hold only as far as a screen has room."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from groupsim.cli.app import app

TEXT = """
title: Many expectations
run-for: 10s
topics: {{t: {{partitions: 1}}}}
groups: {{g: {{members: {{c: 1}}}}}}
expect: [{checks}]
"""


def printed(checks: list[str], *options: str) -> list[str]:
    """The lines below `expectations` of a run with these checks."""
    text = TEXT.format(checks=", ".join(checks))
    result = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"}).invoke(app, ["run", "-", *options], input=text)
    lines = [line.strip() for line in result.stdout.splitlines()]
    return lines[next(n for n, line in enumerate(lines) if line.startswith("expectations")) :]


@pytest.mark.parametrize(("count", "lines"), [(4, 5), (5, 5), (9, 5)])
def test_of_many_expectations_that_hold_the_first_are_printed(count: int, lines: int) -> None:
    """Up to four stand there; of more the first three, and how many others hold."""
    shown = printed(["rebalances: 0"] * count)
    assert len(shown) == lines
    assert (f"… {count - 3} more hold; --checks lists them" in shown) == (count > 4)


def test_all_are_printed_when_asked_for() -> None:
    """With --checks every expectation has its line."""
    assert len(printed(["rebalances: 0"] * 9, "--checks")) == 10


def test_one_that_fails_is_printed_wherever_it_stands() -> None:
    """The last of nine fails: it stands there with what was found, and the others are counted."""
    shown = printed([*["rebalances: 0"] * 8, "rebalances: 7"])
    assert shown[0] == "expectations: 1 of 9 failed"
    assert "✗ rebalances: 7" in shown
    assert "… 5 more hold; --checks lists them" in shown
