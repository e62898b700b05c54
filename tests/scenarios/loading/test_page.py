"""docs/writing-a-scenario.md: its reference is generated, its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario_reference import rewritten

from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import run_scenario

PAGE = Path(__file__).parents[3] / "docs" / "writing-a-scenario.md"


def listings(language: str) -> list[str]:
    """The listings of a language on the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def listing(language: str) -> str:
    """The first of them."""
    return listings(language)[0]


def test_the_reference_is_what_the_loader_does() -> None:
    """The page is current; `python tools/scenario_reference.py` writes it."""
    page = PAGE.read_text(encoding="utf-8")
    assert rewritten(page) == page


@pytest.mark.parametrize("number", range(len(listings("yaml"))))
def test_an_example_runs_and_holds(number: int) -> None:
    """A copied example loads without a warning, and its expectations hold."""
    scenario = load_text(listings("yaml")[number])
    assert scenario.notes == ()
    assert run_scenario(scenario, seed=7).failed == ()


def test_the_python_example_runs() -> None:
    """The listing is a program whose last line is an assertion."""
    exec(compile(listing("python"), str(PAGE), "exec"), {})


def test_a_page_without_markers_is_refused() -> None:
    """The remedy names the markers."""
    with pytest.raises(ValueError, match="no markers"):
        rewritten("# A page\n")
