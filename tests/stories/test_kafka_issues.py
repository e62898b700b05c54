"""Real issues of Kafka and its clients as regression tests, each told as somebody who hit it would write it down.

They use nothing but the `sim` fixture, so each is also an example of a test about one's own consumers. Numbers that
follow from a timer are asserted as numbers.
"""

from __future__ import annotations

import pytest

from groupsim import ErrorCode, Kind, Simulation
from groupsim.faults import After, AnswerError, Break, LoseResponse, Match
from groupsim.requests import Api, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, JoinProtocol, SyncGroupRequest

SECOND = 1_000_000
NO_DELAY = {"group.initial.rebalance.delay.ms": 0}
quick = pytest.mark.sim(broker=NO_DELAY)
PROTOCOLS = (JoinProtocol("range", b""), JoinProtocol("cooperative-sticky", b""))


def reasons(sim: Simulation, member: str | None = None) -> list[str | None]:
    """Why members were removed so far."""
    return [event.reason for event in sim.find(Kind.MEMBER_REMOVED) if member in (None, event.member)]


@quick
async def test_kafka_7909_an_abandoned_member_id_stalls_a_rebalance_for_a_session(sim: Simulation) -> None:
    """KAFKA-7909, librdkafka#5569: an id handed out and never used holds the next rebalance for a whole session."""
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.stable(members=1)
    first = await sim.request(JoinGroupRequest("g1", 45_000, 300_000, protocols=PROTOCOLS))
    assert first.error is ErrorCode.MEMBER_ID_REQUIRED
    abandoned = sim.now_us
    sim.member("c2")
    await sim.stable(members=2)
    assert 44 * SECOND <= sim.now_us - abandoned <= 46 * SECOND
    assert reasons(sim) == ["pending-expired"]


@quick
async def test_kafka_12890_a_leader_that_never_syncs_is_removed(sim: Simulation) -> None:
    """KAFKA-12890: a leader heartbeats but sends no SyncGroup; it goes when the rebalance timeout has passed."""
    sim.topic("orders", 2)
    leader = sim.member("c1", stuck="never-sync", properties={"max.poll.interval.ms": 20_000})
    await sim.until(lambda: sim.state() == "CompletingRebalance")
    begun, stuck = sim.now_us, leader.member_id
    await sim.until(lambda: reasons(sim))
    assert (reasons(sim), sim.now_us - begun) == (["sync-timeout"], 20 * SECOND)
    assert sim.find(Kind.MEMBER_REMOVED)[0].member == stuck


@pytest.mark.parametrize(("client", "expelled"), [("java-0.11", True), ("java", False)])
@quick
async def test_kafka_10122_an_assignment_longer_than_the_session(sim: Simulation, client: str, expelled: bool) -> None:
    """KAFKA-10122/10134: an old client is silent while it assigns and is expelled; today's heartbeats meanwhile."""
    sim.topic("orders", 2)
    session = {"session.timeout.ms": 10_000}
    member = sim.member("c1", client=client, properties=session, assignor_time="12s")
    await sim.run_for("60s")
    assert ("session-expired" in reasons(sim)) is expelled
    assert bool(member.assignment) is not expelled


@quick
async def test_kafka_7610_ghosts_of_clients_without_the_member_id_handshake(sim: Simulation) -> None:
    """KAFKA-7610: JoinGroup before v4, given up and sent anew, adds one dead member with each attempt."""
    sim.topic("orders", 2)
    sim.member("slow", on_revoked="60s", properties={"max.poll.interval.ms": 120_000})
    await sim.stable(members=1)
    sim.member("hasty", client="ruby-kafka", properties={"partition.assignment.strategy": "range"})
    await sim.run_for("35s")
    group = sim.group()
    ghosts = [member for member in group.members if member.client_host == "/hasty"]
    assert len(ghosts) >= 3


@quick
async def test_kafka_9801_a_static_member_back_during_the_sync_makes_a_new_round(sim: Simulation) -> None:
    """KAFKA-9801: a static member that restarts in CompletingRebalance rebalances, and is not left with nothing."""
    sim.topic("orders", 4)
    sim.member("c1", assignor_time="5s", properties={"group.instance.id": "i1"})
    await sim.stable(members=1)
    other = sim.member("c2", properties={"group.instance.id": "i2"})
    await sim.until(lambda: other.state == "COMPLETING_REBALANCE")
    other.crash()
    other.start()
    await sim.run_for("30s")
    assert [event.payload["rebalance"] for event in sim.find(Kind.MEMBER_REPLACED)] == [True]
    assert len(other.assignment) == 2


@pytest.mark.parametrize(("client", "watches"), [("java-2.8", False), ("java", True)])
@quick
async def test_kafka_13435_a_restarted_static_leader_watches_partitions(
    sim: Simulation, client: str, watches: bool
) -> None:
    """KAFKA-13435, KIP-814: before JoinGroup v9 nobody notices new partitions after a static leader's restart."""
    sim.topic("orders", 2)
    own = {"group.instance.id": "i1", "metadata.max.age.ms": 10_000, "session.timeout.ms": 45_000}
    leader = sim.member("c1", client=client, properties=own)
    await sim.stable(members=1)
    leader.crash()
    leader.start()
    await sim.until(lambda: leader.state == "STABLE")
    sim.cluster.add_partitions("orders", 4)
    await sim.run_for("40s")
    assert len(leader.assignment) == (4 if watches else 2)


@pytest.mark.parametrize(("client", "moved"), [("java-3.2", 3), ("java-3.3", 4), ("java-3.3.2", 3), ("java-3.4", 3)])
@quick
async def test_kafka_14016_a_sync_that_came_too_late_costs_partitions(sim: Simulation, client: str, moved: int) -> None:
    """KAFKA-14016: a 3.3 client then forgets its generation, and with it what it owns: more than its share moves."""
    sim.topic("orders", 12)
    for name in ("c1", "c2", "c3"):
        sim.member(name, client=client, assignors=["cooperative-sticky"])
    await sim.settled(members=3)
    sim.inject(AnswerError(Match(host="c1", api=Api.SYNC_GROUP), ErrorCode.REBALANCE_IN_PROGRESS))
    sim.member("c4", client=client, assignors=["cooperative-sticky"])
    await sim.settled(members=4)
    sim.expect("moved", moved)
    sim.expect("no-two-owners")


@quick
async def test_kafka_20985_a_static_member_fences_itself(sim: Simulation) -> None:
    """KAFKA-20985 (open): unsubscribe forgets a static member's id, so a join sent again fences its own parked one."""
    sim.topic("orders", 2)
    sim.member("busy", on_revoked="20s")
    static = sim.member("c2", properties={"group.instance.id": "i2"})
    await sim.stable(members=2)
    sim.member("new")
    static.unsubscribe()
    await sim.until(lambda: sim.state() == "PreparingRebalance")
    static.subscribe(["orders"])
    await sim.until(lambda: sim.find(Kind.MEMBER_REPLACED))
    sim.inject(Break(Match(host="c2", purpose="coordinator")))
    await sim.until(lambda: sim.find(Kind.RESPONSE_SENT, api="JoinGroup", error="FENCED_INSTANCE_ID"))
    assert {event.payload["instance_id"] for event in sim.find(Kind.MEMBER_REPLACED)} == {"i2"}


@quick
async def test_kafka_20938_a_duplicate_join_leaves_the_first_unanswered(sim: Simulation) -> None:
    """KAFKA-20938: a JoinGroup sent again takes the place of the parked one, which gets no answer of a member."""
    sim.topic("orders", 2)
    sim.member("c1", on_revoked="5s")
    await sim.stable(members=1)
    given = await sim.request(JoinGroupRequest("g1", 10_000, 60_000, protocols=PROTOCOLS))
    assert isinstance(given, JoinGroupResponse)
    again = JoinGroupRequest("g1", 10_000, 60_000, member_id=given.member_id, protocols=PROTOCOLS)
    first, second = sim.send(again), sim.send(again)
    await sim.until(lambda: second.answered, within="10s")
    assert second.outcome.error is ErrorCode.NONE
    assert not first.answered or first.outcome.error is not ErrorCode.NONE


@quick
async def test_kafka_8220_absent_static_members_keep_their_seats(sim: Simulation) -> None:
    """KAFKA-8220: a rebalance completes without an absent static member; the next pending sync finds it out."""
    sim.topic("orders", 4)
    late = {"group.instance.id": "i1", "max.poll.interval.ms": 10_000, "session.timeout.ms": 45_000}
    absent = sim.member("c1", properties=late)
    await sim.stable(members=1)
    absent.crash()
    sim.member("c2", properties={"max.poll.interval.ms": 10_000})
    group = await sim.stable(members=2)
    assert [member.instance_id for member in group.members].count("i1") == 1
    await sim.stable(members=1)
    assert reasons(sim) == ["sync-timeout"]


@pytest.mark.sim(broker=NO_DELAY | {"group.max.size": 2})
async def test_kafka_9885_a_full_group_refuses_the_next(sim: Simulation) -> None:
    """KAFKA-9885: beyond group.max.size a newcomer gets GROUP_MAX_SIZE_REACHED out of poll, and the group goes on."""
    sim.topic("orders", 4)
    sim.member("c1")
    sim.member("c2")
    await sim.stable(members=2)
    third = sim.member("c3")
    await third.ended()
    assert third.failed is not None
    assert third.failed.error == "GroupMaxSizeReachedException"
    await sim.stable(members=2)


@quick
async def test_kafka_14016_a_late_cooperative_member_keeps_its_partitions(sim: Simulation) -> None:
    """KAFKA-14016: REBALANCE_IN_PROGRESS on SyncGroup keeps generation and partitions: a claim that may be stale."""
    cooperative = {"partition.assignment.strategy": "cooperative-sticky"}
    sim.topic("orders", 4)
    first = sim.member("c1", properties=cooperative, assignor_time="2s")
    await sim.stable(members=1)
    sim.member("c2", properties=cooperative)
    await sim.until(lambda: sim.state() == "CompletingRebalance")
    await sim.run_for("1s")
    sim.member("c3", properties=cooperative)
    await sim.until(lambda: "RebalanceInProgressException" in str(sim.find(Kind.REJOIN_REQUESTED)))
    assert len(first.assignment) == 4
    assert sim.find(Kind.CALLBACK_BEGUN, reason="lost") == []


@quick
async def test_kafka_15134_a_manual_consumer_beside_subscribers_cannot_commit(sim: Simulation) -> None:
    """KAFKA-15134: assign() under the id of a group with members: each commit is UNKNOWN_MEMBER_ID; alone it may."""
    sim.topic("orders", 2, rate=10)
    manual = sim.member("manual", assign=["orders-0"])
    await sim.until(lambda: sim.find(Kind.OFFSETS_COMMITTED, host="manual"))
    sim.member("c1")
    await sim.stable(members=1)
    await sim.until(lambda: sim.find(Kind.COMMIT_FAILED, host="manual", error="UNKNOWN_MEMBER_ID"))
    assert sim.find(Kind.REQUEST_SENT, host="manual", api="JoinGroup") == []
    assert [str(partition) for partition in manual.assignment] == ["orders-0"]


@pytest.mark.parametrize("bounces", [1, 2])
@quick
async def test_range_to_cooperative_takes_two_bounces(sim: Simulation, bounces: int) -> None:
    """KIP-429, librdkafka#3589: one bounce ends in INCONSISTENT_GROUP_PROTOCOL; with both listed the new one joins."""
    sim.topic("orders", 4)
    before = "range" if bounces == 1 else "range,cooperative-sticky"
    sim.member("old", properties={"partition.assignment.strategy": before})
    await sim.stable(members=1)
    new = sim.member("new", properties={"partition.assignment.strategy": "cooperative-sticky"})
    await sim.run_for("30s")
    assert (new.failed.error if new.failed else None) == (
        "InconsistentGroupProtocolException" if bounces == 1 else None
    )


@quick
async def test_kip_394_a_lost_join_answer_costs_the_group_a_retry_not_a_ghost(sim: Simulation) -> None:
    """KIP-394: with the member id in hand a JoinGroup whose answer was lost is sent again as the same member."""
    sim.topic("orders", 2)
    lost = Match(host="c1", api=Api.JOIN_GROUP, nth=2)
    member = sim.member("c1")
    sim.inject(LoseResponse(lost, After.BREAK))
    group = await sim.stable(members=1)
    await sim.until(lambda: member.state == "STABLE")
    assert (reasons(sim), len(sim.find(Kind.MEMBER_ADDED))) == ([], 1)
    assert [one.member_id for one in group.members] == [member.member_id]


@quick
async def test_a_static_member_back_between_two_cooperative_rounds_orphans_partitions(sim: Simulation) -> None:
    """KIP-345 with KIP-429: back between revocation and second round, it gets its old share; the rest is nobody's."""
    sim.topic("orders", 4)
    own = {"partition.assignment.strategy": "cooperative-sticky", "session.timeout.ms": 45_000}
    first = sim.member("c1", properties=own | {"group.instance.id": "i1"}, on_revoked="2s")
    await sim.stable(members=1)
    second = sim.member("c2", properties=own | {"group.instance.id": "i2"})
    await sim.until(lambda: sim.find(Kind.CALLBACK_BEGUN, host="c1", reason="revoked"))
    first.crash()
    first.start()
    await sim.run_for("10m")
    assert sim.state() == "Stable"
    assert (len(first.assignment), len(second.assignment)) == (2, 0)


@quick
async def test_kip_394_requests_by_hand_do_not_disturb_a_member(sim: Simulation) -> None:
    """A refused heartbeat and a repeated SyncGroup of a stable member leave the group and the member as they were."""
    sim.topic("orders", 2)
    member = sim.member("c1")
    group = await sim.stable(members=1)
    refused = await sim.request(HeartbeatRequest("g1", group.generation + 1, member.member_id))
    assert refused.error is ErrorCode.ILLEGAL_GENERATION
    sync = SyncGroupRequest("g1", group.generation, member.member_id, protocol_type="consumer", protocol_name="range")
    assert (await sim.request(sync)).error is ErrorCode.NONE
    assert member.state == "STABLE"


@pytest.mark.parametrize(
    ("client", "why"),
    [("java-3.6", "rebalance failed due to MemberIdRequired"), ("java-3.7", "need to re-join with the")],
)
@quick
async def test_a_given_member_id_was_a_failure_by_its_words(sim: Simulation, client: str, why: str) -> None:
    """Clients of 3.2 to 3.6 say of a join with the id they were given that one had failed; since 3.7 they do not."""
    sim.topic("orders", 2)
    sim.member("c1", client=client)
    await sim.stable(members=1)
    joins = [event.payload.get("reason", "") for event in sim.find(Kind.REQUEST_SENT, api="JoinGroup")]
    assert len(joins) == 2
    assert joins[1].startswith(why)


@pytest.mark.sim(broker=NO_DELAY, logs="counted")
async def test_a_heartbeat_owed_to_poll_waits_for_no_ends_of_logs(sim: Simulation) -> None:
    """zendesk/ruby-kafka#767: the heartbeat after a long callback goes out in poll, before positions are looked up."""
    sim.topic("orders", 2)
    own = {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 3_000}
    sim.member("c1", client="ruby-kafka", on_assigned="20s", properties=own)
    await sim.until(lambda: len(sim.find(Kind.POSITION_SET)) == 2)
    await sim.run_for("1s")
    late = sim.find(Kind.RESPONSE_SENT, api="Heartbeat", error="UNKNOWN_MEMBER_ID")
    assert late[0].seq < sim.find(Kind.POSITION_SET)[0].seq


@quick
async def test_kafka_16224_a_deleted_topic_holds_a_rebalance_for_the_poll_interval(sim: Simulation) -> None:
    """KAFKA-16224, still so with Java's classic consumer: what it commits before a rebalance names a deleted topic, and
    is tried again for max.poll.interval.ms.
    """
    for topic in ("orders", "gone"):
        sim.topic(topic, 2, rate=10)
    own = {"max.poll.interval.ms": 20_000}
    sim.member("c1", properties=own)
    await sim.settled(members=1)
    await sim.run_for("3s")
    begun = sim.now_us
    sim.cluster.delete_topic("gone")
    sim.member("c2", topics=["orders"], properties=own)
    await sim.settled(members=2)
    assert 20 * SECOND <= sim.now_us - begun < 21 * SECOND
    assert reasons(sim) == []
    assert {event.error for event in sim.find("commit.failed", host="c1")} == {"UNKNOWN_TOPIC_OR_PARTITION"}
