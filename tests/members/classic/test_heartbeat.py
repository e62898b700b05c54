"""Heartbeats and the client's session timer (classic-protocol reference, section 4.6)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import FULL
from groupsim.members.behaviour import Behaviour
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, HeartbeatResponse
from tests.helpers.members_fakes import DROP, HOLD, SECOND, parts

E = ErrorCode
QUIET = {"enable.auto.commit": "false"}


def test_a_stable_consumer_heartbeats_and_leaves(on_bench):
    """Heartbeats are sent every heartbeat.interval.ms, counted from the JoinGroup answer; closing sends LeaveGroup."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(10)
        times = bench.broker.times(Api.HEARTBEAT)
        assert [b - a for a, b in pairwise(times)] == [3 * SECOND, 3 * SECOND]
        assert bench.consumer.heartbeats == 3
        await bench.consumer.close()
        [leaving] = bench.broker.last(Api.LEAVE_GROUP).members
        assert (leaving.member_id, leaving.reason) == ("m1", "the consumer is being closed")
        assert bench.consumer.state == "STOPPED"

    on_bench(body)


def test_a_quiet_minute_is_heartbeats_and_nothing_else(on_bench):
    """A quiet minute of poll has twenty heartbeats, no other request and no trace event."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(1)
        asked, events = len(bench.broker.asked), len(bench.events)
        await bench.run_for(60)
        assert {request.API for _, request in bench.broker.asked[asked:]} == {Api.HEARTBEAT}
        assert len(bench.broker.asked) - asked == 20
        assert len(bench.events) == events

    on_bench(body, properties=QUIET)


def test_a_quiet_heartbeat_costs_two_events_of_the_member_at_most(on_bench):
    """A heartbeat costs two heap events at the member, its timer and its answer; the third is the request."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(1)
        before = bench.loop.ticket()
        await bench.run_for(300)
        tickets = bench.loop.ticket() - before
        # per heartbeat: timer, request, answer, and the fake network's own request timeout
        assert tickets <= 100 * 4 + 10

    on_bench(body, properties=QUIET)


def test_the_full_trace_lists_heartbeats(on_bench):
    """The full trace lists every heartbeat, request and answer."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(7)
        sent = [event for event in bench.emitted(Kind.REQUEST_SENT) if event.api == "Heartbeat"]
        answered = [event for event in bench.emitted(Kind.RESPONSE_RECEIVED) if event.api == "Heartbeat"]
        assert len(sent) == len(answered) == 2

    on_bench(body, level=FULL, properties=QUIET)


def test_a_rebalance_is_noticed_by_a_heartbeat(on_bench):
    """REBALANCE_IN_PROGRESS makes the member rejoin with the reason 'group is already rebalancing'."""

    async def body(bench):
        await bench.stable()
        bench.broker.rebalance()
        await bench.run_for(4)
        assert bench.broker.last(Api.JOIN_GROUP).reason == "group is already rebalancing"
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked", "assigned"]
        errors = [event.error for event in bench.emitted(Kind.RESPONSE_RECEIVED) if event.api == "Heartbeat"]
        assert errors == ["REBALANCE_IN_PROGRESS"]

    on_bench(body)


def test_no_heartbeats_while_a_join_is_parked(on_bench):
    """The heartbeat thread is disabled in PREPARING_REBALANCE."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.JOIN_GROUP, HOLD)
        bench.broker.rebalance()
        await bench.run_for(4)
        before = len(bench.broker.all(Api.HEARTBEAT))
        await bench.run_for(20)
        assert bench.consumer.state == "PREPARING_REBALANCE"
        assert len(bench.broker.all(Api.HEARTBEAT)) == before

    on_bench(body)


def test_a_session_does_not_run_out_for_who_has_left(on_bench):
    """A client that unsubscribes with an unanswered heartbeat has no session timeout afterwards."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, *[HOLD] * 9)
        await bench.run_for(6.5)
        bench.consumer.unsubscribe()
        await bench.run_for(9)
        assert bench.emitted(Kind.SESSION_EXPIRED) == []
        assert bench.emitted(Kind.COORDINATOR_LOST) == []

    on_bench(body, properties={"session.timeout.ms": 7_000})


def test_heartbeats_flow_between_join_and_sync(on_bench):
    """Since KAFKA-10122 heartbeats begin with the JoinGroup answer (testHeartbeatSentWhenCompletingRebalance)."""

    async def body(bench):
        bench.broker.follow(parts(0))
        bench.broker.reply(Api.SYNC_GROUP, HOLD)
        bench.consumer.start()
        await bench.run_for(10)
        assert bench.consumer.state == "COMPLETING_REBALANCE"
        assert len(bench.broker.all(Api.HEARTBEAT)) == 3

    on_bench(body)


def test_old_clients_are_silent_between_join_and_sync(on_bench):
    """Before KAFKA-10122 an assignor slower than the session expelled the leader: it sent no heartbeat."""

    async def body(bench):
        bench.consumer.start()
        await bench.run_for(12)
        assert bench.consumer.state == "COMPLETING_REBALANCE"
        assert bench.broker.all(Api.HEARTBEAT) == []

    on_bench(body, profile="java-0.11", behaviour=Behaviour(assignor_time=parse_distribution("20s")))


def test_rebalance_in_progress_during_the_sync_is_ignored(on_bench):
    """REBALANCE_IN_PROGRESS for a heartbeat outside STABLE changes nothing."""

    async def body(bench):
        bench.broker.follow(parts(0))
        bench.broker.reply(Api.SYNC_GROUP, HOLD)
        bench.broker.reply(Api.HEARTBEAT, E.REBALANCE_IN_PROGRESS)
        bench.consumer.start()
        await bench.run_for(4)
        assert "group is already rebalancing" not in bench.reasons(Kind.REJOIN_REQUESTED)

    on_bench(body)


@pytest.mark.parametrize(("error", "member_id"), [(E.ILLEGAL_GENERATION, "m1"), (E.UNKNOWN_MEMBER_ID, "")])
def test_an_expelled_member_loses_its_partitions_and_joins_again(on_bench, error, member_id):
    """ILLEGAL_GENERATION keeps the member id, UNKNOWN_MEMBER_ID does not; partitions are lost, not revoked."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, error)
        joined = len(bench.broker.all(Api.JOIN_GROUP))
        await bench.run_for(4)
        request = bench.broker.all(Api.JOIN_GROUP)[joined]
        assert (request.member_id, request.reason) == (member_id, f"encountered {error.name} from HEARTBEAT response")
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "lost", "assigned"]

    on_bench(body)


def test_an_error_for_an_older_generation_is_ignored(on_bench):
    """The answer to a heartbeat of an old generation does not reset the current one."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, HOLD)
        await bench.run_for(3)
        bench.consumer.enforce_rebalance()
        await bench.run_for(1)
        assert bench.consumer.generation == 2
        bench.broker.release(bench.broker._response(bench.broker.last(Api.HEARTBEAT), E.UNKNOWN_MEMBER_ID))
        await bench.run_for(1)
        assert bench.emitted(Kind.GENERATION_RESET) == []

    on_bench(body)


def test_a_fenced_member_dies_at_its_next_poll(on_bench):
    """FENCED_INSTANCE_ID for a heartbeat is fatal, and a static member sends no LeaveGroup."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, E.FENCED_INSTANCE_ID)
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "FencedInstanceIdException"
        assert bench.broker.all(Api.LEAVE_GROUP) == []

    on_bench(body, properties={"group.instance.id": "i1"})


def test_not_coordinator_rediscovers_and_keeps_the_membership(on_bench):
    """NOT_COORDINATOR for a heartbeat only makes the client look the coordinator up."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, E.NOT_COORDINATOR)
        bench.broker.coordinator_node = 0
        await bench.run_for(10)
        assert [event.payload["node"] for event in bench.emitted(Kind.COORDINATOR_FOUND)] == [1, 0]
        assert (bench.consumer.generation, bench.consumer.member_id) == (1, "m1")
        assert len(bench.broker.all(Api.JOIN_GROUP)) == 2

    on_bench(body)


def test_an_unknown_error_only_slows_the_next_heartbeat(on_bench):
    """After COORDINATOR_LOAD_IN_PROGRESS the next heartbeat follows after 100 ms ± 20 %, and poll throws nothing."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, E.COORDINATOR_LOAD_IN_PROGRESS)
        await bench.run_for(4)
        first, second = bench.broker.times(Api.HEARTBEAT)
        assert 80_000 <= second - first - 1_000 <= 120_000
        assert bench.consumer.state == "STABLE"

    on_bench(body)


def test_a_silent_coordinator_expires_the_clients_session_only_locally(on_bench):
    """Without an answer for session.timeout.ms the client looks the coordinator up and keeps its membership."""

    async def body(bench):
        await bench.stable()
        bench.net.unreachable = True
        await bench.run_for(20)
        [expired] = bench.emitted(Kind.SESSION_EXPIRED)
        bench.net.unreachable = False
        # a heartbeat answered at about 0 s; 10 s later the session is over
        assert 9 * SECOND < expired.t_us < 10.1 * SECOND
        assert bench.consumer.assignment == parts(0, 1, 2, 3)
        assert bench.emitted(Kind.GENERATION_RESET) == []

    on_bench(body, properties={"session.timeout.ms": "10s"})


def test_refused_heartbeats_do_not_keep_the_clients_session_alive(on_bench):
    """GROUP_AUTHORIZATION_FAILED does not renew the session: after session.timeout.ms the coordinator is unknown."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, *[E.GROUP_AUTHORIZATION_FAILED] * 99)
        await bench.run_for(20)
        expired = bench.emitted(Kind.SESSION_EXPIRED)[0]
        assert 9 * SECOND < expired.t_us < 11.5 * SECOND

    on_bench(body, properties={"session.timeout.ms": "10s"})


def test_a_broken_connection_is_found_again(on_bench):
    """A heartbeat on a broken connection waits for a look-up and for the reconnect backoff, and is sent then."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, DROP)
        await bench.run_for(10)
        assert len(bench.emitted(Kind.COORDINATOR_FOUND)) == 3
        assert len(bench.broker.all(Api.HEARTBEAT)) >= 3
        assert bench.consumer.state == "STABLE"

    on_bench(body)


# --- clients without a background thread -------------------------------------------------------------------------


def test_old_clients_heartbeat_only_from_poll(on_bench):
    """A handler of 20 s delays the heartbeat of a client without a background thread until the next poll."""

    async def body(bench):
        await bench.stable()
        bench.data.append(parts(0)[0], 1)
        await bench.run_for(19.9)
        assert bench.broker.all(Api.HEARTBEAT) == []
        await bench.run_for(0.5)
        assert len(bench.broker.all(Api.HEARTBEAT)) == 1

    on_bench(body, profile="kafka-python-1.3", behaviour=Behaviour(processing=parse_distribution("20s")))


def test_kafkajs_heartbeats_between_batches(on_bench):
    """A client that heartbeats between batches sends one after each partition's batch, and none within a batch."""

    async def body(bench):
        await bench.stable()
        for partition in parts(0, 1, 2):
            bench.data.ends[partition] += 1
        bench.data.append(parts(3)[0], 1)
        await bench.loop.until(lambda: len(bench.emitted(Kind.RECORDS_PROCESSED)) == 4, 60 * SECOND)
        await bench.run_for(0.1)
        processed = [event.t_us for event in bench.emitted(Kind.RECORDS_PROCESSED)]
        beats = bench.broker.times(Api.HEARTBEAT)
        assert [beat - 500 for beat in beats] == processed

    on_bench(body, profile="kafkajs", behaviour=Behaviour(processing=parse_distribution("4s")))


def test_an_old_client_that_polls_rarely_heartbeats_rarely(on_bench):
    """A client that heartbeats in poll, and polls for 1 s once a minute, sends one heartbeat a minute (Q 11)."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(300)
        gaps = [b - a for a, b in pairwise(bench.broker.times(Api.HEARTBEAT))]
        assert min(gaps) == 61 * SECOND

    rarely = Behaviour(poll_timeout=parse_distribution("1s"), poll_gap=parse_distribution("60s"))
    on_bench(body, profile="kafka-python-1.3", behaviour=rarely, properties={"session.timeout.ms": "90s"})


@pytest.mark.parametrize("profile", ["kafka-python-1.3", "java-0.9"])
def test_an_old_client_that_polls_more_rarely_than_its_session_sends_no_heartbeat(on_bench, profile):
    """Each poll finds the session expired and looks the coordinator up, so the heartbeat interval restarts."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(300)
        assert bench.broker.all(Api.HEARTBEAT) == []
        assert len(bench.emitted(Kind.SESSION_EXPIRED)) == 4

    rarely = Behaviour(poll_timeout=parse_distribution("1s"), poll_gap=parse_distribution("60s"))
    on_bench(body, profile=profile, behaviour=rarely)


def test_the_backoff_of_failed_heartbeats_starts_anew_after_a_good_one(on_bench):
    """Failures in a row wait longer each time; after an answered heartbeat the next failure waits 100 ms again."""

    async def body(bench):
        await bench.stable()
        failed = [E.COORDINATOR_LOAD_IN_PROGRESS] * 3
        bench.broker.reply(Api.HEARTBEAT, *failed, None, *failed)
        await bench.run_for(8)
        times = bench.broker.times(Api.HEARTBEAT)
        waits = [round((b - a - 1_000) / 1_000) for a, b in pairwise(times)]
        for first in (0, 4):
            assert 80 <= waits[first] <= 120
            assert 160 <= waits[first + 1] <= 240
            assert 320 <= waits[first + 2] <= 480

    on_bench(body)


def test_an_owed_heartbeat_goes_out_in_place_of_one_that_was_put_off(on_bench):
    """A backoff that begins while the application is away does not cause a second heartbeat in poll."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, HOLD)
        await bench.loop.until(lambda: bool(bench.broker.held), 10 * SECOND)
        bench.consumer.block_poll(5 * SECOND)
        await bench.run_for(4.95)
        bench.broker.release(HeartbeatResponse(E.COORDINATOR_LOAD_IN_PROGRESS))
        await bench.run_for(30)
        gaps = [b - a for a, b in pairwise(bench.broker.times(Api.HEARTBEAT))]
        assert min(gaps) >= 3 * SECOND

    on_bench(body, profile="kafka-python-1.3")
