"""Bugs that consumers have had: each test fails once its bug is put back."""

from __future__ import annotations

import pytest

from groupsim import Consumer, ErrorCode, Simulation
from groupsim.faults import After, AnswerError, DelayResponse, LoseResponse, Match
from groupsim.requests import Api
from groupsim.testing import caught
from groupsim.testing import mutants as bug

NO_DELAY = {"group.initial.rebalance.delay.ms": 0}
COOPERATIVE = ["cooperative-sticky"]

pytestmark = pytest.mark.sim(broker=NO_DELAY)


def removed(sim: Simulation) -> list[str | None]:
    """Why members were removed so far."""
    return [event.reason for event in sim.find("member.removed")]


async def waits_for_its_assignment(sim: Simulation) -> Consumer:
    """A second member of `orders`, whose leader takes two seconds for the assignment it waits for."""
    leader = sim.member("c1", topics=["orders"], assignor_time="2s")
    await sim.until(lambda: leader.state == "STABLE")
    follower = sim.member("c2", topics=["orders"])
    await sim.until(lambda: follower.state == "COMPLETING_REBALANCE")
    return follower


async def overtaken(sim: Simulation, assignors: list[str] | None) -> None:
    """Two members whose round is overtaken: a third one comes while the leader still computes the assignment."""
    sim.topic("orders", 6)
    sim.member("c1", assignor_time="2s", assignors=assignors)
    await sim.settled(members=1)
    sim.member("c2", assignors=assignors)
    await sim.until(lambda: sim.state() == "CompletingRebalance")
    sim.member("c3", assignors=assignors)
    await sim.settled(members=3)


# --- what errors do ----------------------------------------------------------------------------------------------


@caught(bug.reset_on_rebalance_in_progress)
async def test_kafka_8487_an_overtaken_sync_costs_no_membership(sim: Simulation) -> None:
    """KAFKA-8487: REBALANCE_IN_PROGRESS on SyncGroup: the member joins again as who it is, and leaves no ghost."""
    await overtaken(sim, None)
    assert len(sim.find("member.added")) == 3
    assert removed(sim) == []


@caught(bug.late_sync_loses_everything)
async def test_kafka_13891_an_overtaken_sync_costs_no_partitions(sim: Simulation) -> None:
    """KAFKA-13891: cooperative members whose round was overtaken keep what they own."""
    await overtaken(sim, COOPERATIVE)
    assert sim.find("callback.begun", reason="lost") == []


@caught(bug.reset_on_retriable)
async def test_kafka_13214_a_coordinator_that_moves_costs_no_membership(sim: Simulation) -> None:
    """KAFKA-13214: a heartbeat hears NOT_COORDINATOR: the member looks for another one, as who it is."""
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.settled(members=1)
    sim.inject(AnswerError(Match(host="c1", api=Api.HEARTBEAT), ErrorCode.NOT_COORDINATOR))
    await sim.run_for("60s")
    sim.expect("rebalances", 0)
    assert len(sim.find("member.added")) == 1


@caught(bug.join_sees_sync_error)
async def test_kafka_10870_a_join_may_hear_of_a_rebalance(sim: Simulation) -> None:
    """KAFKA-10870: JoinGroup is answered REBALANCE_IN_PROGRESS, and sent again."""
    sim.topic("orders", 2)
    sim.member("c1")
    sim.inject(AnswerError(Match(host="c1", api=Api.JOIN_GROUP, nth=2), ErrorCode.REBALANCE_IN_PROGRESS))
    await sim.settled(members=1, within="30s")


@caught(bug.membership_error_on_commit)
async def test_kafkajs_1466_a_commit_may_hear_of_a_lost_membership(sim: Simulation) -> None:
    """kafkajs 1466, aiokafka 611: a commit is answered UNKNOWN_MEMBER_ID, and the member rejoins at once."""
    sim.topic("orders", 2, rate=10)
    sim.member("c1")
    await sim.settled(members=1)
    sim.inject(AnswerError(Match(host="c1", api=Api.OFFSET_COMMIT), ErrorCode.UNKNOWN_MEMBER_ID))
    await sim.until(lambda: sim.find("generation.reset", host="c1"), within="10s")


@caught(bug.fetch_error_means_no_offset)
async def test_kafka_python_2629_offsets_that_cannot_be_read_are_no_missing_offsets(sim: Simulation) -> None:
    """kafka-python 2629: OffsetFetch is refused once; the consumer goes on from its commit, not from the beginning."""
    sim.topic("orders", 2, rate=10)
    first = sim.member("c1", properties={"auto.offset.reset": "earliest"})
    await sim.run_for("20s")
    await first.close()
    second = sim.member("c2", properties={"auto.offset.reset": "earliest"})
    sim.inject(AnswerError(Match(host="c2", api=Api.OFFSET_FETCH), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    await sim.until(lambda: len(second.positions) == 2)
    sim.expect("duplicates", 0)
    assert {event.reason for event in sim.find("position.set", host="c2")} == {"committed"}


# --- heartbeats --------------------------------------------------------------------------------------------------


@caught(bug.heartbeat_stops_before_cleanup)
async def test_sarama_1608_a_clean_up_longer_than_the_session_evicts_no_member(sim: Simulation) -> None:
    """sarama 1608: giving up partitions takes twenty seconds, the session is ten; heartbeats go on meanwhile."""
    sim.topic("orders", 4)
    sim.member("slow", on_revoked="20s", properties={"session.timeout.ms": 10_000})
    await sim.settled(members=1)
    sim.member("c2")
    await sim.settled(members=2)
    assert removed(sim) == []


@caught(bug.no_assignment_no_heartbeat)
async def test_kafkajs_1361_who_has_no_partition_stays_a_member(sim: Simulation) -> None:
    """kafkajs 1361: three members for two partitions; the idle one is there after two minutes as after two seconds."""
    sim.topic("orders", 2)
    for name in ("c1", "c2", "c3"):
        sim.member(name)
    group = await sim.settled(members=3)
    await sim.run_for("2m")
    sim.expect("generations", group.generation)
    assert removed(sim) == []


@caught(bug.heartbeat_not_owed)
async def test_kafka_python_582_heartbeats_go_on_when_a_coordinator_is_found(sim: Simulation) -> None:
    """kafka-python 582: no coordinator is known for seconds; when one is found, heartbeats continue."""
    sim.topic("orders", 2)
    sim.member("c1", properties={"enable.auto.commit": False})  # a commit keeps a member alive as well
    await sim.settled(members=1)
    sim.inject(AnswerError(Match(host="c1", api=Api.HEARTBEAT), ErrorCode.NOT_COORDINATOR))
    sim.inject(AnswerError(Match(host="c1", api=Api.FIND_COORDINATOR, times=5), ErrorCode.COORDINATOR_NOT_AVAILABLE))
    await sim.run_for("120s")
    assert removed(sim) == []


@caught(bug.any_error_loses_coordinator)
async def test_kafka_python_3082_who_tells_of_a_rebalance_coordinates(sim: Simulation) -> None:
    """kafka-python 3082: a heartbeat reports a rebalance; the member does not look for another coordinator."""
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.settled(members=1)
    sim.member("c2")
    await sim.settled(members=2)
    assert sim.find("coordinator.lost") == []


@caught(bug.instance_id_dropped)
async def test_kafka_ex_561_two_processes_of_one_instance_do_not_take_turns(sim: Simulation) -> None:
    """kafka_ex 561: a second process with an instance's id; the first is fenced by its heartbeat, and that is all."""
    sim.topic("orders", 2)
    first = sim.member("c1", properties={"group.instance.id": "i"})
    await sim.settled(members=1)
    sim.member("c2", properties={"group.instance.id": "i"})
    await sim.run_for("60s")
    assert len(sim.find("member.replaced")) == 1
    assert first.failed is not None


# --- joining -----------------------------------------------------------------------------------------------------


@caught(bug.stable_on_join_response)
async def test_kafka_5154_a_sync_whose_answer_is_lost_is_no_end_of_a_rebalance(sim: Simulation) -> None:
    """KAFKA-5154: the connection breaks under the answer to SyncGroup; the member joins again, and has its share."""
    sim.topic("orders", 4)
    sim.member("c1")
    sim.inject(LoseResponse(Match(host="c1", api=Api.SYNC_GROUP), After.BREAK))
    await sim.run_for("60s")
    sim.expect("every-partition-owned")


@caught(bug.owned_survives_reset)
async def test_kafka_12983_partitions_are_lost_with_the_membership(sim: Simulation) -> None:
    """KAFKA-12983: a SyncGroup hears UNKNOWN_MEMBER_ID: the member loses what it owned before it joins as another."""
    sim.topic("orders", 4)
    sim.member("c1", assignors=COOPERATIVE)
    await sim.settled(members=1)
    sim.inject(AnswerError(Match(host="c1", api=Api.SYNC_GROUP), ErrorCode.UNKNOWN_MEMBER_ID))
    sim.member("c2", assignors=COOPERATIVE)
    await sim.until(lambda: sim.find("generation.reset", host="c1"))
    await sim.run_for("1s")
    assert len(sim.find("partition.released", host="c1", reason="lost")) == 4


@caught(bug.revert_hides_rejoin)
async def test_kafka_9815_a_join_that_failed_is_sent_again(sim: Simulation) -> None:
    """KAFKA-9815: partitions are revoked, the connection breaks under the answer to JoinGroup: it is sent again."""
    sim.topic("orders", 4)
    sim.member("c1")
    await sim.settled(members=1)
    sim.inject(LoseResponse(Match(host="c1", api=Api.JOIN_GROUP), After.BREAK))
    sim.member("c2")
    await sim.settled(members=2, within="2m")
    sim.expect("every-partition-owned")


@caught(bug.unsorted_metadata)
async def test_kafka_12898_the_same_subscription_is_the_same_bytes(sim: Simulation) -> None:
    """KAFKA-12898, franz-go 38d17db7: a follower of old that joins again with nothing new costs no generation."""
    sim.topic("orders", 2)
    sim.topic("payments", 2)
    members = [sim.member(name, client="java-0.11") for name in ("c1", "c2")]
    group = await sim.settled(members=2)
    follower = next(member for member in members if member.member_id != group.leader)
    for _ in range(3):  # the broken one writes the same twice in a row at times
        joins = len(sim.find("request.received", api="JoinGroup"))
        follower.enforce_rebalance()
        await sim.until(lambda joins=joins: len(sim.find("request.received", api="JoinGroup")) > joins)
        await sim.run_for("5s")
    sim.expect("generations", group.generation)


@caught(bug.change_during_rebalance_lost)
async def test_java_0_10_0_a_subscription_changed_in_a_rebalance_counts(sim: Simulation) -> None:
    """Java 0.10.0: the application subscribes to a second topic while it waits for its assignment of the first."""
    sim.topic("orders", 2)
    sim.topic("payments", 2)
    follower = await waits_for_its_assignment(sim)
    follower.subscribe(["orders", "payments"])
    await sim.run_for("30s")
    assert len(follower.assignment) == 3


@caught(bug.growth_during_sync_lost)
async def test_kafka_3117_a_topic_that_grows_during_the_sync_is_noticed(sim: Simulation) -> None:
    """KAFKA-3117: a topic grows while its leader waits for the answer to SyncGroup; all partitions have an owner."""
    sim.topic("orders", 2)
    leader = sim.member("c1", properties={"metadata.max.age.ms": 1_000})
    sim.inject(DelayResponse(Match(host="c1", api=Api.SYNC_GROUP), 3_000_000))
    await sim.until(lambda: leader.state == "COMPLETING_REBALANCE")
    sim.cluster.add_partitions("orders", 4)
    await sim.run_for("10s")
    assert len(leader.assignment) == 4


@caught(bug.assignment_beats_subscription)
async def test_kafka_7961_an_assignment_that_was_overtaken_by_the_subscription_is_not_taken(sim: Simulation) -> None:
    """KAFKA-7961: while it waits for its assignment the application drops that topic for another one; no failure."""
    sim.topic("orders", 4)
    sim.topic("payments", 2)
    follower = await waits_for_its_assignment(sim)
    follower.subscribe(["payments"])
    await sim.settled(members=2)
    assert sim.find("partition.owned", host="c2", topic="orders") == []
    assert len(follower.assignment) == 2


@caught(bug.partition_growth_ignored)
async def test_sarama_1462_new_partitions_find_an_owner(sim: Simulation) -> None:
    """sarama 1462: a topic grows; within metadata.max.age.ms the leader has seen it, and a round deals it out."""
    sim.topic("orders", 2)
    sim.member("c1", properties={"metadata.max.age.ms": 10_000})
    await sim.settled(members=1)
    sim.cluster.add_partitions("orders", 4)
    await sim.run_for("20s")
    sim.expect("every-partition-owned")


@caught(bug.owned_list_empty_at_join)
async def test_franz_go_dcfcacb5_a_join_lists_what_is_owned(sim: Simulation) -> None:
    """franz-go dcfcacb5: a third sticky member costs the two others one partition each, and no more."""
    sim.topic("orders", 6)
    for count, name in enumerate(("c1", "c2", "c3"), 1):
        sim.member(name, assignors=("sticky",))
        await sim.settled(members=count)
    sim.expect("moved", 5)
    sim.expect("no-two-owners")


@caught(bug.stale_owned_after_missed_sync)
async def test_kafka_13419_who_missed_a_sync_keeps_what_it_owns(sim: Simulation) -> None:
    """KAFKA-13406, KAFKA-13419: a cooperative member syncs too late and rejoins: it keeps its partitions."""
    sim.topic("orders", 6)
    members = [sim.member(name, assignors=COOPERATIVE) for name in ("c1", "c2")]
    group = await sim.settled(members=2)
    late = next(member for member in members if member.member_id != group.leader)
    sim.inject(DelayResponse(Match(host=late.host.name, api=Api.JOIN_GROUP), 2_000_000))
    # The next assignment is late too: by then the members that got its partitions own them.
    sim.inject(DelayResponse(Match(host=late.host.name, api=Api.SYNC_GROUP, nth=2), 100_000))
    sim.member("c3", assignors=COOPERATIVE)
    await sim.until(lambda: sim.state() == "Stable" and sim.group().generation > group.generation)
    sim.member("c4", assignors=COOPERATIVE)
    await sim.settled(members=4, within="1m")
    sim.expect("no-two-owners")


@caught(bug.returning_static_leader)
async def test_kafka_13435_a_static_leader_watches_on_after_its_restart(sim: Simulation) -> None:
    """KAFKA-13435, KIP-814: the static leader restarts, the topic grows: the new partitions find an owner."""
    sim.topic("orders", 2)
    leader = sim.member("c1", properties={"group.instance.id": "i1", "metadata.max.age.ms": 10_000})
    await sim.settled(members=1)
    leader.crash()
    leader.start()
    await sim.settled(members=1)
    sim.cluster.add_partitions("orders", 4)
    await sim.run_for("20s")
    sim.expect("every-partition-owned")


@caught(bug.leader_topics_omit_own_change)
async def test_kafka_10056_a_leader_looks_at_the_topics_it_has_just_subscribed_to(sim: Simulation) -> None:
    """KAFKA-10056: the leader subscribes to a second topic, and assigns it in the round that this begins."""
    sim.topic("orders", 2)
    sim.topic("payments", 2)
    leader = sim.member("c1", topics=["orders"])
    group = await sim.settled(members=1)
    leader.subscribe(["orders", "payments"])
    await sim.until(lambda: sim.group().generation == group.generation + 1 and leader.settled)
    assert {partition.topic for partition in leader.assignment} == {"orders", "payments"}


@caught(bug.rack_flap)
@pytest.mark.sim(brokers=3, racks=("a", "b", "c"))
async def test_kafka_20778_a_broker_that_restarts_rebalances_no_group_with_racks(sim: Simulation) -> None:
    """KAFKA-20778: a broker is away for half a minute; consumers that say where they are stay as they are."""
    sim.topic("orders", 3)
    for rack in ("a", "b"):
        own = {"client.rack": rack, "metadata.max.age.ms": 5_000}
        sim.member(f"c-{rack}", client="java-4.x", properties=own)
    group = await sim.settled(members=2)
    node, _ = sim.cluster.coordinator_of("g1")
    sim.cluster.crash_broker((node + 1) % 3)
    await sim.run_for("30s")
    sim.cluster.restart_broker((node + 1) % 3)
    await sim.run_for("30s")
    sim.expect("generations", group.generation)


@caught(bug.snapshot_not_reset)
async def test_aiokafka_108_a_change_of_topics_costs_one_round(sim: Simulation) -> None:
    """aiokafka 108: the leader goes from one topic to another; with the round that this takes it is at peace."""
    sim.topic("orders", 2)
    sim.topic("payments", 2)
    leader = sim.member("c1", topics=["orders"])
    group = await sim.settled(members=1)
    leader.subscribe(["payments"])
    await sim.run_for("1s")
    sim.expect("generations", group.generation + 1)


@caught(bug.pattern_staggered_discovery)
async def test_kafka_7126_a_new_topic_costs_a_group_of_patterns_one_or_two_rounds(sim: Simulation) -> None:
    """KAFKA-7126: four members see a new topic at four times; who joins looks first, so that one round is for all."""
    sim.topic("orders-a", 4)
    for number in range(4):
        sim.member(f"c{number}", pattern="orders-.*", properties={"metadata.max.age.ms": 30_000 + 7_000 * number})
    group = await sim.settled(members=4)
    sim.topic("orders-b", 4)
    await sim.run_for("2m")
    sim.expect("every-partition-owned")
    sim.expect("generations", f"<= {group.generation + 2}")


@caught(bug.second_join_in_flight)
async def test_librdkafka_1_8_0_one_join_is_under_way_at_a_time(sim: Simulation) -> None:
    """librdkafka 1.8.0: the subscription changes while a JoinGroup waits: the next one goes out after that."""
    sim.topic("orders", 2)
    sim.topic("payments", 2)
    sim.member("busy", topics=["orders"], on_revoked="10s")
    await sim.settled(members=1)
    member = sim.member("c1", topics=["orders"])
    await sim.until(lambda: len(sim.find("request.sent", host="c1", api="JoinGroup")) == 2)
    member.subscribe(["payments"])
    await sim.run_for("5s")
    assert len(sim.find("request.sent", host="c1", api="JoinGroup")) == 2


@caught(bug.close_leaves_first)
async def test_librdkafka_5541_who_closes_gives_up_before_it_leaves(sim: Simulation) -> None:
    """librdkafka 5541: a member's last callback takes five seconds; meanwhile no other member owns its partitions."""
    sim.topic("orders", 2)
    goes = sim.member("c1", on_revoked="5s")
    sim.member("c2")
    await sim.settled(members=2)
    await goes.close()
    await sim.settled(members=1)
    sim.expect("no-two-owners")


# --- the coordinator ---------------------------------------------------------------------------------------------


@caught(bug.stale_coordinator_node)
@pytest.mark.sim(brokers=3)
async def test_kafka_17293_a_coordinator_that_is_gone_is_looked_for_elsewhere(sim: Simulation) -> None:
    """KAFKA-17293: the coordinator's broker dies; within the session the member has found the next one."""
    sim.topic("orders", 2)
    member = sim.member("c1")
    await sim.settled(members=1)
    node, _ = sim.cluster.coordinator_of("g1")
    sim.cluster.crash_broker(node)
    await sim.run_for("2m")
    assert removed(sim) == []
    assert member.state == "STABLE"


@caught(bug.dead_heartbeat_thread)
async def test_kafka_20253_an_odd_error_ends_no_heartbeats(sim: Simulation) -> None:
    """KAFKA-20253: one heartbeat is not authorized; the next one is sent, and the member stays."""
    sim.topic("orders", 2)
    sim.member("c1", commit="never")
    await sim.settled(members=1)
    sim.inject(AnswerError(Match(host="c1", api=Api.HEARTBEAT), ErrorCode.GROUP_AUTHORIZATION_FAILED))
    await sim.run_for("60s")
    assert removed(sim) == []


# --- commits -----------------------------------------------------------------------------------------------------


@caught(bug.final_commit_dropped)
async def test_kafka_go_300_closing_commits_what_was_delivered(sim: Simulation) -> None:
    """kafka-go 300, kafkajs 874: a consumer is closed and another takes over: no record comes twice."""
    sim.topic("orders", 2, rate=10)
    first = sim.member("c1", properties={"auto.commit.interval.ms": 3_600_000})
    await sim.run_for("10s")
    await first.close()
    second = sim.member("c2", properties={"auto.offset.reset": "earliest"})
    await sim.until(lambda: second.settled)
    await sim.run_for("5s")
    sim.expect("duplicates", 0)


@caught(bug.commit_dropped_at_rebalance)
async def test_kafka_go_715_a_rebalance_commits_what_was_delivered(sim: Simulation) -> None:
    """kafka-go 715: partitions go to a second member, which begins where the first one stopped."""
    sim.topic("orders", 2, rate=10)
    own = {"auto.commit.interval.ms": 3_600_000, "auto.offset.reset": "earliest"}
    sim.member("c1", properties=own)
    await sim.run_for("10s")
    sim.member("c2", properties=own)
    await sim.settled(members=2)
    await sim.run_for("5s")
    sim.expect("duplicates", 0)


@caught(bug.commit_error_kills_coordinator)
async def test_aiokafka_19494402_a_commit_that_fails_before_a_rebalance_ends_nothing(sim: Simulation) -> None:
    """aiokafka 19494402: the commit before a rebalance is answered UNKNOWN_MEMBER_ID; the member rejoins."""
    sim.topic("orders", 2, rate=10)
    sim.member("c1", properties={"auto.commit.interval.ms": 3_600_000})
    await sim.settled(members=1)
    sim.inject(AnswerError(Match(host="c1", api=Api.OFFSET_COMMIT), ErrorCode.UNKNOWN_MEMBER_ID))
    sim.member("c2")
    await sim.until(lambda: sim.find("generation.reset", host="c1"), within="10s")
    await sim.settled(members=2, within="2m")


@caught(bug.autocommit_no_discovery)
@pytest.mark.sim(brokers=3)
async def test_kafka_6362_auto_commit_looks_for_the_coordinator_itself(sim: Simulation) -> None:
    """KAFKA-6362: a consumer of partitions of its own choice commits on after its coordinator has moved."""
    sim.topic("orders", 1, rate=10)
    sim.member("c1", assign=["orders-0"])
    await sim.until(lambda: sim.find("offsets.committed"))
    sim.move_coordinator()
    await sim.run_for("30s")
    assert sim.find("offsets.committed")[-1].t_us > sim.now_us - 6_000_000
