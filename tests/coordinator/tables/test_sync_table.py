"""SyncGroup: table 1.4, the leader's way to the log, and the wait for SyncGroups (2.8)."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.records import GroupRecord
from tests.helpers.tables_kit import (
    CHANGED,
    COMPLETING,
    DEAD,
    EMPTY,
    LIVE,
    PREPARING,
    REBALANCE_MS,
    SESSION_MS,
    STABLE,
    E,
    bench,
    causes,
    is_parked,
    scene,
)

# --- errors ------------------------------------------------------------------------------------------------------


def test_unknown_group() -> None:
    """1.4 #1: no such group: UNKNOWN_MEMBER_ID."""
    assert bench().sync("x", 1).error is E.UNKNOWN_MEMBER_ID


def test_empty_group() -> None:
    """1.4 #1: an Empty group has no members: UNKNOWN_MEMBER_ID."""
    assert scene(EMPTY).bench.sync("a-1", 2).error is E.UNKNOWN_MEMBER_ID


def test_dead_group() -> None:
    """1.4 #2: Dead: COORDINATOR_NOT_AVAILABLE."""
    stage = scene(DEAD)
    assert stage.bench.sync(stage.leader, 1).error is E.COORDINATOR_NOT_AVAILABLE


STRANGERS = [
    pytest.param("ghost", None, E.UNKNOWN_MEMBER_ID, id="1.4-unknown-id"),
    pytest.param("PENDING", None, E.UNKNOWN_MEMBER_ID, id="1.4-pending-id"),
    pytest.param("LEADER", "nobody", E.UNKNOWN_MEMBER_ID, id="1.4-instance-unmapped"),
    pytest.param("LEADER", "b", E.FENCED_INSTANCE_ID, id="1.4-fenced"),
]


@pytest.mark.parametrize(("member_id", "instance", "error"), STRANGERS)
@pytest.mark.parametrize("state", LIVE)
@pytest.mark.parametrize("generation", [1, 7])
def test_not_a_member(state: str, member_id: str, instance: str | None, error: E, generation: int) -> None:
    """1.4 #3: who is not a member hears so before the generation is looked at."""
    stage = scene(state, static=True)
    given = stage.id_of(member_id)
    assert stage.bench.sync(given, generation, instance=instance).error is error


@pytest.mark.parametrize("state", [pytest.param(s, id=f"1.4-{s}-generation") for s in LIVE])
@pytest.mark.parametrize("generation", [-1, 0, 2])
def test_wrong_generation(state: str, generation: int) -> None:
    """1.4 #4: another generation: ILLEGAL_GENERATION, before protocol and state are looked at."""
    stage = scene(state)
    sent = stage.bench.sync(stage.follower, generation, protocol_type="connect")
    assert sent.error is E.ILLEGAL_GENERATION


PROTOCOLS = [
    pytest.param("connect", None, True, id="1.4-protocol-type-differs"),
    pytest.param(None, "roundrobin", True, id="1.4-protocol-name-differs"),
    pytest.param("consumer", "range", False, id="1.4-protocol-consistent"),
    pytest.param(None, None, False, id="1.4-protocol-not-provided"),
]


@pytest.mark.parametrize(("protocol_type", "name", "refused"), PROTOCOLS)
@pytest.mark.parametrize("state", LIVE)
def test_protocol_echo(state: str, protocol_type: str | None, name: str | None, refused: bool) -> None:
    """1.4 #5: a protocol type or name that is given and differs: INCONSISTENT_GROUP_PROTOCOL, in every state."""
    stage = scene(state)
    sent = stage.bench.sync(stage.follower, 1, protocol_type=protocol_type, protocol_name=name)
    found = sent.error if sent.answered else None
    assert (found is E.INCONSISTENT_GROUP_PROTOCOL) is refused


def test_protocol_echo_before_there_is_a_protocol() -> None:
    """1.4 #5: in a group's first round no protocol is chosen yet, so whatever name is given does not differ."""
    made = bench()
    made.join("a", fresh_id="m")
    assert made.sync("m", 0, protocol_type="consumer", protocol_name="any").error is E.REBALANCE_IN_PROGRESS
    assert made.sync("m", 0, protocol_type="connect").error is E.INCONSISTENT_GROUP_PROTOCOL


def test_preparing() -> None:
    """1.4 #6: PreparingRebalance: REBALANCE_IN_PROGRESS."""
    stage = scene(PREPARING)
    assert stage.bench.sync(stage.follower, 1).error is E.REBALANCE_IN_PROGRESS


# --- CompletingRebalance -----------------------------------------------------------------------------------------


def test_follower_is_parked() -> None:
    """1.4 #7: a follower is parked; its id is no longer awaited, the sync timer runs on for the others."""
    stage = scene(COMPLETING)
    assert is_parked(stage.bench.sync(stage.follower, 1))
    assert stage.bench.snapshot().pending_sync == (stage.leader,)
    assert stage.bench.timers()["sync-g"] == REBALANCE_MS


def test_last_sync_stops_the_timer() -> None:
    """1.4 #7: when nobody is awaited any more the sync timer is cancelled, before anything is written."""
    stage = scene(COMPLETING)
    stage.bench.auto_commit = False
    stage.bench.sync(stage.follower, 1)
    leader = stage.bench.sync(stage.leader, 1, {})
    assert is_parked(leader)
    assert "sync-g" not in stage.bench.timers()
    assert stage.bench.state == COMPLETING


def test_follower_assignments_are_ignored() -> None:
    """Leader path: what a follower sends as assignments counts for nothing."""
    stage = scene(COMPLETING)
    follower = stage.bench.sync(stage.follower, 1, {stage.follower: b"all"})
    stage.bench.sync(stage.leader, 1, {stage.leader: b"l", stage.follower: b"f"})
    assert follower.synced.assignment == b"f"


@pytest.mark.parametrize(
    "first", [pytest.param("leader", id="1.4-leader-first"), pytest.param("follower", id="1.4-follower-first")]
)
def test_both_orders_get_their_assignment(first: str) -> None:
    """1.4 #8: in any order of SyncGroups, each member gets the leader's assignment, with protocol type and name."""
    stage = scene(COMPLETING)
    plan = {stage.leader: b"l", stage.follower: b"f"}
    order = ["leader", "follower"] if first == "leader" else ["follower", "leader"]
    sent = {w: stage.bench.sync(getattr(stage, w), 1, plan if w == "leader" else None) for w in order}
    assert {w: s.synced.assignment for w, s in sent.items()} == {"leader": b"l", "follower": b"f"}
    assert sent["leader"].synced.protocol_type == "consumer"
    assert sent["leader"].synced.protocol_name == "range"
    assert stage.bench.state == STABLE
    assert causes(stage.bench)[-1] == "ASSIGNMENT_STORED"


def test_missing_entries_are_empty_and_strangers_ignored() -> None:
    """Leader path: a member without an entry gets empty bytes; entries of strangers are not even written."""
    stage = scene(COMPLETING)
    follower = stage.bench.sync(stage.follower, 1)
    stage.bench.sync(stage.leader, 1, {stage.leader: b"l", "stranger": b"s"})
    assert follower.synced.assignment == b""
    record = stage.bench.log[-1]
    assert isinstance(record, GroupRecord)
    assert record.value is not None
    assert {m.member_id: m.assignment for m in record.value.members} == {stage.leader: b"l", stage.follower: b""}
    assert (record.value.generation, record.value.leader, record.value.protocol) == (1, stage.leader, "range")


def test_answers_leave_when_the_record_is_committed() -> None:
    """Leader path: nobody is answered and the state stays until the record is committed."""
    stage = scene(COMPLETING)
    stage.bench.auto_commit = False
    sent = [stage.bench.sync(stage.follower, 1), stage.bench.sync(stage.leader, 1, {})]
    assert all(is_parked(one) for one in sent)
    assert stage.member(stage.follower).assignment == b""
    stage.bench.commit()
    assert [one.error for one in sent] == [E.NONE, E.NONE]


def test_commit_refreshes_sessions_of_those_answered_only() -> None:
    """Leader path: at commit the session of each parked member begins anew; of the others it does not."""
    stage = scene(COMPLETING)
    stage.bench.advance_ms(10_000)
    stage.bench.sync(stage.leader, 1, {})
    assert stage.deadline_ms(stage.leader) == SESSION_MS
    assert stage.deadline_ms(stage.follower) == SESSION_MS - 10_000


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(E.NOT_ENOUGH_REPLICAS, E.COORDINATOR_NOT_AVAILABLE, id="1.4-store-failed-replicas"),
        pytest.param(E.NOT_LEADER_OR_FOLLOWER, E.NOT_COORDINATOR, id="1.4-store-failed-leader"),
        pytest.param(E.MESSAGE_TOO_LARGE, E.UNKNOWN_SERVER_ERROR, id="1.4-store-failed-size"),
    ],
)
def test_failed_append(error: E, told: E) -> None:
    """Leader path: a failed append empties the assignments, tells the parked the mapped error and opens a round."""
    stage = scene(STABLE)
    for one in (stage.leader, stage.follower):
        stage.bench.join(member_id=one)
    assert {m.assignment for m in stage.bench.snapshot().members} == {stage.leader.encode(), stage.follower.encode()}
    stage.bench.auto_commit = False
    sent = [stage.bench.sync(stage.follower, 2), stage.bench.sync(stage.leader, 2, {stage.follower: b"f"})]
    stage.bench.fail_append(error)
    assert [one.error for one in sent] == [told, told]
    assert {m.assignment for m in stage.bench.snapshot().members} == {b""}
    assert stage.bench.state == PREPARING
    assert causes(stage.bench)[-1] == "STORE_ERROR"


@pytest.mark.parametrize(
    "outcome",
    [pytest.param(None, id="1.4-moved-on-commit"), pytest.param(E.NOT_ENOUGH_REPLICAS, id="1.4-moved-on-failure")],
)
def test_append_that_ends_after_the_world_moved_on(outcome: E | None) -> None:
    """Leader path: when generation or state moved meanwhile the end of the append changes nothing."""
    stage = scene(COMPLETING)
    stage.bench.auto_commit = False
    sent = stage.bench.sync(stage.leader, 1, {stage.follower: b"f"})
    stage.bench.join("c")
    assert sent.synced.error is E.REBALANCE_IN_PROGRESS
    before = stage.bench.snapshot()
    if outcome is None:
        stage.bench.commit()
    else:
        stage.bench.fail_append(outcome)
    assert stage.bench.snapshot() == before


def test_append_of_an_older_generation_changes_nothing() -> None:
    """Leader path: committed only when the next generation is being assigned, the old assignment is dealt to nobody."""
    stage = scene(COMPLETING)
    stage.bench.auto_commit = False
    stage.bench.sync(stage.leader, 1, {stage.follower: b"old"})
    for one in (stage.leader, stage.follower):
        stage.bench.join(member_id=one, protocols=CHANGED)
    waiting = stage.bench.sync(stage.follower, 2)
    assert (stage.bench.state, stage.bench.snapshot().generation) == (COMPLETING, 2)
    stage.bench.commit()
    assert is_parked(waiting)
    assert stage.bench.state == COMPLETING


def test_leader_may_repeat_its_sync() -> None:
    """A leader that sends SyncGroup again makes a second append; its first request is forgotten."""
    stage = scene(COMPLETING)
    stage.bench.auto_commit = False
    first = stage.bench.sync(stage.leader, 1, {})
    second = stage.bench.sync(stage.leader, 1, {})
    assert len(stage.bench.in_flight) == 2
    stage.bench.commit()
    assert first.dropped is not None
    assert not first.answered
    assert second.synced.error is E.NONE


# --- Stable ------------------------------------------------------------------------------------------------------


def test_stable_answers_at_once() -> None:
    """1.4 #9: in Stable the stored assignment is the answer; no session refresh, a leader's plan is ignored."""
    stage = scene(STABLE)
    stage.bench.advance_ms(10_000)
    sent = stage.bench.sync(stage.leader, 1, {stage.leader: b"other"})
    assert (sent.synced.error, sent.synced.assignment) == (E.NONE, stage.leader.encode())
    assert (sent.synced.protocol_type, sent.synced.protocol_name) == ("consumer", "range")
    assert stage.deadline_ms(stage.leader) == SESSION_MS - 10_000
    assert len(stage.bench.log) == 2


def test_late_sync_in_stable_is_no_longer_awaited() -> None:
    """1.4 #9: a SyncGroup that comes only in Stable takes its id off the list; the last one stops the sync timer."""
    stage = scene(COMPLETING)
    stage.bench.sync(stage.leader, 1, {})
    assert stage.bench.state == STABLE
    assert "sync-g" in stage.bench.timers()
    stage.bench.sync(stage.follower, 1)
    assert stage.bench.snapshot().pending_sync == ()
    assert "sync-g" not in stage.bench.timers()


# --- 2.8: members that never send SyncGroup ----------------------------------------------------------------------


def alive(stage: object, duration_ms: int, *members: str) -> None:
    """Let these members heartbeat in generation 1 for a while."""
    made = stage.bench  # type: ignore[attr-defined]
    for _ in range(duration_ms // 10_000):
        made.advance_ms(10_000)
        for member in members:
            made.heartbeat(member, 1)


def test_sync_timer_is_armed_for_the_longest_rebalance_timeout() -> None:
    """2.8: at join completion the sync timer is set to the largest rebalance timeout and everybody is awaited."""
    made = bench()
    made.join("a", rebalance_ms=20_000)
    made.join("b", rebalance_ms=70_000)
    made.finish_round()
    assert made.timers()["sync-g"] == 70_000
    assert set(made.snapshot().pending_sync) == {"a-1", "b-2"}


def test_silent_follower_is_removed() -> None:
    """2.8: a follower that heartbeats but never syncs is removed when the timer fires in Stable, and a round opens."""
    stage = scene(COMPLETING)
    stage.bench.sync(stage.leader, 1, {})
    alive(stage, REBALANCE_MS, stage.leader, stage.follower)
    assert causes(stage.bench)[-1] == "SYNC_EXPIRED"
    assert [m.member_id for m in stage.bench.snapshot().members] == [stage.leader]
    assert stage.deadline_ms(stage.follower) is None


def test_silent_leader_is_removed() -> None:
    """2.8: a leader that never syncs is removed in CompletingRebalance; its followers are told to join again."""
    stage = scene(COMPLETING)
    follower = stage.bench.sync(stage.follower, 1)
    alive(stage, REBALANCE_MS, stage.leader)
    assert follower.synced.error is E.REBALANCE_IN_PROGRESS
    group = stage.bench.snapshot()
    assert [m.member_id for m in group.members] == [stage.follower]
    assert group.leader == stage.follower
    assert group.state == PREPARING


def test_sync_timer_of_an_older_generation_does_nothing() -> None:
    """2.8: opening a round stops the timer and forgets who was awaited."""
    stage = scene(COMPLETING)
    stage.bench.join("c")
    assert stage.bench.snapshot().pending_sync == ()
    assert "sync-g" not in stage.bench.timers()


def test_ghost_of_a_replaced_member_causes_a_rebalance() -> None:
    """2.8: a static member replaced before its old id synced makes a healthy group rebalance when the timer fires."""
    stage = scene(COMPLETING, static=True)
    stage.bench.sync(stage.leader, 1, {}, instance="a")
    fresh = stage.bench.join("b", instance="b", version=9).joined.member_id
    stage.bench.sync(fresh, 1, instance="b")
    alive(stage, REBALANCE_MS - 10_000, stage.leader, fresh)
    assert stage.bench.state == STABLE
    alive(stage, 10_000, stage.leader, fresh)
    assert stage.bench.state == PREPARING
    assert causes(stage.bench)[-1] == "SYNC_EXPIRED"
    assert {m.member_id for m in stage.bench.snapshot().members} == {stage.leader, fresh}
