from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.units import SECOND_US
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.loading.python_api import Draft
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import Cause, Generation, Story, tell
from groupsim.scenarios.story.causes import MEANING
from tests.helpers.trace_builders import Tape, formed


def first_rebalance(tape: Tape, at: float = 400) -> Generation:
    """The first generation after the group had formed."""
    return tell(tape.at(at).end()).groups[0].rebalances[0]


def expiry(tape: Tape, host: str = "c1", at: float = 60) -> Tape:
    """The coordinator removes a member whose session has expired."""
    return tape.at(at).remove(host, "session-expired").prepare(host, "HEARTBEAT_EXPIRED")


def test_every_cause_has_a_meaning() -> None:
    """The closed list explains each of its names."""
    assert set(MEANING) == set(Cause)


def test_a_new_process_is_a_deploy_join() -> None:
    """A new process that joins is a deploy-join."""
    tape = formed("c1").at(20).start("c2").join("c2").prepare("c2", "ADD_MEMBER")
    generation = first_rebalance(tape)
    assert (generation.cause, generation.why) == (Cause.DEPLOY_JOIN, "joined")
    assert generation.culprit is not None
    assert generation.culprit.host == "c2"


def test_an_orderly_leave_names_the_action_behind_it() -> None:
    """A leave is a deploy-leave, and the scenario's action is found by following causes."""
    tape = formed("c1", "c2").at(20)
    action = tape.add(Kind.ACTION, host="c2", reason="rolling restart of g1")
    request = tape.coordinator(Kind.REQUEST_RECEIVED, api="LeaveGroup", cause=action)
    tape.remove("c2", "left").prepare("c2", "LEAVE_GROUP", "the consumer is being closed", cause=request)
    generation = first_rebalance(tape)
    assert (generation.cause, generation.why) == (Cause.DEPLOY_LEAVE, "left (rolling restart of g1)")


def test_a_leave_because_of_the_poll_limit_is_not_a_deploy() -> None:
    """A client that leaves because poll() was not called has the cause poll-limit."""
    tape = formed("c1", "c2").at(310)
    tape.client(Kind.POLL_EXPIRED, "c1", payload={"limit_us": 300_000_000})
    tape.remove("c1", "left").prepare("c1", "LEAVE_GROUP")
    assert first_rebalance(tape).cause is Cause.POLL_LIMIT


def test_coming_back_after_the_poll_limit_is_the_same_cause() -> None:
    """The join that follows an expired poll limit is not a deploy either."""
    tape = formed("c1", "c2").at(310)
    tape.client(Kind.POLL_EXPIRED, "c1")
    tape.remove("c1", "left").prepare("c1", "LEAVE_GROUP").complete("c2").stable()
    tape.state_of("c1", "UNJOINED").at(330).join("c1", incarnation=2).prepare("c1", "ADD_MEMBER")
    causes = [g.cause for g in tell(tape.at(400).end()).groups[0].rebalances]
    assert causes == [Cause.POLL_LIMIT, Cause.POLL_LIMIT]


def test_a_session_that_ends_after_a_crash() -> None:
    """A process that was dead when its session ended is a crash."""
    generation = first_rebalance(expiry(formed("c1", "c2").at(15).crash("c1")))
    assert (generation.cause, generation.why) == (Cause.SESSION_CRASH, "crashed at 0:15.000")


def test_a_session_that_ends_in_a_pause() -> None:
    """A process that was paused when its session ended is a pause."""
    tape = formed("c1", "c2").at(15)
    tape.client(Kind.PROCESS_PAUSED, "c1", payload={"pause_us": 60_000_000})
    assert first_rebalance(expiry(tape)).cause is Cause.SESSION_PAUSE


def test_a_session_that_ends_with_a_starved_heartbeat_thread() -> None:
    """A running process whose heartbeat thread got no time is starved."""
    tape = formed("c1", "c2").at(15)
    tape.client(Kind.HEARTBEATS_BLOCKED, "c1", payload={"blocked_us": 60_000_000})
    generation = first_rebalance(expiry(tape))
    assert generation.cause is Cause.SESSION_STARVED
    assert generation.why == "sent no heartbeat for 60.0 s from 0:15.000 on: its heartbeat thread was starved"


def test_a_session_that_ends_because_the_broker_stood_still() -> None:
    """A pause of the coordinator's host while heartbeats arrived is a coordinator stall."""
    tape = formed("c1", "c2").at(15)
    tape.add(Kind.PROCESS_PAUSED, host="broker-1")
    assert first_rebalance(expiry(tape)).cause is Cause.SESSION_STALL


def test_a_session_that_ends_in_a_network_fault() -> None:
    """A fault during the missing heartbeats is a network cause."""
    tape = formed("c1", "c2").at(15)
    tape.add(Kind.FAULT_BEGUN, reason="c1 isolated for 60 s", host="c1", span=3)
    generation = first_rebalance(expiry(tape))
    assert (generation.cause, generation.why) == (
        Cause.SESSION_NETWORK,
        "was cut off at 0:15.000 (c1 isolated for 60 s)",
    )


def test_an_unexplained_silence_stays_a_plain_session_expiry() -> None:
    """The story gives no reason that the trace does not have."""
    assert first_rebalance(expiry(formed("c1", "c2"))).cause is Cause.SESSION_SILENT


def test_members_of_several_groups_that_fall_together_point_at_the_coordinator() -> None:
    """Live members of two groups that are removed within milliseconds point at the coordinator."""
    tape = formed("c1", "c2")
    other = formed("d1", group="g2")
    tape.events += [*other.events[1:]]
    tape.at(60).remove("c1", "session-expired").prepare("c1", "HEARTBEAT_EXPIRED")
    tape.add(Kind.MEMBER_REMOVED, host="broker-1", group="g2", member="d1-1", reason="session-expired")
    assert first_rebalance(tape).cause is Cause.SESSION_STALL


def test_more_partitions_are_a_metadata_change() -> None:
    """The leader joined again because a topic grew."""
    tape = formed("c1", "c2").at(20)
    tape.add(Kind.METADATA_CHANGED, topic="orders", payload={"before": 2, "partitions": 4})
    tape.at(21).prepare("c1", "LEADER_REJOIN", "cached metadata has changed")
    generation = first_rebalance(tape)
    assert (generation.cause, generation.why) == (
        Cause.METADATA,
        "joined again: orders went from 2 to 4 partitions at 0:20.000",
    )


def rack_flap(rack: str | None) -> str:
    """Return why the leader joined again after a broker was fenced, with this client.rack."""
    tape = formed("c1", "c2")
    config = {"client.rack": rack} if rack else {}
    tape.events.insert(0, TraceEvent(0, 0, Kind.PROCESS_STARTED, "c1", "g1", payload={"config": config}))
    tape.events.insert(0, TraceEvent(-1, 0, Kind.METADATA_CHANGED, topic="orders", payload={"before": 0}))
    tape.at(20).add(Kind.BROKER_FENCED, host="controller", reason="session expired", payload={"node": 1})
    return first_rebalance(tape.at(21).prepare("c1", "LEADER_REJOIN", "cached metadata has changed")).why


def test_a_broker_that_goes_is_news_to_a_leader_with_a_rack() -> None:
    """The racks of the replicas changed; a topic that is older than the group did not."""
    assert rack_flap("a") == (
        "joined again: the racks of replicas changed, and client.rack is set: broker-1 was fenced at 0:20.000"
    )


def test_a_change_that_is_not_in_the_trace_has_the_client_s_reason() -> None:
    """Without a rack the broker does not matter, and the topic is as old as the group."""
    assert rack_flap(None) == "joined again: cached metadata has changed"


def test_a_deleted_topic_is_named_as_deleted() -> None:
    """A deleted topic is not printed as one that shrank to 0 partitions."""
    tape = formed("c1", "c2").at(20)
    tape.add(Kind.METADATA_CHANGED, topic="orders", payload={"before": 2, "partitions": 0})
    why = first_rebalance(tape.at(21).prepare("c1", "LEADER_REJOIN", "cached metadata has changed")).why
    assert why == "joined again: topic orders was deleted at 0:20.000"


def test_a_leader_that_joins_again_for_nothing_is_a_leader_rejoin() -> None:
    """A rejoin of the leader without a change of metadata and without a reason is a loop."""
    assert first_rebalance(formed("c1", "c2").at(20).prepare("c1", "LEADER_REJOIN")).cause is Cause.LEADER_REJOIN


def test_a_member_whose_sync_was_refused_joins_again_for_the_same_cause() -> None:
    """The second round is no change of metadata: the new member of the first is its cause."""
    tape = formed("c1").at(20).start("c2").join("c2").prepare("c2", "ADD_MEMBER").rejoin("c1")
    tape.complete("c1", "c2").stable().at(21)
    tape.prepare("c1", "UPDATE_META", "rebalance failed due to RebalanceInProgressException").rejoin("c2")
    tape.complete("c1", "c2").stable()
    joined, again = tell(tape.at(60).end()).groups[0].generations[1:]
    assert (joined.cause, again.cause) == (Cause.DEPLOY_JOIN, Cause.DEPLOY_JOIN)
    assert again.culprit is not None
    assert (again.culprit.host, again.why) == (
        "c1",
        "joined again: rebalance failed due to RebalanceInProgressException",
    )


def test_a_leader_that_never_syncs_is_an_assignor_too_slow() -> None:
    """The group waited for the leader's assignment until the sync timer removed it."""
    tape = formed("c1", "c2").at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER").complete("c1", "c2", "c3")
    tape.at(320).remove("c1", "sync-timeout").prepare("c1", "SYNC_EXPIRED")
    assert [g.cause for g in tell(tape.at(400).end()).groups[0].rebalances][-1] is Cause.ASSIGNOR


def test_a_join_that_times_out_on_the_client_is_a_timeout_inversion() -> None:
    """The client's request timeout was shorter than the coordinator's hold, and the retry began the next round."""
    tape = formed("c1", "c2").at(20)
    tape.client(Kind.REQUEST_FAILED, "c2", api="JoinGroup", error="TIMED_OUT")
    tape.at(20.2).join("c2", incarnation=2).prepare("c2", "ADD_MEMBER")
    assert first_rebalance(tape).cause is Cause.TIMEOUT_INVERSION


def test_old_clients_that_evict_each_other_are_a_timeout_inversion() -> None:
    """A member dropped at the join timeout without any reason of its own was given too little time."""
    tape = formed("c1", "c2").at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER")
    tape.at(25).remove("c1", "join-timeout").complete("c2", "c3").stable()
    tape.at(26).join("c1", incarnation=2).prepare("c1", "ADD_MEMBER")
    assert [g.cause for g in tell(tape.at(30).end()).groups[0].rebalances] == [
        Cause.DEPLOY_JOIN,
        Cause.TIMEOUT_INVERSION,
    ]


def test_a_pending_member_that_never_returns_holds_the_join() -> None:
    """A member id that was given out and never used is named as what the group waited for."""
    tape = formed("c1", "c2").at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER")
    tape.coordinator(Kind.MEMBER_PENDING, member="ghost-1", payload={"client_id": "ghost"})
    tape.at(21).rejoin("c1").rejoin("c2").at(65)
    tape.coordinator(Kind.MEMBER_REMOVED, member="ghost-1", reason="pending-expired")
    held = first_rebalance(tape.complete("c1", "c2", "c3")).held_by
    assert held is not None
    assert (held.name.host, held.cause) == ("ghost-1", Cause.PENDING)


def test_a_broker_that_stands_still_goes_before_faults_of_members() -> None:
    """The coordinator's own stall explains expiries even when the members were stalled, too."""
    tape = formed("c1", "c2").at(15)
    tape.add(Kind.FAULT_BEGUN, reason="broker-1 stands still for 60 s", host="broker-1", span=1)
    tape.at(20).add(Kind.FAULT_BEGUN, reason="stall both at c1 for 60 s", host="c1", span=2)
    assert first_rebalance(expiry(tape)).cause is Cause.SESSION_STALL


def test_a_newcomer_removed_while_its_join_waited_is_not_the_cause() -> None:
    """A member removed while its JoinGroup waited is not the cause: the member in the callback is."""
    tape = formed("c1").at(20).start("c2").join("c2").prepare("c2", "ADD_MEMBER")
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="revoked", span=1)
    tape.at(320).remove("c2", "session-expired").remove("c1", "join-timeout")
    tape.coordinator(Kind.GROUP_STATE, from_="PreparingRebalance", to="Empty", generation=2)
    tape.generation, tape.state = 2, "Empty"
    tape.at(321).join("c2", incarnation=2).prepare("c2", "ADD_MEMBER").complete("c2").stable()
    first, second = tell(tape.at(330).end()).groups[0].rebalances
    assert [late.name.host for late in first.absent] == ["c1"]
    assert (second.cause, second.why) == (
        Cause.CALLBACK,
        "joined again: it was removed after its JoinGroup had waited 5 min",
    )


def test_a_leader_that_computes_for_longer_than_its_session_is_an_assignor_too_slow() -> None:
    """The leader lost its membership between JoinGroup and SyncGroup, and computed the assignment afterwards."""
    tape = formed("c1", "c2").at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER").complete("c1", "c2", "c3")
    tape.at(65).remove("c1", "session-expired").prepare("c1", "HEARTBEAT_EXPIRED").at(70)
    tape.client(Kind.ASSIGNMENT_COMPUTED, "c1")
    assert tell(tape.at(90).end()).groups[0].rebalances[-1].cause is Cause.ASSIGNOR


def test_a_leader_that_never_syncs_nor_computes_just_fell_silent() -> None:
    """Without an assignment in the trace the assignor is not named."""
    tape = formed("c1", "c2").at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER").complete("c1", "c2", "c3")
    tape.at(65).remove("c1", "session-expired").prepare("c1", "HEARTBEAT_EXPIRED")
    last = tell(tape.at(90).end()).groups[0].rebalances[-1]
    assert (last.cause, last.why) == (Cause.SESSION_SILENT, "sent neither SyncGroup nor heartbeats after its JoinGroup")


def test_a_member_that_left_at_its_poll_limit_was_waited_for_until_then() -> None:
    """The rebalance continued only when the busy member left."""
    tape = formed("c1", "c2").at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER").rejoin("c1").at(200)
    tape.client(Kind.POLL_EXPIRED, "c2")
    held = first_rebalance(tape.remove("c2", "left").complete("c1", "c3")).held_by
    assert held is not None
    assert (held.name.host, held.cause, held.removal) == ("c2", Cause.POLL_LIMIT, "left")


def test_a_fence_without_a_rebalance_makes_the_headline() -> None:
    """Two processes with one group.instance.id move partitions although no generation begins."""
    tape = formed("old").at(20).start("new").release("old", 0, reason="lost").own("new", 0)
    tape.coordinator(Kind.MEMBER_FENCED, member="old-1", reason="heartbeat", payload={"instance_id": "i-0"})
    headline = tell(tape.at(30).end()).headline
    assert headline.endswith("1 partition moved: 1 × static fence, two processes use group.instance.id i-0")


def test_another_application_under_the_same_group_id_is_a_subscription_mix() -> None:
    """A newcomer that shares no topic with the group is not just a deploy."""
    tape = Tape()
    for host, topics in (("c1", ["orders"]), ("c2", ["orders"]), ("x1", ["billing"])):
        tape.client(Kind.PROCESS_STARTED, host, payload={"client_id": host, "topics": topics})
    tape.join("c1").prepare("c1", "ADD_MEMBER").at(3).complete("c1").stable()
    tape.at(10).join("c2").prepare("c2", "ADD_MEMBER").at(11).complete("c1", "c2").stable()
    tape.at(20).join("x1").prepare("x1", "ADD_MEMBER").at(21).complete("c1", "c2", "x1").stable()
    first, second = tell(tape.at(30).end()).groups[0].rebalances
    assert first.cause is Cause.DEPLOY_JOIN
    assert (second.cause, second.why) == (
        Cause.SUBSCRIPTION_MIX,
        "subscribes to billing, the other members to orders",
    )


def test_a_sync_that_waited_for_a_dead_leader_is_the_dead_leaders_doing() -> None:
    """A static leader dies after it joined: the others' SyncGroup times out, and they join again because of that."""
    scenario = load_text("""
run-for: 4m
topics: {orders: {partitions: 6}}
groups:
  g1:
    client: java-3.9
    instance-id: "{name}"
    properties: {session.timeout.ms: 180000, max.poll.interval.ms: 60000}
    members: {a: {start: 1s}, b: {start: 1500ms}, c: {start: never}}
timeline:
  - {at: 60s, do: crash, member: b}
  - {at: 61s, do: start, member: c}
  - {at: 66s, do: crash, member: a}
""")
    third = tell(run_scenario(scenario).events).groups[0].generations[2]
    assert third.cause is Cause.SESSION_CRASH
    assert third.why == "joined again after its SyncGroup timed out: the leader, a, was dead"


@pytest.mark.parametrize(
    ("loaded_by", "cause"), [("broker-2", Cause.COORDINATOR_MOVE), ("broker-1", Cause.COORDINATOR_BACK)]
)
def test_a_join_lost_with_its_coordinator_is_the_coordinator_s_doing(loaded_by: str, cause: Cause) -> None:
    """A member joins again after a load: the coordinator moved, or, where the same broker loads, was away."""
    tape = formed("c1", "c2").at(20)
    tape.client(Kind.REQUEST_FAILED, "c2", api="JoinGroup", error="DISCONNECTED", reason="the broker went away")
    tape.at(27).add(Kind.GROUP_LOADED, host=loaded_by, group="g1", payload={"members": 2, "generation": 1})
    tape.broker = loaded_by
    tape.at(28).rejoin("c2").prepare("c2", "UPDATE_META")
    generation = first_rebalance(tape)
    assert (generation.cause, generation.why) == (
        cause,
        "joined again: its JoinGroup was lost with the coordinator's broker",
    )


def headline_of(tape: Tape) -> str:
    """Return the headline of a trace."""
    return tell(tape.events).headline


@pytest.mark.parametrize("last_record", [19, 25.2])
def test_a_standstill_of_an_empty_group_belongs_to_its_last_rebalance(last_record: float) -> None:
    """All members are refused and removed; they start again minutes later, which is not the cause of the standstill.

    A member that does not know yet may work on for a moment.
    """
    tape = formed("c1", session_s=10).at(19)
    if last_record == 19:
        tape.work("c1", 0, 0, 1)
    tape.client(Kind.RESPONSE_RECEIVED, "c1", api="Heartbeat", error="GROUP_AUTHORIZATION_FAILED")
    tape.at(25).remove("c1", "session-expired").prepare("c1", "HEARTBEAT_EXPIRED")
    tape.coordinator(Kind.GROUP_STATE, from_="PreparingRebalance", to="Empty", generation=2)
    tape.generation, tape.state = 2, "Empty"
    if last_record > 25:
        tape.at(last_record).work("c1", 0, 0, 1)
    tape.at(25.5).release("c1", 0, reason="lost").crash("c1")
    tape.at(90).start("c1").join("c1", incarnation=2).prepare("c1", "ADD_MEMBER").at(93).complete("c1").stable()
    tape.own("c1", 0).at(100).end()
    gone, back = tell(tape.events).groups[0].rebalances
    assert (gone.stopped_us > 60 * SECOND_US, back.stopped_us) == (True, 3 * SECOND_US)
    assert "c1 got GROUP_AUTHORIZATION_FAILED for its heartbeats from 0:19.000 on" in headline_of(tape)


def test_a_member_that_ignores_repeated_rebalance_errors_is_named() -> None:
    """A member whose heartbeats go on while it does not call poll() is named with its ignored answers."""
    tape = formed("c1", "c2").at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER").rejoin("c2")
    for second in (21, 24, 27):
        tape.at(second).client(Kind.RESPONSE_RECEIVED, "c1", api="Heartbeat", error="REBALANCE_IN_PROGRESS")
    tape.at(320).remove("c1", "join-timeout").complete("c2", "c3").stable().at(330).end()
    assert "c1 (got REBALANCE_IN_PROGRESS for 3 heartbeats and did not join) held generation 2 open" in headline_of(
        tape
    )


def test_a_group_id_that_two_applications_share_is_named_whatever_took_longest() -> None:
    """The subscription mix is named beside the longest rebalance."""
    tape = formed("c1")
    tape.events[1] = tape.events[1]._replace(payload={"client_id": "c1", "topics": ["orders"]})
    tape.at(20).client(Kind.PROCESS_STARTED, "c2", payload={"client_id": "c2", "topics": ["audit"]})
    tape.join("c2").prepare("c2", "ADD_MEMBER").at(21).complete("c1", "c2").stable()
    tape.at(40).remove("c2", "left").prepare("c2", "LEAVE_GROUP").at(50).complete("c1").stable().at(60).end()
    mixed = "subscription mix, c2 subscribes to audit, the other members to orders; longest: c2 left"
    assert headline_of(tape).endswith(mixed)


def test_a_death_that_says_why_ends_with_its_session() -> None:
    """A clause with commas is separated from the next by a semicolon."""
    tape = formed("c1", "c2", session_s=10).at(20)
    tape.client(Kind.PROCESS_CRASHED, "c2", reason="out of memory: 9 bytes, the limit is 8")
    tape.at(29).remove("c2", "session-expired").prepare("c2", "HEARTBEAT_EXPIRED").complete("c1").stable().end()
    assert headline_of(tape).endswith("of memory: 9 bytes, the limit is 8; its session ended at 0:29.000")


def test_a_client_that_never_gets_in_is_named_whatever_else_happened() -> None:
    """A process that failed and never became a member is named beside the rebalances of others."""
    tape = formed("c1", "c2").at(20).start("k")
    failed = "InconsistentGroupProtocolException"
    tape.at(21).client(Kind.PROCESS_FAILED, "k", error=failed)
    tape.at(30).start("c3").join("c3").prepare("c3", "ADD_MEMBER").complete("c1", "c2", "c3").stable().at(40).end()
    assert headline_of(tape).endswith(f"c3 joined; k failed with {failed} and never became a member")


def test_a_client_that_failed_and_came_back_is_no_stranger() -> None:
    """A process that is a member by the end is not named."""
    tape = formed("c1").at(20).start("k").at(21)
    tape.client(Kind.PROCESS_FAILED, "k", error="GroupAuthorizationException")
    tape.at(30).start("k").join("k").prepare("k", "ADD_MEMBER").complete("c1", "k").stable().at(40).end()
    assert "never became a member" not in headline_of(tape)


def test_a_client_that_failed_and_tries_again_may_still_get_in() -> None:
    """A process that still runs at the end is not named."""
    tape = formed("c1", "c2").at(20).start("k").at(21)
    tape.client(Kind.PROCESS_FAILED, "k", error="GroupAuthorizationException")
    tape.at(30).start("c3").join("c3").prepare("c3", "ADD_MEMBER").complete("c1", "c2", "c3").stable()
    tape.at(39).start("k").at(40).end()
    assert "never became a member" not in headline_of(tape)


def test_a_member_that_an_administrator_removed_did_not_leave() -> None:
    """A member that an administrator removed is not printed as having left."""
    tape = formed("c1", "c2").at(20).remove("c2", "admin").prepare("c2", "LEAVE_GROUP")
    assert first_rebalance(tape).why == "was removed"


def test_a_member_that_keeps_retrying_a_commit_is_named() -> None:
    """A deleted topic's offsets cannot be committed, and the client tries on until it is out of time."""
    tape = formed("c1", "c2").at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER")
    for second in range(21, 60):
        tape.at(second).client(Kind.COMMIT_FAILED, "c2", error="UNKNOWN_TOPIC_OR_PARTITION")
    late = first_rebalance(tape.rejoin("c1").at(60).rejoin("c2").complete("c1", "c2", "c3").stable()).late
    assert late is not None
    assert late.why == "kept trying to commit: 39 × UNKNOWN_TOPIC_OR_PARTITION"


def test_a_pattern_that_matches_a_new_topic_says_which() -> None:
    """A new topic that fits a pattern is named, not a change of the subscription."""
    tape = formed("c1", "c2").at(20)
    tape.add(Kind.METADATA_CHANGED, topic="orders.eu", payload={"before": 0, "partitions": 4})
    tape.at(300).prepare("c1", "LEADER_REJOIN", "subscription has changed")
    assert first_rebalance(tape).why == (
        "joined again: subscription has changed: topic orders.eu was created at 0:20.000"
    )


def test_a_client_that_chooses_its_partitions_wants_in_nowhere() -> None:
    """A process with manual assignment shares the group id and is no member, so it is not named."""
    tape = formed("c1", "c2").at(20)
    tape.client(Kind.PROCESS_STARTED, "hand", payload={"client_id": "hand", "assign": ["orders-1"]})
    tape.at(25).client(Kind.PROCESS_FAILED, "hand", error="CommitFailedException")
    tape.at(30).start("c3").join("c3").prepare("c3", "ADD_MEMBER").complete("c1", "c2", "c3").stable().at(40).end()
    assert "never became a member" not in headline_of(tape)


def test_a_few_failed_commits_are_no_cause_of_a_late_join() -> None:
    """Failed commits count only if the member went on with them for most of the time."""
    tape = formed("c1", "c2").at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER")
    for second in (21, 22, 23):
        tape.at(second).client(Kind.COMMIT_FAILED, "c2", error="UNKNOWN_TOPIC_OR_PARTITION")
    late = first_rebalance(tape.rejoin("c1").at(60).rejoin("c2").complete("c1", "c2", "c3").stable()).late
    assert late is not None
    assert "commit" not in late.why


def three_groups(*steps: dict[str, object]) -> Story:
    """Three groups of one topic and one coordinator."""
    group = {"members": {"c": 2}, "properties": {"session.timeout.ms": 6000}}
    groups = {name: {**group, "members": {f"{name}-c": {"count": 2}}} for name in ("g1", "g2", "g3")}
    data = {"run-for": "60s", "cluster": {"logs": "counted"}, "topics": {"orders": {"partitions": 4}}}
    return tell(Draft({**data, "groups": groups, "timeline": list(steps)}).run().events)


def test_groups_without_a_rebalance_are_all_named() -> None:
    """Three groups without an event are counted together, and none is named alone."""
    assert three_groups().headline.startswith("no rebalance: g1, g2, g3 formed, the last in ")


def test_a_cause_common_to_several_groups_names_them_all() -> None:
    """Members of all groups are cut off at once: the rebalances of all are counted and all groups named."""
    story = three_groups({"at": "20s", "do": "isolate", "member": ["g1-c-1", "g2-c-1", "g3-c-1"], "for": "15s"})
    assert story.headline.startswith("6 rebalances of g1, g2, g3, up to ")


def test_a_cause_of_one_group_names_that_group() -> None:
    """The rebalances of other groups are counted after it."""
    steps = [
        {"at": "20s", "do": "crash", "member": "g1-c-1"},
        {"at": "20s", "do": "stop", "member": "g2-c-1"},
    ]
    headline = three_groups(*steps).headline
    assert headline.startswith("1 rebalance of g1, ")
    assert headline.endswith("(and 1 rebalance of g2)")
