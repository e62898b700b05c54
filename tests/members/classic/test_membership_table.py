"""The classic membership of a Java client, rule by rule, on a bench without an event loop.

Facts: `AbstractCoordinator` (JoinGroupResponseHandler, SyncGroupResponseHandler, HeartbeatResponseHandler,
HeartbeatThread, maybeLeaveGroup), `ConsumerCoordinator` (onJoinPrepare, onJoinComplete), Kafka 4.4.
"""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.members.failures import ClientFailure
from groupsim.protocol.embedded.consumer_protocol import decode_subscription
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, FindCoordinatorResponse, HeartbeatResponse, JoinGroupResponse
from tests.helpers.membership_bench import MembershipBench

COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}
STATIC = {"group.instance.id": "i1"}
E = ErrorCode


def identity(bench: MembershipBench) -> tuple[int, str]:
    """Return generation and member id of the client."""
    return bench.member.generation.id, bench.member.generation.member_id


# --- states ------------------------------------------------------------------------------------------------------


def test_a_member_goes_through_the_states_of_a_rebalance():
    """UNJOINED until JoinGroup is sent, PREPARING until its answer, COMPLETING until that of SyncGroup, then STABLE."""
    bench = MembershipBench()
    states = [bench.member.state]
    bench.find_coordinator()
    states.append(bench.member.state)
    bench.joined()
    states.append(bench.member.state)
    bench.synced(0, 1)
    states.append(bench.member.state)
    assert states == ["UNJOINED", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE"]
    assert identity(bench) == (1, "m1")
    assert bench.owned == [0, 1]


def test_heartbeats_flow_from_the_answer_to_join_group_on():
    """Heartbeats follow the JoinGroup answer at each interval, in COMPLETING_REBALANCE, too (KAFKA-10122)."""
    bench = MembershipBench()
    bench.find_coordinator()
    bench.advance_ms(10_000)
    assert bench.count(Api.HEARTBEAT) == 0
    bench.joined()
    bench.advance_ms(2_999)
    assert bench.count(Api.HEARTBEAT) == 0
    bench.advance_ms(1)
    assert bench.count(Api.HEARTBEAT) == 1
    bench.answer(HeartbeatResponse())
    bench.advance_ms(3_000)
    assert bench.count(Api.HEARTBEAT) == 2


def test_a_member_that_joins_again_sends_no_heartbeats_until_it_is_answered():
    """PREPARING_REBALANCE disables the heartbeat thread: the parked JoinGroup keeps the session alive."""
    bench = MembershipBench()
    bench.stable()
    bench.membership.request_rejoin("a test")
    bench.poll()
    bench.advance_ms(20_000)
    assert bench.count(Api.HEARTBEAT) == 0


# --- JoinGroup ---------------------------------------------------------------------------------------------------


def test_the_first_join_group_says_nothing_of_the_past():
    """The first JoinGroup has neither member id nor reason; its subscription has topics only."""
    bench = MembershipBench()
    bench.find_coordinator()
    asked = bench.asked(Api.JOIN_GROUP)
    sent = decode_subscription(asked.protocols[0].metadata)
    assert (asked.member_id, asked.reason, asked.group_instance_id) == ("", "", None)
    assert (sent.topics, sent.owned, sent.generation) == (("t",), (), None)
    assert [offer.name for offer in asked.protocols] == ["range", "cooperative-sticky"]


#: Error, member id afterwards, whether the coordinator is known, milliseconds until the next JoinGroup, its reason.
JOIN_ERRORS = [
    (E.COORDINATOR_LOAD_IN_PROGRESS, "m1", True, 100, "CoordinatorLoadInProgressException"),
    (E.REBALANCE_IN_PROGRESS, "m1", True, 0, "RebalanceInProgressException"),
    (E.UNKNOWN_MEMBER_ID, "", True, 0, "UnknownMemberIdException"),
    (E.NOT_COORDINATOR, "m1", False, None, "NotCoordinatorException"),
    (E.COORDINATOR_NOT_AVAILABLE, "m1", False, None, "CoordinatorNotAvailableException"),
]


@pytest.mark.parametrize(("error", "member_id", "known", "wait_ms", "reason"), JOIN_ERRORS)
def test_what_an_error_of_join_group_leads_to(error, member_id, known, wait_ms, reason):
    """Each JoinGroup error has its own effects on member id, coordinator, and the time of the next JoinGroup."""
    bench = MembershipBench()
    bench.stable()
    bench.membership.request_rejoin("a test")
    bench.poll()
    before = bench.count(Api.JOIN_GROUP)
    bench.error(Api.JOIN_GROUP, error)
    bench.poll()
    assert bench.member.generation.member_id == member_id
    assert bench.member.coordinator.known is known
    if wait_ms is None:
        assert bench.waiting[-1] == "FindCoordinator"
        bench.answer(FindCoordinatorResponse(node=0))
        bench.poll()
    elif wait_ms:
        assert bench.count(Api.JOIN_GROUP) == before
        bench.advance_ms(wait_ms)
        bench.poll()
    assert bench.count(Api.JOIN_GROUP) == before + 1
    assert bench.asked(Api.JOIN_GROUP).member_id == member_id
    assert bench.asked(Api.JOIN_GROUP).reason == f"rebalance failed due to {reason}"


def test_a_given_member_id_is_joined_with_at_once():
    """MEMBER_ID_REQUIRED is no failure (KIP-394): no wait, no callbacks, generation -1."""
    bench = MembershipBench()
    bench.find_coordinator()
    bench.answer(given("m9"))
    bench.poll()
    assert bench.count(Api.JOIN_GROUP) == 2
    assert bench.asked(Api.JOIN_GROUP).member_id == "m9"
    assert bench.asked(Api.JOIN_GROUP).reason == "need to re-join with the given member-id: m9"
    assert identity(bench) == (-1, "m9")
    assert bench.callbacks[1:] == []


def given(member_id: str) -> JoinGroupResponse:
    """Return the answer with the id to join with."""
    return JoinGroupResponse(E.MEMBER_ID_REQUIRED, member_id=member_id)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (E.INCONSISTENT_GROUP_PROTOCOL, "InconsistentGroupProtocolException"),
        (E.INVALID_SESSION_TIMEOUT, "InvalidSessionTimeoutException"),
        (E.GROUP_AUTHORIZATION_FAILED, "GroupAuthorizationException"),
        (E.GROUP_MAX_SIZE_REACHED, "GroupMaxSizeReachedException"),
        (E.FENCED_INSTANCE_ID, "FencedInstanceIdException"),
    ],
)
def test_errors_of_join_group_that_poll_throws(error, name):
    """Poll throws these errors; a later poll joins again."""
    bench = MembershipBench()
    bench.find_coordinator()
    bench.error(Api.JOIN_GROUP, error)
    with pytest.raises(ClientFailure, match=name):
        bench.poll()
    bench.advance_ms(100)
    bench.poll()
    assert bench.count(Api.JOIN_GROUP) == 2


def test_a_broken_connection_keeps_the_member_id():
    """A JoinGroup without an answer is repeated with the same id once the coordinator is found."""
    bench = MembershipBench()
    bench.stable()
    bench.membership.request_rejoin("a test")
    bench.poll()
    bench.disconnect(Api.JOIN_GROUP)
    bench.poll()
    assert identity(bench) == (1, "m1")
    bench.answer(FindCoordinatorResponse(node=0))
    bench.poll()
    assert bench.asked(Api.JOIN_GROUP).member_id == "m1"
    assert bench.asked(Api.JOIN_GROUP).reason == "rebalance failed due to DisconnectException"


def test_join_group_is_waited_for_longer_than_the_rebalance_timeout():
    """JoinGroup times out after max(request.timeout.ms, rebalance timeout + 5 s), by default 305 s (KAFKA-7050)."""
    bench = MembershipBench()
    bench.find_coordinator()
    bench.advance_ms(304_999)
    assert "JoinGroup" in bench.waiting
    bench.advance_ms(1)
    assert "JoinGroup" not in bench.waiting


# --- SyncGroup ---------------------------------------------------------------------------------------------------

#: Error, generation and member id afterwards, and the callbacks before the next JoinGroup.
SYNC_ERRORS = [
    (E.REBALANCE_IN_PROGRESS, (2, "m1"), []),
    (E.UNKNOWN_MEMBER_ID, (-1, ""), [("lost", [0, 1])]),
    (E.ILLEGAL_GENERATION, (-1, "m1"), [("lost", [0, 1])]),
]


@pytest.mark.parametrize(("error", "after", "callbacks"), SYNC_ERRORS)
def test_what_an_error_of_sync_group_leads_to(error, after, callbacks):
    """A cooperative member joins again at once; it loses its partitions with generation or member id."""
    bench = MembershipBench(properties=COOPERATIVE)
    bench.stable()
    bench.membership.request_rejoin("a test")
    bench.poll()
    bench.joined(generation=2)
    before = len(bench.callbacks)
    bench.error(Api.SYNC_GROUP, error)
    bench.poll()
    assert identity(bench) == after
    assert bench.callbacks[before:] == callbacks
    assert bench.waiting[-1] == "JoinGroup"


def test_a_coordinator_that_moved_while_syncing_means_a_new_join_group():
    """After NOT_COORDINATOR the member sends JoinGroup, not SyncGroup, to the next coordinator."""
    bench = MembershipBench()
    bench.find_coordinator()
    bench.joined()
    bench.error(Api.SYNC_GROUP, E.NOT_COORDINATOR)
    bench.poll()
    bench.answer(FindCoordinatorResponse(node=0))
    bench.poll()
    assert bench.waiting[-1] == "JoinGroup"
    assert bench.asked(Api.JOIN_GROUP).member_id == "m1"


@pytest.mark.parametrize("error", [E.COORDINATOR_LOAD_IN_PROGRESS, E.GROUP_AUTHORIZATION_FAILED, E.FENCED_INSTANCE_ID])
def test_errors_of_sync_group_that_poll_throws(error):
    """Poll throws every error that is neither retriable nor about the membership."""
    bench = MembershipBench()
    bench.find_coordinator()
    bench.joined()
    bench.error(Api.SYNC_GROUP, error)
    with pytest.raises(ClientFailure):
        bench.poll()


def test_a_leader_sends_everybodys_assignment():
    """The leader runs the assignor, and its SyncGroup has an assignment for each member; a follower's is empty."""
    leader, follower = MembershipBench(), MembershipBench()
    for bench, leads in ((leader, True), (follower, False)):
        bench.find_coordinator()
        bench.joined(leads=leads)
    assert [entry.member_id for entry in leader.asked(Api.SYNC_GROUP).assignments] == ["m1"]
    assert follower.asked(Api.SYNC_GROUP).assignments == ()


# --- heartbeats --------------------------------------------------------------------------------------------------

#: Error, generation and member id afterwards, whether a rejoin is wanted, whether the coordinator is known.
HEARTBEAT_ERRORS = [
    (E.REBALANCE_IN_PROGRESS, (1, "m1"), True, True),
    (E.ILLEGAL_GENERATION, (-1, "m1"), True, True),
    (E.UNKNOWN_MEMBER_ID, (-1, ""), True, True),
    (E.NOT_COORDINATOR, (1, "m1"), False, False),
    (E.COORDINATOR_NOT_AVAILABLE, (1, "m1"), False, False),
    (E.COORDINATOR_LOAD_IN_PROGRESS, (1, "m1"), False, True),
    (E.GROUP_AUTHORIZATION_FAILED, (1, "m1"), False, True),
]


@pytest.mark.parametrize(("error", "after", "rejoins", "known"), HEARTBEAT_ERRORS)
def test_what_an_error_of_a_heartbeat_leads_to(error, after, rejoins, known):
    """A heartbeat answer that denies the membership resets it; other errors keep it."""
    bench = MembershipBench()
    bench.stable()
    bench.advance_ms(3_000)
    bench.error(Api.HEARTBEAT, error)
    assert identity(bench) == after
    assert bench.membership.rejoin_needed is rejoins
    assert bench.member.coordinator.known is known


def test_a_fenced_member_throws_at_the_next_poll():
    """FENCED_INSTANCE_ID for a heartbeat is fatal, and the next poll throws it."""
    bench = MembershipBench(properties=STATIC)
    bench.stable()
    bench.advance_ms(3_000)
    bench.error(Api.HEARTBEAT, E.FENCED_INSTANCE_ID)
    with pytest.raises(ClientFailure, match="FencedInstanceIdException") as thrown:
        bench.poll()
    assert thrown.value.fatal


def test_an_error_for_an_older_generation_is_ignored():
    """An error for a heartbeat of generation 1 does not affect generation 2."""
    bench = MembershipBench()
    bench.stable()
    bench.advance_ms(3_000)
    bench.membership.request_rejoin("a test")
    bench.poll()
    bench.joined(generation=2)
    bench.error(Api.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
    assert identity(bench) == (2, "m1")


def test_a_failed_heartbeat_is_sent_again_after_the_backoff():
    """The first failure is followed by a wait of 100 ms ± 20 %, not of an interval."""
    bench = MembershipBench()
    bench.stable()
    bench.advance_ms(3_000)
    bench.error(Api.HEARTBEAT, E.COORDINATOR_LOAD_IN_PROGRESS)
    bench.advance_ms(79)
    assert bench.count(Api.HEARTBEAT) == 1
    bench.advance_ms(42)
    assert bench.count(Api.HEARTBEAT) == 2


def test_a_session_without_answers_makes_the_client_look_for_its_coordinator():
    """After session.timeout.ms the coordinator is unknown; the membership stays, because only the broker decides."""
    bench = MembershipBench(properties={"request.timeout.ms": 60_000})
    bench.stable()
    bench.advance_ms(44_999)
    assert bench.member.coordinator.known
    bench.advance_ms(1)
    assert not bench.member.coordinator.known
    assert bench.waiting[-1] == "FindCoordinator"
    assert identity(bench) == (1, "m1")


# --- the poll limit and leaving ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("properties", "leaves"), [({}, 1), (STATIC, 0)])
def test_the_poll_limit_ends_the_membership(properties, leaves):
    """After max.poll.interval.ms without poll a dynamic member leaves; a static one only resets its id."""
    bench = MembershipBench(properties={"max.poll.interval.ms": 10_000, **properties})
    bench.stable()
    bench.leave_poll()
    for _ in range(3):
        bench.advance_ms(3_000)
        bench.answer(HeartbeatResponse())
    bench.advance_ms(1_100)
    assert bench.count(Api.LEAVE_GROUP) == leaves
    assert identity(bench) == (-1, "")
    if leaves:
        assert bench.asked(Api.LEAVE_GROUP).members[0].reason == "consumer poll timeout has expired."
    before = len(bench.callbacks)
    bench.poll()
    assert bench.callbacks[before:] == [("lost", [0, 1])]


def test_an_application_that_waits_inside_poll_keeps_its_membership():
    """The poll limit counts only the time away from poll."""
    bench = MembershipBench(properties={"max.poll.interval.ms": 10_000})
    bench.stable()
    for _ in range(7):
        bench.advance_ms(3_000)
        bench.answer(HeartbeatResponse())
    assert bench.count(Api.LEAVE_GROUP) == 0


def test_a_pending_member_leaves_under_the_id_it_was_given():
    """A pending member id is left, too, without a generation."""
    bench = MembershipBench()
    bench.find_coordinator()
    bench.answer(given("m9"))
    bench.poll()
    assert bench.membership.leave("closing")
    left = bench.asked(Api.LEAVE_GROUP).members
    assert [(one.member_id, one.group_instance_id) for one in left] == [("m9", None)]
    assert identity(bench) == (-1, "")


# --- callbacks ---------------------------------------------------------------------------------------------------

#: Assignment before and after, and the callbacks of the second rebalance up to its end.
EAGER_CALLBACKS = [
    ((0, 1), (0, 1), [("revoked", [0, 1]), ("assigned", [0, 1])]),
    ((0, 1), (1, 2), [("revoked", [0, 1]), ("assigned", [1, 2])]),
    ((0, 1), (), [("revoked", [0, 1]), ("assigned", [])]),
]
COOPERATIVE_CALLBACKS = [
    ((0, 1), (0, 1), [("assigned", [])]),
    ((0, 1), (0, 1, 2), [("assigned", [2])]),
    ((0, 1), (1, 2), [("revoked", [0]), ("assigned", [2])]),
]


@pytest.mark.parametrize(
    ("properties", "before", "after", "callbacks"),
    [({}, *row) for row in EAGER_CALLBACKS] + [(COOPERATIVE, *row) for row in COOPERATIVE_CALLBACKS],
)
def test_the_callbacks_of_a_rebalance(properties, before, after, callbacks):
    """Eager members revoke and assign all partitions; cooperative ones revoke and assign only the difference."""
    bench = MembershipBench(properties=properties)
    bench.stable(*before)
    done = len(bench.callbacks)
    bench.membership.request_rejoin("a test")
    bench.poll()
    bench.joined(generation=2)
    bench.synced(*after)
    assert bench.callbacks[done:] == callbacks
    assert bench.owned == list(after)


def test_a_cooperative_member_joins_again_when_it_has_given_something_up():
    """The second rebalance moves a partition (KIP-429)."""
    bench = MembershipBench(properties=COOPERATIVE)
    bench.stable(0, 1)
    bench.membership.request_rejoin("a test")
    bench.poll()
    bench.joined(generation=2)
    bench.synced(1)
    assert bench.asked(Api.JOIN_GROUP).reason == "need to revoke partitions and re-join"
    assert decode_subscription(bench.asked(Api.JOIN_GROUP).protocols[0].metadata).generation == 2


def test_a_callback_that_takes_time_holds_the_join_up():
    """Poll waits for user code only: JoinGroup is sent when the revoked callback has returned."""
    bench = MembershipBench(behaviour=Behaviour(on_revoked="7s"))
    bench.find_coordinator()
    bench.advance_ms(7_000)
    bench.joined()
    bench.synced(0)
    bench.membership.request_rejoin("a test")
    bench.poll()
    joins = bench.count(Api.JOIN_GROUP)
    bench.advance_ms(6_999)
    assert bench.membership.busy
    assert bench.count(Api.JOIN_GROUP) == joins
    bench.advance_ms(1)
    assert bench.count(Api.JOIN_GROUP) == joins + 1


def test_an_assignment_of_topics_not_subscribed_to_is_refused():
    """The member joins again without a callback."""
    bench = MembershipBench()
    bench.find_coordinator()
    bench.joined()
    before = len(bench.callbacks)
    bench.synced(0, topic="other")
    assert bench.asked(Api.JOIN_GROUP).reason == "received assignment does not match the current subscription"
    assert [kind for kind, _ in bench.callbacks[before:]] == ["revoked"]
    assert bench.owned == []


def test_a_leader_joins_again_when_a_topic_grows():
    """Only the leader watches the group's topics: another number of partitions is a rebalance."""
    bench = MembershipBench()
    bench.find_coordinator()
    bench.joined(leads=True)
    bench.synced(0, 1)
    bench.advance_ms(300_000)
    bench.topics(t=5)
    bench.poll()
    asked = [event.reason for event in bench.events if event.kind is Kind.REJOIN_REQUESTED]
    assert asked[-1] == "cached metadata has changed"


def test_a_follower_does_not_watch_partitions():
    """The same metadata change nothing at a follower."""
    bench = MembershipBench()
    bench.stable()
    bench.advance_ms(300_000)
    bench.topics(t=5)
    bench.poll()
    assert bench.count(Api.JOIN_GROUP) == 1
