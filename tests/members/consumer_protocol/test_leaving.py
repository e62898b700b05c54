"""A member of a consumer group leaves: unsubscribe, close, the poll limit, and what a leave needs. On a bench.

Facts: `AbstractMembershipManager.leaveGroup`, `transitionToSendingLeaveGroup`, `maybeRejoinStaleMember`,
`AbstractHeartbeatRequestManager.poll` of Kafka 4.4.0; KIP-1092.
"""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.members.consumer.leave import unsubscribe
from groupsim.members.subscription import Topics
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, FindCoordinatorResponse
from tests.helpers.consumer_member_bench import BEAT, INTERVAL_MS, ConsumerBench

E = ErrorCode
STATIC = {"group.instance.id": "i1"}
SHORT = {"max.poll.interval.ms": 12_000}


def unsubscribes(bench: ConsumerBench) -> None:
    """The application unsubscribes, as far as that goes without time."""
    bench.member.subscription.change(None)
    bench.host.run(unsubscribe(bench.member))


# --- unsubscribe -------------------------------------------------------------------------------------------------


def test_unsubscribe_revokes_then_leaves():
    """The revoked callback for everything owned, then one heartbeat with epoch -1, without topics and partitions."""
    bench = ConsumerBench()
    bench.stable(0, 1, epoch=3)
    unsubscribes(bench)
    assert bench.callbacks[-1] == ("revoked", [0, 1])
    assert bench.states[-3:] == ["PREPARE_LEAVING", "LEAVING", "UNSUBSCRIBED"]
    beat = bench.beat
    assert (beat.member_epoch, beat.topic_partitions, beat.subscribed_topic_names) == (-1, (), ())
    assert beat.rebalance_timeout_ms == -1
    assert (bench.owned, bench.member.generation.id) == ([], -1)


def test_heartbeats_go_on_while_the_callback_of_a_leave_runs():
    """In PREPARE_LEAVING the session is kept at the member's epoch, and assignments are dropped."""
    bench = ConsumerBench(behaviour=Behaviour(on_revoked="8s"))
    bench.stable(0, 1, epoch=3)
    unsubscribes(bench)
    beat = bench.next_beat()
    assert (bench.state, beat.member_epoch) == ("PREPARE_LEAVING", 3)
    bench.accept(4, [0], poll=False)
    assert (bench.state, bench.member.generation.id) == ("PREPARE_LEAVING", 4)
    bench.advance_ms(3_000)
    assert (bench.state, bench.beat.member_epoch) == ("UNSUBSCRIBED", -1)


def test_a_member_fenced_while_it_leaves_sends_no_leave():
    """FENCED_MEMBER_EPOCH in PREPARE_LEAVING: it is out at once, and does not join again."""
    bench = ConsumerBench(behaviour=Behaviour(on_revoked="8s"))
    bench.stable(0, 1, epoch=3)
    unsubscribes(bench)
    bench.next_beat()
    bench.refuse(E.FENCED_MEMBER_EPOCH)
    assert bench.state == "UNSUBSCRIBED"
    bench.advance_ms(20_000)
    assert (bench.beat.member_epoch, bench.owned) == (3, [])


def test_without_a_coordinator_a_member_leaves_without_a_heartbeat():
    """The leave is skipped: the coordinator removes the member when its session ends."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    bench.refuse(E.NOT_COORDINATOR)
    before = bench.count(BEAT)
    unsubscribes(bench)
    assert (bench.state, bench.count(BEAT)) == ("UNSUBSCRIBED", before)


def test_a_member_that_left_joins_with_the_same_id():
    """A later subscribe joins at epoch 0 once the leave is answered; the member id is that of the process."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    member_id = bench.beat.member_id
    unsubscribes(bench)
    bench.member.subscription.change(Topics(("t",)))
    bench.poll()
    assert (bench.state, bench.beat.member_epoch) == ("JOINING", -1)
    bench.accept(-1)
    assert (bench.beat.member_epoch, bench.beat.member_id) == (0, member_id)


def test_a_leave_overtakes_a_heartbeat_in_flight():
    """A leave does not wait for the answer to the last heartbeat, and that answer changes nothing any more."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    unsubscribes(bench)
    assert bench.waiting == ["ConsumerGroupHeartbeat"] * 2
    bench.accept(2, [0, 1, 2], poll=False)
    assert (bench.state, bench.owned, bench.member.generation.id) == ("UNSUBSCRIBED", [], -1)


# --- close -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("properties", "leave", "epochs"),
    [
        ({}, None, [-1]),
        ({}, True, [-1]),
        ({}, False, [-1]),
        (STATIC, None, [-2]),
        (STATIC, True, [-1]),
        (STATIC, False, [-2]),
    ],
    ids=["dynamic", "dynamic-leave", "dynamic-remain", "static", "static-leave", "static-remain"],
)
def test_the_epoch_of_a_close(properties: dict[str, str], leave: bool | None, epochs: list[int]):
    """A dynamic member leaves with -1 even with REMAIN_IN_GROUP; a static one reports -2, or -1 with LEAVE_GROUP."""
    bench = ConsumerBench(properties)
    bench.stable(0, 1)
    before = bench.count(BEAT)
    bench.member.closing = True
    left: list[object] = []
    bench.membership.stop_heartbeats()
    bench.host.run(bench.member.ownership.abandon())
    if leave is not False or bench.membership.stays_by_request:
        bench.membership.leave("closed", on_done=left.append, static_too=leave is True)
    assert [beat.member_epoch for beat in bench.beats[before:]] == epochs
    assert bench.callbacks[-1] == ("revoked", [0, 1])


# --- the poll limit ----------------------------------------------------------------------------------------------


def stay_away(bench: ConsumerBench, epoch: int) -> None:
    """The application leaves poll for longer than the limit: the third heartbeat from then on finds it."""
    bench.leave_poll()
    for _ in range(2):
        bench.next_beat()
        bench.accept(epoch, poll=False)
    bench.advance_ms(INTERVAL_MS)


def test_the_poll_limit_leaves_with_the_next_heartbeat_and_calls_back_later():
    """STALE when a heartbeat is due: it leaves, before the callback, and no more are sent until the next poll."""
    bench = ConsumerBench(SHORT)
    bench.stable(0, 1, epoch=3)
    stay_away(bench, 3)
    assert bench.states[-3:] == ["PREPARE_LEAVING", "LEAVING", "STALE"]
    assert (bench.beat.member_epoch, bench.owned, len(bench.callbacks)) == (-1, [0, 1], 1)
    assert (bench.beat.topic_partitions, bench.beat.subscribed_topic_names) == ((), None)
    assert [event.kind for event in bench.events].count(Kind.POLL_EXPIRED) == 1
    before = bench.count(BEAT)
    bench.advance_ms(60_000)
    assert bench.count(BEAT) == before


def test_a_stale_member_joins_with_the_next_poll():
    """Lost partitions are called back, then the member joins with its member id and epoch 0."""
    bench = ConsumerBench(SHORT)
    bench.stable(0, 1, epoch=3)
    member_id = bench.beat.member_id
    stay_away(bench, 3)
    bench.poll()
    assert (bench.state, bench.callbacks[-1]) == ("JOINING", ("lost", [0, 1]))
    assert (bench.beat.member_epoch, bench.beat.member_id) == (0, member_id)


def test_a_static_member_that_is_stale_comes_back():
    """At the poll limit a static member reports epoch -2: its partitions stay reserved."""
    bench = ConsumerBench({**SHORT, **STATIC})
    bench.stable(0, 1)
    stay_away(bench, 1)
    assert (bench.state, bench.beat.member_epoch) == ("STALE", -2)


def test_the_poll_limit_waits_for_a_coordinator():
    """Without a coordinator nothing leaves at the limit; the member leaves when the coordinator is found."""
    bench = ConsumerBench(SHORT)
    bench.stable(0, 1)
    bench.next_beat()
    bench.leave_poll()
    bench.refuse(E.NOT_COORDINATOR)
    bench.advance_ms(20_000)
    assert bench.state == "STABLE"
    bench.answer(FindCoordinatorResponse(node=1))
    assert (bench.state, bench.beat.member_epoch) == ("STALE", -1)


def test_an_application_that_polls_is_never_stale():
    """Inside poll, and with polls closer together than the limit, the member stays."""
    bench = ConsumerBench(SHORT)
    bench.stable(0, 1)
    for _ in range(6):
        bench.leave_poll()
        bench.next_beat()
        bench.accept(1)
    assert bench.state == "STABLE"
    for _ in range(4):
        bench.next_beat()
        bench.accept(1)
    assert bench.state == "STABLE"


# --- committed offsets -------------------------------------------------------------------------------------------


def test_a_member_outside_the_group_commits_without_an_epoch():
    """After the poll limit a commit carries the member id and epoch -1, and the coordinator refuses it."""
    bench = ConsumerBench(SHORT)
    bench.stable(0, 1, epoch=3)
    stay_away(bench, 3)
    bench.member.commits.commit_async({next(iter(bench.member.ownership.owned)): 3})
    commit = bench.asked(Api.OFFSET_COMMIT)
    assert (commit.generation_id, commit.member_id) == (-1, bench.beat.member_id)
