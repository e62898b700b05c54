"""Differences of librdkafka from Java's client, as its profile has them (docs/twins.md)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from groupsim.assignors.sticky.cooperative import CooperativeStickyAssignor
from groupsim.cluster.network.faults import AnswerError, Match
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import FULL, NORMAL
from groupsim.members.behaviour import Behaviour
from groupsim.members.profiles.pace import MainThread
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from tests.helpers.members_fakes import DROP, HOLD, LATENCY_US, parts, subscription_of

MS, SECOND = 1_000, 1_000_000
PROFILE = "librdkafka-2.x"
SETTINGS = {"heartbeat.interval.ms": 800, "session.timeout.ms": 6_000}
AUTO = {"enable.auto.commit": True, "auto.commit.interval.ms": 1_000, "auto.offset.reset": "earliest"}
COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}
POLLS_ON = Behaviour(on_error=OnError.RETRY_ALL)


@pytest.mark.parametrize(("now", "due", "wait"), [(300, 300, 0), (300, 900, 700), (600, 1_400, 1_000), (50, 60, 500)])
def test_a_heartbeat_goes_out_at_the_first_look_when_it_is_due(now, due, wait):
    """Return when the main thread checks: every second of the process, and twice a second from the assignment on."""
    assert MainThread().heartbeat_wait_us(0, now * MS, due * MS) == wait * MS


def test_the_first_heartbeat_comes_with_the_assignment(on_bench):
    """Later heartbeats follow at checks, an interval or more apart, across generations."""

    async def body(bench):
        await bench.stable()
        bench.broker.rebalance()
        await bench.run_for(4)
        joined = bench.broker.times(Api.SYNC_GROUP)[0]
        beats = bench.broker.times(Api.HEARTBEAT)
        assert beats[0] - joined < 5 * MS
        assert {round((later - sooner) / SECOND) for sooner, later in pairwise(beats)} == {1}

    on_bench(body, profile=PROFILE, properties=SETTINGS)


def test_a_join_that_was_refused_is_tried_again_after_seconds(on_bench):
    """JoinGroup is repeated at the first second of the process that is two seconds later or more."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNKNOWN_SERVER_ERROR)
        bench.consumer.start()
        await bench.run_for(8)
        first, second, third = bench.broker.times(Api.JOIN_GROUP)[:3]
        assert 2 * SECOND <= second - first <= 3 * SECOND
        assert third - second == 2 * SECOND

    on_bench(body, profile=PROFILE, behaviour=POLLS_ON)


def test_a_sync_that_may_pass_is_sent_again_twice_in_its_generation(on_bench):
    """A loading coordinator gets SyncGroup three times, then JoinGroup; Java sends JoinGroup at once."""

    async def body(bench):
        bench.broker.reply(Api.SYNC_GROUP, *[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 3)
        bench.consumer.start()
        await bench.run_for(6)
        joins, syncs = bench.broker.times(Api.JOIN_GROUP), bench.broker.times(Api.SYNC_GROUP)
        assert len([at for at in syncs if at < joins[-1]]) == 3
        assert len({sync.generation_id for sync in bench.broker.all(Api.SYNC_GROUP)[:3]}) == 1

    on_bench(body, profile=PROFILE, behaviour=POLLS_ON)


def test_a_sync_whose_connection_broke_is_sent_again_when_the_coordinator_is_found(on_bench):
    """The same request is sent in the same generation, over a new connection."""

    async def body(bench):
        bench.broker.reply(Api.SYNC_GROUP, DROP)
        bench.consumer.start()
        await bench.run_for(6)
        first, second = bench.broker.all(Api.SYNC_GROUP)
        found = bench.broker.times(Api.FIND_COORDINATOR)[-1]
        lost, sent = bench.broker.times(Api.SYNC_GROUP)
        assert first == second
        assert lost < found < lost + 50 * MS < sent  # it waits for its backoff all the same

    on_bench(body, profile=PROFILE, behaviour=POLLS_ON)


def test_a_refused_look_up_of_the_coordinator_is_reported_and_repeated(on_bench):
    """librdkafka reports the error and repeats the look-up; Java throws, and repeats it when polled."""

    async def body(bench):
        bench.broker.reply(Api.FIND_COORDINATOR, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        await bench.stable()
        assert len(bench.broker.times(Api.FIND_COORDINATOR)) == 2
        (warning,) = bench.reasons(Kind.WARNING)
        assert "GROUP_AUTHORIZATION_FAILED" in str(warning)

    on_bench(body, profile=PROFILE, behaviour=POLLS_ON)


def test_a_coordinator_that_is_doubted_is_kept_until_another_is_named(on_bench):
    """After NOT_COORDINATOR it looks the coordinator up, and its connection continues."""

    async def body(bench):
        await bench.stable()
        asked = len(bench.broker.times(Api.FIND_COORDINATOR))
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.NOT_COORDINATOR)
        await bench.run_for(5)
        assert len(bench.broker.times(Api.FIND_COORDINATOR)) == asked + 1
        assert len([link for link in bench.net.connections if link.purpose == "coordinator"]) == 1

    on_bench(body, profile=PROFILE)


def test_a_coordinator_that_is_doubted_is_given_up_when_there_is_none(on_bench):
    """When no broker knows the coordinator, the connection to the one in doubt is closed."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.NOT_COORDINATOR)
        bench.broker.reply(Api.FIND_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        await bench.run_for(5)
        assert bench.reasons(Kind.COORDINATOR_LOST) == ["error response COORDINATOR_NOT_AVAILABLE"]
        links = [link for link in bench.net.connections if link.purpose == "coordinator"]
        assert [link.open for link in links] == [False, True]

    on_bench(body, profile=PROFILE)


def test_a_fenced_one_does_nothing_any_more(on_bench):
    """Every poll throws, there are neither heartbeats nor joins, and the close sends nothing."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.NONE, ErrorCode.FENCED_INSTANCE_ID)
        await bench.run_for(20)
        fenced = bench.broker.times(Api.HEARTBEAT)[-1]
        await bench.consumer.close()
        assert len(bench.broker.times(Api.JOIN_GROUP)) == 1
        assert max(bench.broker.times(Api.HEARTBEAT)) == fenced
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned"]
        assert len([warning for warning in bench.reasons(Kind.WARNING) if "FencedInstanceId" in str(warning)]) > 5

    on_bench(body, profile=PROFILE, behaviour=POLLS_ON, properties={"group.instance.id": "i"})


@pytest.mark.parametrize(("profile", "asked"), [("java-4.x", 2), (PROFILE, 1)])
def test_committed_offsets_that_were_refused_are_not_asked_for_again(on_bench, profile, asked):
    """The error is reported, and the partition stands still until it is assigned again."""

    async def body(bench):
        bench.broker.reply(Api.OFFSET_FETCH, ErrorCode.UNKNOWN_SERVER_ERROR)
        bench.consumer.start()
        await bench.run_for(20)
        assert len(bench.broker.times(Api.OFFSET_FETCH)) == asked
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID)
        await bench.run_for(10)
        assert len(bench.broker.times(Api.OFFSET_FETCH)) == asked + 1

    on_bench(body, profile=profile, behaviour=POLLS_ON)


def test_a_static_member_leaves_when_it_unsubscribes(on_bench):
    """A static member stays when it closes."""

    async def body(bench):
        await bench.stable()
        bench.consumer.unsubscribe()
        await bench.run_for(1)
        assert len(bench.broker.times(Api.LEAVE_GROUP)) == 1

    on_bench(body, profile=PROFILE, properties={"group.instance.id": "i"})


def test_a_cooperative_member_claims_what_it_had_in_its_user_data(on_bench):
    """The claims and their generation are sent even without member id and partitions."""

    async def body(bench):
        await bench.stable()
        had = parts(*sorted(partition.partition for partition in bench.consumer.assignment))
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID)
        await bench.run_for(5)
        first, last = (subscription_of(bench.broker.all(Api.JOIN_GROUP)[at]) for at in (0, -1))
        assert (first.user_data, first.generation) == (b"", None)
        assert last.owned == ()
        assert last.generation == 1
        assert len(last.user_data) == 4 + 2 + len("t") + 4 + 4 * len(had) + 4

    on_bench(body, profile=PROFILE, properties={"partition.assignment.strategy": "cooperative-sticky"})


async def test_it_commits_again_when_it_closes_and_never_what_nobody_was_given(sim):
    """Offsets are committed once more at the end; a partition without delivered records is not committed."""
    sim.topic("orders", 1, rate=10)
    sim.topic("quiet", 1)
    member = sim.member("c1", client=PROFILE, topics=["orders", "quiet"], properties=AUTO)
    await sim.run_for("10s")
    sim.cluster.set_rate("orders", 0)
    await sim.run_for("10s")
    before = sim.find("request.sent", api="OffsetCommit")
    await member.close()
    after = sim.find("request.sent", api="OffsetCommit")
    assert len(after) == len(before) + 1
    assert after[-1].payload["offsets"] == before[-1].payload["offsets"]
    assert list(after[-1].payload["offsets"]) == ["orders-0"]


def test_a_cooperative_member_commits_what_it_gives_up_when_it_does(on_bench):
    """Nothing is committed before a join; revoked partitions are, in the new generation, before the next join."""

    async def body(bench):
        bench.broker.follow(parts(0, 1, 2, 3))
        await bench.stable()
        for partition in parts(2, 3):
            bench.data.append(partition, 5)
        await bench.run_for(0.5)
        bench.broker.follow(parts(0, 2))
        bench.broker.rebalance()
        await bench.run_for(4)
        asked = [request for _, request in bench.broker.asked if request.API in (Api.JOIN_GROUP, Api.OFFSET_COMMIT)]
        *_, first, commit, again = asked
        assert (first.API, again.API) == (Api.JOIN_GROUP, Api.JOIN_GROUP)
        assert [(entry.partition, entry.offset) for entry in commit.offsets] == [(parts(3)[0], 5)]
        assert commit.generation_id == 2

    on_bench(body, profile=PROFILE, properties={**SETTINGS, **COOPERATIVE})


async def test_the_poll_limit_is_reported_and_the_application_continues(sim):
    """MAX_POLL_EXCEEDED is reported among the records: no exception, and the next poll joins again."""
    sim.topic("orders", 2)
    limits = {"max.poll.interval.ms": 6_000, "session.timeout.ms": 6_000}
    member = sim.member("c1", client=PROFILE, properties=limits)
    await sim.settled(members=1)
    member.block_poll("10s")
    await sim.run_for("20s")
    assert len(sim.find("poll.expired")) == 1
    assert [event.reason.split(":")[0] for event in sim.find("warning")] == ["poll threw MaxPollExceeded"]
    assert member.running
    assert len(member.assignment) == 2


@pytest.mark.parametrize("profile", ["java-4.x", PROFILE])
async def test_a_rebalance_behind_its_back_does_not_prolong_the_poll_limit(sim, profile):
    """The last poll counts (`rk_ts_last_poll`); Java's client does not join while the application is away."""
    sim.topic("orders", 4)
    settings = {"max.poll.interval.ms": 20_000, "session.timeout.ms": 6_000}
    settings["partition.assignment.strategy"] = "cooperative-sticky"
    first = sim.member("c1", client=profile, properties=settings)
    await sim.settled(members=1)
    away = sim.now_us
    first.block_poll("60s")
    await sim.run_for("10s")
    sim.member("c2", client=profile, properties=settings)
    await sim.run_for("40s")
    (expired,) = sim.find("poll.expired")
    assert 20 * SECOND <= expired.t_us - away <= 20.5 * SECOND


async def test_a_pattern_that_matches_nothing_is_told_and_joined_for_later(sim):
    """librdkafka joins when there is a topic; Java joins with an empty subscription."""
    member = sim.member("c1", client=PROFILE, pattern="ord.*", properties={"metadata.max.age.ms": 5_000})
    await sim.run_for("12s")
    assert sim.find("request.sent", api="JoinGroup") == []
    assert len(sim.find("warning")) == 1
    sim.topic("orders", 2)
    await sim.run_for("12s")
    assert len(member.assignment) == 2


def test_a_member_without_an_answer_for_a_session_takes_itself_for_expelled(on_bench):
    """Partitions are lost, and the join has no member id; Java only looks the coordinator up."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, *[HOLD] * 9)
        await bench.run_for(20)
        assert bench.reasons(Kind.CALLBACK_BEGUN)[:2] == ["assigned", "lost"]
        assert "" in [join.member_id for join in bench.broker.all(Api.JOIN_GROUP)[2:]]

    on_bench(body, profile=PROFILE, properties=SETTINGS)


async def test_the_session_runs_out_while_no_broker_is_reachable(sim):
    """SESSTMOUT comes session.timeout.ms after the last answer, not when the broker is back; partitions are lost then.

    Real librdkafka 2.16.1: 6,002 ms, `broker -1, last error was Success`.
    """
    sim.topic("orders", 2)
    member = sim.member("c1", client=PROFILE, properties={"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000})
    await sim.settled(members=1)
    await sim.run_for("10500ms")
    sim.cluster.crash_broker(0)
    answered_us = sim.now_us
    await sim.run_for("8s")
    [expired] = sim.find("session.expired", host="c1")
    assert 4 * SECOND < expired.t_us - answered_us <= 6 * SECOND  # the last heartbeat was a second ago, or two
    assert {**expired.payload} == {"silent_us": 6 * SECOND, "last_error": None, "coordinator": -1}
    [lost] = sim.find("callback.begun", host="c1", reason="lost")
    assert lost.t_us == expired.t_us
    assert member.assignment == ()


@pytest.mark.parametrize(("profile", "waits"), [("java-4.x", True), (PROFILE, False)])
async def test_a_cooperative_member_joins_and_syncs_while_its_application_is_away(sim, profile, waits):
    """A slow application delays the whole rebalance of Java's client, but only the callbacks of librdkafka."""
    sim.topic("orders", 4)
    settings = {"partition.assignment.strategy": "cooperative-sticky"}
    first = sim.member("c1", client=profile, properties=settings)
    await sim.settled(members=1)
    first.block_poll("30s")
    second = sim.member("c2", client=profile, properties=settings)
    await sim.run_for("20s")
    synced = sim.find("request.sent", api="SyncGroup", host="c2")
    assert bool(synced) is not waits
    assert len(first.assignment) == 4
    await sim.run_for("60s")
    assert (len(first.assignment), len(second.assignment)) == (2, 2)


def test_a_heartbeat_that_may_pass_is_sent_again_twice_until_one_is_answered(on_bench):
    """Two repetitions are sent besides the regular heartbeats, a second apart; a success allows two more."""
    refused = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 6

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, *refused, ErrorCode.NONE, *refused)
        await bench.run_for(15)
        gaps = [later - sooner for sooner, later in pairwise(bench.broker.times(Api.HEARTBEAT))]
        assert len([gap for gap in gaps if gap < 600 * MS]) == 4

    on_bench(body, profile=PROFILE, properties=SETTINGS)


@pytest.mark.parametrize("level", [NORMAL, FULL], ids=["normal", "full"])
def test_a_heartbeat_that_is_sent_again_is_traced_where_heartbeats_are(on_bench, level):
    """The trace lists the repeated heartbeats, too: all of them or none."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        await bench.run_for(5)
        sent = [event.t_us for event in bench.emitted(Kind.REQUEST_SENT) if event.api == "Heartbeat"]
        arrived = [at - LATENCY_US for at in bench.broker.times(Api.HEARTBEAT)]
        assert sent == (arrived if level is FULL else [])

    on_bench(body, profile=PROFILE, properties=SETTINGS, level=level)


def test_a_commit_that_may_pass_is_sent_again_twice(on_bench):
    """Repetitions follow after backoffs; a third failure is reported."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, *[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 3)
        bench.data.append(parts(0)[0], 1)
        await bench.run_for(0.9 + 1)
        tries = bench.broker.times(Api.OFFSET_COMMIT)
        assert len(tries) == 3
        assert all(later - sooner >= 80 * MS for sooner, later in pairwise(tries))
        assert len(bench.emitted(Kind.COMMIT_FAILED)) == 1

    on_bench(body, profile=PROFILE, properties={**AUTO, "auto.commit.interval.ms": 1_000})


def test_it_commits_what_was_given_out_before_it_joins_again(on_bench):
    """An eager member commits partitions that it revokes in a sound group, long before the interval ends."""

    async def body(bench):
        await bench.stable()
        bench.data.append(parts(0)[0], 3)
        await bench.run_for(1)
        bench.broker.rebalance()
        await bench.run_for(5)
        [commit] = bench.broker.all(Api.OFFSET_COMMIT)
        assert {entry.partition.partition: entry.offset for entry in commit.offsets} == {0: 3}
        assert bench.broker.times(Api.OFFSET_COMMIT)[0] < bench.broker.times(Api.JOIN_GROUP)[-1]

    on_bench(body, profile=PROFILE, properties={**AUTO, "auto.commit.interval.ms": 3_600_000})


def test_where_a_kept_partition_began_is_known_after_a_rebalance(on_bench):
    """A partition without delivered records is not committed, neither before a rebalance nor at the end."""

    async def body(bench):
        bench.broker.follow(parts(0))
        bench.broker.committed[parts(0)[0]] = 5
        await bench.stable()
        bench.broker.follow(parts(0, 1))
        bench.broker.rebalance()
        await bench.run_for(6)
        assert bench.consumer.assignment == parts(0, 1)
        await bench.consumer.close()
        assert bench.broker.all(Api.OFFSET_COMMIT) == []

    cooperative = {"partition.assignment.strategy": "cooperative-sticky"}
    on_bench(body, profile=PROFILE, properties={**AUTO, **cooperative})


@pytest.mark.parametrize(("profile", "quotas"), [("java-4.x", True), (PROFILE, False)])
def test_its_sticky_assignor_has_no_quotas(on_bench, profile, quotas):
    """Equal subscriptions are balanced like unequal ones; Java treats them differently since 2.6."""
    assignor = CooperativeStickyAssignor()

    async def body(bench):
        await bench.stable()
        assert assignor.has_quotas is quotas

    on_bench(body, profile=profile, assignors=lambda settings: [assignor])


def test_one_heartbeat_is_in_flight_at_a_time(on_bench):
    """No heartbeat is sent while one is unanswered; Java sends the next one anyway."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, HOLD)
        await bench.run_for(1.5)
        before = len(bench.broker.times(Api.HEARTBEAT))
        await bench.run_for(3)
        assert len(bench.broker.times(Api.HEARTBEAT)) == before

    on_bench(body, profile=PROFILE, properties=SETTINGS)


def test_a_coordinator_that_refuses_committed_offsets_is_doubted(on_bench):
    """The error is reported, and a broker is asked for the coordinator."""

    async def body(bench):
        bench.broker.reply(Api.OFFSET_FETCH, ErrorCode.NOT_COORDINATOR)
        bench.consumer.start()
        await bench.run_for(5)
        assert len(bench.broker.times(Api.FIND_COORDINATOR)) == 2
        assert len(bench.broker.times(Api.OFFSET_FETCH)) == 1

    on_bench(body, profile=PROFILE, behaviour=POLLS_ON)


async def test_one_that_was_fenced_by_a_commit_commits_nothing_when_it_closes(sim):
    """A fenced client does nothing on close, though its generation is valid as far as it knows."""
    sim.topic("orders", 1, rate=10)
    sim.inject(AnswerError(Match(api=Api.OFFSET_COMMIT), ErrorCode.FENCED_INSTANCE_ID))
    settings = {**AUTO, "group.instance.id": "i"}
    member = sim.member("c1", client=PROFILE, properties=settings, on_error=OnError.RETRY_ALL)
    await sim.run_for("10s")
    before = len(sim.find("request.sent", api="OffsetCommit"))
    await member.close()
    assert before == 1
    assert len(sim.find("request.sent", api="OffsetCommit")) == before
