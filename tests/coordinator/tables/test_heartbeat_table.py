"""Heartbeat: table 1.5."""

from __future__ import annotations

import pytest

from tests.helpers.tables_kit import COMPLETING, DEAD, EMPTY, LIVE, PREPARING, SESSION_MS, STABLE, E, bench, scene


def test_unknown_group() -> None:
    """1.5: no such group: UNKNOWN_MEMBER_ID."""
    assert bench().heartbeat("x", 1).error is E.UNKNOWN_MEMBER_ID


def test_dead_group() -> None:
    """1.5: Dead: COORDINATOR_NOT_AVAILABLE."""
    stage = scene(DEAD)
    assert stage.bench.heartbeat(stage.leader, 1).error is E.COORDINATOR_NOT_AVAILABLE


def test_empty_group() -> None:
    """1.5: Empty has no members: UNKNOWN_MEMBER_ID."""
    assert scene(EMPTY).bench.heartbeat("a-1", 2).error is E.UNKNOWN_MEMBER_ID


STRANGERS = [
    pytest.param("ghost", None, E.UNKNOWN_MEMBER_ID, id="1.5-unknown-id"),
    pytest.param("PENDING", None, E.UNKNOWN_MEMBER_ID, id="1.5-pending-id"),
    pytest.param("LEADER", "nobody", E.UNKNOWN_MEMBER_ID, id="1.5-instance-unknown"),
    pytest.param("LEADER", "b", E.FENCED_INSTANCE_ID, id="1.5-fenced"),
]


@pytest.mark.parametrize(("member_id", "instance", "error"), STRANGERS)
@pytest.mark.parametrize("state", LIVE)
@pytest.mark.parametrize("generation", [1, 7])
def test_not_a_member(state: str, member_id: str, instance: str | None, error: E, generation: int) -> None:
    """1.5: who is not a member hears so before the generation is looked at."""
    stage = scene(state, static=True)
    given = stage.id_of(member_id)
    assert stage.bench.heartbeat(given, generation, instance=instance).error is error


@pytest.mark.parametrize("state", [pytest.param(s, id=f"1.5-{s}-generation") for s in LIVE])
@pytest.mark.parametrize("generation", [-1, 0, 2])
def test_wrong_generation(state: str, generation: int) -> None:
    """1.5: another generation: ILLEGAL_GENERATION, and the session is not prolonged."""
    stage = scene(state)
    stage.bench.advance_ms(10_000)
    assert stage.bench.heartbeat(stage.follower, generation).error is E.ILLEGAL_GENERATION
    assert stage.deadline_ms(stage.follower) == SESSION_MS - 10_000


REFUSED = [
    pytest.param("ghost", 1, None, E.UNKNOWN_MEMBER_ID, id="1.5-refused-unknown-id"),
    pytest.param("FOLLOWER", 1, "a", E.FENCED_INSTANCE_ID, id="1.5-refused-fenced"),
    pytest.param("FOLLOWER", 7, "b", E.ILLEGAL_GENERATION, id="1.5-refused-generation"),
]


@pytest.mark.parametrize(("member_id", "generation", "instance", "error"), REFUSED)
@pytest.mark.parametrize("state", LIVE)
def test_a_refused_heartbeat_changes_nothing(
    state: str, member_id: str, generation: int, instance: str | None, error: E
) -> None:
    """1.5: it is answered at once, though others' records are under way, and moves no timer, of whomever it speaks."""
    stage = scene(state, static=True)
    made = stage.bench
    made.auto_commit = False
    made.commit_offset(5, group="other")
    made.advance_ms(1_000)
    before = made.snapshot(), made.timers()
    sent = made.heartbeat(stage.id_of(member_id), generation, instance=instance)
    assert sent.error is error
    assert (made.snapshot(), made.timers()) == before


VALID = [
    pytest.param(PREPARING, E.REBALANCE_IN_PROGRESS, id="1.5-Preparing-valid"),
    pytest.param(COMPLETING, E.NONE, id="1.5-Completing-valid"),
    pytest.param(STABLE, E.NONE, id="1.5-Stable-valid"),
]


@pytest.mark.parametrize(("state", "error"), VALID)
@pytest.mark.parametrize("static", [False, True])
def test_valid(state: str, error: E, static: bool) -> None:
    """1.5: a valid heartbeat is told of a rebalance only while it is prepared, and always prolongs the session."""
    stage = scene(state, static=static)
    stage.bench.advance_ms(10_000)
    sent = stage.bench.heartbeat(stage.follower, 1, instance="b" if static else None)
    assert sent.error is error
    assert stage.deadline_ms(stage.follower) == SESSION_MS


def test_old_generation_stays_valid_until_the_round_closes() -> None:
    """1.5: while a round is open the group still has its old generation; once it closes that one is illegal."""
    stage = scene(PREPARING)
    stage.bench.join(member_id=stage.leader)
    assert stage.bench.heartbeat(stage.leader, 1).error is E.REBALANCE_IN_PROGRESS
    stage.bench.join(member_id=stage.follower)
    assert stage.bench.heartbeat(stage.leader, 1).error is E.ILLEGAL_GENERATION
    assert stage.bench.heartbeat(stage.leader, 2).error is E.NONE
