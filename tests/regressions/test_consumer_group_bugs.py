"""Bugs that coordinators of consumer groups have had: each test fails once its bug is put back."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim import Kind, Simulation
from groupsim.coordinator.base.failures import IllegalState
from groupsim.faults import AnswerError, Match
from groupsim.testing import caught
from groupsim.testing import mutants as bug
from tests.helpers.heartbeat_bench import A, B, HeartbeatBench, given, settings

ALL_A = {A: [0, 1, 2, 3, 4, 5]}
KEPT = {A: [0, 1, 2]}
FREED = {A: [3, 4, 5]}


def halved() -> HeartbeatBench:
    """A member `m` at epoch 2 that has all of topic `a`, and must give half of it to `n`, which waits at epoch 3."""
    bench = HeartbeatBench()
    bench.enroll("m")
    assert given(bench.enroll("n")) == (3, {})
    assert given(bench.beat("m", 2)) == (2, KEPT)
    return bench


def start(sim: Simulation, name: str, **properties: object) -> Any:
    """Start a member of group `g1` as Kafka's Java client 4.4."""
    return sim.member(name, client="java-4.4", properties={"group.protocol": "consumer", **properties})


# --- epochs ------------------------------------------------------------------------------------------------------


@caught(bug.epoch_map_order)
def test_kafka_16147_a_partition_that_was_to_be_revoked_and_is_kept_has_its_owner() -> None:
    """KAFKA-16147: half of a member's partitions are taken away and given back; a newcomer has to wait."""
    bench = halved()
    bench.leave_group("n")
    assert given(bench.beat("m", 2, owned=KEPT)) == (4, ALL_A)
    assert given(bench.enroll("o"))[1] == {}


@caught(bug.epoch_reused)
def test_kafka_19974_a_member_has_one_assignment_per_epoch() -> None:
    """KAFKA-19974: a member has revoked one topic, and drops the next: its epoch has no second target."""
    bench = HeartbeatBench(settings(consumer_assignment_interval_ms=60_000))
    every = {**ALL_A, B: [0, 1, 2]}
    assert given(bench.enroll("m", "a", "b")) == (2, every)
    assert given(bench.beat("m", 2, names=("a",), owned=every)) == (2, ALL_A)
    assert given(bench.beat("m", 2, names=(), owned=ALL_A)) == (2, {})
    assert bench.member("m").member_epoch <= bench.group().data.assignment_epoch


@caught(bug.reject_epoch_zero)
async def test_kafka_19233_a_fenced_member_joins_again_at_once(sim: Simulation) -> None:
    """KAFKA-19233: a member hears that it is fenced, and joins with epoch 0: it has its partitions within seconds."""
    sim.topic("orders", 4)
    member = start(sim, "c1")
    await sim.settled(members=1)
    start(sim, "c2")
    await sim.until(lambda: len(member.assignment) == 2)
    fault = sim.inject(AnswerError(Match(host="c1", api="ConsumerGroupHeartbeat"), "FENCED_MEMBER_EPOCH"))
    await sim.until(lambda: fault.hits and not member.assignment)
    await sim.until(lambda: len(member.assignment) == 2, within="5s")


# --- reconciliation ----------------------------------------------------------------------------------------------


@caught(bug.recompute_during_revocation)
def test_kfake_007d8635_what_is_not_given_up_is_not_given_away() -> None:
    """kfake 007d8635: a third member joins while the first has yet to revoke; the second waits for what it will get."""
    bench = halved()
    bench.enroll("o")
    bench.beat("m", 2)
    assert given(bench.beat("n", 3))[1] in (None, {})


@caught(bug.unsubscribed_topic_in_assignment)
def test_kafka_19431_a_dropped_topic_is_revoked_before_the_next_target() -> None:
    """KAFKA-19431: a member drops a topic, the next target is seconds away: the answer has the other topic alone."""
    bench = HeartbeatBench(settings(consumer_assignment_interval_ms=60_000))
    bench.enroll("m", "a", "b")
    assert given(bench.beat("m", 2, names=("a",))) == (2, ALL_A)


@caught(bug.self_blocks_reassignment)
def test_kafka_19449_a_member_does_not_wait_for_itself() -> None:
    """KAFKA-19449: a partition is taken away and given back: the member has it with its next heartbeat."""
    bench = halved()
    bench.leave_group("n")
    assert given(bench.beat("m", 2, owned=KEPT)) == (4, ALL_A)
    assert bench.epochs() == ("Stable", 4, 4)


@caught(bug.full_response_condition)
def test_kafka_16367_a_report_is_not_answered_with_the_assignment() -> None:
    """KAFKA-16367: a heartbeat reports partitions, and nothing has changed: no assignment comes back."""
    bench = HeartbeatBench()
    bench.enroll("m")
    assert given(bench.beat("m", 2, owned=ALL_A)) == (2, None)


# --- what bumps the group epoch ----------------------------------------------------------------------------------


@caught(bug.regex_cleared_without_bump)
def test_kafka_19891_who_gives_up_its_pattern_gives_up_its_share() -> None:
    """KAFKA-19891: of two members one clears its regular expression; the other has all partitions soon."""
    pytest.importorskip("re2")
    bench = HeartbeatBench()
    bench.beat("m", 0, owned={}, regex="a", rebalance_ms=300_000)
    bench.resolve()
    assert given(bench.beat("m", 1)) == (2, ALL_A)
    bench.enroll("n")
    bench.beat("m", 2)
    bench.beat("m", 2, owned=KEPT)
    assert given(bench.beat("n", 3))[1] == FREED
    bench.beat("m", 3, regex="", owned=KEPT)
    bench.beat("m", bench.member("m").member_epoch, owned={})
    assert given(bench.beat("n", 3))[1] == ALL_A


@caught(bug.assignor_vote_without_bump)
def test_kafka_20434_another_vote_is_another_target() -> None:
    """KAFKA-20434: a member changes `group.remote.assignor`; the partitions are assigned by the new one."""
    bench = HeartbeatBench()
    bench.enroll("m", assignor="uniform")
    bench.beat("m", 2, assignor="range")
    assert bench.described().assignor == "range"
    assert [event.payload["assignor"] for event in bench.of_kind(Kind.TARGET_COMPUTED)] == ["uniform", "range"]


@caught(bug.empty_group_epochs_differ)
@pytest.mark.sim(broker={"group.consumer.assignment.interval.ms": 15_000})
async def test_kafka_20442_the_first_member_of_an_empty_group_does_not_wait(sim: Simulation) -> None:
    """KAFKA-20442: the only member leaves, another one starts: it has its partitions before the interval is over."""
    sim.topic("orders", 4)
    first = start(sim, "c1")
    await sim.settled(members=1)
    await first.close()
    second = start(sim, "c2")
    await sim.until(lambda: len(second.assignment) == 4, within="5s")


# --- static members, administrators ------------------------------------------------------------------------------


@caught(bug.full_group_refuses_replacement)
@pytest.mark.sim(broker={"group.consumer.max.size": 2})
async def test_kafka_20601_a_static_member_comes_back_to_a_full_group(sim: Simulation) -> None:
    """KAFKA-20601: a pod of a group at `group.consumer.max.size` restarts, and has its partitions again."""
    sim.topic("orders", 4)
    for name in ("c1", "c2"):
        member = start(sim, name, **{"group.instance.id": name})
    await sim.settled(members=2)
    await member.close()
    member.start()
    await sim.until(lambda: len(member.assignment) == 2, within="10s")


@caught(bug.instance_map_leak)
def test_kafka_20747_a_former_instance_id_is_free() -> None:
    """KAFKA-20747: a member has taken another instance id; after it has left, another member takes the former one."""
    bench = HeartbeatBench()
    bench.enroll("m", instance="i")
    bench.enroll("m", instance="j")
    bench.leave_group("m")
    assert given(bench.enroll("n", instance="i"))[1] == ALL_A


@caught(bug.pending_not_described)
def test_kafka_20431_a_partition_that_is_still_consumed_has_a_consumer() -> None:
    """KAFKA-20431: a member has yet to revoke half of its partitions; describe shows all of them as its own."""
    first = halved().described().members[0]
    assert [one.partitions for one in first.assignment] == [(0, 1, 2, 3, 4, 5)]


# --- logs --------------------------------------------------------------------------------------------------------


def compacted(records: list[Any]) -> list[Any]:
    """The last record of each key, in their order."""
    last = {(type(one), getattr(one, "member_id", None)): number for number, one in enumerate(records)}
    return [records[number] for number in sorted(last.values())]


@caught(bug.replay_during_compaction, by=IllegalState)
def test_kafka_19862_a_log_that_is_compacted_as_it_is_read_can_be_loaded() -> None:
    """KAFKA-19862: the record that gave partitions up is compacted away; the next owner's comes first, and it loads."""
    bench = HeartbeatBench()
    bench.enroll("m")
    read = len(bench.log)
    bench.enroll("n")
    bench.beat("m", 2)
    bench.beat("m", 2, owned=KEPT)
    assert given(bench.beat("n", 3)) == (3, FREED)
    bench.enroll("o", "b")
    assert given(bench.beat("m", 3)) == (4, None)
    loaded = HeartbeatBench(records=[*bench.log[:read], *compacted(bench.log[read:])])
    assert loaded.group().data.members == bench.group().data.members


@caught(bug.memory_reverted_log_kept)
def test_kafka_20845_the_group_is_what_its_log_says() -> None:
    """KAFKA-20845: the append of one group fails, that of another is written: the next coordinator has both as here."""
    bench = HeartbeatBench(auto_commit=False)
    bench.enroll("m", group="lost")
    bench.enroll("m", group="kept")
    bench.fail_append()
    bench.commit()
    live, after = bench.group("kept").data.members, bench.fail_over().shard.groups.get("kept")
    assert after is not None
    assert live == after.data.members
