"""The coordinator's life: event model and writes (2.11, 3.2), unload (3.3), records (3.4), fail-over (3.5)."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.coordinator.base.failures import append_error, operation_error
from groupsim.coordinator.base.records import GroupRecord, GroupValue, OffsetRecord, StoredMember
from groupsim.coordinator.testing import Bench, committed, left, offsets_of
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    HeartbeatRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartition,
)
from tests.helpers.tables_kit import (
    BOTH,
    CHANGED,
    COMPLETING,
    DEAD,
    EMPTY,
    PREPARING,
    ROUNDROBIN,
    SESSION_MS,
    STABLE,
    E,
    Scene,
    bench,
    describe,
    is_parked,
    listed,
    scene,
    subscribed,
)

T0 = TopicPartition("t", 0)


def in_flight(stage: Scene) -> Bench:
    """The same group with one foreign append under way."""
    stage.bench.auto_commit = False
    stage.bench.commit_offset(1, group="other")
    return stage.bench


# --- 3.2 when answers leave --------------------------------------------------------------------------------------


def wait_cases() -> list[Any]:
    """Requests of a Stable group's follower, and whether the answer waits for what is under way."""
    return [
        pytest.param(lambda b, m: b.heartbeat(m, 1), True, id="3.2-heartbeat-waits"),
        pytest.param(lambda b, m: b.leave(m), True, id="3.2-leave-waits"),
        pytest.param(lambda b, m: b.fetch_offsets(T0), True, id="3.2-stable-fetch-waits"),
        pytest.param(lambda b, m: b.commit_offset(2, member_id=m, generation=1), True, id="3.2-commit-waits"),
        pytest.param(lambda b, m: b.send(OffsetDeleteRequest("g", (T0,))), True, id="3.2-offset-delete-waits"),
        pytest.param(lambda b, m: b.join(member_id=m), False, id="3.2-join-at-once"),
        pytest.param(lambda b, m: b.sync(m, 1), False, id="3.2-stable-sync-at-once"),
        pytest.param(lambda b, m: b.fetch_offsets(T0, stable=False), False, id="3.2-plain-fetch-at-once"),
        pytest.param(lambda b, m: b.heartbeat(m, 7), False, id="3.2-heartbeat-error-at-once"),
        pytest.param(lambda b, m: b.sync(m, 7), False, id="3.2-sync-error-at-once"),
        pytest.param(lambda b, m: b.commit_offset(2, member_id=m, generation=7), False, id="3.2-commit-error-at-once"),
    ]


@pytest.mark.parametrize(("send", "waits"), wait_cases())
def test_which_answers_wait(send: Any, waits: bool) -> None:
    """3.2: heartbeat, leave, stable fetch and writes wait for the shard's earlier appends; the rest does not."""
    stage = scene(STABLE)
    sent = send(in_flight(stage), stage.follower)
    assert sent.answered is not waits
    stage.bench.commit()
    assert sent.answered


def test_delete_groups_waits_for_its_tombstones() -> None:
    """3.2: DeleteGroups is answered when the tombstones are committed."""
    made = scene(EMPTY).bench
    made.auto_commit = False
    sent = made.send(DeleteGroupsRequest(("g",)))
    assert not sent.answered
    made.commit()
    assert sent.response.results == (("g", E.NONE),)  # type: ignore[union-attr]


def test_waiting_heartbeat_has_prolonged_the_session() -> None:
    """3.2: a heartbeat whose answer waits has moved its session at once."""
    stage = scene(STABLE)
    stage.bench.advance_ms(2_000)
    sent = in_flight(stage).heartbeat(stage.follower, 1)
    assert not sent.answered
    assert stage.deadline_ms(stage.follower) == SESSION_MS


def test_answers_leave_in_the_order_of_the_appends() -> None:
    """3.2: an answer leaves with the append that was the newest when it was made."""
    made = bench(auto_commit=False)
    first = made.commit_offset(1)
    second = made.commit_offset(2)
    made.commit(1)
    assert (first.answered, second.answered) == (True, False)
    made.commit(1)
    assert second.answered


# --- 2.11, 3.2 failed and slow writes ----------------------------------------------------------------------------

MAPPED = [
    pytest.param(E.UNKNOWN_TOPIC_OR_PARTITION, E.COORDINATOR_NOT_AVAILABLE, id="1.2-append-unknown-topic"),
    pytest.param(E.NOT_ENOUGH_REPLICAS, E.COORDINATOR_NOT_AVAILABLE, id="1.2-append-replicas"),
    pytest.param(E.REQUEST_TIMED_OUT, E.COORDINATOR_NOT_AVAILABLE, id="1.2-append-timeout"),
    pytest.param(E.NOT_LEADER_OR_FOLLOWER, E.NOT_COORDINATOR, id="1.2-append-not-leader"),
    pytest.param(E.KAFKA_STORAGE_ERROR, E.NOT_COORDINATOR, id="1.2-append-storage"),
    pytest.param(E.MESSAGE_TOO_LARGE, E.UNKNOWN_SERVER_ERROR, id="1.2-append-message-size"),
    pytest.param(E.RECORD_LIST_TOO_LARGE, E.UNKNOWN_SERVER_ERROR, id="1.2-append-batch-size"),
]


@pytest.mark.parametrize(("error", "told"), MAPPED)
def test_append_errors_are_mapped(error: E, told: E) -> None:
    """1.2: what clients are told of a failed append; OffsetFetch says NOT_COORDINATOR for the retriable ones."""
    assert append_error(error) is told
    assert operation_error(HeartbeatRequest("g", 1, "m"), error) is told
    fetch = E.NOT_COORDINATOR if told is E.COORDINATOR_NOT_AVAILABLE else told
    assert operation_error(OffsetFetchRequest("g"), error) is fetch
    made = bench(auto_commit=False)
    sent = made.commit_offset(1)
    made.fail_append(error)
    assert committed(sent) == [told]


def test_network_error_means_loading_for_operations_only() -> None:
    """1.2: NETWORK_EXCEPTION is told as COORDINATOR_LOAD_IN_PROGRESS by operations, not by the group's own writes."""
    assert operation_error(HeartbeatRequest("g", 1, "m"), E.NETWORK_EXCEPTION) is E.COORDINATOR_LOAD_IN_PROGRESS
    assert append_error(E.NETWORK_EXCEPTION) is E.NETWORK_EXCEPTION


def test_failed_delete_brings_the_group_back() -> None:
    """2.11: a tombstone that cannot be written fails the request and the group is there again."""
    made = scene(EMPTY).bench
    made.auto_commit = False
    sent = made.send(DeleteGroupsRequest(("g",)))
    made.fail_append()
    assert sent.response.results == (("g", E.COORDINATOR_NOT_AVAILABLE),)  # type: ignore[union-attr]
    assert made.state == EMPTY


def test_what_is_not_written() -> None:
    """2.11: joins, completed rounds, departures with others left, pending ids and heartbeats write nothing."""
    stage = scene(STABLE)
    written = len(stage.bench.log)
    stage.bench.join("x", version=4)
    stage.bench.join("c")
    stage.bench.heartbeat(stage.leader, 1)
    stage.bench.leave(stage.follower)
    stage.bench.join(member_id=stage.leader)
    stage.bench.advance_ms(SESSION_MS)
    assert stage.bench.state == COMPLETING
    assert len(stage.bench.log) == written


def test_write_timeout_answers_without_undoing() -> None:
    """3.2: after offsets.commit.timeout.ms the sender hears COORDINATOR_NOT_AVAILABLE; the record may still commit."""
    made = bench(auto_commit=False)
    sent = made.commit_offset(5)
    made.advance_ms(4_999)
    assert not sent.answered
    made.advance_ms(1)
    assert committed(sent) == [E.COORDINATOR_NOT_AVAILABLE]
    made.commit()
    assert offsets_of(made.fetch_offsets(T0, stable=False)) == {T0: 5}
    assert len(sent.responses) == 1


def test_write_timeout_of_the_leaders_assignment() -> None:
    """3.2: a leader's assignment that is not replicated in time counts as failed: a new round."""
    stage = scene(COMPLETING)
    stage.bench.auto_commit = False
    sent = stage.bench.sync(stage.leader, 1, {})
    stage.bench.advance_ms(5_000)
    assert sent.synced.error is E.COORDINATOR_NOT_AVAILABLE
    assert stage.bench.state == PREPARING
    stage.bench.commit()
    assert stage.bench.state == PREPARING


# --- 3.3 unload --------------------------------------------------------------------------------------------------


def unload(made: Bench) -> None:
    """Give the partition up."""
    made.carry_out(made.shard.unload(made.now_us))


def test_unload_answers_parked_joins() -> None:
    """3.3: in PreparingRebalance every parked JoinGroup is answered NOT_COORDINATOR with its member id."""
    stage = scene(PREPARING)
    sent = stage.bench.join(member_id=stage.leader)
    unload(stage.bench)
    assert (sent.joined.error, sent.joined.member_id) == (E.NOT_COORDINATOR, stage.leader)
    assert stage.bench.state == DEAD


def test_unload_answers_parked_syncs() -> None:
    """3.3: in CompletingRebalance every parked SyncGroup is answered NOT_COORDINATOR."""
    stage = scene(COMPLETING)
    sent = stage.bench.sync(stage.follower, 1)
    unload(stage.bench)
    assert sent.synced.error is E.NOT_COORDINATOR


def test_unload_fails_what_waits_for_the_log_first() -> None:
    """3.3: waiting answers fail NOT_COORDINATOR; a leader's append under way tells all parked syncs the same."""
    stage = scene(COMPLETING)
    stage.bench.auto_commit = False
    syncs = [stage.bench.sync(one, 1, {} if one == stage.leader else None) for one in (stage.follower, stage.leader)]
    beat = stage.bench.heartbeat(stage.follower, 1)
    unload(stage.bench)
    assert [one.synced.error for one in syncs] == [E.NOT_COORDINATOR, E.NOT_COORDINATOR]
    assert beat.error is E.NOT_COORDINATOR
    assert [(to, cause) for _, to, cause in stage.bench.states()][-2:] == [
        (PREPARING, "STORE_ERROR"),
        (DEAD, "UNLOADED"),
    ]


def test_unload_fails_a_waiting_static_replacement() -> None:
    """3.3: a static replacement whose record is under way is answered NOT_COORDINATOR."""
    stage = scene(STABLE, static=True)
    stage.bench.auto_commit = False
    sent = stage.bench.join("b", instance="b", version=9)
    unload(stage.bench)
    assert sent.joined.error is E.NOT_COORDINATOR


# --- 3.4 records -------------------------------------------------------------------------------------------------


def test_group_record_fields() -> None:
    """3.4: type, generation, protocol, leader, time of the state; of each member the chosen metadata alone."""
    made = bench()
    made.join("a", instance="i", protocols=(*subscribed("t"), *ROUNDROBIN), session_ms=9_000, rebalance_ms=8_000)
    made.finish_round()
    made.sync("i-1", 1, {"i-1": b"plan"}, instance="i")
    (metadata,) = (p.metadata for p in subscribed("t"))
    member = StoredMember("i-1", "i", "a", "/127.0.0.1", 8_000, 9_000, metadata, b"plan")
    assert made.log[-1] == GroupRecord("g", GroupValue("consumer", 1, "range", "i-1", 3_000_000, (member,)))


def test_restored_group_equals_its_record() -> None:
    """3.4: members, ids, timeouts, assignments, leader, protocol and the time of the state come back."""
    stage = scene(STABLE, static=True, protocols=subscribed("t"))
    before, after = stage.bench.snapshot(), stage.bench.fail_over().snapshot()
    assert [evolved(m) for m in after.members] == [evolved(m) for m in before.members]
    assert (after.generation, after.protocol_type, after.protocol, after.leader, after.subscribed) == (
        before.generation,
        before.protocol_type,
        before.protocol,
        before.leader,
        before.subscribed,
    )


def evolved(member: Any) -> tuple[Any, ...]:
    """A member without what a fail-over changes."""
    return (
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        member.assignment,
    )


def test_tombstones_on_the_log_are_obeyed() -> None:
    """3.4: a null value deletes: neither group nor offsets come back."""
    made = scene(EMPTY).bench
    made.commit_offset(5)
    made.send(DeleteGroupsRequest(("g",)))
    assert [r for r in made.log if isinstance(r, OffsetRecord)][-1].value is None
    after = made.fail_over()
    assert after.shard.snapshot("g") is None
    assert offsets_of(after.fetch_offsets(T0)) == {T0: -1}


# --- 3.5 what survives -------------------------------------------------------------------------------------------


def test_stable_group_moves_without_a_rebalance() -> None:
    """3.5: a Stable group is Stable at the next coordinator; heartbeats of its generation are good there."""
    stage = scene(STABLE)
    after = stage.bench.fail_over()
    assert (after.state, after.snapshot().previous_state) == (STABLE, DEAD)
    assert after.heartbeat(stage.leader, 1).error is E.NONE
    assert after.sync(stage.follower, 1).synced.assignment == stage.follower.encode()


def test_sessions_begin_anew() -> None:
    """3.5: the elapsed part of sessions is lost: every member has its full session timeout from the load."""
    stage = scene(STABLE)
    stage.bench.advance_ms(30_000)
    after = stage.bench.fail_over()
    assert set(after.timers().values()) >= {SESSION_MS}
    after.advance_ms(SESSION_MS - 1)
    assert after.state == STABLE
    after.advance_ms(1)
    assert after.state == EMPTY or after.state == PREPARING


def test_pending_ids_are_lost() -> None:
    """3.5: a pending id is unknown to the next coordinator."""
    stage = scene(STABLE)
    fresh = stage.bench.join("x", version=4).joined.member_id
    assert stage.bench.fail_over().join("x", member_id=fresh, version=4).error is E.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "state", [pytest.param(PREPARING, id="3.5-Preparing"), pytest.param(COMPLETING, id="3.5-Completing")]
)
def test_rebalance_under_way_is_lost(state: str) -> None:
    """3.5: the group comes back Stable at the last written generation, with its members, and no round's timers."""
    stage = scene(PREPARING)
    if state == COMPLETING:
        for one in (stage.leader, stage.follower):
            stage.bench.join(member_id=one)
        assert stage.bench.snapshot().generation == 2
    after = stage.bench.fail_over()
    group = after.snapshot()
    assert (group.state, group.generation) == (STABLE, 1)
    assert {m.member_id for m in group.members} == {stage.leader, stage.follower}
    assert {t.name.split("-")[0] for t in group.timers} == {"heartbeat"}
    assert not group.parked


def test_generation_is_used_again() -> None:
    """3.5: who got N+1 is told ILLEGAL_GENERATION or UNKNOWN_MEMBER_ID; the next round is N+1 again."""
    stage = scene(PREPARING)
    sent = [stage.bench.join(member_id=one) for one in (stage.leader, stage.follower)]
    assert sent[0].joined.generation_id == 2
    newcomer = next(m.member_id for m in stage.bench.snapshot().members if m.client_id == "c")
    after = stage.bench.fail_over()
    assert after.heartbeat(stage.leader, 2).error is E.ILLEGAL_GENERATION
    assert after.heartbeat(newcomer, 2).error is E.UNKNOWN_MEMBER_ID
    again = [after.join(member_id=one) for one in (stage.leader, stage.follower)]
    assert {one.joined.generation_id for one in again} == {2}


def test_never_persisted_beyond_its_creation() -> None:
    """3.5: a group whose first round was never written comes back Empty, generation 0."""
    made = bench()
    made.join("a")
    made.finish_round()
    after = made.fail_over()
    assert (after.state, after.snapshot().generation) == (EMPTY, 0)


def test_protocol_collapse_makes_followers_rebalance() -> None:
    """3.5: restored members support the selected protocol alone: a follower's unchanged list opens a round."""
    stage = scene(STABLE, protocols=BOTH)
    after = stage.bench.fail_over()
    assert after.snapshot().member(stage.follower).protocols == ("range",)
    assert is_parked(after.join(member_id=stage.follower, protocols=BOTH))
    assert after.state == PREPARING


def test_protocol_collapse_refuses_newcomers_until_members_rejoin() -> None:
    """3.5: a newcomer with a non-selected protocol only is refused, until the members have joined again."""
    stage = scene(STABLE, protocols=BOTH)
    after = stage.bench.fail_over()
    assert after.join("x", protocols=ROUNDROBIN).error is E.INCONSISTENT_GROUP_PROTOCOL
    for one in (stage.leader, stage.follower):
        after.join(member_id=one, protocols=BOTH)
    assert is_parked(after.join("x", protocols=ROUNDROBIN))


def test_ghost_members_of_a_group_that_was_empty_unwritten() -> None:
    """3.5: if the Empty record was not written the members come back as ghosts and go at their session timeout."""
    stage = scene(STABLE)
    stage.bench.auto_commit = False
    stage.bench.leave(stage.leader, stage.follower)
    after = stage.bench.fail_over()
    assert (after.state, len(after.snapshot().members)) == (STABLE, 2)
    after.auto_commit = True
    after.advance_ms(SESSION_MS)
    after.finish_round()
    assert after.state == EMPTY


def test_uncommitted_tail_counts_when_it_is_on_the_log() -> None:
    """3.3: the load reads to the log's end, uncommitted tail included."""
    stage = scene(COMPLETING)
    stage.bench.auto_commit = False
    stage.bench.sync(stage.leader, 1, {stage.follower: b"f"})
    after = stage.bench.fail_over(committed_only=False)
    assert (after.state, after.snapshot().generation) == (STABLE, 1)


def test_simple_group_is_there_while_a_commit_is_on_the_log() -> None:
    """3.5: a simple group is made of the commits on the log, deleted or not, until its own tombstone."""
    made = bench()
    made.commit_offset(5)
    after = made.fail_over()
    assert listed(after) == [("g", "", EMPTY)]
    after.send(OffsetDeleteRequest("g", (T0,)))
    again = after.fail_over()
    assert listed(again) == [("g", "", EMPTY)]
    again.send(DeleteGroupsRequest(("g",)))
    assert listed(again.fail_over()) == []


def test_flags_are_lost() -> None:
    """3.5: `newMemberAdded` and `isNew` do not survive."""
    made = bench()
    made.join("a")
    made.join("b")
    assert made.snapshot().new_member_added
    made.finish_round()
    made.assign()
    after = made.fail_over().snapshot()
    assert not after.new_member_added
    assert not any(m.is_new for m in after.members)


def test_metadata_after_a_fail_over_is_described() -> None:
    """3.5: DescribeGroups at the next coordinator shows the selected protocol's metadata and the assignments."""
    stage = scene(STABLE, protocols=CHANGED)
    after = stage.bench.fail_over()
    found = describe(after)
    assert {(m.metadata, m.assignment) for m in found.members} == {
        (b"changed", stage.leader.encode()),
        (b"changed", stage.follower.encode()),
    }
    assert left(after.leave(stage.leader)) == [E.NONE]
