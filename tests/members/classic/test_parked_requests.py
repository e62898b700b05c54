"""Each library's timeout of a parked JoinGroup or SyncGroup, and its reaction to the timeout."""

from __future__ import annotations

from itertools import pairwise

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from tests.helpers.members_fakes import HOLD, LATENCY_US

MS, SECOND = 1_000, 1_000_000
MINUTE = {"max.poll.interval.ms": "60s"}
OWN_MINUTE = {"rebalance.timeout.ms": "60s"}


def waited_us(bench, api):
    """Return the time from the first failed request of a kind to its failure."""
    failed = next(event for event in bench.emitted(Kind.REQUEST_FAILED) if event.api == api.title)
    sent = [at - LATENCY_US for at in bench.broker.times(api) if at - LATENCY_US < failed.t_us]
    return failed.t_us - sent[-1]


@pytest.mark.parametrize(
    ("profile", "properties", "seconds"),
    [
        ("java-0.11", {**MINUTE, "request.timeout.ms": "40s"}, 40),
        ("java-2.8", MINUTE, 65),
        ("java-2.8", {**MINUTE, "request.timeout.ms": "80s"}, 80),
        ("librdkafka-2.x", {**MINUTE, "socket.timeout.ms": "10s"}, 63),
        ("brod", {}, 30),
        ("kafka-python-2.x", {"max_poll_interval_ms": 60_000, "request_timeout_ms": 40_000}, 40),
        ("kafka-python-3.x", {"max_poll_interval_ms": 60_000, "request_timeout_ms": 40_000}, 65),
        ("aiokafka", {"rebalance_timeout_ms": 60_000}, 40),
        ("kafkajs", {"rebalanceTimeout": 20_000, "sessionTimeout": 10_000}, 25),
        ("sarama", {"Consumer.Group.Rebalance.Timeout": "60s"}, 30),
        ("sarama", {"Net.ReadTimeout": "7s"}, 7),
        ("franz-go", {"RebalanceTimeout": "60s"}, 70),
        ("ruby-kafka", {"socket_timeout": 10}, 10),
    ],
)
def test_a_parked_join_is_given_up_as_the_library_does(on_bench, profile, properties, seconds):
    """JoinGroup times out after the request timeout, or after the rebalance timeout and a slack."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, *[HOLD] * 9)
        bench.consumer.start()
        await bench.run_for(seconds + 1.5)  # librdkafka looks once a second
        assert 0 <= waited_us(bench, Api.JOIN_GROUP) - seconds * SECOND <= SECOND

    on_bench(body, profile=profile, properties=properties)


@pytest.mark.parametrize(
    ("profile", "properties", "seconds"),
    [
        ("java-4.x", {"max.poll.interval.ms": "60s"}, 30),
        ("librdkafka-2.x", {"session.timeout.ms": 20_000}, 23),
        ("librdkafka-2.x", {"socket.timeout.ms": 10_000}, 10),
        ("brod", {}, 5),
        ("sarama", {"Net.ReadTimeout": "7s"}, 7),
        ("franz-go", {"RebalanceTimeout": "60s"}, 60),
    ],
)
def test_a_parked_sync_is_given_up_as_the_library_does(on_bench, profile, properties, seconds):
    """SyncGroup has the request timeout in most libraries; in franz-go that of its JoinGroup."""

    async def body(bench):
        bench.broker.reply(Api.SYNC_GROUP, *[HOLD] * 9)
        bench.consumer.start()
        await bench.run_for(seconds + 1.5)
        assert 0 <= waited_us(bench, Api.SYNC_GROUP) - seconds * SECOND <= SECOND

    on_bench(body, profile=profile, properties=properties)


def test_sarama_joins_again_at_once_with_the_same_member_id(on_bench):
    """sarama's Consume returns `i/o timeout`, the connection is closed, and the usual loop calls Consume again."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, None, *[HOLD] * 3)
        bench.consumer.start()
        await bench.run_for(30)
        joins = bench.broker.times(Api.JOIN_GROUP)[1:]
        assert [round((later - sooner) / SECOND, 1) for sooner, later in pairwise(joins)] == [7.0, 7.0, 7.0]
        assert {request.member_id for request in bench.broker.all(Api.JOIN_GROUP)[1:]} == {"m1"}
        assert bench.consumer.state == "STABLE"
        assert bench.reasons(Kind.WARNING)[0] == "poll threw i/o timeout: no answer to JoinGroup; polling again"

    on_bench(body, profile="sarama", properties={"Net.ReadTimeout": "7s"})


def test_an_application_that_panics_ends_with_saramas_error(on_bench):
    """`on-error: stop` is the loop of sarama's own example, which panics."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, HOLD)
        bench.consumer.start()
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "i/o timeout"

    on_bench(body, profile="sarama", behaviour=Behaviour(on_error=OnError.STOP))


def test_sarama_keeps_its_old_member_id_after_a_refused_heartbeat(on_bench):
    """The next JoinGroup is answered UNKNOWN_MEMBER_ID, and the one after it has no id."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID)
        bench.broker.reply(Api.JOIN_GROUP, ErrorCode.UNKNOWN_MEMBER_ID)
        await bench.run_for(5)
        assert [request.member_id for request in bench.broker.all(Api.JOIN_GROUP)][2:4] == ["m1", ""]

    on_bench(body, profile="sarama")


def test_sarama_waits_two_seconds_after_a_round_that_began_again(on_bench):
    """After REBALANCE_IN_PROGRESS SyncGroup is retried after Rebalance.Retry.Backoff, without a heartbeat."""

    async def body(bench):
        bench.broker.reply(Api.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS)
        bench.consumer.start()
        await bench.run_for(5)
        refused = bench.broker.times(Api.SYNC_GROUP)[0] + LATENCY_US
        assert bench.broker.times(Api.JOIN_GROUP)[-1] - LATENCY_US - refused == 2 * SECOND

    on_bench(body, profile="sarama")


@pytest.mark.parametrize(
    ("profile", "pauses"),
    [("franz-go", [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]), ("brod", [1_000] * 7)],
)
def test_the_usual_application_polls_again_after_its_librarys_pause(on_bench, profile, pauses):
    """A refused JoinGroup is thrown from poll; by default the application continues as is usual for its library."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, *[ErrorCode.GROUP_MAX_SIZE_REACHED] * 8)
        bench.consumer.start()
        await bench.run_for(40)
        threw = [event.t_us for event in bench.emitted(Kind.WARNING) if event.reason.startswith("poll threw")]
        assert len(threw) == 8
        waits = [(later - sooner) // MS for sooner, later in pairwise(threw)]
        assert all(pause <= wait <= 2 * pause + 100 for wait, pause in zip(waits, pauses, strict=True)), waits
        assert bench.consumer.state == "STABLE"

    on_bench(body, profile=profile)


@pytest.mark.parametrize("profile", ["java-4.x", "aiokafka", "kafka-python-3.x", "kafkajs"])
def test_other_applications_end_with_the_error(on_bench, profile):
    """An application without a handler ends where the library throws."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, ErrorCode.GROUP_MAX_SIZE_REACHED)
        bench.consumer.start()
        await bench.consumer.ended()
        assert "MAX_SIZE" in bench.consumer.failed.error.upper() or "MaxSize" in bench.consumer.failed.error

    on_bench(body, profile=profile)


def test_franz_go_waits_before_it_joins_again_after_a_refused_heartbeat(on_bench):
    """The session ends with an error, and the group's goroutine backs off for 250 ms."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID)
        joined = len(bench.broker.all(Api.JOIN_GROUP))
        await bench.run_for(4)
        refused = bench.emitted(Kind.GENERATION_RESET)[-1].t_us
        assert bench.broker.times(Api.JOIN_GROUP)[joined] - LATENCY_US - refused == 250 * MS

    on_bench(body, profile="franz-go")
