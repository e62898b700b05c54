"""The reference's twenty traps (section 9), one test each; 16, 17, 18 and 20 are the client's: tests/members."""

from __future__ import annotations

from typing import Any

from groupsim.cluster.network.faults import Direction, Match, Stall
from groupsim.coordinator.testing import committed, offsets_of
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetToCommit,
    SyncGroupRequest,
    TopicPartition,
)
from groupsim.testing.simulation import Simulation
from tests.helpers.tables_kit import (
    BOTH,
    COMPLETING,
    EMPTY,
    PREPARING,
    REBALANCE_MS,
    ROUNDROBIN,
    SESSION_MS,
    STABLE,
    E,
    bench,
    causes,
    is_parked,
    on_broker,
    scene,
)
from tests.helpers.tables_kit import Broker as Around

T0 = TopicPartition("t", 0)


def test_trap_01_answers_while_loading_differ() -> None:
    """Trap 1: during a load heartbeats are fine, everything else waits, SyncGroup included."""

    async def story(around: Around) -> None:
        around.lead_all(load_us=1_000)
        sync = SyncGroupRequest("g", 1, "m", None, "consumer", "range")
        found: list[Any] = [around.ask(one) for one in (HeartbeatRequest("g", 1, "m"), sync)]
        join: Any = around.join(member_id="m").response
        assert [one.error for one in found] == [E.NONE, E.COORDINATOR_LOAD_IN_PROGRESS]
        assert join.error is E.COORDINATOR_LOAD_IN_PROGRESS

    on_broker(story, lead=False)


def test_trap_02_heartbeats_during_a_rebalance() -> None:
    """Trap 2: NONE in CompletingRebalance, REBALANCE_IN_PROGRESS with a refresh before; the generation stays."""
    stage = scene(PREPARING)
    stage.bench.advance_ms(5_000)
    assert stage.bench.heartbeat(stage.leader, 1).error is E.REBALANCE_IN_PROGRESS
    assert stage.deadline_ms(stage.leader) == SESSION_MS
    for one in (stage.leader, stage.follower):
        stage.bench.join(member_id=one)
    assert stage.bench.state == COMPLETING
    assert stage.bench.heartbeat(stage.leader, 2).error is E.NONE


def test_trap_03_what_refreshes_a_session() -> None:
    """Trap 3: SyncGroup in Stable does not refresh the session; commits in PreparingRebalance and Stable do."""
    stage = scene(STABLE)
    stage.bench.advance_ms(5_000)
    stage.bench.sync(stage.follower, 1)
    assert stage.deadline_ms(stage.follower) == SESSION_MS - 5_000
    stage.bench.commit_offset(1, member_id=stage.follower, generation=1)
    assert stage.deadline_ms(stage.follower) == SESSION_MS
    stage.bench.join("c")
    stage.bench.advance_ms(5_000)
    stage.bench.commit_offset(1, member_id=stage.follower, generation=1)
    assert stage.deadline_ms(stage.follower) == SESSION_MS


def test_trap_04_initial_delay() -> None:
    """Trap 4: one member 3 s, two within the window 6 s; only an expiry completes earlier."""
    alone, two, early = bench(), bench(), bench({"group.initial.rebalance.delay.ms": 60_000})
    first = [alone.join("a"), two.join("a"), early.join("a")]
    two.join("b")
    early.join("x", version=4, session_ms=6_000)
    alone.advance_ms(3_000)
    two.advance_ms(5_999)
    early.advance_ms(6_000)
    assert [one.answered for one in first] == [True, False, True]
    two.advance_ms(1)
    assert first[1].answered


def test_trap_05_new_member_flag_leaks() -> None:
    """Trap 5: set while nothing remains, `newMemberAdded` prolongs the next initial round of a lone member."""
    made = bench()
    for name in "ab":
        made.join(name, rebalance_ms=3_000)
    made.advance_ms(3_000)
    made.leave("a-1", "b-2")
    lone = made.join("c")
    made.advance_ms(5_999)
    assert is_parked(lone)
    made.advance_ms(1)
    assert lone.answered


def test_trap_06_pending_ids_in_leave_and_delete() -> None:
    """Trap 6: a leave of a pending id alone rebalances a Stable group; DeleteGroups ignores pending ids."""
    stage = scene(STABLE)
    stage.bench.leave(stage.bench.join("x", version=4).joined.member_id)
    assert causes(stage.bench)[-1] == "LEAVE_GROUP"
    made = scene(EMPTY).bench
    made.join("x", version=4)
    assert made.send(DeleteGroupsRequest(("g",))).response.results == (("g", E.NONE),)  # type: ignore[union-attr]


def test_trap_07_ghost_in_pending_sync() -> None:
    """Trap 7: a replaced static member's old id rebalances a healthy group one rebalance timeout later."""
    stage = scene(COMPLETING, static=True, rebalance_ms=40_000)
    stage.bench.sync(stage.leader, 1, {}, instance="a")
    fresh = stage.bench.join("b", instance="b", version=9, rebalance_ms=40_000).joined.member_id
    stage.bench.sync(fresh, 1, instance="b")
    stage.bench.advance_ms(39_999)
    assert stage.bench.state == STABLE
    stage.bench.advance_ms(1)
    assert (stage.bench.state, causes(stage.bench)[-1]) == (PREPARING, "SYNC_EXPIRED")


def test_trap_08_absent_static_members() -> None:
    """Trap 8: refreshed at completion, awaited for SyncGroup, counted for capacity, given an assignment."""
    stage = scene(STABLE, static=True, properties={"group.max.size": 2}, rebalance_ms=20_000)
    stage.bench.join("a", member_id=stage.leader, instance="a", rebalance_ms=20_000)
    stage.bench.advance_ms(20_000)
    group = stage.bench.snapshot()
    assert (group.state, group.generation) == (COMPLETING, 2)
    assert stage.deadline_ms(stage.follower) == SESSION_MS
    assert stage.follower in group.pending_sync
    assert stage.bench.join("c").error is E.GROUP_MAX_SIZE_REACHED
    stage.bench.sync(stage.leader, 2, {stage.follower: b"kept"}, instance="a")
    assert stage.member(stage.follower).assignment == b"kept"


def test_trap_09_full_group_refuses_a_static_restart() -> None:
    """Trap 9: a restarting static member of a full group is refused."""
    stage = scene(STABLE, static=True, properties={"group.max.size": 2})
    assert stage.bench.join("b", instance="b", version=9).error is E.GROUP_MAX_SIZE_REACHED


def test_trap_10_kick_does_not_look_again() -> None:
    """Trap 10: a member put out for size does not complete the round that now has everybody."""
    stage = scene(STABLE, properties={"group.max.size": 2})
    parked = stage.bench.join(member_id=stage.leader)
    stage.bench.join("c")
    assert stage.bench.join(member_id=stage.follower).error is E.GROUP_MAX_SIZE_REACHED
    assert is_parked(parked)
    stage.bench.advance_ms(REBALANCE_MS)
    assert parked.joined.generation_id == 2


def test_trap_11_fail_over() -> None:
    """Trap 11: protocols collapse, the generation is used again, pending ids are lost, sessions start anew."""
    stage = scene(STABLE, protocols=BOTH)
    pending = stage.bench.join("x", version=4, protocols=BOTH).joined.member_id
    stage.bench.advance_ms(30_000)
    stage.bench.leave(pending)
    sent = [stage.bench.join(member_id=one, protocols=BOTH) for one in (stage.leader, stage.follower)]
    assert sent[0].joined.generation_id == 2
    pending = stage.bench.join("y", version=4, protocols=BOTH).joined.member_id
    after = stage.bench.fail_over()
    assert after.join("z", protocols=ROUNDROBIN).error is E.INCONSISTENT_GROUP_PROTOCOL
    assert after.join("y", member_id=pending, version=4).error is E.UNKNOWN_MEMBER_ID
    assert after.timers()[f"heartbeat-g-{stage.leader}"] == SESSION_MS
    again = [after.join(member_id=one, protocols=BOTH) for one in (stage.leader, stage.follower)]
    assert again[0].joined.generation_id == 2


def test_trap_12_write_timeout() -> None:
    """Trap 12: after five seconds the commit is answered with an error and yet stored."""
    made = bench(auto_commit=False)
    sent = made.commit_offset(5)
    made.advance_ms(5_000)
    assert committed(sent) == [E.COORDINATOR_NOT_AVAILABLE]
    made.commit()
    assert offsets_of(made.fetch_offsets(T0)) == {T0: 5}


def test_trap_13_commit_for_unknown_topics_only() -> None:
    """Trap 13: such a commit of a fenced zombie is answered without fencing it."""

    async def story(around: Around) -> None:
        lost = TopicPartition("nope", 0)
        found: Any = around.ask(OffsetCommitRequest("g", (OffsetToCommit(lost, 1),), 7, "zombie"))
        assert found.partitions == ((lost, E.UNKNOWN_TOPIC_OR_PARTITION),)

    on_broker(story)


def test_trap_14_three_kinds_of_empty() -> None:
    """Trap 14: simple groups count from commits, emptied ones from then; offset-less ones vanish and restart at 0."""
    made = bench({"offsets.retention.minutes": 15})
    made.commit_offset(5, group="simple")
    (member,) = made.stable("a")
    made.commit_offset(5, member_id=member, generation=1)
    for _ in range(30):
        made.advance_ms(20_000)
        made.heartbeat(member, 1)
    made.leave(member)
    made.join("never", version=4, group="never")
    made.advance_ms(10 * 60_000)
    assert offsets_of(made.fetch_offsets(T0, group="simple")) == {T0: -1}
    assert offsets_of(made.fetch_offsets(T0)) == {T0: 5}
    assert made.shard.snapshot("never") is None
    made.advance_ms(10 * 60_000)
    assert made.shard.snapshot("g") is None
    made.join("b")
    assert made.snapshot().generation == 0


def test_trap_15_leaders_look_random_and_are_not() -> None:
    """Trap 15: ids hold seeded UUIDs, so a successor looks random, and is the same in every run of a seed."""

    def successor(seed: int) -> str:
        async def story(sim: Simulation) -> str:
            sim.topic("t", 6)
            members = [sim.member(f"c{number}") for number in range(6)]
            before = await sim.stable("g1", members=6)
            leader = next(m for m in members if m.member_id == before.leader)
            leader.crash()
            after = await sim.stable("g1", members=5)
            return next(m.client_host for m in after.members if m.member_id == after.leader)

        found: str = Simulation(seed=seed).run(story)
        return found

    assert successor(1) == successor(1)
    assert len({successor(seed) for seed in range(6)}) > 1


def test_trap_16_which_errors_keep_the_member_id() -> None:
    """Trap 16, at the broker: the kept id of a retry is one member, a new one after UNKNOWN_MEMBER_ID another."""
    made = bench()
    fresh = made.join("a", version=4).joined.member_id
    made.send(JoinGroupRequest("g", SESSION_MS, REBALANCE_MS, fresh, protocols=BOTH))
    made.send(JoinGroupRequest("g", SESSION_MS, REBALANCE_MS, fresh, protocols=BOTH))
    assert len(made.snapshot().members) == 1


def test_trap_19_leaver_with_a_parked_sync() -> None:
    """Trap 19: the parked SyncGroup of a member that leaves is never answered, whatever the group does next."""
    stage = scene(COMPLETING)
    parked = stage.bench.sync(stage.follower, 1)
    stage.bench.leave(stage.follower)
    stage.bench.advance_ms(2 * SESSION_MS)
    assert stage.bench.state == EMPTY
    assert not parked.answered


def test_trap_20_only_the_broker_expels() -> None:
    """Trap 20: a client that hears nothing for its session only rediscovers: whom the broker hears stays a member."""

    async def story(sim: Simulation) -> None:
        sim.topic("t", 2)
        member = sim.member("c1", properties={"session.timeout.ms": 20_000})
        await sim.stable("g1", members=1)
        before = member.member_id
        sim.inject(Stall(Match(host="c1"), Direction.IN, for_us=30_000_000))
        await sim.run_for("90s")
        lost = [event.reason or "" for event in sim.find(Kind.COORDINATOR_LOST)]
        assert any("session" in reason for reason in lost), lost
        assert sim.find(Kind.MEMBER_REMOVED) == []
        group = sim.group("g1")
        assert (group.state, group.generation, member.member_id) == (STABLE, 1, before)

    Simulation(seed=1).run(story)
