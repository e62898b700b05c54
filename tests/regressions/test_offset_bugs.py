"""Bugs in what coordinators store and take over: each test fails once its bug is put back."""

from __future__ import annotations

import pytest

from groupsim import ErrorCode, Simulation, TopicPartition
from groupsim.coordinator.base.placement import partition_for
from groupsim.requests import (
    AddOffsetsToTxnRequest,
    DeleteGroupsRequest,
    EndTxnRequest,
    HeartbeatRequest,
    InitProducerIdRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetInTxn,
    OffsetToCommit,
    TxnOffsetCommitRequest,
)
from groupsim.testing import caught
from groupsim.testing import mutants as bug
from tests.helpers.raw_commits import FIRST, commit, committed, transaction

NO_DELAY = {"group.initial.rebalance.delay.ms": 0}
SECOND = TopicPartition("orders", 1)

pytestmark = pytest.mark.sim(broker=NO_DELAY)


# --- what is stored ----------------------------------------------------------------------------------------------


@caught(bug.pending_commit_leak)
@pytest.mark.sim(broker=NO_DELAY | {"version": "3.8"})
async def test_kafka_16371_an_offset_that_was_refused_is_not_under_way(sim: Simulation) -> None:
    """KAFKA-16371: one of two offsets has too much metadata; a stable fetch of it has an answer all the same."""
    sim.topic("orders", 2)
    both = (OffsetToCommit(FIRST, 5), OffsetToCommit(SECOND, 5, metadata="x" * 5_000))
    answer = await sim.request(OffsetCommitRequest("g1", both))
    fetched = await sim.request(OffsetFetchRequest("g1", (FIRST, SECOND)))
    assert [error for _, error in answer.partitions] == [ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert [(one.offset, one.error) for one in fetched.offsets] == [(5, ErrorCode.NONE), (-1, ErrorCode.NONE)]


@caught(bug.txn_commit_order)
async def test_kafka_5247_the_last_offset_in_the_log_counts(sim: Simulation) -> None:
    """KAFKA-5247: 10 in a transaction, then 20 without one, then the transaction commits: it is 20."""
    sim.topic("orders", 1)
    who = await transaction(sim, 10)
    await sim.request(commit(20))
    await sim.request(EndTxnRequest(*who, committed=True))
    await sim.run_for("1s")
    assert await committed(sim) == [20]


@caught(bug.delete_group_with_open_txn)
@pytest.mark.sim(broker=NO_DELAY | {"offsets.retention.check.interval.ms": 10_000})
async def test_kafka_19163_a_group_with_an_open_transaction_is_not_deleted(sim: Simulation) -> None:
    """KAFKA-19163: all that a group has is in an open transaction; the look for what has expired passes it by."""
    sim.topic("orders", 1)
    who = await transaction(sim, 10)
    await sim.run_for("20s")
    await sim.request(EndTxnRequest(*who, committed=True))
    await sim.run_for("1s")
    assert await committed(sim) == [10]


@caught(bug.txn_rebalance_code)
async def test_redpanda_a666c9b4_offsets_in_a_transaction_are_taken_in_a_rebalance(sim: Simulation) -> None:
    """Redpanda a666c9b4: a member of the present generation ends a transaction while others join: its offsets count."""
    sim.topic("orders", 1)
    member = sim.member("c1", assignors=["cooperative-sticky"], processing="30s")
    group = await sim.settled(members=1)
    given = await sim.request(InitProducerIdRequest("t"))
    who = ("t", given.producer_id, given.producer_epoch)
    await sim.request(AddOffsetsToTxnRequest(*who, "g1"))
    sim.member("busy", assignors=["cooperative-sticky"], assignor_time="5s")
    await sim.until(lambda: sim.state() != "Stable")
    offsets = (OffsetInTxn(FIRST, 5),)
    sent = TxnOffsetCommitRequest("t", "g1", *who[1:], offsets, group.generation, member.member_id)
    answer = await sim.request(sent)
    assert [error for _, error in answer.results] == [ErrorCode.NONE]


# --- fail-over ---------------------------------------------------------------------------------------------------


@caught(bug.dead_means_unknown_member)
@pytest.mark.sim(brokers=3)
async def test_kafka_8386_a_group_that_was_given_up_costs_no_membership(sim: Simulation) -> None:
    """KAFKA-8386: the coordinator moves, a heartbeat reaches the last one: the member goes on as who it is."""
    sim.topic("orders", 2)
    member = sim.member("c1", properties={"group.instance.id": "i1"})
    await sim.settled(members=1)
    before = member.member_id
    sim.move_coordinator()
    await sim.run_for("30s")
    assert member.member_id == before
    sim.expect("rebalances", 0)


@caught(bug.stale_election_event)
@pytest.mark.sim(brokers=2)
async def test_kafka_10614_a_resignation_that_comes_late_is_not_carried_out(sim: Simulation) -> None:
    """KAFKA-10614: the partition moves away and back; then the broker gets the first change again: it still leads."""
    sim.topic("orders", 2)
    member = sim.member("c1")
    await sim.settled(members=1)
    for _ in range(2):
        sim.move_coordinator()
        await sim.run_for("10s")
    _, coordinator = sim.cluster.coordinator_of("g1")
    coordinator.resign(partition_for("g1", coordinator.config.offsets_topic_num_partitions), epoch=1)
    await sim.run_for("10s")
    assert sim.state() == "Stable"
    assert member.state == "STABLE"


@caught(bug.stale_state_merged)
@pytest.mark.sim(brokers=2)
async def test_redpanda_3ed7492f_who_leads_again_knows_what_the_log_knows(sim: Simulation) -> None:
    """Redpanda 3ed7492f: the coordinator moves, a member leaves, the coordinator comes back: one member, no ghost."""
    sim.topic("orders", 2)
    stays, goes = sim.member("c1"), sim.member("c2")
    await sim.settled(members=2)
    sim.move_coordinator()
    await sim.run_for("10s")
    await goes.close()
    await sim.settled(members=1)
    sim.move_coordinator()
    await sim.until(lambda: len(sim.find("group.loaded")) >= 2)
    group = sim.group()
    assert [member.member_id for member in group.members] == [stays.member_id]


@caught(bug.tombstone_then_offsets)
@pytest.mark.sim(brokers=3)
async def test_kafka_4704_a_deleted_group_may_have_offsets_again(sim: Simulation) -> None:
    """KAFKA-4704: a group is deleted, and offsets are committed under its name: the next coordinator has them."""
    sim.topic("orders", 1)
    await sim.request(commit(5))
    await sim.request(DeleteGroupsRequest(("g1",)))
    await sim.request(commit(7))
    sim.move_coordinator()
    await sim.run_for("1s")
    assert await committed(sim) == [7]


@caught(bug.unmapped_write_error)
@pytest.mark.sim(brokers=3)
async def test_kafka_4362_a_coordinator_without_the_log_says_that_it_is_none(sim: Simulation) -> None:
    """KAFKA-4362: the partition moves away; a commit that comes to the broker it was on looks for the next one."""
    sim.topic("orders", 2, rate=10)
    member = sim.member("c1", commit="sync-after-batch", properties={"enable.auto.commit": False})
    await sim.settled(members=1)
    sim.move_coordinator()
    await sim.run_for("30s")
    assert member.failed is None
    assert {event.error for event in sim.find("commit.failed")} <= {"NOT_COORDINATOR"}


@caught(bug.load_while_offline)
@pytest.mark.sim(brokers=3, load_us=5_000_000)
async def test_kafka_16030_a_load_ends_with_the_leadership(sim: Simulation) -> None:
    """KAFKA-16030: a partition moves during its load; a request to that broker is answered NOT_COORDINATOR."""
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.settled(members=1)
    between = sim.move_coordinator()
    await sim.run_for("1s")
    sim.move_coordinator()
    await sim.run_for("10s")
    answer = await sim.request(HeartbeatRequest("g1", 1, "c1-unknown"), node=between)
    assert answer.error is ErrorCode.NOT_COORDINATOR
