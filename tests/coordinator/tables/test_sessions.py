"""Sessions and heartbeats (2.9), pending member ids (2.7), timers (2.13)."""

from __future__ import annotations

import pytest

from groupsim.coordinator.testing import GROUP, committed
from groupsim.eventloop.trace.events import Kind
from tests.helpers.tables_kit import (
    BOTH,
    COMPLETING,
    EMPTY,
    LIVE,
    NEW_MEMBER_MS,
    PREPARING,
    SESSION_MS,
    STABLE,
    E,
    bench,
    causes,
    describe,
    is_parked,
    scene,
)

# --- 2.7 pending ids ---------------------------------------------------------------------------------------------


def test_pending_id_is_no_member() -> None:
    """2.7: not in the member map, not described; heartbeat, sync and commit are answered UNKNOWN_MEMBER_ID."""
    stage = scene(STABLE)
    fresh = stage.bench.join("x", version=4).joined.member_id
    assert fresh not in [m.member_id for m in describe(stage.bench).members]
    assert stage.bench.heartbeat(fresh, 1).error is E.UNKNOWN_MEMBER_ID
    assert stage.bench.sync(fresh, 1).error is E.UNKNOWN_MEMBER_ID
    assert committed(stage.bench.commit_offset(1, member_id=fresh, generation=1)) == [E.UNKNOWN_MEMBER_ID]


def test_pending_id_does_not_open_a_round() -> None:
    """2.7: in Stable only the second JoinGroup starts a rebalance."""
    stage = scene(STABLE)
    fresh = stage.bench.join("x", version=4).joined.member_id
    assert stage.bench.state == STABLE
    stage.bench.join("x", member_id=fresh, version=4)
    assert stage.bench.state == PREPARING


@pytest.mark.parametrize(
    "end", [pytest.param(e, id=f"2.7-round-waits-until-{e}") for e in ("joins", "leaves", "expires")]
)
def test_a_round_waits_for_a_pending_id(end: str) -> None:
    """2.7: a round does not close early while an id is pending: until it joins, leaves or its session runs out."""
    stage = scene(STABLE)
    fresh = stage.bench.join("x", version=4, session_ms=20_000).joined.member_id
    sent = [stage.bench.join(member_id=one) for one in (stage.leader, stage.follower)]
    assert all(is_parked(one) for one in sent)
    if end == "joins":
        stage.bench.join("x", member_id=fresh, version=4)
    elif end == "leaves":
        stage.bench.leave(fresh)
    else:
        stage.bench.advance_ms(19_999)
        assert is_parked(sent[0])
        stage.bench.advance_ms(1)
    assert sent[0].joined.generation_id == 2
    assert len(stage.bench.snapshot().members) == (3 if end == "joins" else 2)


def test_abandoned_pending_id_stalls_for_its_session_timeout() -> None:
    """2.7: a client that dies between its two requests holds the rebalance up for its session timeout: 45 s."""
    stage = scene(STABLE)
    stage.bench.join("x", version=4)
    sent = [stage.bench.join(member_id=one) for one in (stage.leader, stage.follower)]
    stage.bench.advance_ms(SESSION_MS - 1)
    assert is_parked(sent[0])
    stage.bench.advance_ms(1)
    assert sent[0].joined.generation_id == 2


def test_pending_id_expires_from_the_request() -> None:
    """2.7: its timer is the session timeout from the request that got the id; afterwards the id is unknown."""
    stage = scene(EMPTY)
    fresh = stage.bench.join("x", version=4, session_ms=10_000).joined.member_id
    stage.bench.advance_ms(10_000)
    assert stage.bench.snapshot().pending_join == ()
    assert stage.bench.join("x", member_id=fresh, version=4).error is E.UNKNOWN_MEMBER_ID


def test_only_pending_ids_left() -> None:
    """2.7: when the last real member goes the rebalance timeout is 0: the join timer fires at once, Empty."""
    made = bench()
    (only,) = made.stable("a")
    pending = made.join("x", version=4).joined.member_id
    made.leave(only)
    assert made.timers()[f"join-{GROUP}"] == 0
    made.advance_ms(0)
    group = made.snapshot()
    assert (group.state, group.generation, group.pending_join) == (EMPTY, 2, (pending,))


# --- 2.9 what moves a session ------------------------------------------------------------------------------------


def test_new_member_has_five_minutes_until_the_round_closes() -> None:
    """2.9: 300 000 ms at first, whatever its session timeout; the session timeout from completion on."""
    stage = scene(PREPARING)
    (new,) = (m for m in stage.bench.snapshot().members if m.is_new)
    assert stage.deadline_ms(new.member_id) == NEW_MEMBER_MS
    for one in (stage.leader, stage.follower):
        stage.bench.join(member_id=one)
    assert stage.deadline_ms(new.member_id) == SESSION_MS


def test_new_timeout_takes_effect_with_the_next_heartbeat() -> None:
    """2.9: JoinGroup of a known member moves no timer; the timeout it brings counts from the next refresh on."""
    stage = scene(PREPARING)
    stage.bench.join(member_id=stage.leader, session_ms=60_000)
    assert stage.deadline_ms(stage.leader) == SESSION_MS
    stage.bench.heartbeat(stage.leader, 1)
    assert stage.deadline_ms(stage.leader) == 60_000


def test_answers_given_at_once_move_nothing() -> None:
    """2.9: neither a JoinGroup answered at once nor a SyncGroup in Stable nor an OffsetFetch moves a session."""
    stage = scene(STABLE)
    stage.bench.advance_ms(10_000)
    stage.bench.join(member_id=stage.follower)
    stage.bench.sync(stage.follower, 1)
    stage.bench.fetch_offsets()
    assert stage.deadline_ms(stage.follower) == SESSION_MS - 10_000


# --- 2.9 expiry --------------------------------------------------------------------------------------------------

EXPIRES = [
    pytest.param(STABLE, PREPARING, id="2.9-Stable-expiry"),
    pytest.param(COMPLETING, PREPARING, id="2.9-Completing-expiry"),
]


@pytest.mark.parametrize(("state", "after"), EXPIRES)
@pytest.mark.parametrize(
    "static", [pytest.param(False, id="2.9-dynamic-expires"), pytest.param(True, id="2.9-static-expires")]
)
def test_silence_removes_a_member(state: str, after: str, static: bool) -> None:
    """2.9: at its session timeout a silent member is removed and a round opens; static members expire like others."""
    stage = scene(state, static=static)
    stage.bench.advance_ms(SESSION_MS - 1)
    stage.bench.heartbeat(stage.follower, 1)
    assert stage.bench.state == state
    stage.bench.advance_ms(1)
    assert stage.bench.state == after
    assert causes(stage.bench)[-1] == "HEARTBEAT_EXPIRED"
    assert [m.member_id for m in stage.bench.snapshot().members] == [stage.follower]
    assert stage.bench.snapshot().leader == stage.follower
    reason = next(n.reason for n in reversed(stage.bench.emitted) if n.kind is Kind.GROUP_STATE)
    assert reason == f"removing member {stage.leader} on heartbeat expiration."


def test_silence_while_preparing() -> None:
    """2.9: who neither joins nor heartbeats is removed at its session timeout, and that can close the round."""
    stage = scene(PREPARING)
    sent = stage.bench.join(member_id=stage.leader)
    stage.bench.advance_ms(SESSION_MS)
    assert stage.follower not in [m.member_id for m in stage.bench.snapshot().members]
    assert sent.joined.generation_id == 2


def test_parked_join_excuses_a_member_without_a_new_timer() -> None:
    """2.9: a member awaiting its JoinGroup is excused; the timer that fired is not set again until it is answered."""
    stage = scene(PREPARING)
    sent = stage.bench.join(member_id=stage.leader)
    for _ in range(3):
        stage.bench.advance_ms(30_000)
        stage.bench.heartbeat(stage.follower, 1)
    assert is_parked(sent)
    assert stage.deadline_ms(stage.leader) is None
    stage.bench.join(member_id=stage.follower)
    assert stage.deadline_ms(stage.leader) == SESSION_MS


def test_parked_sync_excuses_a_member() -> None:
    """2.9: so is a member awaiting its SyncGroup."""
    stage = scene(COMPLETING)
    waiting = stage.bench.sync(stage.follower, 1)
    for _ in range(3):
        stage.bench.advance_ms(30_000)
        stage.bench.heartbeat(stage.leader, 1)
    assert is_parked(waiting)
    assert stage.deadline_ms(stage.follower) is None
    stage.bench.sync(stage.leader, 1, {})
    assert waiting.synced.error is E.NONE
    assert stage.deadline_ms(stage.follower) == SESSION_MS


def test_new_member_is_never_excused() -> None:
    """2.9: a new member's parked JoinGroup is answered UNKNOWN_MEMBER_ID after five minutes, and it is removed."""
    made = bench()
    made.stable("a", rebalance_ms=900_000)
    sent = made.join("b", rebalance_ms=900_000)
    for _ in range(10):
        made.advance_ms(29_999)
        made.heartbeat("a-1", 1)
    assert is_parked(sent)
    made.advance_ms(10)
    assert (sent.joined.error, sent.joined.member_id) == (E.UNKNOWN_MEMBER_ID, "")
    assert [m.member_id for m in made.snapshot().members] == ["a-1"]


def test_new_members_timer_ends_with_the_round() -> None:
    """2.9: once its first round has closed the five minutes are over; a silent member goes at its session timeout."""
    made = bench()
    made.join("a")
    made.finish_round()
    made.advance_ms(SESSION_MS)
    assert (made.state, made.snapshot().members) == (EMPTY, ())


def test_expired_member_is_unknown() -> None:
    """2.9: whatever an expelled member sends next is answered UNKNOWN_MEMBER_ID."""
    stage = scene(STABLE)
    stage.bench.advance_ms(SESSION_MS - 1)
    stage.bench.heartbeat(stage.follower, 1)
    stage.bench.advance_ms(1)
    assert stage.bench.heartbeat(stage.leader, 1).error is E.UNKNOWN_MEMBER_ID
    assert stage.bench.join(member_id=stage.leader).error is E.UNKNOWN_MEMBER_ID


# --- 2.13 timers -------------------------------------------------------------------------------------------------


def test_names_of_the_timers() -> None:
    """2.13: heartbeat-<group>-<member>, join-<group>, sync-<group>."""
    stage = scene(PREPARING)
    assert {f"heartbeat-{GROUP}-{stage.leader}", f"join-{GROUP}"} <= set(stage.bench.timers())
    assert f"sync-{GROUP}" in scene(COMPLETING).bench.timers()


def test_setting_a_timer_again_replaces_it() -> None:
    """2.13: a moved timer fires once, at its last deadline."""
    stage = scene(STABLE, protocols=BOTH)
    for _ in range(6):
        stage.bench.advance_ms(10_000)
        for one in (stage.leader, stage.follower):
            stage.bench.heartbeat(one, 1)
    assert (stage.bench.state, stage.deadline_ms(stage.leader)) == (STABLE, SESSION_MS)


@pytest.mark.parametrize("state", LIVE)
def test_no_timer_outlives_the_partition(state: str) -> None:
    """2.13: all timers are cancelled on unload."""
    made = scene(state).bench
    made.carry_out(made.shard.unload(made.now_us))
    assert made.timers() == {}


def test_order_within_an_instant() -> None:
    """2.13: what is due in the same instant fires in the order in which it was set."""
    made = bench()
    made.stable("a", "b", "c")
    for one in ("c-3", "a-1", "b-2"):
        made.heartbeat(one, 1)
    made.advance_ms(SESSION_MS)
    gone = [note.member_id for note in made.emitted if note.kind is Kind.MEMBER_REMOVED]
    assert gone == ["c-3", "a-1", "b-2"]
