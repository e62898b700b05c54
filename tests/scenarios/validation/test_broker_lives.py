"""States of brokers that the timeline proves are reported before a run; others are not."""

from __future__ import annotations

import pytest

from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.load import load_text

END_IT = "end it before, with `crash-broker` or `stop-broker`"
BASE = """\
run-for: 3m
topics: {orders: {partitions: 3, rate: 3/s}}
groups: {g: {members: {c: 2}}}
timeline:
"""


def mistakes(*steps: str) -> list[str]:
    """Line, message and remedy of every error of a timeline."""
    try:
        load_text(BASE + "".join(f"- {{{step}}}\n" for step in steps))
    except ScenarioError as error:
        return [f"{one.place.line} {one.message}; {one.remedy}" for one in error.problems]
    return []


@pytest.mark.parametrize(
    ("steps", "reported"),
    [
        (
            ["at: 60s, do: restart-broker, broker: 1"],
            f"5 `broker`: broker 1 is running at 60.000 s; {END_IT}",
        ),
        (
            ["at: 60s, do: restart-broker, broker: 1", "at: 30s, do: crash-broker, broker: 2"],
            "5 `broker`: broker 1 is running at 60.000 s; brokers that are down then: 2",
        ),
        (
            ["at: 30s, do: crash-broker, broker: 2", "at: 40s, do: stop-broker, broker: 2"],
            "6 `broker`: broker 2 is down already at 40.000 s; restart it before, with `restart-broker`",
        ),
        (
            ["at: 30s, do: crash-broker, broker: 2, restart-after: 10s", "at: 50s, do: restart-broker, broker: 2"],
            f"6 `broker`: broker 2 is running at 50.000 s; {END_IT}",
        ),
    ],
)
def test_what_is_certainly_impossible_is_an_error_with_place_and_remedy(steps: list[str], reported: str) -> None:
    """Steps count by their time, not their order in the file; a supervisor's restart counts, too."""
    assert mistakes(*steps) == [reported]


@pytest.mark.parametrize(
    "steps",
    [
        ["at: 30s, do: crash-broker, broker: 1", "at: 60s, do: restart-broker, broker: 1"],
        ["at: 30s, do: crash-broker, broker: coordinator", "at: 60s, do: restart-broker, broker: 1"],
        ["at: 30s, do: stop-broker, broker: 1", "at: 60s, do: restart-broker, broker: 1"],
        ["at: 30s, do: stop-broker, broker: 1", "at: 31s, do: crash-broker, broker: 1"],
        ["at: 30s, every: 50s, do: crash-broker, broker: 1", "at: 60s, do: restart-broker, broker: 1"],
        ["at: never, do: crash-broker, broker: 1", "at: never, do: restart-broker, broker: 1"],
    ],
)
def test_what_may_be_possible_is_left_to_the_run(steps: list[str]) -> None:
    """A role, a shutdown in progress, a repeated step or one that an experiment times leave it open."""
    assert mistakes(*steps) == []


def test_a_step_that_cannot_be_read_leaves_the_brokers_open() -> None:
    """A mistake in the step that ends a broker suppresses the error of its restart."""
    found = mistakes("at: 30s, do: crash-broker, broker: 1, machin: true", "at: 60s, do: restart-broker, broker: 1")
    assert len(found) == 1
    assert "machin" in found[0]
