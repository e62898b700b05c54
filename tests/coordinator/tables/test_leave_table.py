"""LeaveGroup: table 1.6."""

from __future__ import annotations

import pytest

from groupsim.coordinator.testing import Bench, Sent, left
from groupsim.protocol.messages.group import LeaveGroupRequest, LeaveGroupResponse, LeavingMember
from tests.helpers.tables_kit import (
    COMPLETING,
    DEAD,
    EMPTY,
    LIVE,
    PREPARING,
    STABLE,
    E,
    bench,
    causes,
    is_parked,
    scene,
)


def leave(made: Bench, *members: tuple[str, str | None], version: int = 5) -> Sent:
    """A LeaveGroup for (member id, instance id) pairs."""
    entries = tuple(LeavingMember(member, instance) for member, instance in members)
    return made.send(LeaveGroupRequest("g", entries, version))


def answer(sent: Sent) -> LeaveGroupResponse:
    """The answer as LeaveGroup's."""
    assert isinstance(sent.response, LeaveGroupResponse)
    return sent.response


def test_unknown_group() -> None:
    """1.6: no such group: UNKNOWN_MEMBER_ID for each listed member, top level NONE, ids echoed."""
    found = answer(leave(bench(), ("x", None), ("", "i")))
    assert found.error is E.NONE
    assert [(m.member_id, m.group_instance_id, m.error) for m in found.members] == [
        ("x", None, E.UNKNOWN_MEMBER_ID),
        ("", "i", E.UNKNOWN_MEMBER_ID),
    ]


def test_dead_group() -> None:
    """1.6: Dead: COORDINATOR_NOT_AVAILABLE at the top, no members."""
    stage = scene(DEAD)
    found = answer(leave(stage.bench, (stage.leader, None)))
    assert (found.error, found.members) == (E.COORDINATOR_NOT_AVAILABLE, ())


ENTRIES = [
    pytest.param("", "b", E.NONE, id="1.6-admin-instance"),
    pytest.param("", None, E.UNKNOWN_MEMBER_ID, id="1.6-no-id-no-instance"),
    pytest.param("", "nobody", E.UNKNOWN_MEMBER_ID, id="1.6-no-id-instance-unmapped"),
    pytest.param("PENDING", None, E.NONE, id="1.6-pending-id"),
    pytest.param("LEADER", "b", E.FENCED_INSTANCE_ID, id="1.6-fenced"),
    pytest.param("LEADER", "nobody", E.UNKNOWN_MEMBER_ID, id="1.6-instance-unmapped"),
    pytest.param("ghost", None, E.UNKNOWN_MEMBER_ID, id="1.6-unknown-id"),
    pytest.param("LEADER", "a", E.NONE, id="1.6-member"),
    pytest.param("LEADER", None, E.NONE, id="1.6-static-member-without-instance"),
]


@pytest.mark.parametrize(("member_id", "instance", "error"), ENTRIES)
@pytest.mark.parametrize("state", LIVE)
def test_one_entry(state: str, member_id: str, instance: str | None, error: E) -> None:
    """1.6: what one entry is answered, in every state with members; refused ones change nothing."""
    stage = scene(state, static=True)
    given = stage.id_of(member_id)
    before = stage.bench.snapshot()
    found = answer(leave(stage.bench, (given, instance)))
    assert found.error is E.NONE
    assert [(m.member_id, m.group_instance_id, m.error) for m in found.members] == [(given, instance, error)]
    if error is E.NONE:
        assert stage.bench.state == PREPARING
    else:
        assert stage.bench.snapshot() == before


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        pytest.param("LEADER", E.NONE, id="1.6-v2-member"),
        pytest.param("ghost", E.UNKNOWN_MEMBER_ID, id="1.6-v2-unknown-id"),
    ],
)
@pytest.mark.parametrize("version", [0, 1, 2])
def test_before_v3_the_one_error_is_at_the_top(entry: str, error: E, version: int) -> None:
    """1.6: v0-2 name one member and lift its error to the top level."""
    stage = scene(STABLE)
    found = answer(leave(stage.bench, (stage.id_of(entry), None), version=version))
    assert (found.error, found.members) == (error, ())


def test_before_v3_an_unknown_group_is_a_top_level_error() -> None:
    """1.6: v0-2 to a group that is not there: UNKNOWN_MEMBER_ID at the top."""
    assert answer(leave(bench(), ("x", None), version=2)).error is E.UNKNOWN_MEMBER_ID


def test_mixed_batch_keeps_order_and_counts_one_success() -> None:
    """1.6: a batch is answered entry by entry in request order; one success is enough to open a round."""
    stage = scene(STABLE, static=True)
    pending = stage.bench.join("x", version=4).joined.member_id
    sent = leave(stage.bench, ("ghost", None), (stage.follower, "b"), (pending, None), ("", "b"))
    assert left(sent) == [E.UNKNOWN_MEMBER_ID, E.NONE, E.NONE, E.UNKNOWN_MEMBER_ID]
    asked = [("ghost", None), (stage.follower, "b"), (pending, None), ("", "b")]
    assert [(one.member_id, one.group_instance_id) for one in sent.response.members] == asked
    assert causes(stage.bench)[-1] == "LEAVE_GROUP"
    assert stage.bench.snapshot().pending_join == ()


def test_leaver_is_removed_with_its_timer_and_the_lead_moves() -> None:
    """1.6: a leaver's session timer is cancelled and the next member leads."""
    stage = scene(STABLE)
    leave(stage.bench, (stage.leader, None))
    assert stage.deadline_ms(stage.leader) is None
    assert stage.bench.snapshot().leader == stage.follower


def test_parked_join_of_a_leaver() -> None:
    """1.6: a leaver's parked JoinGroup is answered UNKNOWN_MEMBER_ID without an id."""
    stage = scene(PREPARING)
    waiting = stage.bench.join(member_id=stage.leader)
    leave(stage.bench, (stage.leader, None))
    assert (waiting.joined.error, waiting.joined.member_id) == (E.UNKNOWN_MEMBER_ID, "")


@pytest.mark.parametrize(
    "by", [pytest.param("id", id="1.6-sync-unanswered"), pytest.param("admin", id="1.6-sync-unanswered-admin")]
)
def test_parked_sync_of_a_leaver_is_never_answered(by: str) -> None:
    """1.6: a leaver's parked SyncGroup is not answered; the client's request times out."""
    stage = scene(COMPLETING, static=True)
    waiting = stage.bench.sync(stage.follower, 1, instance="b")
    leave(stage.bench, (stage.follower, "b") if by == "id" else ("", "b"))
    stage.bench.finish_round()
    assert not waiting.answered
    assert waiting.dropped is not None


EFFECTS = [
    pytest.param(STABLE, PREPARING, id="1.6-Stable-opens"),
    pytest.param(COMPLETING, PREPARING, id="1.6-Completing-opens"),
]


@pytest.mark.parametrize(("state", "after"), EFFECTS)
@pytest.mark.parametrize(
    "pending_only", [pytest.param(False, id="1.6-after-member"), pytest.param(True, id="1.6-after-pending-only")]
)
def test_leaving_opens_a_round(state: str, after: str, pending_only: bool) -> None:
    """1.6: any success opens a round, even when the only one was a pending id."""
    stage = scene(state)
    pending = stage.bench.join("x", version=4).joined.member_id
    leave(stage.bench, (pending if pending_only else stage.follower, None))
    assert stage.bench.state == after
    assert causes(stage.bench)[-1] == "LEAVE_GROUP"


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param("member", id="1.6-Preparing-member-completes"),
        pytest.param("pending", id="1.6-Preparing-pending-completes"),
    ],
)
def test_leaving_can_close_a_round(entry: str) -> None:
    """1.6: in PreparingRebalance the last one awaited that leaves completes the join phase."""
    stage = scene(PREPARING)
    waiting = stage.bench.join(member_id=stage.leader)
    if entry == "pending":
        pending = stage.bench.join("x", version=4).joined.member_id
        stage.bench.join(member_id=stage.follower)
        assert stage.bench.state == PREPARING
        leave(stage.bench, (pending, None))
    else:
        leave(stage.bench, (stage.follower, None))
    assert stage.bench.state == COMPLETING
    assert waiting.joined.generation_id == 2


def test_leaving_cannot_close_an_initial_round() -> None:
    """1.6: while the previous state is Empty a leave does not complete the join phase."""
    made = bench()
    first, _ = made.join("a"), made.join("b")
    leave(made, ("b-2", None))
    assert made.state == PREPARING
    assert is_parked(first)


def test_pending_id_leaves_an_empty_group() -> None:
    """1.6: in Empty a pending id is removed with its timer and nothing else happens."""
    stage = scene(EMPTY)
    pending = stage.bench.join("x", version=4).joined.member_id
    leave(stage.bench, (pending, None))
    group = stage.bench.snapshot()
    assert (group.state, group.generation, group.pending_join) == (EMPTY, 2, ())
    assert stage.deadline_ms(pending) is None


def test_last_member_leaves() -> None:
    """1.6: the last member's leave makes the group Empty at once, generation + 1, and writes a record."""
    made = bench()
    (only,) = made.stable("a")
    written = len(made.log)
    leave(made, (only, None))
    assert (made.state, made.snapshot().generation) == (EMPTY, 2)
    assert len(made.log) == written + 1
    assert [(to, cause) for _, to, cause in made.states()][-2:] == [(PREPARING, "LEAVE_GROUP"), (EMPTY, "ALL_GONE")]


def test_answer_waits_for_earlier_writes() -> None:
    """1.6: the answer leaves when everything appended before is committed, its own Empty record included."""
    made = bench()
    (only,) = made.stable("a")
    made.auto_commit = False
    sent = leave(made, (only, None))
    assert not sent.answered
    made.commit()
    assert left(sent) == [E.NONE]
