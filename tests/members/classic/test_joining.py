"""How a consumer joins its group, and its reactions to failures (classic-protocol reference, section 4.5)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.embedded.consumer_protocol import Assignment, encode_assignment
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, JoinGroupResponse, SyncGroupResponse
from tests.helpers.members_fakes import DROP, HOLD, SECOND, parts, subscription_of

E = ErrorCode


def test_a_java_consumer_joins_syncs_and_owns(on_bench):
    """A new consumer finds its coordinator, joins in two steps, syncs, and owns its own assignment as leader."""

    async def body(bench):
        await bench.stable()
        assert bench.consumer.assignment == parts(0, 1, 2, 3)
        assert bench.consumer.generation == 1
        first, second = bench.broker.all(Api.JOIN_GROUP)
        assert (first.member_id, first.reason) == ("", "")
        assert (second.member_id, second.reason) == ("m1", "need to re-join with the given member-id: m1")
        assert [event.to for event in bench.emitted(Kind.CLIENT_STATE)] == [
            "PREPARING_REBALANCE",
            "COMPLETING_REBALANCE",
            "STABLE",
        ]

    on_bench(body)


@pytest.mark.parametrize(("properties", "rack"), [({"client.rack": "a"}, "a"), ({}, None)])
def test_the_rack_stands_in_the_subscription(on_bench, properties, rack):
    """A subscription carries the member's rack for rack-aware assignors (KIP-881), null without one."""

    async def body(bench):
        await bench.stable()
        assert subscription_of(bench.broker.last(Api.JOIN_GROUP)).rack == rack

    on_bench(body, properties=properties)


def test_the_member_id_handshake_needs_no_backoff_and_no_callback(on_bench):
    """MEMBER_ID_REQUIRED is followed at once by a JoinGroup with the given id, and no callback runs."""

    async def body(bench):
        await bench.stable()
        first, second = bench.broker.times(Api.JOIN_GROUP)
        assert second - first == 1_000  # one round trip
        assert bench.reasons(Kind.REJOIN_REQUESTED) == ["need to re-join with the given member-id: m1"]
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned"]

    on_bench(body)


def test_the_subscription_carries_topics_owned_partitions_and_generation(on_bench):
    """A subscription has sorted topics, no partitions for an eager member that rejoins, and the old generation."""

    async def body(bench):
        await bench.stable()
        bench.broker.rebalance()
        await bench.run_for(5)
        first = subscription_of(bench.broker.all(Api.JOIN_GROUP)[0])
        again = subscription_of(bench.broker.last(Api.JOIN_GROUP))
        assert (first.topics, first.owned, first.generation) == (("a", "t"), (), None)
        assert (again.owned, again.generation) == ((), 1)

    on_bench(body, subscribe={"topics": ["t", "a"]}, topics={"t": 2, "a": 1})


def test_a_lost_connection_keeps_the_member_id(on_bench):
    """A JoinGroup repeated after a disconnect has the same member id (testRetainMemberIdAfterJoinGroupDisconnect)."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, None, DROP)
        await bench.stable()
        ids = [request.member_id for request in bench.broker.all(Api.JOIN_GROUP)]
        assert ids == ["", "m1", "m1"]
        assert set(bench.reasons(Kind.COORDINATOR_LOST)) == {"coordinator unavailable"}
        assert bench.broker.last(Api.JOIN_GROUP).reason == "rebalance failed due to DisconnectException"

    on_bench(body)


def test_a_lost_connection_in_sync_keeps_the_member_id_and_joins_again(on_bench):
    """After a disconnect in SyncGroup the client sends JoinGroup again with the same member id."""

    async def body(bench):
        bench.broker.reply(Api.SYNC_GROUP, DROP)
        await bench.stable()
        assert [request.member_id for request in bench.broker.all(Api.JOIN_GROUP)] == ["", "m1", "m1"]
        assert bench.consumer.generation == 2

    on_bench(body)


def test_unknown_member_id_forgets_the_member_id(on_bench):
    """After UNKNOWN_MEMBER_ID the next JoinGroup is sent at once, without a member id."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, None, E.UNKNOWN_MEMBER_ID)
        await bench.stable()
        ids = [request.member_id for request in bench.broker.all(Api.JOIN_GROUP)]
        assert ids == ["", "m1", "", "m2"]
        assert "encountered UNKNOWN_MEMBER_ID from JOIN_GROUP response" in bench.reasons(Kind.GENERATION_RESET)
        times = bench.broker.times(Api.JOIN_GROUP)
        assert times[2] - times[1] == 1_000

    on_bench(body)


@pytest.mark.parametrize("error", [E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE])
def test_retriable_join_errors_wait_for_the_backoff(on_bench, error):
    """JoinGroup to a loading coordinator is repeated after retry.backoff.ms with the same member id.

    A wrong coordinator is looked up at once, and again after the backoff: it may not be connected to yet.
    """

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, None, error)
        await bench.stable()
        times, looked = bench.broker.times(Api.JOIN_GROUP), bench.broker.times(Api.FIND_COORDINATOR)
        assert bench.broker.last(Api.JOIN_GROUP).member_id == "m1"
        if error is E.COORDINATOR_LOAD_IN_PROGRESS:
            assert times[2] - times[1] == 100_000 + 1_000
            assert len(looked) == 1
        else:
            assert looked[1] - times[1] == 1_000
            assert 80_000 <= looked[2] - looked[1] - 1_000 <= 120_000
            assert times[2] - looked[2] == 1_000
            assert len(looked) == 3

    on_bench(body)


@pytest.mark.parametrize(("profile", "pause_us"), [("java-3.4", 0), ("java-3.5", 100_000)])
def test_up_to_3_4_a_join_is_tried_again_at_once(on_bench, profile, pause_us):
    """Clients of 2.8.2, 3.1.2 and 3.3.1 repeat JoinGroup to a loading coordinator without a pause (KAFKA-12639)."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, None, *3 * [E.COORDINATOR_LOAD_IN_PROGRESS])
        await bench.stable()
        times = bench.broker.times(Api.JOIN_GROUP)
        assert [later - one for one, later in pairwise(times[1:])] == 3 * [pause_us + 1_000]

    on_bench(body, profile=profile)


@pytest.mark.parametrize(
    "error",
    [E.INCONSISTENT_GROUP_PROTOCOL, E.INVALID_SESSION_TIMEOUT, E.GROUP_MAX_SIZE_REACHED, E.GROUP_AUTHORIZATION_FAILED],
)
def test_refusals_are_thrown_from_poll(on_bench, error):
    """A refused join is thrown from poll, and the process ends with that error."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, error)
        bench.consumer.start()
        await bench.consumer.ended()
        assert bench.consumer.state == "FAILED"
        [failed] = bench.emitted(Kind.PROCESS_FAILED)
        assert error.name in failed.reason

    on_bench(body)


def test_an_application_that_goes_on_polling_joins_after_a_refusal(on_bench):
    """A later poll joins again after a thrown error, as listener containers do."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, E.GROUP_MAX_SIZE_REACHED, E.GROUP_MAX_SIZE_REACHED)
        await bench.stable()
        assert len(bench.emitted(Kind.WARNING)) == 2

    on_bench(body, behaviour=Behaviour(on_error=OnError.RETRY))


def test_a_fenced_instance_is_fatal_even_for_a_stubborn_application(on_bench):
    """FENCED_INSTANCE_ID ends the process, whatever the application does with exceptions."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, E.FENCED_INSTANCE_ID)
        bench.consumer.start()
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "FencedInstanceIdException"
        assert bench.broker.all(Api.LEAVE_GROUP) == []

    on_bench(body, behaviour=Behaviour(on_error=OnError.RETRY), properties={"group.instance.id": "i1"})


def test_join_waits_for_the_rebalance_timeout_and_five_seconds(on_bench):
    """JoinGroup times out after max.poll.interval.ms + 5 s, and is repeated with the same id."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, None, HOLD)
        bench.consumer.start()
        await bench.run_for(66)
        [failed] = bench.emitted(Kind.REQUEST_FAILED)
        sent = bench.broker.times(Api.JOIN_GROUP)[1] - 500
        assert (failed.error, failed.t_us - sent) == ("TIMED_OUT", 65 * SECOND)
        assert bench.consumer.state == "STABLE"

    on_bench(body, properties={"max.poll.interval.ms": "60s"})


def test_a_short_rebalance_timeout_is_bounded_below_by_the_request_timeout(on_bench):
    """With a rebalance timeout of 10 s JoinGroup still has request.timeout.ms."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, None, HOLD)
        bench.consumer.start()
        await bench.run_for(31)
        [failed] = bench.emitted(Kind.REQUEST_FAILED)
        assert failed.t_us - (bench.broker.times(Api.JOIN_GROUP)[1] - 500) == 30 * SECOND

    on_bench(body, properties={"max.poll.interval.ms": "10s"})


@pytest.mark.parametrize(
    ("error", "ids"),
    [(E.UNKNOWN_MEMBER_ID, ["", "m1", "", "m2"]), (E.ILLEGAL_GENERATION, ["", "m1", "m1"])],
)
def test_sync_errors_that_lose_the_membership(on_bench, error, ids):
    """UNKNOWN_MEMBER_ID resets the member id, ILLEGAL_GENERATION only the generation."""

    async def body(bench):
        bench.broker.reply(Api.SYNC_GROUP, error)
        await bench.stable()
        assert [request.member_id for request in bench.broker.all(Api.JOIN_GROUP)] == ids

    on_bench(body)


def test_rebalance_in_progress_on_sync_keeps_everything_and_calls_nothing_back(on_bench):
    """A member that is late for SyncGroup rejoins at once with id and generation, without a second revocation."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.SYNC_GROUP, E.REBALANCE_IN_PROGRESS)
        bench.broker.rebalance()
        await bench.run_for(5)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked", "assigned"]
        assert subscription_of(bench.broker.last(Api.JOIN_GROUP)).generation == 2
        assert bench.emitted(Kind.GENERATION_RESET) == []

    on_bench(body)


def test_a_loading_coordinator_is_fatal_in_sync(on_bench):
    """The Java client's poll throws KafkaException for COORDINATOR_LOAD_IN_PROGRESS in SyncGroup."""

    async def body(bench):
        bench.broker.reply(Api.SYNC_GROUP, E.COORDINATOR_LOAD_IN_PROGRESS)
        bench.consumer.start()
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "KafkaException"

    on_bench(body)


def test_an_assignment_of_no_bytes_crashes_the_java_client(on_bench):
    """Poll throws IllegalStateException for the empty assignment of a member that the leader left out."""

    async def body(bench):
        bench.broker.reply(Api.SYNC_GROUP, SyncGroupResponse())
        bench.consumer.start()
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "IllegalStateException"

    on_bench(body)


def test_a_follower_syncs_without_assignments(on_bench):
    """A follower sends an empty SyncGroup and adopts its assignment."""

    async def body(bench):
        bench.broker.follow(parts(2))
        await bench.stable()
        assert bench.consumer.assignment == parts(2)
        assert bench.broker.last(Api.SYNC_GROUP).assignments == ()
        assert bench.emitted(Kind.ASSIGNMENT_COMPUTED) == []

    on_bench(body)


def test_a_changed_subscription_rejoins_with_its_reason(on_bench):
    """After `subscribe` with other topics the next poll requests a rejoin: subscription has changed."""

    async def body(bench):
        await bench.stable()
        bench.consumer.subscribe(["t", "u"])
        await bench.run_for(1)
        assert bench.broker.last(Api.JOIN_GROUP).reason == "subscription has changed"
        assert bench.consumer.assignment == parts(0, 1, 2, 3) + parts(0, topic="u")

    on_bench(body, topics={"t": 4, "u": 1})


def test_an_assignment_of_topics_not_subscribed_is_discarded(on_bench):
    """An assignment for an old subscription runs no callback; the member requests a rejoin."""

    async def body(bench):
        bench.broker.follow(parts(0))
        stale = SyncGroupResponse(assignment=encode_assignment(Assignment(parts(0, topic="old"))))
        bench.broker.reply(Api.SYNC_GROUP, stale)
        await bench.stable()
        assert bench.reasons(Kind.REJOIN_REQUESTED)[-1] == "received assignment does not match the current subscription"
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["revoked", "assigned"]
        assert bench.consumer.assignment == parts(0)

    on_bench(body)


def test_reasons_are_cut_at_255_characters(on_bench):
    """The client truncates a long reason (KIP-800)."""

    async def body(bench):
        await bench.stable()
        bench.consumer.enforce_rebalance("x" * 300)
        await bench.run_for(1)
        assert bench.broker.last(Api.JOIN_GROUP).reason == "x" * 255

    on_bench(body)


def test_an_old_client_speaks_join_group_v0(on_bench):
    """JoinGroup v0 has no rebalance timeout, reason or handshake: one request, and the broker gives the id."""

    async def body(bench):
        await bench.stable()
        [join] = bench.broker.all(Api.JOIN_GROUP)
        assert (join.version, join.rebalance_timeout_ms, join.reason) == (0, 30_000, None)
        assert bench.consumer.member_id == "m1"

    on_bench(body, profile="kafka-python-1.3")


def test_brod_waits_a_second_between_attempts(on_bench):
    """brod pauses for 1 s after any failed attempt, even where Java joins again at once (kaffe #92)."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, E.UNKNOWN_MEMBER_ID)
        await bench.stable()
        first, second = bench.broker.times(Api.JOIN_GROUP)
        assert second - first == 1_001_000

    on_bench(body, profile="brod")


def test_a_returning_static_leader_skips_the_assignment(on_bench):
    """With skip_assignment the leader sends no assignments, and still watches the topics (KIP-814)."""

    async def body(bench):
        def join(request):
            answer = bench.broker._join_group(request)
            bench.broker.partitions = parts(0, 1)
            return JoinGroupResponse(
                generation_id=answer.generation_id,
                protocol_name=answer.protocol_name,
                leader=answer.leader,
                member_id=answer.member_id,
                members=answer.members,
                skip_assignment=True,
            )

        bench.broker.reply(Api.JOIN_GROUP, join)
        await bench.stable()
        assert bench.broker.last(Api.SYNC_GROUP).assignments == ()
        bench.broker.topics["t"] = 6
        await bench.run_for(301)
        assert "cached metadata has changed" in bench.reasons(Kind.REJOIN_REQUESTED)

    on_bench(body, properties={"group.instance.id": "i1"})


def test_a_membership_lost_before_the_callbacks_begins_anew(on_bench):
    """A member expelled between the SyncGroup answer and the callbacks loses its partitions and joins again."""

    async def body(bench):
        bench.broker.follow(parts(0))
        await bench.stable()
        bench.broker.reply(Api.SYNC_GROUP, HOLD)
        bench.broker.rebalance()
        await bench.run_for(4)
        bench.data.append(parts(0)[0], 1)
        bench.broker.reply(Api.HEARTBEAT, None, E.UNKNOWN_MEMBER_ID)
        await bench.run_for(0.5)
        bench.broker.release(SyncGroupResponse(assignment=encode_assignment(Assignment(parts(0)))))
        await bench.run_for(15)
        assert "to -1/UNJOINED before the rebalance callback triggered" in bench.reasons(Kind.GENERATION_RESET)[-1]
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "lost", "assigned"]

    cooperative = {"partition.assignment.strategy": "cooperative-sticky"}
    on_bench(body, behaviour=Behaviour(processing="9s"), properties=cooperative)


def test_a_generation_lost_during_the_sync_discards_its_result(on_bench):
    """A SyncGroup success counts as ILLEGAL_GENERATION if a heartbeat has reset the generation meanwhile."""

    async def body(bench):
        bench.broker.follow(parts(0))
        bench.broker.reply(Api.SYNC_GROUP, HOLD)
        bench.broker.reply(Api.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
        bench.consumer.start()
        await bench.run_for(3.5)
        bench.broker.release(SyncGroupResponse(assignment=encode_assignment(Assignment(parts(0)))))
        await bench.stable()
        assert "rebalance failed due to IllegalGenerationException" in bench.reasons(Kind.REJOIN_REQUESTED)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned"]

    on_bench(body)


def test_client_and_broker_talk_in_the_newest_version_both_know(on_bench):
    """A current client joins an 0.11 broker with JoinGroup v2, without the reason of v8."""

    async def body(bench):
        bench.net.release = "0.11"
        await bench.stable()
        [join] = bench.broker.all(Api.JOIN_GROUP)
        assert (join.version, join.reason) == (2, None)

    on_bench(body)


def test_a_static_member_needs_a_broker_that_knows_static_members(on_bench):
    """group.instance.id with a 2.2 broker ends in UNSUPPORTED_VERSION, and no JoinGroup is sent."""

    async def body(bench):
        bench.net.release = "2.2"
        bench.consumer.start()
        await bench.run_for(1)
        assert bench.broker.all(Api.JOIN_GROUP) == []
        assert bench.consumer.failed.error == "UNSUPPORTED_VERSION"

    on_bench(body, properties={"group.instance.id": "i"})


def test_an_answer_about_another_protocol_type_is_thrown(on_bench):
    """A JoinGroup answer with Connect's protocol type is an InconsistentGroupProtocolException (v7+)."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, None, JoinGroupResponse(protocol_type="connect", member_id="m1"))
        bench.consumer.start()
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "InconsistentGroupProtocolException"

    on_bench(body)


def test_a_pattern_takes_topics_its_leader_knows_first(on_bench):
    """An assigned topic that matches the pattern is accepted, even if this member's metadata lack it."""

    async def body(bench):
        bench.broker.follow([*parts(0), *parts(0, topic="t2")])
        bench.broker.reply(Api.SYNC_GROUP, lambda request: bench.broker.topics.update(t2=1))
        bench.consumer.start()
        await bench.run_for(5)
        assert bench.consumer.assignment == (*parts(0), *parts(0, topic="t2"))
        assert len(bench.broker.all(Api.JOIN_GROUP)) == 2

    on_bench(body, subscribe={"pattern": "t.*"})


def test_an_application_that_polls_on_whatever_it_was_joins_after_it_was_fenced(on_bench):
    """A fenced client lives on: a later poll joins again with the instance id, without a member id."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, E.FENCED_INSTANCE_ID)
        await bench.run_for(10)
        assert bench.consumer.state == "STABLE"
        _, again = bench.broker.all(Api.JOIN_GROUP)
        assert (again.member_id, again.group_instance_id) == ("", "i")
        assert again.reason == "encountered FENCED_INSTANCE_ID from HEARTBEAT response"

    on_bench(body, properties={"group.instance.id": "i"}, behaviour=Behaviour(on_error=OnError.RETRY_ALL))
