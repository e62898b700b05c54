"""Bugs that group coordinators have had: each test fails once its bug is put back."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim import ErrorCode, GroupSnapshot, Simulation, TopicPartition
from groupsim.faults import Break, Match
from groupsim.requests import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    OffsetInTxn,
    TxnOffsetCommitRequest,
)
from groupsim.testing import caught
from groupsim.testing import mutants as bug

SECOND = 1_000_000
NO_DELAY = {"group.initial.rebalance.delay.ms": 0}
RANGE = (JoinProtocol("range", b""),)

pytestmark = pytest.mark.sim(broker=NO_DELAY)


def join(**fields: Any) -> JoinGroupRequest:
    """A JoinGroup with a session of 10 s and a rebalance timeout of a minute; version 3 knows no handshake."""
    return JoinGroupRequest("g1", 10_000, 60_000, **{"protocols": RANGE, **fields})


def static(name: str, **others: object) -> dict[str, object]:
    """Settings of a static member."""
    return {"group.instance.id": name, "partition.assignment.strategy": "range", **others}


def removed(sim: Simulation) -> list[str | None]:
    """Why members were removed so far."""
    return [event.reason for event in sim.find("member.removed")]


# --- fencing -----------------------------------------------------------------------------------------------------


@caught(bug.static_reuse_id)
async def test_kafka_8500_a_duplicate_of_a_static_member_gets_an_id_of_its_own(sim: Simulation) -> None:
    """KAFKA-8500: two processes of one instance join in an open round; the first is fenced, no id is given twice."""
    sim.topic("orders", 2)
    sim.member("busy", on_revoked="20s", assignors=["range"])
    await sim.settled(members=1)
    first = sim.send(join(group_instance_id="i"))
    await sim.until(lambda: sim.state() == "PreparingRebalance")
    second = sim.send(join(group_instance_id="i"))
    await sim.until(lambda: second.answered, within="30s")
    assert first.outcome.error is ErrorCode.FENCED_INSTANCE_ID
    assert second.outcome.member_id != first.outcome.member_id


@caught(bug.static_id_not_unique)
async def test_kafka_8715_a_replaced_static_member_differs_from_its_replacement(sim: Simulation) -> None:
    """KAFKA-8715: an instance restarts twice while the group stays Stable; the zombie between is fenced."""
    sim.topic("orders", 2)
    member = sim.member("c1", properties=static("i"))
    await sim.settled(members=1)
    member.crash()
    zombie = await sim.request(join(group_instance_id="i"))
    await sim.request(join(group_instance_id="i"))
    answer = await sim.request(HeartbeatRequest("g1", 1, zombie.member_id, "i"))
    assert answer.error is ErrorCode.FENCED_INSTANCE_ID


@caught(bug.static_rejoin_not_persisted)
@pytest.mark.sim(brokers=3)
async def test_kafka_10284_the_new_id_of_a_static_member_survives_a_fail_over(sim: Simulation) -> None:
    """KAFKA-10284: a static member restarts, then the coordinator moves: the member goes on under its new id."""
    sim.topic("orders", 2)
    member = sim.member("c1", properties=static("i"))
    await sim.settled(members=1)
    member.crash()
    member.start()
    await sim.until(lambda: sim.find("member.replaced"))
    await sim.settled(members=1)
    sim.move_coordinator()
    await sim.run_for("15s")
    assert sim.find("member.fenced") == []
    assert member.state == "STABLE"


# --- who is stuck ------------------------------------------------------------------------------------------------


@caught(bug.no_sync_deadline)
async def test_kafka_12890_a_member_that_never_syncs_is_removed(sim: Simulation) -> None:
    """KAFKA-12890: the leader heartbeats and sends no assignment; it goes after the rebalance timeout."""
    sim.topic("orders", 2)
    sim.member("c1", stuck="never-sync", properties={"max.poll.interval.ms": 20_000})
    await sim.until(lambda: sim.state() == "CompletingRebalance")
    await sim.run_for("21s")
    assert removed(sim) == ["sync-timeout"]


@caught(bug.first_expiry_check_true)
async def test_kafka_9752_a_dead_member_goes_at_the_end_of_its_session(sim: Simulation) -> None:
    """KAFKA-9752: a member without the handshake dies; its session is looked at once, and that once suffices."""
    sim.topic("orders", 2)
    member = sim.member("c1", client="java-0.11")
    await sim.settled(members=1)
    member.crash()
    await sim.run_for("11s")
    assert removed(sim) == ["session-expired"]


@caught(bug.lookup_before_exists, by=KeyError)
async def test_kafka_8896_the_timer_of_a_replaced_member_does_no_harm(sim: Simulation) -> None:
    """KAFKA-8896: the session timer of an id that is gone fires, and nothing breaks."""
    sim.topic("orders", 2)
    member = sim.member("c1", properties=static("i", **{"session.timeout.ms": 10_000}))
    await sim.settled(members=1)
    member.crash()
    member.start()
    await sim.run_for("30s")
    assert removed(sim) == []


@caught(bug.pending_member_immortal)
async def test_redpanda_3300_an_id_that_is_never_used_delays_a_round_for_a_session_only(sim: Simulation) -> None:
    """Redpanda 3300: an id is handed out and its client gone; the round it holds open ends with its session."""
    sim.topic("orders", 2)
    sim.member("c1", assignors=["range"])
    await sim.settled(members=1)
    given = await sim.request(join())
    assert given.error is ErrorCode.MEMBER_ID_REQUIRED
    sim.member("c2", assignors=["range"])
    await sim.settled(members=2, within="12s")


@caught(bug.leave_does_not_complete_join)
async def test_kop_380_the_last_one_missing_leaves_and_the_round_closes(sim: Simulation) -> None:
    """KoP 380: all others have joined; when the slow member leaves, the rebalance completes before its timeout."""
    sim.topic("orders", 2)
    slow = sim.member("slow", on_revoked="50s")
    sim.member("c2")
    await sim.settled(members=2)
    sim.member("c3")
    await sim.until(lambda: sim.state() == "PreparingRebalance")
    await sim.run_for("5s")
    await sim.request(LeaveGroupRequest("g1", (LeavingMember(slow.member_id),)))
    await sim.stable(members=2, within="1s")


@caught(bug.ghost_members_accumulate)
async def test_kafka_7610_a_joiner_that_vanished_is_gone_after_five_minutes(sim: Simulation) -> None:
    """KAFKA-7610: JoinGroup v3 adds a member at once; if its client is gone, it is removed while it is new."""
    sim.topic("orders", 2)
    sim.member("busy", on_revoked="8m", assignors=["range"], properties={"max.poll.interval.ms": 600_000})
    await sim.settled(members=1)
    sim.send(join(version=3), client="ghost")
    await sim.run_for("10s")
    sim.inject(Break(Match(host="ghost")))
    await sim.run_for("5m")
    assert removed(sim) == ["session-expired"]


@caught(bug.absent_leader)
async def test_kafka_8220_a_round_does_not_wait_for_the_assignment_of_an_absent_leader(sim: Simulation) -> None:
    """KAFKA-8220: a static leader is dead; the round closes with another leader, and the others work on."""
    sim.topic("orders", 4)
    own = {"max.poll.interval.ms": 10_000, "session.timeout.ms": 45_000}
    leader = sim.member("c1", properties=static("i1", **own))
    await sim.settled(members=1)
    leader.crash()
    second = sim.member("c2", properties=static("i2", **own))
    await sim.until(lambda: second.state == "STABLE", within="12s")


@caught(bug.heartbeat_hides_rebalance)
async def test_kafka_1740_a_heartbeat_tells_of_an_open_round(sim: Simulation) -> None:
    """KAFKA-1740: members hear of a rebalance by their next heartbeat, not by being evicted from it."""
    sim.topic("orders", 4)
    sim.member("c1")
    await sim.settled(members=1)
    sim.member("c2")
    await sim.settled(members=2, within="5s")
    assert removed(sim) == []


@caught(bug.last_member_expires_with_pending, by=ValueError)
async def test_redpanda_25270_the_last_member_goes_while_an_id_is_pending(sim: Simulation) -> None:
    """Redpanda 25270: the only member dies, an id was handed out and is not used: the group empties, and serves on."""
    sim.topic("orders", 2)
    only = sim.member("c1", assignors=["range"], properties={"session.timeout.ms": 6_000})
    await sim.settled(members=1)
    only.crash()
    await sim.run_for("4s")
    await sim.request(join())
    await sim.run_for("30s")
    sim.member("c2", assignors=["range"])
    await sim.settled(members=1, within="5s")


# --- protocols ---------------------------------------------------------------------------------------------------


@caught(bug.first_join_without_protocols)
async def test_kafka_6005_a_group_does_not_begin_with_a_member_without_protocols(sim: Simulation) -> None:
    """KAFKA-6005: the first JoinGroup names no protocol: it is refused, and others may form the group."""
    sim.topic("orders", 2)
    refused = await sim.request(join(version=3, protocols=()), within="1m")
    sim.member("c1")
    await sim.settled(members=1, within="5s")
    assert refused.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@caught(bug.protocol_match_any)
async def test_kfake_7825098b_a_protocol_has_to_be_common_to_all_members(sim: Simulation) -> None:
    """kfake 7825098b: range is known to one member of two, so a newcomer that knows nothing else is refused."""
    sim.topic("orders", 4)
    sim.member("c1", assignors=["range", "roundrobin"])
    sim.member("c2", assignors=["roundrobin"])
    await sim.settled(members=2)
    newcomer = sim.member("c3", assignors=["range"])
    await sim.run_for("10s")
    assert newcomer.failed is not None
    assert newcomer.failed.error == "InconsistentGroupProtocolException"


@caught(bug.strategy_alphabetical)
async def test_librdkafka_3818_the_members_preference_is_the_vote(sim: Simulation) -> None:
    """librdkafka 3818: both members prefer sticky to range; sticky it is."""
    sim.topic("orders", 4)
    for name in ("c1", "c2"):
        sim.member(name, assignors=["sticky", "range"])
    group = await sim.settled(members=2)
    assert group.protocol == "sticky"


@caught(bug.ignore_changed_metadata)
async def test_kfake_d4d15137_a_follower_with_another_subscription_opens_a_round(sim: Simulation) -> None:
    """kfake d4d15137: a follower subscribes to a second topic; soon its partitions have owners."""
    sim.topic("orders", 2)
    members = [sim.member("c1"), sim.member("c2")]
    group = await sim.settled(members=2)
    follower = next(member for member in members if member.member_id != group.leader)
    sim.topic("payments", 2)
    follower.subscribe(["orders", "payments"])
    await sim.run_for("20s")
    sim.expect("every-partition-owned")
    assert {partition.topic for partition in follower.assignment} >= {"payments"}


# --- time limits -------------------------------------------------------------------------------------------------


@caught(bug.rebalance_timeout_minus_one)
@pytest.mark.sim(broker=NO_DELAY | {"version": "2.2"})
async def test_kafka_8653_the_oldest_joins_have_the_session_as_rebalance_timeout(sim: Simulation) -> None:
    """KAFKA-8653: members of JoinGroup v0 form a group, and none is removed from a rebalance that has just begun."""
    sim.topic("orders", 4)
    for name in ("c1", "c2"):
        sim.member(name, client="java-0.9")
        await sim.run_for("20s")
    await sim.settled(members=2, within="20s")
    assert removed(sim) == []


@caught(bug.rebalance_equals_session)
async def test_librdkafka_mock_a_round_waits_for_the_rebalance_timeout(sim: Simulation) -> None:
    """librdkafka's mock broker: revoking takes longer than a session, not than the rebalance timeout: no eviction."""
    sim.topic("orders", 4)
    sim.member("slow", on_revoked="20s", properties={"session.timeout.ms": 10_000, "max.poll.interval.ms": 60_000})
    await sim.settled(members=1)
    sim.member("c2", properties={"session.timeout.ms": 10_000, "max.poll.interval.ms": 60_000})
    await sim.settled(members=2)
    assert removed(sim) == []


@caught(bug.new_member_timer_not_cleared)
async def test_kafka_9232_a_new_members_five_minutes_end_with_its_join(sim: Simulation) -> None:
    """KAFKA-9232: once its JoinGroup is answered, a member's own session counts."""
    sim.topic("orders", 2)
    answer = await sim.request(join(version=3))
    await sim.run_for("11s")
    assert answer.error is ErrorCode.NONE
    assert removed(sim) == ["session-expired"]


@caught(bug.member_timeouts_not_updated)
async def test_kafka_14009_a_static_member_comes_back_with_other_timeouts(sim: Simulation) -> None:
    """KAFKA-14009: deployed with a session of 45 s, then of 6 s: the next silence ends after 6 s."""
    sim.topic("orders", 2)
    old = sim.member("old", properties=static("i", **{"session.timeout.ms": 45_000}))
    await sim.settled(members=1)
    old.crash()
    new = sim.member("new", properties=static("i", **{"session.timeout.ms": 6_000}))
    await sim.until(lambda: new.settled)
    await sim.run_for("5s")
    new.crash()
    await sim.run_for("7s")
    assert removed(sim) == ["session-expired"]


@caught(bug.initial_delay_skipped)
@pytest.mark.sim(broker={})
async def test_redpanda_a90cd758_members_that_start_together_make_one_generation(sim: Simulation) -> None:
    """Redpanda a90cd758: three members within three seconds: one rebalance, not three."""
    sim.topic("orders", 6)
    for name in ("c1", "c2", "c3"):
        sim.member(name)
        await sim.run_for("800ms")
    group = await sim.settled(members=3)
    assert group.generation == 1


# --- how many ----------------------------------------------------------------------------------------------------


@caught(bug.size_check_race)
@pytest.mark.sim(broker=NO_DELAY | {"group.max.size": 1, "group.initial.rebalance.delay.ms": 3_000})
async def test_kafka_9844_the_limit_holds_while_the_group_is_formed(sim: Simulation) -> None:
    """KAFKA-9844: of two first joins at once a group of one takes one."""
    sim.topic("orders", 2)
    joins = [sim.send(join(version=3)), sim.send(join(version=3))]
    await sim.until(lambda: all(one.answered for one in joins))
    assert sorted(one.outcome.error.name for one in joins) == ["GROUP_MAX_SIZE_REACHED", "NONE"]


@caught(bug.pending_not_counted)
@pytest.mark.sim(broker=NO_DELAY | {"group.max.size": 2, "group.initial.rebalance.delay.ms": 3_000})
async def test_kafka_9885_ids_that_were_handed_out_are_no_seats(sim: Simulation) -> None:
    """KAFKA-9885: three clients are handed ids, and come back with them: a group of two takes two."""
    sim.topic("orders", 2)
    ids = [(await sim.request(join())).member_id for _ in range(3)]
    joins = [sim.send(join(member_id=one)) for one in ids]
    await sim.until(lambda: all(one.answered for one in joins))
    assert sorted(one.outcome.error.name for one in joins) == ["GROUP_MAX_SIZE_REACHED", "NONE", "NONE"]


# --- offsets -----------------------------------------------------------------------------------------------------

SHORT = {"offsets.retention.minutes": 2, "offsets.retention.check.interval.ms": 10_000}


async def commit_and_idle(sim: Simulation, client: str = "librdkafka-2.x", **fields: Any) -> Any:
    """A member that commits once, and then has nothing new to commit."""
    sim.topic("orders", 1, rate=10)
    member = sim.member("c1", client=client, **fields)
    await sim.until(lambda: sim.find("offsets.committed"))
    sim.cluster.set_rate("orders", 0)
    await sim.run_for("10s")
    return member


@caught(bug.expire_active_group)
@pytest.mark.sim(broker=NO_DELAY | SHORT)
async def test_kafka_4682_offsets_of_a_group_at_work_do_not_expire(sim: Simulation) -> None:
    """KAFKA-4682: a quiet topic is committed once, and consumed for longer than the retention."""
    await commit_and_idle(sim)
    await sim.run_for("5m")
    assert sim.find("offset.expired") == []


@caught(bug.expire_while_rebalancing)
@pytest.mark.sim(broker=NO_DELAY | SHORT)
async def test_kafka_13636_offsets_do_not_expire_in_a_rebalance(sim: Simulation) -> None:
    """KAFKA-13636: a rebalance takes four minutes, twice the retention; the offsets stay."""
    await commit_and_idle(sim, on_revoked="4m", properties={"max.poll.interval.ms": 600_000})
    sim.member("c2", client="librdkafka-2.x", properties={"max.poll.interval.ms": 600_000})
    await sim.settled(members=2)
    assert sim.find("offset.expired") == []


@caught(bug.no_expiry_means_expired)
@pytest.mark.sim(broker=NO_DELAY | {"offsets.retention.check.interval.ms": 10_000})
async def test_kafka_8069_an_offset_without_a_time_of_its_own_lasts_for_the_retention(sim: Simulation) -> None:
    """KAFKA-8069: the group is empty for a minute, with a retention of a week: the offset is still there."""
    member = await commit_and_idle(sim)
    await member.close()
    await sim.run_for("1m")
    assert sim.find("offset.expired") == []


@caught(bug.state_timestamp_not_loaded)
@pytest.mark.sim(brokers=3, broker=NO_DELAY | SHORT)
async def test_kafka_10401_since_when_a_group_is_empty_survives_a_fail_over(sim: Simulation) -> None:
    """KAFKA-10401: offsets of an empty group count from the moment it emptied, at the next coordinator as well."""
    member = await commit_and_idle(sim, "sarama")  # one that does not commit again when it closes
    await sim.run_for("3m")
    await member.close()
    sim.move_coordinator()
    await sim.run_for("1m")
    assert sim.find("offset.expired") == []
    await sim.run_for("90s")
    assert len(sim.find("offset.expired")) == 1


# --- fail-over ---------------------------------------------------------------------------------------------------


@caught(bug.load_check_order)
@pytest.mark.sim(brokers=3, load_us=5 * SECOND)
async def test_kafka_8662a022_a_coordinator_that_loads_says_so(sim: Simulation) -> None:
    """Kafka 8662a022: during a load requests are asked to come again, not sent to look for another coordinator."""
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.settled(members=1)
    sim.move_coordinator()
    await sim.run_for("1s")
    answer = await sim.request(join())
    assert answer.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@caught(bug.unload_drops_callbacks)
@pytest.mark.sim(brokers=3)
async def test_kafka_2841_parked_requests_are_answered_when_the_coordinator_resigns(sim: Simulation) -> None:
    """KAFKA-2841: a JoinGroup waits in an open round; the partition moves: NOT_COORDINATOR, and not silence."""
    sim.topic("orders", 2)
    sim.member("busy", on_revoked="2m", assignors=["range"])
    await sim.settled(members=1)
    given = await sim.request(join())
    parked = sim.send(join(member_id=given.member_id))
    await sim.run_for("5s")
    sim.move_coordinator()
    await sim.until(lambda: parked.answered, within="2s")
    assert parked.outcome.error is ErrorCode.NOT_COORDINATOR


@caught(bug.partial_replay_accepted)
@pytest.mark.sim(brokers=3)
async def test_redpanda_9d75795e_the_next_coordinator_has_read_the_whole_log(sim: Simulation) -> None:
    """Redpanda 9d75795e: a consumer commits and closes, the coordinator moves: the next consumer goes on from there."""
    sim.topic("orders", 2, rate=10)
    first = sim.member("c1", properties={"auto.offset.reset": "earliest"})
    await sim.run_for("20s")
    await first.close()
    sim.move_coordinator()
    second = sim.member("c2", properties={"auto.offset.reset": "earliest"})
    await sim.until(lambda: second.settled)
    await sim.run_for("5s")
    sim.expect("duplicates", 0)


@caught(bug.field_lost_on_reload)
@pytest.mark.sim(brokers=3)
async def test_redpanda_501b9d35_the_next_coordinator_knows_what_the_last_one_knew(sim: Simulation) -> None:
    """Redpanda 501b9d35: generation, protocol, leader and all of the members are the same after a move."""
    sim.topic("orders", 4)
    sim.member("c1", properties=static("i1", **{"max.poll.interval.ms": 70_000}))
    sim.member("c2", properties=static("i2", **{"session.timeout.ms": 30_000}))
    before = await sim.settled(members=2)
    sim.move_coordinator()
    await sim.until(lambda: sim.find("group.loaded"))
    after = sim.group()
    assert known(after) == known(before)


def known(group: GroupSnapshot) -> tuple[object, ...]:
    """What of a group has to outlast its coordinator."""
    members = sorted(
        (one.member_id, one.instance_id, one.session_timeout_ms, one.rebalance_timeout_ms) for one in group.members
    )
    return group.generation, group.protocol, group.leader, members


@caught(bug.txn_commit_unvalidated)
async def test_redpanda_0e3a7522_offsets_in_a_transaction_are_fenced_by_the_generation(sim: Simulation) -> None:
    """Redpanda 0e3a7522: a zombie sends its offsets to a transaction, with the generation it had: refused."""
    sim.topic("orders", 1)
    member = sim.member("c1")
    group = await sim.settled(members=1)
    offset = OffsetInTxn(TopicPartition("orders", 0), 5)
    zombie = TxnOffsetCommitRequest("t", "g1", 1, 0, (offset,), group.generation - 1, member.member_id)
    answer = await sim.request(zombie)
    assert [error for _, error in answer.results] == [ErrorCode.ILLEGAL_GENERATION]
