"""Invariants are asked for by a scenario and by a test, by name, by code, or all together."""

from __future__ import annotations

import pytest

from groupsim import Simulation, load_text, run_scenario
from groupsim.coordinator.consumer import heartbeat
from groupsim.scenarios.invariants.table import INVARIANTS, chosen
from groupsim.scenarios.language.problems import ScenarioError

GROUP = """
run-for: 30s
topics: {orders: {partitions: 4}}
groups: {g1: {properties: {group.protocol: consumer}, client: java-4.4, members: {c: 2}}}
expect: [invariant: NAME]
"""


@pytest.mark.parametrize("name", ["all", "one-owner-per-partition", "N5"])
def test_a_scenario_asks_by_name_by_code_or_for_all(name: str) -> None:
    """The expectation holds in a run without a violation, whose trace is the same as without it."""
    run = run_scenario(load_text(GROUP.replace("NAME", name)))
    assert [one.holds for one in run.checks] == [True]
    without = run_scenario(load_text(GROUP.replace("[invariant: NAME]", "[]")))
    assert run.events == without.events


def test_a_misspelt_name_gets_the_nearest() -> None:
    """An unknown invariant is an error with the place and the names that are like it."""
    with pytest.raises(ScenarioError, match=r"`one-owner-per-partitio` is no invariant\n.*did you mean"):
        load_text(GROUP.replace("NAME", "one-owner-per-partitio"))


def test_a_violation_is_a_failed_expectation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The finding names the invariant, the instant, the group, the member, the epoch and the seed."""
    monkeypatch.setattr(heartbeat, "_is_full", lambda request: request.topic_partitions is not None)
    run = run_scenario(load_text(GROUP.replace("NAME", "all")), seed=3)
    (judged,) = run.checks
    assert not judged.holds
    for part in ("answers-show-assignment", "group g1", "member epoch", "seed 3"):
        assert part in judged.finding.found
    assert judged.finding.t_us is not None
    assert run.exit_code == 1


async def grows(sim: Simulation) -> None:
    """A group of the consumer protocol that gets a second member."""
    sim.topic("orders", 4)
    for name in ("c1", "c2"):
        sim.member(name, client="java-4.4", properties={"group.protocol": "consumer"})
    await sim.run_for("30s")


def test_a_simulation_fails_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test with invariants fails when one is violated, and passes otherwise."""
    Simulation(seed=5, invariants="all").run(grows)
    monkeypatch.setattr(heartbeat, "_is_full", lambda request: request.topic_partitions is not None)
    with pytest.raises(AssertionError, match=r"answers-show-assignment is violated at .*seed 5"):
        Simulation(seed=5, invariants=["answers-show-assignment"]).run(grows)
    Simulation(seed=5, invariants=["one-owner-per-partition"]).run(grows)


def test_a_simulation_checks_the_names() -> None:
    """An unknown invariant is an error when the simulation is made."""
    with pytest.raises(ValueError, match="two-owners"):
        Simulation(invariants="two-owners")


@pytest.mark.sim(invariants="all")
async def test_a_test_asks_so_far(sim: Simulation) -> None:
    """`sim.expect` judges the invariants so far."""
    await grows(sim)
    sim.expect("invariant", "all")
    sim.expect("invariant", "N5")


async def test_a_test_without_invariants_cannot_expect_them(sim: Simulation) -> None:
    """An invariant that was not checked does not hold."""
    sim.topic("orders", 1)
    with pytest.raises(AssertionError, match="none was checked"):
        sim.expect("invariant", "all")


def test_codes_and_names_are_unique() -> None:
    """Every row has a name and a code of its own, and the same is chosen by both."""
    assert len({one.name for one in INVARIANTS} | {one.code for one in INVARIANTS}) == 2 * len(INVARIANTS)
    assert chosen(["N5", "one-owner-per-partition"]) == chosen(["n5"])
    assert chosen(["all", "N5"]) == INVARIANTS
