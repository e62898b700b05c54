"""A member of a consumer group reconciles: states, steps, callbacks, commits and aborted rounds. On a bench.

Facts: `AbstractMembershipManager.maybeReconcile`, `revokeAndAssign`, `ConsumerMembershipManager`,
`CommitRequestManager` of Kafka 4.4.0.
"""

from __future__ import annotations

import pytest

from groupsim.members.behaviour import Behaviour
from groupsim.members.failures import ClientFailure
from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, OffsetFetchResponse
from tests.helpers.consumer_member_bench import BEAT, ConsumerBench, entries

E = ErrorCode


# --- states ------------------------------------------------------------------------------------------------------


def test_the_states_of_a_join():
    """JOINING until the answer, RECONCILING until the assigned callback, ACKNOWLEDGING until the heartbeat, STABLE."""
    bench = ConsumerBench()
    assert bench.state == "UNSUBSCRIBED"
    bench.find_coordinator()
    bench.accept(1, [0, 1])
    assert bench.states == ["JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE"]
    assert (bench.member.generation.id, bench.owned) == (1, [0, 1])


def test_an_empty_first_assignment_is_reconciled_too():
    """Nothing is not the empty set: the assigned callback runs without partitions, and is acknowledged."""
    bench = ConsumerBench()
    bench.find_coordinator()
    bench.accept(1, [])
    assert bench.states == ["JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE"]
    assert (bench.callbacks, bench.reported) == ([("assigned", [])], [])


def test_an_answer_without_an_assignment_moves_the_epoch_alone():
    """A heartbeat answered with another epoch and no assignment changes nothing but the epoch."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2)
    assert (bench.state, bench.member.generation.id, len(bench.callbacks)) == ("STABLE", 2, 1)
    assert bench.next_beat().member_epoch == 2


def test_the_same_assignment_again_is_nothing_to_reconcile():
    """A full answer with the partitions that are owned leaves a stable member stable, without a callback."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, [1, 0])
    assert (bench.state, len(bench.callbacks)) == ("STABLE", 1)


# --- steps -------------------------------------------------------------------------------------------------------


def test_partitions_that_stay_are_in_no_callback():
    """Revoked is what the target lacks, assigned what it adds; the rest is owned throughout."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, [1, 2])
    assert bench.callbacks[1:] == [("revoked", [0]), ("assigned", [2])]
    assert (bench.owned, bench.reported) == ([1, 2], [1, 2])


def test_nothing_added_is_an_assigned_callback_without_partitions():
    """The assigned callback runs in each round; the revoked callback only for partitions that there are."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, [0])
    assert bench.callbacks[1:] == [("revoked", [1]), ("assigned", [])]
    bench.accept(2)
    bench.next_beat()
    bench.accept(3, [0, 3])
    assert bench.callbacks[3:] == [("assigned", [3])]


def test_a_round_that_revokes_waits_for_poll():
    """Away from poll the member stays RECONCILING, and owns what it had; heartbeats go on."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.leave_poll()
    bench.next_beat()
    bench.accept(2, [1], poll=False)
    bench.next_beat()
    bench.accept(2, poll=False)
    assert (bench.state, bench.owned, len(bench.callbacks)) == ("RECONCILING", [0, 1], 1)
    bench.poll()
    assert (bench.state, bench.owned, bench.callbacks[1:]) == ("STABLE", [1], [("revoked", [0]), ("assigned", [])])


def test_revoked_partitions_are_not_consumed_while_the_callback_runs():
    """From the begin of the round on, what it revokes is neither fetched nor delivered; the rest is."""
    bench = ConsumerBench(behaviour=Behaviour(on_revoked="3s"))
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, [1])
    assert (bench.state, bench.held, bench.owned) == ("RECONCILING", [0], [0, 1])
    bench.advance_ms(3_000)
    bench.poll()
    assert (bench.owned, bench.held, bench.reported) == ([1], [], [1])


def test_a_newer_target_waits_for_the_end_of_the_round():
    """What is assigned during a callback is kept, and reconciled after the acknowledgement of this round."""
    bench = ConsumerBench(behaviour=Behaviour(on_revoked="7s"))
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, [1])
    bench.next_beat()
    bench.accept(3, [1, 2], poll=False)
    bench.advance_ms(2_000)
    bench.poll()
    assert bench.callbacks[1:] == [("revoked", [0]), ("assigned", []), ("assigned", [2])]
    assert [beat.topic_partitions for beat in bench.beats if beat.topic_partitions][-1] == entries([1])
    bench.accept(3)
    assert (bench.state, bench.reported) == ("STABLE", [1, 2])


# --- callbacks that throw ----------------------------------------------------------------------------------------


def test_a_revoked_callback_that_throws_is_called_again():
    """The round ends without an acknowledgement, poll throws; the next poll revokes the same partitions again."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    bench.member.ownership.raise_next("revoked", "boom")
    with pytest.raises(ClientFailure, match="boom"):
        bench.accept(2, [1])
    assert (bench.state, bench.owned) == ("RECONCILING", [0, 1])
    bench.poll()
    assert bench.callbacks[1:] == [("revoked", [0]), ("revoked", [0]), ("assigned", [])]
    assert (bench.state, bench.reported) == ("STABLE", [1])


def test_partitions_whose_assigned_callback_threw_are_owned_but_not_consumed():
    """The next round calls back for no partitions, and what it enables is then consumed."""
    bench = ConsumerBench()
    bench.find_coordinator()
    bench.member.ownership.raise_next("assigned", "boom")
    with pytest.raises(ClientFailure, match="boom"):
        bench.accept(1, [0, 1])
    assert (bench.state, bench.owned) == ("RECONCILING", [0, 1])
    bench.member.fetcher.look_up()
    assert bench.count(Api.OFFSET_FETCH) == 0
    bench.poll()
    assert bench.callbacks == [("assigned", [0, 1]), ("assigned", [])]
    bench.member.fetcher.look_up()
    assert (bench.state, bench.count(Api.OFFSET_FETCH)) == ("STABLE", 1)


# --- aborted rounds ----------------------------------------------------------------------------------------------


def test_a_member_fenced_during_a_callback_drops_the_round():
    """The revoked callback ends, the assigned one does not follow; what was owned is lost, and the member joins."""
    bench = ConsumerBench(behaviour=Behaviour(on_revoked="9s"))
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, [1, 2])
    bench.next_beat()
    bench.refuse(E.FENCED_MEMBER_EPOCH)
    assert bench.state == "FENCED"
    bench.advance_ms(4_000)
    bench.poll()
    bench.advance_ms(9_000)  # the lost callback takes as long
    assert bench.callbacks[1:] == [("revoked", [0]), ("lost", [0, 1])]
    assert (bench.state, bench.owned, bench.beat.member_epoch) == ("JOINING", [], 0)


def test_what_was_assigned_before_a_fence_is_forgotten():
    """A member that joins again has no target: the answer to its join is the first one."""
    bench = ConsumerBench()
    bench.stable(0, 1, epoch=5)
    bench.next_beat()
    bench.refuse(E.UNKNOWN_MEMBER_ID)
    bench.poll()
    bench.accept(6, [0, 1])
    bench.accept(6)
    assert (bench.state, bench.owned) == ("STABLE", [0, 1])
    assert bench.callbacks == [("assigned", [0, 1]), ("lost", [0, 1]), ("assigned", [0, 1])]


# --- topics that metadata lack -----------------------------------------------------------------------------------


def test_unknown_topics_are_left_out_and_acknowledged_once():
    """The known part is reconciled and reported; the rest follows when metadata have its topic."""
    bench = ConsumerBench()
    bench.find_coordinator()
    bench.accept(1, {"t": [0], "u": [0, 1]})
    assert (bench.owned, bench.reported) == ([0], [0])
    bench.accept(1)
    assert (bench.state, bench.count(BEAT)) == ("RECONCILING", 2)
    bench.advance_ms(100)
    bench.topics(t=4)
    assert (bench.state, bench.count(BEAT)) == ("RECONCILING", 2)
    bench.advance_ms(1_000)
    bench.topics(t=4, u=2)
    bench.poll()
    assert bench.beat.topic_partitions == entries({"t": [0], "u": [0, 1]})
    assert bench.state == "STABLE"


def test_a_target_of_unknown_topics_alone_is_acknowledged_as_empty():
    """A joining member that knows none of the topics calls back for nothing, and reports nothing."""
    bench = ConsumerBench()
    bench.find_coordinator()
    bench.accept(1, {"u": [0]})
    assert (bench.callbacks, bench.beat.topic_partitions) == ([("assigned", [])], ())


# --- commits -----------------------------------------------------------------------------------------------------


def test_positions_are_committed_before_the_callbacks():
    """With auto-commit every round commits all positions first, also one that revokes nothing."""
    bench = ConsumerBench(auto_commit=True)
    bench.stable(0, 1, epoch=4)
    bench.has_read(p0=5, p1=7)
    bench.next_beat()
    bench.accept(5, [0, 1, 2])
    commit = bench.asked(Api.OFFSET_COMMIT)
    assert {entry.partition.partition: entry.offset for entry in commit.offsets} == {0: 5, 1: 7}
    assert (commit.generation_id, commit.member_id) == (5, bench.beat.member_id)
    assert (bench.state, len(bench.callbacks)) == ("RECONCILING", 1)
    bench.committed()
    bench.poll()
    assert bench.callbacks[1:] == [("assigned", [2])]


def test_with_auto_commit_a_round_begins_in_poll_only():
    """Away from poll nothing is committed, even where nothing is revoked."""
    bench = ConsumerBench(auto_commit=True)
    bench.stable(0)
    bench.has_read(p0=5)
    bench.leave_poll()
    bench.next_beat()
    bench.accept(2, [0, 1], poll=False)
    assert bench.count(Api.OFFSET_COMMIT) == 0
    bench.poll()
    assert bench.count(Api.OFFSET_COMMIT) == 1


def test_the_commit_at_the_interval_waits_for_the_one_before_a_reconciliation():
    """One auto-commit is in flight: the interval that ends meanwhile sends none, and begins again with the round."""
    bench = ConsumerBench({"auto.commit.interval.ms": 6_000}, auto_commit=True)
    bench.stable(0, 1)
    bench.has_read(p0=5)
    bench.next_beat()
    bench.accept(2, [0, 1, 2])
    bench.advance_ms(4_000)
    bench.poll()
    assert bench.count(Api.OFFSET_COMMIT) == 1
    bench.committed()
    bench.poll()
    bench.advance_ms(5_999)
    assert bench.count(Api.OFFSET_COMMIT) == 1
    bench.advance_ms(1)
    assert bench.count(Api.OFFSET_COMMIT) == 2


def test_a_refused_commit_does_not_stop_the_round():
    """An error that is not retried ends the commit; the callbacks follow."""
    bench = ConsumerBench(auto_commit=True)
    bench.stable(0, 1)
    bench.has_read(p0=5)
    bench.next_beat()
    bench.accept(2, [1])
    bench.refuse_commit(E.GROUP_AUTHORIZATION_FAILED)
    bench.poll()
    assert bench.callbacks[1:] == [("revoked", [0]), ("assigned", [])]


def test_a_stale_commit_is_sent_again_with_the_newest_epoch():
    """STALE_MEMBER_EPOCH before a reconciliation: the next attempt carries the epoch of the moment."""
    bench = ConsumerBench(auto_commit=True)
    bench.stable(0, 1)
    bench.has_read(p0=5)
    bench.next_beat()
    bench.accept(2, [1])
    bench.next_beat()
    bench.accept(3, poll=False)
    bench.refuse_commit(E.STALE_MEMBER_EPOCH)
    bench.advance_ms(1_000)
    assert (bench.count(Api.OFFSET_COMMIT), bench.asked(Api.OFFSET_COMMIT).generation_id) == (2, 3)
    bench.committed()
    bench.poll()
    assert bench.callbacks[1:] == [("revoked", [0]), ("assigned", [])]


def test_the_commit_is_repeated_until_the_rebalance_timeout():
    """A retriable error is repeated with a growing backoff until max.poll.interval.ms has passed; then it goes on."""
    bench = ConsumerBench({"max.poll.interval.ms": 3_000}, auto_commit=True)
    bench.stable(0, 1)
    bench.has_read(p0=5)
    bench.next_beat()
    bench.accept(2, [1], poll=False)
    bench.poll()
    for _ in range(20):
        if "OffsetCommit" in bench.waiting:
            bench.refuse_commit(E.COORDINATOR_LOAD_IN_PROGRESS)
        bench.advance_ms(250)
    assert bench.count(Api.OFFSET_COMMIT) > 3
    bench.poll()
    assert bench.callbacks[1:] == [("revoked", [0]), ("assigned", [])]


@pytest.mark.parametrize(
    ("error", "exception"),
    [
        (E.STALE_MEMBER_EPOCH, exception_name(E.STALE_MEMBER_EPOCH)),
        (E.UNKNOWN_MEMBER_ID, "CommitFailedException"),
        (E.FENCED_INSTANCE_ID, "KafkaException"),
        (E.REBALANCE_IN_PROGRESS, "KafkaException"),
        (E.ILLEGAL_GENERATION, "KafkaException"),
    ],
)
def test_a_refused_commit_resets_nothing(error: ErrorCode, exception: str):
    """A member is fenced by its heartbeats alone: state and epoch stay after a commit that was refused."""
    bench = ConsumerBench()
    bench.stable(0, 1, epoch=4)
    bench.member.commits.commit_async({next(iter(bench.member.ownership.owned)): 3})
    bench.refuse_commit(error)
    assert [event.reason for event in bench.events if event.kind == "commit.failed"] == [exception]
    assert (bench.state, bench.member.generation.id) == ("STABLE", 4)


# --- committed offsets -------------------------------------------------------------------------------------------


def test_a_member_names_itself_when_it_asks_for_committed_offsets():
    """OffsetFetch carries member id and epoch; STALE_MEMBER_EPOCH is followed by another one with the newest epoch."""
    bench = ConsumerBench()
    bench.stable(0, epoch=4)
    bench.member.fetcher.look_up()
    asked = bench.asked(Api.OFFSET_FETCH)
    assert (asked.member_id, asked.member_epoch) == (bench.beat.member_id, 4)
    bench.next_beat()
    bench.accept(5)
    bench.answer(OffsetFetchResponse(E.STALE_MEMBER_EPOCH))
    bench.advance_ms(100)
    bench.member.fetcher.look_up()
    assert (bench.count(Api.OFFSET_FETCH), bench.asked(Api.OFFSET_FETCH).member_epoch) == (2, 5)
