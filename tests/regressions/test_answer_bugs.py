"""Bugs of consumers that an answer brings out while a coordinator moves or loads."""

from __future__ import annotations

import pytest

from groupsim import Simulation
from groupsim.faults import AnswerError, Match
from groupsim.testing import caught
from groupsim.testing import mutants as bug

pytestmark = pytest.mark.sim(brokers=3, broker={"group.initial.rebalance.delay.ms": 0})
EARLIEST = {"auto.offset.reset": "earliest"}


@caught(bug.load_fails_the_join)
async def test_kafkajs_1779_a_join_waits_for_a_coordinator_that_loads(sim: Simulation) -> None:
    """kafkajs 1779: JoinGroup hears that the coordinator loads, three times; the member comes again, and is in."""
    sim.topic("orders", 2)
    sim.inject(AnswerError(Match(api="JoinGroup", times=3), "COORDINATOR_LOAD_IN_PROGRESS"))
    c1 = sim.member("c1")
    await sim.run_for("10s")
    assert len(c1.assignment) == 2


@caught(bug.stays_with_its_coordinator)
async def test_librdkafka_2944_a_join_follows_the_coordinator(sim: Simulation) -> None:
    """librdkafka 2944: the coordinator moves while a JoinGroup waits; the member joins at the next one."""
    sim.topic("orders", 2)
    c1, c2 = sim.member("c1"), sim.member("c2")
    await sim.settled(members=2)
    c2.block_poll("20s")
    c1.enforce_rebalance()
    await sim.until(lambda: sim.state() == "PreparingRebalance")
    sim.move_coordinator()
    await sim.settled(members=2, within="60s")
    assert len(c1.assignment) == 1


@caught(bug.heartbeats_end_with_a_load)
async def test_aiokafka_0_14_a_heartbeat_outlives_a_load(sim: Simulation) -> None:
    """aiokafka 0.14.0: the coordinator loads at a heartbeat; the next one goes out, and no member is removed."""
    sim.topic("orders", 2)
    c1 = sim.member("c1", on_error="retry-all")
    await sim.settled(members=1)
    sim.inject(AnswerError(Match(api="Heartbeat"), "COORDINATOR_LOAD_IN_PROGRESS"))
    await sim.run_for("2m")
    assert len(c1.assignment) == 2
    assert sim.find("member.removed") == []


@caught(bug.committed_means_nothing)
async def test_broadway_27_a_rebalance_resets_nothing(sim: Simulation) -> None:
    """broadway_kafka 27: a second member comes; whatever the reset policy, both go on where it was committed."""
    sim.topic("orders", 2, rate=10)
    sim.member("c1", properties=EARLIEST)
    await sim.settled(members=1)
    await sim.run_for("20s")
    sim.member("c2", properties=EARLIEST)
    await sim.settled(members=2)
    await sim.run_for("10s")
    sim.expect("duplicates", 0)


@caught(bug.nothing_committed_before_a_rebalance)
async def test_pykafka_167_a_rebalance_before_the_first_commit_repeats_nothing(sim: Simulation) -> None:
    """pykafka 167: a member comes before the other has ever committed; what that one has read is not read again."""
    sim.topic("orders", 2, rate=10)
    slowly = {**EARLIEST, "auto.commit.interval.ms": 60_000}
    sim.member("c1", properties=slowly)
    await sim.run_for("20s")
    sim.member("c2", properties=slowly)
    await sim.run_for("10s")
    sim.expect("duplicates", 0)
