"""Groups with a `count`: ids and members, steps and expectations about each of them, mistakes with their place."""

from __future__ import annotations

import pytest

from groupsim.scenarios.language.document import parse_document
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.lint import lint_scenario
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.plans.members import plans
from groupsim.scenarios.runtime.runner import run_scenario

FLEET = """
run-for: 40s
cluster: {logs: counted}
topics:
  orders: {partitions: 2, rate: 1/s}
groups:
  fleet: {count: 3, client-id: "{group}:{n}", members: {c: 2}}
"""


def test_a_count_makes_groups_whose_members_bear_their_names() -> None:
    """Three groups of two members are six processes, each named after its group, key and number."""
    scenario = load_text(FLEET)
    assert list(scenario.groups) == ["fleet-1", "fleet-2", "fleet-3"]
    assert scenario.fleets == {"fleet": ("fleet-1", "fleet-2", "fleet-3")}
    names = {plan.name: plan.filled(plan.spec.client_id or "") for plan in plans(scenario)}
    assert list(names) == [f"fleet-{group}-c-{n}" for group in (1, 2, 3) for n in (1, 2)]
    assert names["fleet-2-c-1"] == "fleet-2:1"


def test_a_count_of_one_changes_no_name() -> None:
    """One group keeps its id, and its members theirs."""
    scenario = load_text(FLEET.replace("count: 3", "count: 1"))
    assert [(plan.group, plan.name) for plan in plans(scenario)] == [("fleet", "c-1"), ("fleet", "c-2")]


def test_step_and_expectation_about_all_are_about_each() -> None:
    """A scale of `fleet` brings each group to its size; an expectation that one group breaks names that group."""
    text = FLEET + (
        "timeline:\n"
        "  - {at: 10s, do: scale, group: fleet, to: 3}\n"
        "  - {at: 20s, do: stop, member: fleet-2-c-1}\n"
        "expect:\n"
        "  - members: {group: fleet, is: 2..3}\n"
        "  - members: {group: fleet, is: 3}\n"
        "  - members: {group: fleet-2, is: 2}\n"
    )
    every, each, one = run_scenario(load_text(text)).checks
    assert [each.holds, every.holds, one.holds] == [False, True, True]
    assert every.finding.found == "3 (2 groups), 2 (1 groups)"
    assert every.finding.expected.endswith("in each of the 3 groups of fleet")
    assert each.finding.found == "not in 1 of them; fleet-2: 2"


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (("{c: 2}", "{c: 2}}\n  fleet-2: {members: {d: 1}"), 8, "`fleet-2` is also a group of a fleet"),
        (("{c: 2}", "{c: 2}}\n  other: {members: {fleet-1-c-1: 1}"), 8, "is a member of `fleet-1` already"),
        (("count: 3", "count: 0"), 7, "a group with count 0"),
        (("count: 3", "count: 9000"), 7, "18,000 members in all"),
        (("count: 3", "count: 10001"), 7, "processes are more than a run can hold"),
        (("{c: 2}", "{c: 2, d: {client: nonsense}}"), 7, "no client profile `nonsense`"),
    ],
)
def test_a_mistake_has_its_place_in_the_file(change: tuple[str, str], line: int, words: str) -> None:
    """A mistake in a fleet, or in a name that it makes, is reported at its line, and once."""
    with pytest.raises(ScenarioError) as caught:
        load_text(FLEET.replace(*change))
    found = [problem for problem in caught.value.problems if words in problem.message]
    assert [problem.place.line for problem in found] == [line]
    assert found[0].remedy


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("{at: 10s, do: crash, member: leader of fleet}", "`fleet` is a fleet of 3 groups"),
        ("{at: 10s, do: scale, to: 3}", "the group is missing"),
        ("{at: 10s, do: scale, to: 3, group: fleet-9}", "there is no group `fleet-9`"),
    ],
)
def test_a_step_names_a_group_or_all(step: str, words: str) -> None:
    """A role belongs to one group; a step without a group, and one with an unknown group, are refused."""
    with pytest.raises(ScenarioError) as caught:
        load_text(FLEET + f"timeline:\n  - {step}\n")
    assert [words in problem.message for problem in caught.value.problems] == [True]


def test_lint_tells_a_finding_once() -> None:
    """The groups of a count are equal: one finding for all of them, at the place of the setting."""
    text = FLEET.replace("members:", "properties: {session.timeout.ms: 6000, heartbeat.interval.ms: 5000}, members:")
    rules = [finding.rule for finding in lint_scenario(parse_document(text, "fleet.yaml"))]
    assert rules
    assert len(rules) == len(set(rules))
