"""The poll limit: a consumer that stays away from poll leaves (classic-protocol reference, section 4.6)."""

from __future__ import annotations

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from tests.helpers.members_fakes import HOLD, SECOND, parts

E = ErrorCode
QUIET = {"enable.auto.commit": "false"}


def test_a_blocked_handler_leaves_while_heartbeats_go_on(on_bench):
    """Six seconds in the handler with max.poll.interval.ms = 6 s: heartbeats every 3 s, then LeaveGroup."""

    async def body(bench):
        await bench.stable()
        bench.data.append(parts(0)[0], 1)
        await bench.loop.until(lambda: bench.emitted(Kind.RECORDS_DELIVERED) != [], SECOND)
        delivered = bench.loop.now_us
        await bench.run_for(8)
        [expired] = bench.emitted(Kind.POLL_EXPIRED)
        assert 6 * SECOND <= expired.t_us - delivered <= 6 * SECOND + 100_000
        [leave] = bench.broker.all(Api.LEAVE_GROUP)
        assert leave.members[0].reason == "consumer poll timeout has expired."
        assert len(bench.broker.all(Api.HEARTBEAT)) == 2
        assert bench.consumer.assignment == parts(0, 1, 2, 3)  # it still believes so
        await bench.run_for(60)
        assert bench.reasons(Kind.CALLBACK_BEGUN)[:2] == ["assigned", "lost"]
        assert bench.emitted(Kind.CALLBACK_BEGUN)[1].t_us - delivered == 60 * SECOND

    on_bench(
        body,
        properties={"max.poll.interval.ms": "6s"} | QUIET,
        behaviour=Behaviour(processing=parse_distribution("60s")),
    )


def test_librdkafka_notices_the_limit_within_half_a_second(on_bench):
    """librdkafka checks max.poll.interval.ms twice a second (confluent-kafka-python #552: 55 ms late)."""

    async def body(bench):
        await bench.stable()
        bench.data.append(parts(0)[0], 1)
        await bench.loop.until(lambda: bench.emitted(Kind.RECORDS_DELIVERED) != [], SECOND)
        delivered = bench.loop.now_us
        await bench.run_for(10)
        [expired] = bench.emitted(Kind.POLL_EXPIRED)
        assert 6 * SECOND <= expired.t_us - delivered <= 6 * SECOND + 500_000

    on_bench(
        body,
        profile="librdkafka-1.x",
        properties={"max.poll.interval.ms": 6000},
        behaviour=Behaviour(processing=parse_distribution("60s")),
    )


def test_the_limit_is_counted_from_the_answer_to_the_join(on_bench):
    """The time of a parked JoinGroup does not count for the limit of a callback that follows."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.JOIN_GROUP, HOLD)
        bench.broker.rebalance()
        await bench.run_for(14)
        bench.consumer.block_callback("assigned", "60s")
        asked = bench.broker.held[0][2]
        answered = bench.loop.now_us
        bench.broker.release(bench.broker._response(asked, None))
        await bench.run_for(40)
        [expired] = bench.emitted(Kind.POLL_EXPIRED)
        assert 30 * SECOND <= expired.t_us - answered <= 30.2 * SECOND

    on_bench(body, properties={"max.poll.interval.ms": "30s", **QUIET})


def test_waiting_inside_poll_never_expires(on_bench):
    """A silent topic keeps a client with a background thread in the group without end."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(3_600)
        assert bench.emitted(Kind.POLL_EXPIRED) == []
        assert bench.consumer.state == "STABLE"

    on_bench(body, properties=QUIET)


def test_a_static_member_that_stops_polling_sends_no_leave(on_bench):
    """Static members send no LeaveGroup at the poll limit; they reset generation and member id."""

    async def body(bench):
        await bench.stable()
        bench.data.append(parts(0)[0], 1)
        await bench.run_for(301)
        assert len(bench.emitted(Kind.POLL_EXPIRED)) == 1
        assert bench.broker.all(Api.LEAVE_GROUP) == []
        assert bench.consumer.member_id == ""

    on_bench(
        body,
        properties={"group.instance.id": "i1"},
        behaviour=Behaviour(processing=parse_distribution("10m")),
    )


def test_a_client_with_a_thread_that_polls_rarely_runs_into_the_poll_limit(on_bench):
    """An application that is away from poll for longer than max.poll.interval.ms leaves, with or without records."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(100)
        assert len(bench.emitted(Kind.POLL_EXPIRED)) >= 1

    rarely = Behaviour(poll_timeout=parse_distribution("1s"), poll_gap=parse_distribution("60s"))
    on_bench(body, behaviour=rarely, properties={"max.poll.interval.ms": "30s"})


def test_a_blocked_thread_leaves_even_on_a_silent_topic(on_bench):
    """block_poll takes the application away from poll at once; after the limit the client leaves, then joins again."""

    async def body(bench):
        await bench.stable()
        begun = bench.loop.now_us
        bench.consumer.block_poll(20 * SECOND)
        await bench.run_for(25)
        [expired] = bench.emitted(Kind.POLL_EXPIRED)
        assert 10 * SECOND <= expired.t_us - begun <= 10.1 * SECOND
        assert bench.consumer.member_id == "m2"

    on_bench(body, properties={"max.poll.interval.ms": "10s"})


def test_the_poll_limit_takes_effect_only_with_a_coordinator(on_bench):
    """The background thread looks a lost coordinator up first: LeaveGroup is sent when it is found."""

    async def body(bench):
        await bench.stable()
        bench.consumer.block_poll(60 * SECOND)
        await bench.run_for(5)
        bench.net.refuses = bench.net.unreachable = True
        bench.net.break_all()
        bench.net.break_all("data")
        await bench.run_for(10)
        assert bench.emitted(Kind.POLL_EXPIRED) == []
        assert bench.consumer.member_id == "m1"
        bench.net.refuses = bench.net.unreachable = False
        await bench.run_for(3)
        [expired] = bench.emitted(Kind.POLL_EXPIRED)
        assert expired.t_us > 15 * SECOND
        assert [entry.member_id for entry in bench.broker.last(Api.LEAVE_GROUP).members] == ["m1"]

    on_bench(body, properties={"max.poll.interval.ms": "10s"})
