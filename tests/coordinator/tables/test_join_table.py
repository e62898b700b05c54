"""JoinGroup: order of evaluation (1.3), tables J1 (no member id) and J2 (with one)."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.records import GroupRecord
from groupsim.coordinator.testing import RANGE
from groupsim.protocol.messages.group import JoinProtocol
from tests.helpers.tables_kit import (
    BOTH,
    CHANGED,
    COMPLETING,
    DEAD,
    EMPTY,
    LIVE,
    NEW_MEMBER_MS,
    PREPARING,
    ROUNDROBIN,
    SESSION_MS,
    STABLE,
    E,
    bench,
    causes,
    is_parked,
    scene,
)

# --- 1.3: before the tables --------------------------------------------------------------------------------------


def test_unknown_group_with_member_id() -> None:
    """A JoinGroup with a member id to a group that is not there: UNKNOWN_MEMBER_ID, id echoed, nothing created."""
    made = bench()
    sent = made.join(member_id="ghost")
    assert sent.joined.error is E.UNKNOWN_MEMBER_ID
    assert sent.joined.member_id == "ghost"
    assert made.shard.snapshot("g") is None
    assert made.log == []


def test_new_group_gets_its_record() -> None:
    """The request that creates a group appends one record: generation 0, no type, protocol, leader or members."""
    made = bench()
    made.join("a")
    (record,) = made.log
    assert isinstance(record, GroupRecord)
    assert record.value is not None
    assert (record.value.protocol_type, record.value.generation, record.value.members) == ("", 0, ())
    assert (record.value.protocol, record.value.leader) == (None, None)
    made.join("b")
    assert len(made.log) == 1


@pytest.mark.parametrize(
    ("join", "error"),
    [
        pytest.param({"protocols": ()}, E.INCONSISTENT_GROUP_PROTOCOL, id="1.3-record-despite-inconsistent"),
        pytest.param({"version": 4}, E.MEMBER_ID_REQUIRED, id="1.3-record-despite-handshake"),
    ],
)
def test_new_group_gets_its_record_even_when_the_join_is_refused(join: dict[str, object], error: E) -> None:
    """A refused first JoinGroup still creates the group, Empty, generation 0, and its record."""
    made = bench()
    assert made.join("a", **join).error is error  # type: ignore[arg-type]
    assert len(made.log) == 1
    assert (made.state, made.snapshot().generation) == (EMPTY, 0)


def test_failed_first_record_fails_the_join_and_removes_the_group() -> None:
    """If the new group's record cannot be written the parked join gets the mapped error and the group is gone."""
    made = bench(auto_commit=False)
    sent = made.join("a")
    made.fail_append(E.NOT_ENOUGH_REPLICAS)
    assert sent.joined.error is E.COORDINATOR_NOT_AVAILABLE
    assert sent.joined.member_id == ""
    assert made.shard.snapshot("g") is None


def test_failed_first_record_answers_nobody_but_the_first() -> None:
    """Who joined meanwhile has a member in a group that is no more: it is known that it will not be answered."""
    made = bench(auto_commit=False)
    made.join("a")
    second = made.join("b")
    made.fail_append(E.NOT_ENOUGH_REPLICAS)
    assert not second.answered
    assert second.dropped is not None


def test_join_timer_of_a_group_that_was_not_written() -> None:
    """Its join timer goes on and counts a generation of an empty group that has the name by then, without a record."""
    made = bench({"group.initial.rebalance.delay.ms": 3_000}, auto_commit=False)
    made.join("a")
    made.fail_append()
    made.auto_commit = True
    made.join("b", version=4)
    written = len(made.log)
    made.advance_ms(3_000)
    assert (made.state, made.snapshot().generation, len(made.log)) == (EMPTY, 1, written)


def test_failed_first_record_leaves_an_answer_given_already() -> None:
    """A join that was answered before its group's record failed is not answered again."""
    made = bench(auto_commit=False)
    sent = made.join("a", version=4)
    made.fail_append()
    assert [r.error for r in sent.responses] == [E.MEMBER_ID_REQUIRED]  # type: ignore[union-attr]
    assert made.shard.snapshot("g") is None


def test_sole_member_cannot_change_its_protocol() -> None:
    """The requester's own old entry counts: a sole member that moves from [range] to [roundrobin] is refused."""
    made = bench()
    (member,) = made.stable("a")
    sent = made.join(member_id=member, protocols=ROUNDROBIN)
    assert sent.joined.error is E.INCONSISTENT_GROUP_PROTOCOL
    assert sent.joined.member_id == member


def test_one_common_protocol_is_enough() -> None:
    """A newcomer is let in when any one of its protocols is offered by all members."""
    made = bench()
    made.stable("a", "b", protocols=BOTH)
    assert is_parked(made.join("c", protocols=(JoinProtocol("sticky"), JoinProtocol("roundrobin"))))


def test_a_protocol_that_only_some_offer_is_not_enough() -> None:
    """A newcomer that shares a protocol with one member, but not with all, is refused."""
    made = bench()
    made.join("a", protocols=BOTH)
    made.join("b")
    assert made.join("c", protocols=ROUNDROBIN).error is E.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(
    ("protocols", "same"),
    [
        pytest.param(BOTH, True, id="1.3-matches-equal"),
        pytest.param(BOTH[::-1], False, id="1.3-matches-order"),
        pytest.param(BOTH[:1], False, id="1.3-matches-number"),
        pytest.param((BOTH[0], JoinProtocol("roundrobin", b"x")), False, id="1.3-matches-bytes"),
        pytest.param((BOTH[0], JoinProtocol("sticky", b"")), False, id="1.3-matches-names"),
    ],
)
def test_same_metadata_means_number_order_names_and_bytes(protocols: tuple[JoinProtocol, ...], same: bool) -> None:
    """A Stable follower's JoinGroup is answered at once only if every protocol is the same, in the same order."""
    stage = scene(STABLE, protocols=BOTH)
    sent = stage.bench.join(member_id=stage.follower, protocols=protocols)
    assert sent.answered is same
    assert stage.bench.state == (STABLE if same else PREPARING)


# --- J1: no member id --------------------------------------------------------------------------------------------


def test_no_id_dead() -> None:
    """J1: a Dead group answers COORDINATOR_NOT_AVAILABLE without a member id."""
    sent = scene(DEAD).bench.join("x")
    assert (sent.joined.error, sent.joined.member_id) == (E.COORDINATOR_NOT_AVAILABLE, "")


UNSUPPORTED = [
    *[pytest.param(state, {"protocol_type": "connect"}, id=f"J1-{state}-other-type") for state in LIVE],
    *[pytest.param(state, {"protocols": ROUNDROBIN}, id=f"J1-{state}-no-common-protocol") for state in LIVE],
    *[pytest.param(state, {"protocols": ()}, id=f"J1-{state}-no-protocols") for state in (EMPTY, *LIVE)],
    pytest.param(EMPTY, {"protocol_type": ""}, id="J1-Empty-no-type"),
]


@pytest.mark.parametrize(("state", "join"), UNSUPPORTED)
@pytest.mark.parametrize("version", [3, 4, 9])
def test_no_id_unsupported_protocols(state: str, join: dict[str, object], version: int) -> None:
    """J1: protocols the group does not support: INCONSISTENT_GROUP_PROTOCOL, no id, nothing changes."""
    stage = scene(state)
    before = stage.bench.snapshot()
    sent = stage.bench.join("x", version=version, **join)  # type: ignore[arg-type]
    assert (sent.joined.error, sent.joined.member_id) == (E.INCONSISTENT_GROUP_PROTOCOL, "")
    assert (sent.joined.protocol_type, sent.joined.protocol_name) == (None, None)
    assert stage.bench.snapshot() == before


@pytest.mark.parametrize("state", [pytest.param(s, id=f"J1-{s}-dynamic-handshake") for s in (EMPTY, *LIVE)])
@pytest.mark.parametrize("version", [4, 9])
def test_no_id_dynamic_handshake(state: str, version: int) -> None:
    """J1: from v4 on a dynamic member is given an id at once, pending for its session timeout; no rebalance."""
    stage = scene(state)
    sent = stage.bench.join("x", version=version, session_ms=20_000)
    assert sent.joined.error is E.MEMBER_ID_REQUIRED
    fresh = sent.joined.member_id
    assert fresh.startswith("x-")
    assert stage.bench.snapshot().pending_join == (fresh,)
    assert stage.deadline_ms(fresh) == 20_000
    assert stage.bench.state == state


@pytest.mark.parametrize("state", [pytest.param(s, id=f"J1-{s}-dynamic-old") for s in (EMPTY, *LIVE)])
@pytest.mark.parametrize("version", [0, 3])
def test_no_id_dynamic_before_v4(state: str, version: int) -> None:
    """J1: before v4 a dynamic member is added at once: parked, new-member timer of five minutes, rebalance."""
    stage = scene(state)
    sent = stage.bench.join("x", version=version)
    assert is_parked(sent)
    (added,) = (m for m in stage.bench.snapshot().members if m.client_id == "x")
    assert added.is_new
    assert stage.deadline_ms(added.member_id) == NEW_MEMBER_MS
    assert stage.bench.state == PREPARING


@pytest.mark.parametrize("state", [pytest.param(s, id=f"J1-{s}-static-new") for s in (EMPTY, *LIVE)])
def test_no_id_new_static_member(state: str) -> None:
    """J1: a static member the group does not know never gets MEMBER_ID_REQUIRED; its id begins with the instance."""
    stage = scene(state)
    sent = stage.bench.join("x", instance="i", version=9)
    assert is_parked(sent)
    (added,) = (m for m in stage.bench.snapshot().members if m.instance_id == "i")
    assert added.member_id.startswith("i-")
    assert added.is_new
    assert stage.deadline_ms(added.member_id) == NEW_MEMBER_MS
    assert stage.bench.state == PREPARING


def test_first_member_fixes_protocol_type_and_leads() -> None:
    """Adding to an empty member map fixes the protocol type, whatever it was before, and makes a leader."""
    stage = scene(EMPTY)
    assert stage.bench.snapshot().protocol_type == "consumer"
    stage.bench.join("x", protocol_type="connect")
    group = stage.bench.snapshot()
    assert group.protocol_type == "connect"
    assert group.leader == group.members[0].member_id
    assert stage.bench.join("y").error is E.INCONSISTENT_GROUP_PROTOCOL


def test_after_all_left_in_the_delay_any_protocol_of_the_type_is_fine() -> None:
    """In PreparingRebalance without members every name is supported by all zero of them; the type stays fixed."""
    made = bench()
    made.join("a")
    made.leave("a-1")
    assert (made.state, made.snapshot().members) == (PREPARING, ())
    assert made.join("x", protocol_type="connect").error is E.INCONSISTENT_GROUP_PROTOCOL
    assert is_parked(made.join("y", protocols=ROUNDROBIN))


def test_flag_of_members_added_in_the_initial_round() -> None:
    """`newMemberAdded` is set by the second member of an initial round, not by the first, and in no other round."""
    made = bench()
    made.join("a")
    assert not made.snapshot().new_member_added
    made.join("b")
    assert made.snapshot().new_member_added
    stage = scene(PREPARING)
    stage.bench.join("x")
    assert not stage.bench.snapshot().new_member_added


# --- J2: with a member id ----------------------------------------------------------------------------------------


def test_id_dead() -> None:
    """J2: a Dead group answers COORDINATOR_NOT_AVAILABLE and echoes the id."""
    stage = scene(DEAD)
    sent = stage.bench.join(member_id=stage.leader)
    assert (sent.joined.error, sent.joined.member_id) == (E.COORDINATOR_NOT_AVAILABLE, stage.leader)


@pytest.mark.parametrize("state", [pytest.param(s, id=f"J2-{s}-unsupported-before-membership") for s in LIVE])
def test_id_unsupported_is_checked_before_membership(state: str) -> None:
    """J2: a stranger with foreign protocols hears INCONSISTENT_GROUP_PROTOCOL, not UNKNOWN_MEMBER_ID."""
    sent = scene(state).bench.join(member_id="ghost", protocols=ROUNDROBIN)
    assert (sent.joined.error, sent.joined.member_id) == (E.INCONSISTENT_GROUP_PROTOCOL, "ghost")


@pytest.mark.parametrize("state", [pytest.param(s, id=f"J2-{s}-pending") for s in (EMPTY, *LIVE)])
def test_id_pending(state: str) -> None:
    """J2: a pending id that comes back becomes a member: parked, five-minute timer, no longer pending."""
    stage = scene(state)
    fresh = stage.bench.join("x", version=4).joined.member_id
    sent = stage.bench.join("x", member_id=fresh, version=4)
    assert is_parked(sent)
    assert stage.bench.snapshot().pending_join == ()
    assert stage.member(fresh).is_new
    assert stage.deadline_ms(fresh) == NEW_MEMBER_MS
    assert stage.bench.state == PREPARING


def test_id_pending_with_instance() -> None:
    """J2: a pending id that comes back with an instance id is an illegal state: UNKNOWN_SERVER_ERROR, no id."""
    stage = scene(STABLE)
    fresh = stage.bench.join("x", version=4).joined.member_id
    sent = stage.bench.join("x", member_id=fresh, instance="i", version=9)
    assert (sent.joined.error, sent.joined.member_id) == (E.UNKNOWN_SERVER_ERROR, "")


STRANGERS = [
    pytest.param("ghost", None, E.UNKNOWN_MEMBER_ID, id="J2-unknown-id"),
    pytest.param("LEADER", "nobody", E.UNKNOWN_MEMBER_ID, id="J2-instance-unmapped"),
    pytest.param("FOLLOWER", "a", E.FENCED_INSTANCE_ID, id="J2-instance-mapped-to-another"),
    pytest.param("ghost", "a", E.FENCED_INSTANCE_ID, id="J2-instance-mapped-unknown-id"),
]


@pytest.mark.parametrize(("member_id", "instance", "error"), STRANGERS)
@pytest.mark.parametrize("state", LIVE)
def test_id_that_is_not_this_member(state: str, member_id: str, instance: str | None, error: E) -> None:
    """J2: unknown ids and unknown instances: UNKNOWN_MEMBER_ID; an instance under another id: FENCED_INSTANCE_ID."""
    stage = scene(state, static=True)
    given = stage.id_of(member_id)
    before = stage.bench.snapshot()
    sent = stage.bench.join(member_id=given, instance=instance)
    assert (sent.joined.error, sent.joined.member_id) == (error, given)
    assert stage.bench.snapshot() == before


def test_id_unknown_in_an_empty_group() -> None:
    """J2: an id in an Empty group is not a member."""
    sent = scene(EMPTY).bench.join(member_id="a-1")
    assert (sent.joined.error, sent.joined.member_id) == (E.UNKNOWN_MEMBER_ID, "a-1")


def test_id_of_a_static_member_without_its_instance_is_accepted() -> None:
    """J2: a static member's id without instance id passes; nothing checks it."""
    stage = scene(STABLE, static=True)
    sent = stage.bench.join(member_id=stage.follower)
    assert (sent.joined.error, sent.joined.generation_id) == (E.NONE, 1)


@pytest.mark.parametrize(
    "protocols", [pytest.param(RANGE, id="J2-Preparing-equal"), pytest.param(CHANGED, id="J2-Preparing-changed")]
)
def test_known_id_while_preparing(protocols: tuple[JoinProtocol, ...]) -> None:
    """J2: in PreparingRebalance a member is parked, both timeouts taken over, its session timer left alone."""
    stage = scene(PREPARING)
    stage.bench.advance_ms(10_000)
    sent = stage.bench.join(member_id=stage.leader, protocols=protocols, session_ms=7_000, rebalance_ms=8_000)
    assert is_parked(sent)
    member = stage.member(stage.leader)
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (7_000, 8_000)
    assert member.awaiting_join
    assert stage.deadline_ms(stage.leader) == SESSION_MS - 10_000
    assert stage.bench.state == PREPARING


def test_last_known_id_closes_the_round() -> None:
    """J2: the last member that joins while preparing completes the join phase."""
    stage = scene(PREPARING)
    first = stage.bench.join(member_id=stage.leader)
    last = stage.bench.join(member_id=stage.follower)
    assert first.joined.generation_id == last.joined.generation_id == 2
    assert stage.bench.state == COMPLETING


def test_repeated_join_forgets_the_first() -> None:
    """J2: a second JoinGroup of a parked member takes the first one's place; the first is never answered."""
    stage = scene(PREPARING)
    first = stage.bench.join(member_id=stage.leader)
    second = stage.bench.join(member_id=stage.leader)
    assert first.dropped is not None
    stage.bench.join(member_id=stage.follower)
    assert not first.answered
    assert second.joined.error is E.NONE


ANSWERED_AT_ONCE = [
    pytest.param(COMPLETING, "leader", 2, id="J2-Completing-leader-equal"),
    pytest.param(COMPLETING, "follower", 0, id="J2-Completing-follower-equal"),
    pytest.param(STABLE, "follower", 0, id="J2-Stable-follower-equal"),
]


@pytest.mark.parametrize(("state", "who", "members"), ANSWERED_AT_ONCE)
def test_known_id_with_the_same_metadata(state: str, who: str, members: int) -> None:
    """J2: a repetition is answered at once with the current generation and changes nothing, timeouts included."""
    stage = scene(state)
    member = getattr(stage, who)
    before = stage.bench.snapshot()
    answer = stage.bench.join(member_id=member, session_ms=7_000, rebalance_ms=8_000).joined
    assert (answer.error, answer.generation_id, answer.protocol_name) == (E.NONE, 1, "range")
    assert (answer.leader, answer.member_id, len(answer.members)) == (stage.leader, member, members)
    assert answer.skip_assignment is False
    assert stage.bench.snapshot() == before


NEWS = [
    pytest.param(COMPLETING, "leader", CHANGED, "UPDATE_META", id="J2-Completing-leader-changed"),
    pytest.param(COMPLETING, "follower", CHANGED, "UPDATE_META", id="J2-Completing-follower-changed"),
    pytest.param(STABLE, "leader", RANGE, "LEADER_REJOIN", id="J2-Stable-leader-equal"),
    pytest.param(STABLE, "leader", CHANGED, "LEADER_REJOIN", id="J2-Stable-leader-changed"),
    pytest.param(STABLE, "follower", CHANGED, "UPDATE_META", id="J2-Stable-follower-changed"),
]


@pytest.mark.parametrize(("state", "who", "protocols", "cause"), NEWS)
def test_known_id_with_news(state: str, who: str, protocols: tuple[JoinProtocol, ...], cause: str) -> None:
    """J2: changed metadata, or any JoinGroup of a Stable group's leader, is parked and opens a round."""
    stage = scene(state)
    member = getattr(stage, who)
    sent = stage.bench.join(member_id=member, protocols=protocols, session_ms=7_000)
    assert is_parked(sent)
    assert stage.member(member).session_timeout_ms == 7_000
    assert stage.bench.state == PREPARING
    assert causes(stage.bench)[-1] == cause
    assert stage.bench.snapshot().generation == 1


def test_news_while_completing_sends_the_waiting_back() -> None:
    """J2: changed metadata in CompletingRebalance answers parked SyncGroups REBALANCE_IN_PROGRESS."""
    stage = scene(COMPLETING)
    waiting = stage.bench.sync(stage.follower, 1)
    assert is_parked(waiting)
    stage.bench.join(member_id=stage.leader, protocols=CHANGED)
    assert waiting.synced.error is E.REBALANCE_IN_PROGRESS
