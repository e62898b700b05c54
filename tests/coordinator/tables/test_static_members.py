"""Static replacement: table J3 of JoinGroup, and what KIP-345 and KIP-814 leave behind."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.coordinator.base.records import GroupRecord, GroupValue, StoredMember
from groupsim.coordinator.testing import Bench
from groupsim.protocol.messages.group import SyncGroupResponse
from tests.helpers.tables_kit import (
    BOTH,
    CHANGED,
    COMPLETING,
    NEW_MEMBER_MS,
    PREPARING,
    ROUNDROBIN,
    SESSION_MS,
    STABLE,
    E,
    Scene,
    causes,
    describe,
    is_parked,
    offering,
    scene,
)


def restart(stage: Scene, who: str = "follower", **join: Any) -> Any:
    """The static member comes back without its member id."""
    instance = {"leader": "a", "follower": "b"}[who]
    return stage.bench.join(instance, instance=instance, **{"version": 9, **join})


# --- what every replacement does ---------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [pytest.param(s, id=f"J3-{s}-common") for s in (PREPARING, COMPLETING, STABLE)])
def test_replacement_gives_a_new_id_and_the_old_session(state: str) -> None:
    """J3: the instance gets a fresh id, is not new, keeps the assignment; its timer has the old session timeout."""
    stage = scene(state, static=True)
    held = stage.member(stage.follower).assignment
    restart(stage, session_ms=9_000, rebalance_ms=8_000)
    group = stage.bench.snapshot()
    (member,) = (m for m in group.members if m.instance_id == "b")
    assert member.member_id not in (stage.follower, stage.leader)
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (9_000, 8_000)
    assert not member.is_new
    assert member.assignment == held
    assert stage.deadline_ms(member.member_id) == SESSION_MS
    assert stage.follower not in [m.member_id for m in group.members]


def test_every_restart_gets_another_id() -> None:
    """J3: each rejoin without member id is given an id it never had before."""
    stage = scene(STABLE, static=True)
    ids = [restart(stage).joined.member_id for _ in range(3)]
    assert len({*ids, stage.follower}) == 4


def test_parked_join_of_the_old_id_is_fenced() -> None:
    """J3: the old id's parked JoinGroup is answered FENCED_INSTANCE_ID with the old id, no leader, no protocol."""
    stage = scene(PREPARING, static=True)
    old = stage.bench.join("b", member_id=stage.follower, instance="b")
    restart(stage)
    answer = old.joined
    assert (answer.error, answer.member_id, answer.leader) == (E.FENCED_INSTANCE_ID, stage.follower, "")
    assert (answer.protocol_name, answer.members) == (None, ())


def test_parked_sync_of_the_old_id_is_fenced() -> None:
    """J3: the old id's parked SyncGroup is answered FENCED_INSTANCE_ID without an assignment."""
    stage = scene(COMPLETING, static=True)
    old = stage.bench.sync(stage.follower, 1, instance="b")
    restart(stage)
    assert (old.synced.error, old.synced.assignment) == (E.FENCED_INSTANCE_ID, b"")


def test_leader_seat_moves_to_the_new_id() -> None:
    """J3: a returning leader's new id leads."""
    stage = scene(STABLE, static=True)
    fresh = restart(stage, "leader").joined.member_id
    assert stage.bench.snapshot().leader == fresh


def test_timer_of_the_old_id_fires_without_effect() -> None:
    """J3: the old id's session timer is not cancelled; when it fires nobody is removed."""
    stage = scene(STABLE, static=True)
    fresh = restart(stage).joined.member_id
    assert stage.deadline_ms(stage.follower) is not None
    for _ in range(4):
        stage.bench.advance_ms(15_000)
        for member, instance in ((stage.leader, "a"), (fresh, "b")):
            assert stage.bench.heartbeat(member, 1, instance=instance).error is E.NONE
    assert stage.deadline_ms(stage.follower) is None
    assert (stage.bench.state, len(stage.bench.snapshot().members)) == (STABLE, 2)


def test_pending_sync_keeps_the_old_id() -> None:
    """J3: `pendingSyncMembers` is not updated: the old id stays in it, the new one is not in it."""
    stage = scene(COMPLETING, static=True)
    plan = {stage.leader: b"l", stage.follower: b"f"}
    stage.bench.sync(stage.leader, 1, plan, instance="a")
    assert stage.bench.state == STABLE
    restart(stage)
    assert stage.bench.snapshot().pending_sync == (stage.follower,)


# --- Stable, the vote unchanged ----------------------------------------------------------------------------------

ANSWERS = [
    pytest.param("leader", 9, "NEW", 2, True, id="J3-Stable-quiet-leader-v9"),
    pytest.param("follower", 9, "LEADER", 0, False, id="J3-Stable-quiet-follower-v9"),
    pytest.param("leader", 8, "OLD", 0, False, id="J3-Stable-quiet-leader-v8"),
    pytest.param("leader", 5, "OLD", 0, False, id="J3-Stable-quiet-leader-v5"),
    pytest.param("follower", 8, "LEADER", 0, False, id="J3-Stable-quiet-follower-v8"),
]


@pytest.mark.parametrize(("who", "version", "leader", "members", "skip"), ANSWERS)
def test_quiet_replacement(who: str, version: int, leader: str, members: int, skip: bool) -> None:
    """J3: in Stable, same vote: no rebalance; from v9 a returning leader knows it leads, before it does not."""
    stage = scene(STABLE, static=True)
    old = getattr(stage, who)
    answer = restart(stage, who, version=version).joined
    named = {"NEW": answer.member_id, "OLD": old, "LEADER": stage.leader}[leader]
    assert (answer.error, answer.generation_id, answer.protocol_name) == (E.NONE, 1, "range")
    assert (answer.leader, len(answer.members), answer.skip_assignment) == (named, members, skip)
    assert stage.bench.state == STABLE


def test_quiet_replacement_answers_after_its_record_is_written() -> None:
    """J3: the answer leaves when the group's record, with the new id and every assignment, is committed."""
    stage = scene(STABLE, static=True)
    stage.bench.auto_commit = False
    sent = restart(stage)
    assert is_parked(sent)
    (append,) = stage.bench.in_flight
    (record,) = append.records
    assert isinstance(record, GroupRecord)
    assert record.value is not None
    written = {m.group_instance_id: (m.member_id, m.assignment) for m in record.value.members}
    stage.bench.commit()
    assert written == {
        "a": (stage.leader, stage.leader.encode()),
        "b": (sent.joined.member_id, stage.follower.encode()),
    }
    assert record.value.generation == 1


@pytest.mark.parametrize(
    ("which", "version", "answered"),
    [
        pytest.param("a", 9, False, id="J3-overtaken-leader-v9"),
        pytest.param("a", 8, True, id="J3-overtaken-leader-v8"),
        pytest.param("b", 9, True, id="J3-overtaken-follower-v9"),
    ],
)
def test_a_round_opens_while_a_replacement_is_written(which: str, version: int, answered: bool) -> None:
    """J3: a leader that returns with v9 gets no answer but the round's when one is open as its record is committed."""
    stage = scene(STABLE, static=True)
    stage.bench.auto_commit = False
    sent = stage.bench.join(which, instance=which, version=version)
    stage.bench.join("c", instance="c")
    assert stage.bench.state == PREPARING
    stage.bench.commit()
    assert is_parked(sent) is not answered


def test_state_without_a_time_is_written_so() -> None:
    """3.4: a record that does not say since when its state holds is followed by one that does not either."""
    member = StoredMember("m", "a", "a", "/h", 1_000, 60_000, b"", b"")
    made = Bench(records=[GroupRecord("g", GroupValue("consumer", 1, "range", "m", None, (member,)))])
    made.join("a", instance="a", version=9)
    record = made.log[-1]
    assert isinstance(record, GroupRecord)
    assert record.value is not None
    assert record.value.state_timestamp_us is None
    assert record.value.members[0].member_id != "m"


def test_quiet_replacement_ignores_changed_topics() -> None:
    """J3: no rebalance even if the returning member's metadata changed, as long as the vote does not."""
    stage = scene(STABLE, static=True)
    assert restart(stage, protocols=CHANGED).joined.error is E.NONE
    assert stage.bench.state == STABLE


def test_quiet_replacement_that_cannot_be_written_is_reverted() -> None:
    """J3: on a failed append id, protocols and timeouts are the old ones again; the answer has no id and the error."""
    stage = scene(STABLE, static=True)
    stage.bench.auto_commit = False
    before = stage.member(stage.leader)
    sent = restart(stage, "leader", protocols=CHANGED, session_ms=9_000, rebalance_ms=8_000)
    stage.bench.fail_append(E.NOT_ENOUGH_REPLICAS)
    answer = sent.joined
    assert (answer.error, answer.member_id) == (E.COORDINATOR_NOT_AVAILABLE, "")
    assert (answer.generation_id, answer.protocol_name, answer.leader) == (1, "range", stage.leader)
    after = stage.member(stage.leader)
    assert (after.session_timeout_ms, after.rebalance_timeout_ms, after.protocols) == (
        before.session_timeout_ms,
        before.rebalance_timeout_ms,
        before.protocols,
    )
    assert stage.bench.snapshot().leader == stage.leader
    assert stage.bench.join("a", member_id=stage.follower, instance="b").joined.error is E.NONE
    assert stage.bench.heartbeat(stage.leader, 1, instance="a").answered


def test_nothing_is_reverted_when_the_member_has_left_meanwhile() -> None:
    """J3: the append of a replacement fails after an operator removed the instance: it stays removed."""
    stage = scene(STABLE, static=True)
    stage.bench.auto_commit = False
    sent = restart(stage, "leader")
    stage.bench.remove_instances("a")
    stage.bench.fail_append(E.NOT_ENOUGH_REPLICAS)
    assert sent.answered
    assert {member.instance_id for member in stage.bench.snapshot().members} == {"b"}
    assert stage.bench.state == PREPARING


def test_protocols_of_one_that_has_left_meanwhile_are_taken_back_once_too_often() -> None:
    """J3: what the instance newly offered is counted off twice, so that a protocol of all members is nobody's."""
    stage = scene(STABLE, static=True, protocols=offering("range"))
    stage.bench.auto_commit = False
    restart(stage, "leader", protocols=BOTH)
    stage.bench.remove_instances("a")
    stage.bench.fail_append(E.NOT_ENOUGH_REPLICAS)
    again = stage.bench.join("b", member_id=stage.follower, instance="b", protocols=BOTH)
    assert again.joined.protocol_name == "range"
    assert stage.bench.join("c", instance="c", protocols=ROUNDROBIN).joined.error is E.INCONSISTENT_GROUP_PROTOCOL


# --- the other states --------------------------------------------------------------------------------------------


def test_replacement_that_changes_the_vote_rebalances() -> None:
    """J3: in Stable, if the vote would go to another protocol: parked, a round opens."""
    stage = scene(STABLE, static=True, protocols=BOTH)
    assert stage.bench.snapshot().protocol == "range"
    sent = restart(stage, protocols=ROUNDROBIN)
    assert is_parked(sent)
    assert stage.bench.state == PREPARING
    assert causes(stage.bench)[-1] == "STATIC_PROTOCOL"
    stage.bench.join("a", member_id=stage.leader, instance="a", protocols=BOTH)
    assert sent.joined.protocol_name == "roundrobin"


def test_replacement_with_other_names_but_the_same_vote_is_quiet() -> None:
    """J3: other protocols do not matter while the selected one stays."""
    stage = scene(STABLE, static=True, protocols=BOTH)
    assert restart(stage, protocols=offering("range", "sticky")).joined.error is E.NONE
    assert stage.bench.state == STABLE


@pytest.mark.parametrize("who", [pytest.param(w, id=f"J3-Completing-{w}") for w in ("leader", "follower")])
def test_replacement_while_completing_always_rebalances(who: str) -> None:
    """J3: in CompletingRebalance any replacement opens a round, and parked SyncGroups are sent back."""
    stage = scene(COMPLETING, static=True)
    other, instance = (stage.follower, "b") if who == "leader" else (stage.leader, "a")
    waiting = stage.bench.sync(stage.follower, 1, instance="b") if who == "leader" else None
    sent = restart(stage, who)
    assert is_parked(sent)
    assert stage.bench.state == PREPARING
    assert causes(stage.bench)[-1] == "STATIC_META"
    if waiting is not None:
        assert isinstance(waiting.response, SyncGroupResponse)
        assert waiting.error is E.REBALANCE_IN_PROGRESS
    stage.bench.join(instance, member_id=other, instance=instance)
    assert sent.joined.generation_id == 2


def test_replacement_while_preparing_joins_the_round() -> None:
    """J3: in PreparingRebalance the returning member is parked and counts as joined."""
    stage = scene(PREPARING, static=True)
    sent = restart(stage)
    assert is_parked(sent)
    stage.bench.join("a", member_id=stage.leader, instance="a")
    assert sent.joined.generation_id == 2
    assert stage.bench.state == COMPLETING


# --- static members in rounds ------------------------------------------------------------------------------------


def test_first_static_member_needs_no_handshake() -> None:
    """A static member as the group's first member is parked at once and leads."""
    stage = scene("Empty")
    assert is_parked(stage.bench.join("x", instance="i", version=9))
    assert stage.bench.snapshot().leader == stage.bench.snapshot().members[0].member_id


def test_absent_static_member_survives_the_round_and_loses_the_lead() -> None:
    """A static leader that misses the rebalance timeout stays a member; the first who joined leads instead."""
    stage = scene(STABLE, static=True)
    sent = stage.bench.join("b", member_id=stage.follower, instance="b", protocols=CHANGED)
    for _ in range(20):  # the absent leader's process still heartbeats
        stage.bench.advance_ms(15_000)
        stage.bench.heartbeat(stage.leader, 1, instance="a")
    assert sent.joined.generation_id == 2
    assert sent.joined.leader == stage.follower
    assert {m.instance_id for m in stage.bench.snapshot().members} == {"a", "b"}
    assert len(sent.joined.members) == 2


def test_absent_static_member_gets_an_assignment_and_a_fresh_session() -> None:
    """An absent static member's session begins anew at completion, it is awaited for SyncGroup and is assigned."""
    stage = scene(STABLE, static=True)
    stage.bench.join("b", member_id=stage.follower, instance="b", protocols=CHANGED)
    for _ in range(20):
        stage.bench.advance_ms(15_000)
        stage.bench.heartbeat(stage.leader, 1, instance="a")
    assert stage.bench.state == COMPLETING
    assert stage.deadline_ms(stage.leader) == SESSION_MS
    assert stage.leader in stage.bench.snapshot().pending_sync
    stage.bench.sync(stage.follower, 2, {stage.leader: b"kept", stage.follower: b"mine"}, instance="b")
    assert stage.member(stage.leader).assignment == b"kept"


def test_returning_static_leader_does_not_lead_again() -> None:
    """Once another member leads, a static member that comes back does not take the lead."""
    stage = scene(STABLE, static=True)
    stage.bench.join("b", member_id=stage.follower, instance="b", protocols=CHANGED)
    for _ in range(20):
        stage.bench.advance_ms(15_000)
        stage.bench.heartbeat(stage.leader, 1, instance="a")
    stage.bench.sync(stage.follower, 2, {}, instance="b")
    answer = restart(stage, "leader").joined
    assert (answer.leader, answer.skip_assignment) == (stage.follower, False)


def test_newcomer_with_an_instance_is_new() -> None:
    """A static newcomer has the five-minute timer, unlike a replacement."""
    stage = scene(STABLE, static=True)
    stage.bench.join("c", instance="c", version=9)
    (fresh,) = (m for m in stage.bench.snapshot().members if m.instance_id == "c")
    assert stage.deadline_ms(fresh.member_id) == NEW_MEMBER_MS


def test_describe_shows_the_replaced_member() -> None:
    """DescribeGroups shows the instance under its new id, with its old assignment."""
    stage = scene(STABLE, static=True)
    fresh = restart(stage).joined.member_id
    (member,) = (m for m in describe(stage.bench).members if m.group_instance_id == "b")
    assert (member.member_id, member.assignment) == (fresh, stage.follower.encode())
