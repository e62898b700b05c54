"""Records of a quiet group pass as events; the story of the process would do the same, dearer."""

from __future__ import annotations

import pytest

from groupsim.members.consumer.rounds import Rounds
from groupsim.scenarios.loading import catalogue
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.runtime.runner import run_scenario

SCENARIOS = (
    "bounced-member-holds-rebalance-open",
    "zombie-consumers-go-on",
    "already-rebalancing-for-ever",
    "deploy-jvm-S-cooperative",
)


@pytest.mark.parametrize("name", SCENARIOS)
def test_rounds_as_events_and_in_the_story_leave_one_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The events are equal, at the same instants and in the same order, with either implementation of the poll loop."""
    scenario = load_file(catalogue.find(name))
    begun = []
    poll = Rounds._poll
    monkeypatch.setattr(Rounds, "_poll", lambda self: (begun.append(1), poll(self))[1])
    as_events = run_scenario(scenario, seed=3).events
    assert begun
    begun.clear()
    monkeypatch.setattr(Rounds, "_is_idle", lambda self: False)
    in_the_story = run_scenario(scenario, seed=3).events
    assert not begun
    assert as_events == in_the_story


@pytest.mark.parametrize("name", SCENARIOS)
def test_looks_as_events_and_in_the_story_leave_one_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The events are equal, at the same instants and in the same order, with either implementation of `poll`."""
    scenario = load_file(catalogue.find(name))
    looks = []
    needs_task = Rounds.needs_task

    def counted(rounds: Rounds) -> bool:
        needed = needs_task(rounds)
        looks.append(not needed)
        return needed

    monkeypatch.setattr(Rounds, "needs_task", counted)
    as_events = run_scenario(scenario, seed=3).events
    assert any(looks)
    monkeypatch.setattr(Rounds, "needs_task", lambda self: True)
    assert as_events == run_scenario(scenario, seed=3).events
