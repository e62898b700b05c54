"""Differences of aiokafka from Java's client (docs/twins.md), and franz-go where it is alike."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from tests.helpers.members_fakes import HOLD

MS, SECOND = 1_000, 1_000_000
PROFILE = "aiokafka"
POLLS_ON = Behaviour(on_error=OnError.RETRY_ALL)


@pytest.mark.parametrize(("profile", "waits"), [("java-4.x", True), (PROFILE, False), ("franz-go", False)])
async def test_a_group_is_whole_again_though_an_application_is_away(sim, profile, waits):
    """A task of the library calls back, joins and syncs; in Java the application has to call poll."""
    sim.topic("orders", 4)
    first = sim.member("c1", client=profile)
    await sim.settled(members=1)
    first.block_poll("30s")
    second = sim.member("c2", client=profile)
    await sim.run_for("20s")
    assert (len(first.assignment), len(second.assignment)) == ((4, 0) if waits else (2, 2))


async def test_a_callback_that_takes_time_holds_up_the_join_though_nobody_polls(sim):
    """The task awaits the callback: the group waits for it, and not for the application."""
    sim.topic("orders", 4)
    first = sim.member("c1", client=PROFILE)
    await sim.settled(members=1)
    first.block_callback("revoked", "4s")
    first.block_poll("30s")
    second = sim.member("c2", client=PROFILE)
    await sim.settled(members=2, within="20s")
    ended = sim.find("callback.ended", host="c1")[1]
    assert sim.find("request.sent", api="JoinGroup", host="c1")[-1].t_us == ended.t_us
    assert (len(first.assignment), len(second.assignment)) == (2, 2)


async def test_a_close_waits_for_the_callback_of_the_task(sim):
    """A close during a callback in the library's task gives partitions up once."""
    sim.topic("orders", 4)
    first = sim.member("c1", client=PROFILE)
    await sim.settled(members=1)
    first.block_callback("revoked", "4s")
    first.block_poll("1s")
    sim.member("c2", client=PROFILE)
    await sim.run_for("3500ms")
    await first.close()
    assert len(sim.find("callback.begun", host="c1", reason="revoked")) == 1
    await sim.stable(members=1)


def test_who_is_away_for_too_long_leaves_with_a_heartbeat_and_joins_when_it_polls(on_bench):
    """aiokafka checks the limit with each heartbeat, calls back at once, and joins at the next poll."""

    async def body(bench):
        await bench.stable()
        joins = len(bench.broker.all(Api.JOIN_GROUP))
        bench.consumer.block_poll("10s")
        away = bench.loop.now_us
        await bench.run_for(9)
        [left] = bench.broker.times(Api.LEAVE_GROUP)
        assert bench.broker.times(Api.HEARTBEAT)[-1] == left
        assert 6 * SECOND <= left - away <= 6 * SECOND + 5 * MS
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked"]
        assert len(bench.broker.all(Api.JOIN_GROUP)) == joins
        await bench.run_for(2)
        joined = bench.broker.times(Api.JOIN_GROUP)[joins]
        assert 10 * SECOND <= joined - away <= 10 * SECOND + 105 * MS

    on_bench(body, profile=PROFILE, properties={"max.poll.interval.ms": 6_000})


@pytest.mark.parametrize("error", ["COORDINATOR_LOAD_IN_PROGRESS", "UNKNOWN_SERVER_ERROR", "FENCED_INSTANCE_ID"])
def test_a_heartbeat_that_fails_in_a_new_way_is_the_last(on_bench, error):
    """The heartbeat task ends: every poll throws, and the coordinator will expel the member."""

    async def body(bench):
        await bench.stable()
        joins = len(bench.broker.all(Api.JOIN_GROUP))
        bench.broker.reply(Api.HEARTBEAT, ErrorCode[error])
        await bench.run_for(60)
        assert len(bench.broker.all(Api.HEARTBEAT)) == 1
        assert len(bench.emitted(Kind.WARNING)) > 10
        assert len(bench.broker.all(Api.JOIN_GROUP)) == joins

    on_bench(body, profile=PROFILE, behaviour=POLLS_ON)


@pytest.mark.parametrize(("profile", "asked"), [("java-4.x", 2), (PROFILE, 1)])
def test_a_coordinator_that_loads_has_no_offsets_for_it(on_bench, profile, asked):
    """The error of the whole answer is not read: the offset counts as uncommitted, and the position is reset."""

    async def body(bench):
        bench.broker.reply(Api.OFFSET_FETCH, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        await bench.stable()
        await bench.run_for(1)
        resets = bench.reasons(Kind.POSITION_SET).count("reset")
        assert (len(bench.broker.all(Api.OFFSET_FETCH)), resets) == (asked, 1)

    on_bench(body, profile=profile, topics={"t": 1}, properties={"auto.offset.reset": "latest"})


def test_committed_offsets_are_asked_for_one_after_the_other(on_bench):
    """aiokafka sends one OffsetFetch per partition, Java one for all."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(1)
        assert [len(request.partitions) for request in bench.broker.all(Api.OFFSET_FETCH)] == [1, 1, 1, 1]

    on_bench(body, profile=PROFILE)


def test_one_heartbeat_is_on_its_way_at_a_time(on_bench):
    """No heartbeat follows an unanswered one, whatever the session; the next one follows the answer."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, HOLD)
        await bench.run_for(25)
        assert len(bench.broker.all(Api.HEARTBEAT)) == 1
        [(_, _, request)] = bench.broker.held
        bench.broker.release(bench.broker._response(request, None))
        await bench.run_for(4)
        sent = bench.broker.times(Api.HEARTBEAT)
        assert sent[1] - sent[0] > 20 * SECOND
        assert 2 * SECOND < sent[2] - sent[1] <= 3 * SECOND

    on_bench(body, profile=PROFILE)


def test_every_further_join_comes_after_a_pause(on_bench):
    """An unknown member id costs retry.backoff.ms; Java joins at once."""

    async def body(bench):
        bench.broker.reply(Api.SYNC_GROUP, ErrorCode.UNKNOWN_MEMBER_ID)
        await bench.stable()
        refused, synced = bench.broker.times(Api.SYNC_GROUP)
        assert synced - refused >= 100 * MS

    on_bench(body, profile=PROFILE)
