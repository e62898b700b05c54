"""Heartbeats of a member of a consumer group: what they carry, when they go, and what errors do. On a bench.

Facts: `HeartbeatState`, `HeartbeatRequestState`, `AbstractHeartbeatRequestManager` of Kafka 4.4.0.
"""

from __future__ import annotations

import pytest

from groupsim.members.consumer_protocol.errors import ACTIONS, Action, action_on
from groupsim.members.failures import ClientFailure
from groupsim.members.subscription import Topics
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, FindCoordinatorResponse
from tests.helpers.consumer_member_bench import BEAT, INTERVAL_MS, ConsumerBench, entries

E = ErrorCode
STATIC = {"group.instance.id": "i1"}


# --- fields ------------------------------------------------------------------------------------------------------


def test_a_join_carries_every_field():
    """The first heartbeat has epoch 0, an empty list of partitions, and everything else that the coordinator keeps."""
    bench = ConsumerBench({"group.remote.assignor": "range", "client.rack": "r1", "max.poll.interval.ms": 60_000})
    bench.find_coordinator()
    beat = bench.beat
    assert (beat.group_id, beat.member_epoch, beat.version) == ("g", 0, 1)
    assert (beat.rebalance_timeout_ms, beat.subscribed_topic_names) == (60_000, ("t",))
    assert (beat.server_assignor, beat.rack_id, beat.topic_partitions) == ("range", "r1", ())
    assert len(beat.member_id) == 22


def test_a_heartbeat_without_changes_has_ids_and_epoch_alone():
    """What was sent is not sent again: group, member id, epoch and instance id remain."""
    bench = ConsumerBench({**STATIC, "client.rack": "r1"})
    bench.stable(0, 1, epoch=3)
    beat = bench.next_beat()
    assert (beat.member_epoch, beat.instance_id) == (3, "i1")
    assert (beat.rebalance_timeout_ms, beat.subscribed_topic_names, beat.rack_id) == (-1, None, None)
    assert (beat.server_assignor, beat.topic_partitions) == (None, None)


def test_a_new_subscription_waits_for_the_next_heartbeat():
    """A member of the group sends changed topics with its next heartbeat, no sooner, and no other field."""
    bench = ConsumerBench()
    bench.stable()
    before = bench.count(BEAT)
    bench.member.subscription.change(Topics(("t", "u")))
    bench.poll()
    bench.advance_ms(INTERVAL_MS - 1)
    assert bench.count(BEAT) == before
    bench.advance_ms(1)
    assert (bench.beat.subscribed_topic_names, bench.beat.topic_partitions) == (("t", "u"), None)


def test_the_acknowledgement_reports_what_is_owned():
    """After a reconciliation the heartbeat carries the partitions, once; the next one does not."""
    bench = ConsumerBench()
    bench.find_coordinator()
    bench.accept(1, [2, 3])
    assert bench.beat.topic_partitions == entries([2, 3])
    assert bench.beat.subscribed_topic_names is None
    bench.accept(1)
    assert bench.next_beat().topic_partitions is None


def test_an_acknowledged_set_is_reported_again_after_another_target():
    """The number of the target counts, not the set: A is reported again where B came and went between two polls."""
    bench = ConsumerBench(auto_commit=True)
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, [0, 1, 2], poll=False)
    bench.next_beat()
    bench.accept(3, [0, 1], poll=False)
    bench.poll()
    assert bench.state == "STABLE"
    assert bench.reported == [0, 1]
    assert bench.callbacks == [("assigned", [0, 1])]


@pytest.mark.parametrize("failure", ["error", "disconnect"])
def test_the_heartbeat_after_a_failure_has_all_fields(failure: str):
    """A failure forgets what was sent: timeout, topics and owned partitions come again, at the same epoch."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    if failure == "error":
        bench.refuse(E.COORDINATOR_LOAD_IN_PROGRESS)
        bench.advance_ms(1_000)
    else:
        bench.disconnect(BEAT)
        bench.answer(FindCoordinatorResponse(node=1))
        bench.advance_ms(1_000)
    beat = bench.beat
    assert (beat.member_epoch, beat.rebalance_timeout_ms) == (1, 300_000)
    assert (beat.subscribed_topic_names, beat.topic_partitions) == (("t",), entries([0, 1]))


# --- pace --------------------------------------------------------------------------------------------------------


def test_the_interval_is_the_coordinators_and_counts_from_the_send():
    """The next heartbeat follows an interval after the last one was sent, however late its answer came."""
    bench = ConsumerBench()
    bench.stable()
    sent_us = bench.now_us
    bench.next_beat()
    bench.advance_ms(3_000)
    bench.accept(1, poll=False)
    bench.advance_ms(INTERVAL_MS - 3_000 - 1)
    assert bench.waiting == []
    bench.advance_ms(1)
    assert bench.waiting == ["ConsumerGroupHeartbeat"]
    assert bench.now_us == sent_us + 2 * INTERVAL_MS * 1_000


def test_one_heartbeat_is_in_flight_at_a_time():
    """Without an answer no further heartbeat goes out; a late answer is followed by one after retry.backoff.ms."""
    bench = ConsumerBench()
    bench.stable()
    bench.next_beat()
    bench.advance_ms(3 * INTERVAL_MS)
    assert bench.waiting == ["ConsumerGroupHeartbeat"]
    before = bench.count(BEAT)
    bench.accept(1, poll=False)
    assert bench.count(BEAT) == before
    bench.advance_ms(100)
    assert bench.count(BEAT) == before + 1


def test_heartbeats_flow_while_the_application_is_away():
    """The background thread heartbeats whether the application polls or not, until max.poll.interval.ms."""
    bench = ConsumerBench()
    bench.stable()
    bench.leave_poll()
    for _ in range(5):
        bench.next_beat()
        bench.accept(1, poll=False)
    assert bench.state == "STABLE"


def test_backoff_grows_and_is_jittered():
    """COORDINATOR_LOAD_IN_PROGRESS in a stable state: 100 ms, 200 ms, 400 ms, each ±20 %, before the next heartbeat."""
    bench = ConsumerBench()
    bench.stable()
    bench.next_beat()
    for expected_ms in (100, 200, 400):
        bench.refuse(E.COORDINATOR_LOAD_IN_PROGRESS)
        before = bench.count(BEAT)
        bench.advance_ms(int(expected_ms * 0.8) - 1)
        assert bench.count(BEAT) == before
        bench.advance_ms(int(expected_ms * 0.4) + 2)
        assert bench.count(BEAT) == before + 1


def test_a_joining_member_passes_the_backoff():
    """JOINING does not wait: an error that asks for a backoff is followed by the next join at once."""
    bench = ConsumerBench()
    bench.find_coordinator()
    bench.refuse(E.COORDINATOR_LOAD_IN_PROGRESS)
    assert bench.count(BEAT) == 2
    assert (bench.state, bench.beat.member_epoch) == ("JOINING", 0)


def test_no_heartbeat_without_a_coordinator_and_one_at_once_when_it_is_found():
    """NOT_COORDINATOR: state and epoch stay, the coordinator is looked up, and a full heartbeat follows at once."""
    bench = ConsumerBench()
    bench.stable(0, 1, epoch=4)
    bench.next_beat()
    bench.refuse(E.NOT_COORDINATOR)
    assert (bench.state, bench.waiting) == ("STABLE", ["FindCoordinator"])
    bench.answer(FindCoordinatorResponse(node=2))
    assert (bench.beat.member_epoch, bench.reported) == (4, [0, 1])
    assert bench.waiting == ["ConsumerGroupHeartbeat"]


def test_a_heartbeat_without_an_answer_times_out():
    """After request.timeout.ms the coordinator is given up; the member keeps state and epoch."""
    bench = ConsumerBench({"request.timeout.ms": 2_000})
    bench.stable(0, 1)
    bench.next_beat()
    bench.advance_ms(2_000)
    assert "FindCoordinator" in bench.waiting
    assert (bench.state, bench.member.generation.id) == ("STABLE", 1)


# --- errors ------------------------------------------------------------------------------------------------------

FATAL = [code for code in ErrorCode if code and action_on(code) is Action.FATAL]


def test_the_table_of_errors_is_that_of_the_java_client():
    """Two errors look the coordinator up, one backs off, two fence, one is thrown, one depends on the state."""
    rows = {action: {code.name for code, found in ACTIONS.items() if found is action} for action in Action}
    assert rows[Action.LOOK_UP] == {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"}
    assert rows[Action.BACK_OFF] == {"COORDINATOR_LOAD_IN_PROGRESS"}
    assert rows[Action.FENCE] == {"FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID"}
    assert rows[Action.THROW] == {"TOPIC_AUTHORIZATION_FAILED"}
    assert rows[Action.NO_GROUP] == {"GROUP_ID_NOT_FOUND"}
    assert action_on(E.REQUEST_TIMED_OUT) is Action.FATAL


@pytest.mark.parametrize("error", [E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID])
def test_a_fenced_member_loses_its_partitions_and_joins_with_its_id(error: ErrorCode):
    """FENCED until the application has called back for lost partitions, then JOINING at epoch 0, without a backoff."""
    bench = ConsumerBench()
    bench.stable(0, 1, epoch=3)
    member_id = bench.beat.member_id
    bench.leave_poll()
    bench.next_beat()
    bench.refuse(error)
    assert (bench.state, bench.waiting, bench.owned) == ("FENCED", [], [0, 1])
    bench.poll()
    assert bench.callbacks[-1] == ("lost", [0, 1])
    assert (bench.state, bench.owned) == ("JOINING", [])
    assert (bench.beat.member_id, bench.beat.member_epoch, bench.beat.topic_partitions) == (member_id, 0, ())


def test_a_fenced_member_without_partitions_joins_at_once():
    """Nothing to call back for: FENCED and JOINING follow each other without a poll."""
    bench = ConsumerBench()
    bench.find_coordinator()
    bench.refuse(E.UNKNOWN_MEMBER_ID)
    assert bench.states[-2:] == ["FENCED", "JOINING"]
    assert (bench.count(BEAT), bench.beat.member_epoch) == (2, 0)


def test_topic_authorization_is_thrown_and_heartbeats_go_on():
    """TOPIC_AUTHORIZATION_FAILED: poll throws it, the state stays, and the next heartbeat follows after the backoff."""
    bench = ConsumerBench()
    bench.stable()
    bench.next_beat()
    bench.refuse(E.TOPIC_AUTHORIZATION_FAILED, "not you")
    with pytest.raises(ClientFailure, match="TopicAuthorizationException: not you") as thrown:
        bench.poll()
    assert not thrown.value.fatal
    assert bench.state == "STABLE"
    bench.advance_ms(1_000)
    assert bench.waiting == ["ConsumerGroupHeartbeat"]


@pytest.mark.parametrize("error", FATAL)
def test_a_fatal_error_ends_the_membership(error: ErrorCode):
    """FATAL: partitions are lost, poll throws the error, and nothing is sent any more."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    bench.refuse(error)
    assert bench.state == "FATAL"
    with pytest.raises(ClientFailure) as thrown:
        bench.poll()
    assert thrown.value.fatal
    assert (bench.callbacks[-1], bench.owned) == (("lost", [0, 1]), [])
    bench.advance_ms(60_000)
    bench.poll()
    assert Api.CONSUMER_GROUP_HEARTBEAT.title not in bench.waiting


def test_a_group_that_is_gone_is_fatal_for_a_member():
    """GROUP_ID_NOT_FOUND ends a member that takes itself for one of the group."""
    bench = ConsumerBench()
    bench.stable()
    bench.next_beat()
    bench.refuse(E.GROUP_ID_NOT_FOUND)
    assert bench.state == "FATAL"


def test_a_group_that_is_gone_is_ignored_by_a_member_that_left():
    """GROUP_ID_NOT_FOUND as the answer to a leave ends nothing: the member is UNSUBSCRIBED."""
    bench = ConsumerBench()
    bench.stable()
    left: list[object] = []
    bench.membership.leave("a test", on_done=left.append)
    bench.refuse(E.GROUP_ID_NOT_FOUND)
    assert bench.state == "UNSUBSCRIBED"
    assert len(left) == 1


def test_brokers_without_the_protocol_end_the_member():
    """No common version of ConsumerGroupHeartbeat: poll throws Java's words, with the remedy in them."""
    bench = ConsumerBench()
    bench.member.versions = {}
    bench.member.transport.release = "3.6"
    bench.poll()
    bench.answer(FindCoordinatorResponse(node=1))
    assert bench.state == "FATAL"
    with pytest.raises(ClientFailure, match=r"UnsupportedVersionException: .* Set group\.protocol=classic"):
        bench.poll()


def test_a_coordinator_that_a_commit_has_lost_still_answers_the_heartbeat_in_flight():
    """The connection to a coordinator that was given up stays open: the answer comes, and heartbeats go on."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    bench.member.commits.commit_async({next(iter(bench.member.ownership.owned)): 3})
    bench.refuse_commit(E.NOT_COORDINATOR)
    bench.answer(FindCoordinatorResponse(node=1))
    bench.accept(1, poll=False)
    bench.advance_ms(INTERVAL_MS)
    assert (bench.waiting, bench.state) == (["ConsumerGroupHeartbeat"], "STABLE")
