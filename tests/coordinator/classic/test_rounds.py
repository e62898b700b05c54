"""How rounds open and close: the initial delay, leaving, expiry, leaders, protocols."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.testing import Bench, left
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinProtocol


def protocols(*names: str, data: bytes = b"") -> tuple[JoinProtocol, ...]:
    """These names, each with the same metadata."""
    return tuple(JoinProtocol(name, data) for name in names)


def completed_at_ms(bench: Bench) -> int:
    """Close the open round and say when that was."""
    bench.finish_round()
    return bench.now_us // 1_000


@pytest.mark.parametrize(
    ("arrivals_ms", "rebalance_ms", "expected_ms"),
    [
        ((0,), 300_000, 3_000),
        ((0, 1_000), 300_000, 6_000),
        ((0, 1_000, 4_000, 7_000, 9_500), 10_000, 10_000),
        ((0, 1_000), 2_000, 3_000),
    ],
)
def test_initial_rebalance_is_prolonged_while_members_come(
    arrivals_ms: tuple[int, ...], rebalance_ms: int, expected_ms: int
) -> None:
    """The first round waits one delay, one more per window with a newcomer, at most the first rebalance timeout."""
    bench = Bench()
    for number, at_ms in enumerate(arrivals_ms):
        bench.advance_to(1_000 * at_ms)
        bench.join(f"c{number}", rebalance_ms=rebalance_ms)
    assert completed_at_ms(bench) == expected_ms


def test_new_member_flag_leaks_into_the_next_initial_rebalance() -> None:
    """A member that comes in the last window leaves the flag set: the next initial round is one delay longer."""
    bench = Bench()
    bench.join("a", rebalance_ms=2_000)
    bench.join("b", rebalance_ms=2_000)
    bench.finish_round()
    assert bench.snapshot().new_member_added
    bench.leave(*(member.member_id for member in bench.snapshot().members))
    assert bench.state == "Empty"
    began_us = bench.now_us
    bench.join("c")
    bench.finish_round()
    assert bench.now_us - began_us == 6_000_000


def test_leaving_cannot_end_an_initial_rebalance_but_an_expired_session_can() -> None:
    """During the delay a leave waits for the timer; the expiry of a pending id, the last obstacle, closes the round."""
    bench = Bench(CoordinatorConfig(initial_rebalance_delay_ms=60_000))
    first = bench.join("a")
    bench.join("b", version=9, session_ms=10_000)
    gone = bench.join("c")
    bench.leave(bench.snapshot().members[-1].member_id)
    assert gone.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert not first.answered
    bench.advance_ms(10_000)
    assert first.joined.generation_id == 1


def test_old_brokers_never_end_an_initial_rebalance_early() -> None:
    """On the Scala coordinator the same expiry closes nothing: the delay runs out."""
    bench = Bench(CoordinatorConfig("2.8.1", initial_rebalance_delay_ms=60_000))
    first = bench.join("a")
    bench.join("b", version=7, session_ms=10_000)
    bench.advance_ms(59_999)
    assert not first.answered
    bench.advance_ms(1)
    assert first.answered


def test_before_kip_134_a_lone_member_is_answered_at_once() -> None:
    """Brokers before 0.11 have no initial delay."""
    bench = Bench(CoordinatorConfig("0.10.2"))
    assert bench.join("a", version=1).joined.generation_id == 1


def test_pending_id_holds_a_round_open_until_its_session_ends() -> None:
    """An abandoned MEMBER_ID_REQUIRED stalls the others for the session timeout it asked for."""
    bench = Bench()
    ids = bench.stable("a", "b")
    handed_out = bench.join("c", version=9, session_ms=45_000)
    assert handed_out.error is ErrorCode.MEMBER_ID_REQUIRED
    assert bench.state == "Stable"
    one = bench.join(member_id=ids[0])
    two = bench.join(member_id=ids[1])
    bench.advance_ms(44_999)
    assert not one.answered
    bench.advance_ms(1)
    assert one.joined.generation_id == two.joined.generation_id == 2


def test_member_absent_at_the_join_timer_is_out() -> None:
    """Dynamic members that do not rejoin within the rebalance timeout are removed; the round closes without them."""
    bench = Bench()
    ids = bench.stable("a", "b", rebalance_ms=20_000, session_ms=60_000)
    one = bench.join(member_id=ids[0], rebalance_ms=20_000)
    bench.advance_ms(20_000)
    assert one.joined.generation_id == 2
    assert [member.member_id for member in bench.snapshot().members] == [ids[0]]
    removed = [note for note in bench.emitted if note.kind is Kind.MEMBER_REMOVED]
    assert [(note.member_id, note.reason) for note in removed] == [(ids[1], "join-timeout")]


def test_last_member_leaving_empties_the_group_and_writes_it() -> None:
    """The group is Empty at once with the next generation, on record; the answer waits for that record."""
    bench = Bench()
    (only,) = bench.stable("a")
    bench.auto_commit = False
    answer = bench.leave(only)
    group = bench.snapshot()
    assert (group.state, group.generation, group.leader) == ("Empty", 2, None)
    assert not answer.answered
    bench.commit()
    assert left(answer) == [ErrorCode.NONE]


def test_leaver_with_a_parked_sync_is_never_answered() -> None:
    """LeaveGroup of a member whose SyncGroup is parked leaves that request unanswered, and says so."""
    bench = Bench()
    one, two = bench.join("a"), bench.join("b")
    bench.finish_round()
    follower = next(s.joined.member_id for s in (one, two) if s.joined.member_id != s.joined.leader)
    parked = bench.sync(follower, 1)
    bench.leave(follower)
    bench.advance_ms(600_000)
    assert not parked.answered
    assert parked.dropped is not None


def test_leader_is_succeeded_in_hash_map_order() -> None:
    """When the leader goes, the first of the others in the order of Java's HashMap leads."""
    bench = Bench()
    ids = bench.stable("a", "b", "c", "d")
    order = [member.member_id for member in bench.snapshot().members]
    bench.leave(ids[0])
    assert bench.snapshot().leader == next(one for one in order if one != ids[0])


def test_protocol_vote_ties_go_to_the_hash_map_order() -> None:
    """At equal votes range is chosen before cooperative-sticky, whichever member voted first."""
    bench = Bench()
    one = bench.join("a", protocols=protocols("cooperative-sticky", "range"))
    bench.join("b", protocols=protocols("range", "cooperative-sticky"))
    bench.finish_round()
    assert one.joined.protocol_name == "range"


def test_sole_member_cannot_switch_to_a_protocol_it_did_not_offer() -> None:
    """The requester's own old entry counts among those who must support the protocol."""
    bench = Bench()
    (only,) = bench.stable("a")
    answer = bench.join(member_id=only, protocols=protocols("roundrobin"))
    assert answer.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert answer.joined.member_id == only


def test_repeated_join_in_completing_rebalance_is_answered_again() -> None:
    """A JoinGroup with the same metadata while the leader assigns gets the same generation at once, no new round."""
    bench = Bench()
    one, two = bench.join("a"), bench.join("b")
    bench.finish_round()
    again = bench.join(member_id=one.joined.member_id)
    assert again.joined == one.joined
    changed = bench.join(member_id=two.joined.member_id, protocols=protocols("range", data=b"new"))
    assert not changed.answered
    assert bench.states()[-1] == ("CompletingRebalance", "PreparingRebalance", "UPDATE_META")


def test_duplicate_join_of_a_parked_member_forgets_the_first() -> None:
    """The first request is never answered, the second is (KAFKA-20938)."""
    bench = Bench()
    ids = bench.stable("a", "b")
    first = bench.join(member_id=ids[0])
    second = bench.join(member_id=ids[0])
    bench.join(member_id=ids[1])
    assert not first.answered
    assert first.dropped is not None
    assert second.joined.generation_id == 2


def test_silent_syncers_are_removed_by_the_sync_timer() -> None:
    """Members that never send SyncGroup are out after the rebalance timeout, and the others start over."""
    bench = Bench()
    one, two = bench.join("a", rebalance_ms=30_000), bench.join("b", rebalance_ms=30_000)
    bench.finish_round()
    ids = [sent.joined.member_id for sent in (one, two)]
    follower = next(member for member in ids if member != one.joined.leader)
    parked = bench.sync(follower, 1)
    for _ in range(6):
        bench.advance_ms(5_000)
        bench.heartbeat(one.joined.leader, 1)
    assert parked.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.states()[-1] == ("CompletingRebalance", "PreparingRebalance", "SYNC_EXPIRED")
    assert bench.snapshot().leader == follower


def test_old_generation_is_valid_until_the_round_closes() -> None:
    """In PreparingRebalance a heartbeat of the old generation keeps the session: REBALANCE_IN_PROGRESS."""
    bench = Bench()
    ids = bench.stable("a", "b")
    bench.join(member_id=ids[0])
    bench.advance_ms(40_000)
    assert bench.heartbeat(ids[1], 1).error is ErrorCode.REBALANCE_IN_PROGRESS
    bench.advance_ms(40_000)
    assert ids[1] in {member.member_id for member in bench.snapshot().members}
    bench.join(member_id=ids[1])
    assert bench.heartbeat(ids[1], 1).error is ErrorCode.ILLEGAL_GENERATION


def test_group_max_size_kick_does_not_look_at_the_round_again() -> None:
    """The member refused for capacity is out, but the round waits for its timer although all others have joined."""
    bench = Bench()
    ids = bench.stable("a", "b", rebalance_ms=20_000)
    small = Bench(CoordinatorConfig(group_max_size=1), records=bench.log)
    assert small.states() == [("Stable", "PreparingRebalance", "OVER_CAPACITY")]
    one = small.join(member_id=ids[0], rebalance_ms=20_000)
    two = small.join(member_id=ids[1], rebalance_ms=20_000)
    assert two.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert two.joined.member_id == ""
    assert not one.answered
    small.advance_ms(20_000)
    assert one.joined.generation_id == 2


def test_pending_only_leave_opens_a_round_in_stable_but_not_on_old_brokers() -> None:
    """LeaveGroup of a pending id counts as a leave since 4.0; the Scala coordinator only looked whether to close."""
    for version, state in (("4.1", "PreparingRebalance"), ("3.9", "Stable")):
        bench = Bench(CoordinatorConfig(version))
        bench.stable("a")
        pending = bench.join("b", version=9)
        bench.leave(pending.joined.member_id)
        assert bench.state == state


def test_new_member_is_expelled_after_five_minutes_of_waiting() -> None:
    """A new member's parked JoinGroup is answered UNKNOWN_MEMBER_ID after 300 s."""
    bench = Bench()
    (old,) = bench.stable("a", rebalance_ms=1_000_000)
    late = bench.join("b")
    for _ in range(30):
        bench.advance_ms(10_000)
        bench.heartbeat(old, 1)
    assert late.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.state == "PreparingRebalance"
