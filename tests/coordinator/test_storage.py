"""What happens when records are slow, fail, or are read back by another coordinator."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.records import GroupRecord, GroupValue
from groupsim.coordinator.testing import RANGE, Bench, committed, committed_in_transaction, left, offsets_of
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinProtocol, TopicPartition

TP = TopicPartition("t", 0)
TWO = (*RANGE, JoinProtocol("cooperative-sticky", b""))


def completing(bench: Bench) -> tuple[str, str]:
    """A group of two in CompletingRebalance; returns leader and follower."""
    one, two = bench.join("a"), bench.join("b")
    bench.finish_round()
    ids = [one.joined.member_id, two.joined.member_id]
    return (ids[0], ids[1]) if one.joined.leader == ids[0] else (ids[1], ids[0])


def test_first_join_writes_one_empty_record() -> None:
    """A group's first join appends generation 0 without protocol and members, even if it is only told an id."""
    bench = Bench()
    bench.join("a", version=9)
    assert bench.log == [GroupRecord("g", GroupValue("", 0, None, None, 0))]


def test_group_whose_first_record_fails_vanishes() -> None:
    """A failed first record is told to the join that made the group, and the group is gone."""
    bench = Bench(auto_commit=False)
    join = bench.join("a")
    bench.fail_append(ErrorCode.KAFKA_STORAGE_ERROR)
    assert join.error is ErrorCode.NOT_COORDINATOR
    assert bench.shard.snapshot("g") is None
    bench.advance_ms(400_000)
    assert len(join.responses) == 1


def test_leaders_assignment_that_cannot_be_written_starts_a_round() -> None:
    """Parked syncs get the mapped error, assignments are emptied, a round opens."""
    bench = Bench()
    leader, follower = completing(bench)
    bench.auto_commit = False
    parked = bench.sync(follower, 1)
    led = bench.sync(leader, 1, {leader: b"1", follower: b"2"})
    bench.fail_append(ErrorCode.MESSAGE_TOO_LARGE)
    assert led.error is parked.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert bench.states()[-1] == ("CompletingRebalance", "PreparingRebalance", "STORE_ERROR")


def test_assignment_of_a_past_generation_changes_nothing() -> None:
    """An append that is committed after the group moved on is ignored."""
    bench = Bench()
    leader, follower = completing(bench)
    bench.auto_commit = False
    led = bench.sync(leader, 1, {leader: b"1"})
    bench.leave(follower)
    assert led.error is ErrorCode.REBALANCE_IN_PROGRESS
    bench.commit()
    assert bench.state == "PreparingRebalance"
    assert bench.snapshot().member(leader).assignment == b""


def test_leader_may_send_its_assignment_twice() -> None:
    """A second SyncGroup of the leader appends again; the first request is forgotten, the second answered."""
    bench = Bench()
    leader, follower = completing(bench)
    bench.auto_commit = False
    first = bench.sync(leader, 1, {leader: b"1", follower: b"2"})
    second = bench.sync(leader, 1, {leader: b"1", follower: b"2"})
    bench.commit()
    assert not first.answered
    assert first.dropped is not None
    assert second.synced.assignment == b"1"
    assert bench.state == "Stable"


def test_write_timeout_answers_an_error_and_undoes_nothing() -> None:
    """After 5 s the commit is answered COORDINATOR_NOT_AVAILABLE; the record may still be committed and count."""
    bench = Bench(auto_commit=False)
    commit = bench.commit_offset(7)
    bench.advance_ms(4_999)
    assert not commit.answered
    bench.advance_ms(1)
    assert committed(commit) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    bench.commit()
    assert offsets_of(bench.fetch_offsets(TP)) == {TP: 7}
    assert len(commit.responses) == 1


def test_failed_commit_is_taken_back() -> None:
    """A stable fetch sees the offset of an append under way; when it fails, the one before is there again."""
    bench = Bench()
    bench.commit_offset(1)
    bench.auto_commit = False
    lost = bench.commit_offset(2)
    kept = bench.commit_offset(5, partition=1)
    seen = bench.fetch_offsets(TP)
    assert offsets_of(bench.fetch_offsets(TP, stable=False)) == {TP: 1}
    bench.fail_append()
    assert committed(lost) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert not seen.answered
    bench.commit()
    assert committed(kept) == [ErrorCode.NONE]
    assert offsets_of(seen) == {TP: 2}
    assert offsets_of(bench.fetch_offsets(TP)) == {TP: 1}


def test_refused_append_ends_before_those_that_wait() -> None:
    """The log refuses a zombie's offsets while a marker waits for its commit: only the zombie is told."""
    bench = Bench(auto_commit=False)
    bench.commit_in_transaction(5)
    marker = bench.end_transaction(committed=False)
    zombie = bench.commit_in_transaction(6)
    bench.refuse_append()
    assert committed_in_transaction(zombie) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert not marker.answered
    bench.commit()
    assert marker.answered
    assert bench.snapshot().pending_offsets == ()
    later = bench.commit_offset(7)
    bench.commit()
    assert committed(later) == [ErrorCode.NONE]
    assert bench.fail_over().shard.snapshot("g").pending_offsets == ()  # type: ignore[union-attr]


def test_answers_wait_for_earlier_appends_in_order() -> None:
    """Heartbeat and LeaveGroup wait for what was appended before them; JoinGroup and SyncGroup in Stable do not."""
    bench = Bench()
    ids = bench.stable("a", "b")
    bench.auto_commit = False
    bench.commit_offset(1, member_id=ids[0], generation=1)
    beat = bench.heartbeat(ids[0], 1)
    sync = bench.sync(ids[1], 1)
    leave = bench.leave(ids[1])
    stranger = bench.heartbeat("stranger", 1)
    assert sync.answered
    assert stranger.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert not beat.answered
    assert not leave.answered
    bench.commit()
    assert beat.error is ErrorCode.NONE
    assert left(leave) == [ErrorCode.NONE]


def test_fail_over_brings_the_last_assigned_generation_back() -> None:
    """A round under way is lost: the group is Stable as of its last record, and a generation number is reused."""
    bench = Bench()
    ids = bench.stable("a", "b")
    before = bench.snapshot()
    new = bench.join("c")
    old = [bench.join(member_id=one) for one in ids]
    assert old[0].joined.generation_id == 2
    other = bench.fail_over()
    after = other.snapshot()
    assert (after.state, after.generation, after.leader) == ("Stable", 1, before.leader)
    assert [m.member_id for m in after.members] == [m.member_id for m in before.members]
    assert other.heartbeat(ids[0], 2).error is ErrorCode.ILLEGAL_GENERATION
    assert other.heartbeat(new.joined.member_id, 2).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert other.heartbeat(ids[0], 1).error is ErrorCode.NONE
    again = [other.join(member_id=one) for one in (after.leader or "", *ids)]
    assert again[-1].joined.generation_id == 2


def test_restored_members_support_only_the_chosen_protocol() -> None:
    """After a fail-over a follower's full list looks changed, and a newcomer without the chosen protocol is refused."""
    bench = Bench()
    ids = bench.stable("a", "b", protocols=TWO)
    other = bench.fail_over()
    assert other.join("n", protocols=TWO[1:]).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert not other.join(member_id=ids[1], protocols=TWO).answered
    assert other.states()[-1] == ("Stable", "PreparingRebalance", "UPDATE_META")


def test_resignation_answers_everything_that_waits() -> None:
    """Parked joins, parked syncs and held answers are all told NOT_COORDINATOR, each once."""
    bench = Bench()
    ids = bench.stable("a", "b")
    bench.auto_commit = False
    commit = bench.commit_offset(1, member_id=ids[0], generation=1)
    parked = bench.join(member_id=ids[0])
    other = bench.fail_over()
    assert committed(commit) == [ErrorCode.NOT_COORDINATOR]
    assert parked.joined.error is ErrorCode.NOT_COORDINATOR
    assert parked.joined.member_id == ids[0]
    assert other.state == "Stable"
    assert bench.timers() == {}


def test_sessions_begin_anew_after_a_load() -> None:
    """The load gives every member its whole session timeout, however late it was."""
    bench = Bench()
    ids = bench.stable("a")
    bench.advance_ms(44_000)
    other = bench.fail_over()
    other.advance_ms(44_999)
    assert other.heartbeat(ids[0], 1).error is ErrorCode.NONE


@pytest.mark.parametrize("committed_only", [True, False])
def test_load_reads_the_uncommitted_tail_too(committed_only: bool) -> None:
    """Loading goes to the end of the log, not to the high watermark."""
    bench = Bench(auto_commit=False)
    bench.commit_offset(3)
    other = bench.fail_over(committed_only=committed_only)
    assert offsets_of(other.fetch_offsets(TP)) == {TP: -1 if committed_only else 3}
