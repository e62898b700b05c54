"""Bugs of consumers' commits and positions: each test fails once its bug is put back."""

from __future__ import annotations

import pytest

from groupsim import ErrorCode, Simulation
from groupsim.faults import AnswerError, DelayResponse, Match
from groupsim.requests import Api, EndTxnRequest
from groupsim.testing import caught
from groupsim.testing import mutants as bug
from tests.helpers.raw_commits import FIRST, commit, transaction

NO_DELAY = {"group.initial.rebalance.delay.ms": 0}
COOPERATIVE = ["cooperative-sticky"]
EARLIEST = {"auto.offset.reset": "earliest"}

pytestmark = pytest.mark.sim(broker=NO_DELAY)


def slow_commits(sim: Simulation, host: str, by_us: int) -> None:
    """From now on the answers to the commits of this host come late."""
    sim.inject(DelayResponse(Match(host=host, api=Api.OFFSET_COMMIT, times=None), by_us))


# --- which offsets, and in which order ---------------------------------------------------------------------------


@caught(bug.commits_reordered)
async def test_sarama_2940_commits_go_out_in_the_order_of_what_they_commit(sim: Simulation) -> None:
    """sarama 2940: asynchronous commits, one after each batch: what is stored never goes back."""
    sim.topic("orders", 1, rate=20)
    sim.member("c1", commit="async-after-batch", properties={"enable.auto.commit": False})
    await sim.run_for("10s")
    stored = [event.payload["value"] for event in sim.find("record.appended") if event.payload["type"] == "offset"]
    assert len(stored) > 20
    assert stored == sorted(stored)


@caught(bug.commit_undelivered_position)
async def test_kafka_18641_what_was_fetched_is_not_committed_before_it_was_delivered(sim: Simulation) -> None:
    """KAFKA-18641: a consumer dies with records fetched and not delivered; the next one delivers them."""
    sim.topic("orders", 1, rate=100)
    slow = {**EARLIEST, "max.poll.records": 10, "auto.commit.interval.ms": 1_000, "session.timeout.ms": 6_000}
    member = sim.member("c1", processing="50ms", properties=slow)
    await sim.run_for("20s")
    member.crash()
    sim.member("c2", properties=EARLIEST)
    await sim.run_for("20s")
    sim.expect("lost", 0)


@caught(bug.autocommit_inflight_flag)
async def test_kafka_16203_an_interval_without_records_ends_no_auto_commit(sim: Simulation) -> None:
    """KAFKA-16203: the interval passes before there is anything to commit; what comes later is committed."""
    sim.topic("orders", 1)
    sim.member("c1", client="librdkafka-2.x", properties={"auto.offset.reset": "earliest"})
    await sim.run_for("20s")
    sim.cluster.set_rate("orders", 10)
    await sim.run_for("20s")
    commits = sim.find("offsets.committed")
    assert commits
    assert commits[-1].t_us > sim.now_us - 6_000_000


# --- around a rebalance ------------------------------------------------------------------------------------------


@caught(bug.fetch_during_revoke_commit)
async def test_kafka_14196_nothing_is_delivered_behind_the_last_commit(sim: Simulation) -> None:
    """KAFKA-14196: the commit before a rebalance takes half a second; who takes over delivers nothing again."""
    sim.topic("orders", 2, rate=50)
    sim.member("c1", properties=EARLIEST)
    await sim.settled(members=1)
    slow_commits(sim, "c1", by_us=500_000)
    sim.member("c2", properties=EARLIEST)
    await sim.settled(members=2)
    await sim.run_for("5s")
    sim.expect("duplicates", 0)


@caught(bug.commit_retry_after_revoke)
async def test_kafka_14024_one_commit_precedes_a_rebalance(sim: Simulation) -> None:
    """KAFKA-14024: commits take half a second, polls a tenth of it; a cooperative member is in time all the same."""
    sim.topic("orders", 2, rate=10)
    own = {**EARLIEST, "max.poll.interval.ms": 20_000}
    sim.member("c1", assignors=COOPERATIVE, poll_timeout="50ms", properties=own)
    await sim.settled(members=1)
    slow_commits(sim, "c1", by_us=500_000)
    sim.member("c2", assignors=COOPERATIVE, properties=own)
    await sim.settled(members=2, within="10s")
    assert sim.find("member.removed") == []


@caught(bug.commit_crosses_join)
async def test_franz_go_409_no_commit_goes_out_between_join_and_sync(sim: Simulation) -> None:
    """librdkafka 1.7.0, franz-go 137 and 409: a JoinGroup waits for seconds, auto-commits are due; none is refused."""
    sim.topic("orders", 4, rate=10)
    sim.member("busy", assignors=COOPERATIVE, processing="2s", properties={"max.poll.records": 1})
    sim.member("c1", assignors=COOPERATIVE, properties={"auto.commit.interval.ms": 200})
    await sim.settled(members=2)
    sim.member("c2", assignors=COOPERATIVE)
    await sim.settled(members=3)
    assert {event.error for event in sim.find("response.received", host="c1", api="OffsetCommit")} == {None}


@caught(bug.callback_blocks_commits)
async def test_brod_538_a_callback_may_commit(sim: Simulation) -> None:
    """brod 538: the application commits while it gives its partitions up; nothing of it comes twice."""
    sim.topic("orders", 4, rate=20)
    sim.member("c1", commit="on-revoke", properties=EARLIEST)
    await sim.settled(members=1)
    sim.member("c2", commit="on-revoke", properties=EARLIEST)
    await sim.settled(members=2)
    await sim.run_for("10s")
    sim.expect("duplicates", 0)


@caught(bug.commit_failure_blocks_assign)
async def test_librdkafka_2933_a_commit_that_failed_holds_up_no_fetch(sim: Simulation) -> None:
    """librdkafka 2933: the commit before a rebalance is refused; what the member is assigned then is consumed."""
    sim.topic("orders", 2, rate=10)
    member = sim.member("c1")
    await sim.settled(members=1)
    sim.inject(AnswerError(Match(host="c1", api=Api.OFFSET_COMMIT), ErrorCode.ILLEGAL_GENERATION))
    sim.member("c2")
    await sim.settled(members=2)
    await sim.run_for("5s")
    assert sorted(member.positions) == sorted(member.assignment)


@caught(bug.batch_straddles_rebalance)
async def test_librdkafka_3340_what_was_fetched_is_not_delivered_by_who_owns_it_no_more(sim: Simulation) -> None:
    """librdkafka 3340: records are in the buffer when a rebalance takes their partition away; they are dropped."""
    sim.topic("orders", 2, rate=200)
    small = {**EARLIEST, "max.poll.records": 5}
    sim.member("c1", assignors=COOPERATIVE, processing="20ms", properties=small)
    await sim.run_for("20s")
    sim.member("c2", assignors=COOPERATIVE, properties=EARLIEST)
    await sim.settled(members=2)
    await sim.run_for("20s")
    (gone,) = sim.find("partition.released", host="c1", reason="revoked")
    after = [event for event in sim.find("records.delivered", host="c1") if event.seq > gone.seq]
    assert after
    assert gone.partition not in {event.partition for event in after}


@caught(bug.pending_revocation_sticks)
async def test_kafka_python_3132_what_a_member_keeps_is_consumed_on(sim: Simulation) -> None:
    """kafka-python 3132: a cooperative member gives two partitions of four away, and goes on with the others."""
    sim.topic("orders", 4, rate=40)
    member = sim.member("c1", assignors=COOPERATIVE)
    await sim.settled(members=1)
    sim.member("c2", assignors=COOPERATIVE)
    await sim.settled(members=2)
    now_us = sim.now_us
    await sim.run_for("10s")
    delivered = {event.partition for event in sim.find("records.delivered", host="c1") if event.t_us > now_us}
    assert delivered == {partition.partition for partition in member.assignment}


# --- where to begin ----------------------------------------------------------------------------------------------


@caught(bug.reset_before_committed)
async def test_kafka_17674_partitions_that_come_during_a_look_up_are_looked_up_too(sim: Simulation) -> None:
    """KAFKA-17674: offsets of one partition are being read when another is added, which has been committed as well."""
    sim.topic("orders", 2, rate=10)
    member = sim.member("c1", assign=["orders-0", "orders-1"])
    await sim.run_for("20s")
    await member.close()
    second = sim.member("c2", assign=["orders-0"], properties=EARLIEST)
    sim.inject(DelayResponse(Match(host="c2", api=Api.OFFSET_FETCH), 500_000))
    await sim.run_for("300ms")
    second.assign(["orders-0", "orders-1"])
    await sim.until(lambda: len(second.positions) == 2)
    assert {event.reason for event in sim.find("position.set", host="c2")} == {"committed"}


@caught(bug.unstable_fetch)
async def test_franz_go_9dde6ad8_a_consumer_waits_for_the_transaction_with_its_offset(sim: Simulation) -> None:
    """franz-go 9dde6ad8: 50 is committed, 80 in a transaction without its marker yet: the consumer begins at 80."""
    sim.topic("orders", 1, rate=100)
    await sim.run_for("2s")
    await sim.request(commit(50))
    who = await transaction(sim, 80)
    sim.member("c1", assign=[FIRST], properties=EARLIEST)
    await sim.run_for("1s")
    assert sim.find("position.set", host="c1") == []
    await sim.request(EndTxnRequest(*who, committed=True))
    await sim.until(lambda: sim.find("position.set", host="c1"))
    assert sim.find("position.set", host="c1")[0].payload == {"offset": 80}
