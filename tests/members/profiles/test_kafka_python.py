"""Differences of kafka-python from Java's client, as its profiles have them (docs/twins.md)."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, OffsetFetchRequest, TopicPartition
from tests.helpers.members_fakes import subscription_of

MS, SECOND = 1_000, 1_000_000
OLD, NEW, NEWEST = "kafka-python-2.x", "kafka-python-2.3", "kafka-python-3.x"


@pytest.mark.parametrize(
    ("profile", "callbacks"),
    [("java-4.x", ["assigned", "revoked"]), (OLD, ["assigned"]), ("java-0.11", ["revoked", "assigned"])],
)
def test_a_close_calls_nobody_back(on_bench, profile, callbacks):
    """Java has callbacks on close since 2.4 (KIP-429), kafka-python has none."""

    async def body(bench):
        await bench.stable()
        await bench.consumer.close()
        assert bench.reasons(Kind.CALLBACK_BEGUN) == callbacks
        assert bench.consumer.assignment == ()

    on_bench(body, profile=profile)


@pytest.mark.parametrize(("profile", "sent"), [("java-4.x", None), (OLD, b""), ("aiokafka", b"")])
def test_an_assignor_without_data_sends_none_of_its_own(on_bench, profile, sent):
    """Both libraries send empty user data in JoinGroup where Java sends null."""

    async def body(bench):
        await bench.stable()
        assert subscription_of(bench.broker.last(Api.JOIN_GROUP)).user_data == sent

    on_bench(body, profile=profile, properties={"partition.assignment.strategy": "roundrobin"})


@pytest.mark.parametrize(
    ("profile", "callbacks"),
    [
        ("java-4.x", ["assigned", "lost", "assigned"]),
        (OLD, ["assigned", "revoked", "assigned"]),
        ("java-0.11", ["revoked", "assigned", "revoked", "assigned"]),  # the first one of no partitions
    ],
)
def test_what_is_lost_is_called_back_as_revoked(on_bench, profile, callbacks):
    """Before KIP-429 lost partitions are called back as revoked."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID)
        await bench.run_for(10)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == callbacks

    on_bench(body, profile=profile)


def test_the_first_join_waits_until_the_coordinator_is_connected_to(on_bench):
    """A connection that is being made is not ready: the request follows after retry.backoff.ms."""

    async def body(bench):
        await bench.stable()
        [found] = bench.broker.times(Api.FIND_COORDINATOR)
        [joined] = bench.broker.times(Api.JOIN_GROUP)
        assert 100 * MS <= joined - found < 105 * MS

    on_bench(body, profile=OLD)


@pytest.mark.parametrize(("profile", "times"), [(OLD, 2), (NEW, 1)])
def test_after_a_broken_connection_it_is_asked_for_twice_up_to_2_2(on_bench, profile, times):
    """2.0.2 takes the broken connection for that of the coordinator just found, and looks it up again at once."""

    async def body(bench):
        await bench.stable()
        asked = len(bench.broker.times(Api.FIND_COORDINATOR))
        bench.net.break_all()
        await bench.run_for(10)
        assert len(bench.broker.times(Api.FIND_COORDINATOR)) == asked + times

    on_bench(body, profile=profile)


@pytest.mark.parametrize(("profile", "connections"), [("java-4.x", 2), (OLD, 1)])
def test_another_coordinator_is_no_reason_to_hang_up(on_bench, profile, connections):
    """After NOT_COORDINATOR the coordinator is looked up; if it is the same one, its connection continues."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.NOT_COORDINATOR)
        await bench.run_for(10)
        made = [link for link in bench.net.connections if link.purpose == "coordinator"]
        assert len(made) == connections

    on_bench(body, profile=profile)


def test_heartbeats_are_counted_from_when_the_coordinator_was_found(on_bench):
    """The next heartbeat follows after an interval, though one was due meanwhile."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.NOT_COORDINATOR)
        await bench.run_for(10)
        found = bench.emitted(Kind.COORDINATOR_FOUND)[-1].t_us
        after = [at for at in bench.broker.times(Api.HEARTBEAT) if at > found]
        assert 3 * SECOND - 5 * MS <= after[0] - found <= 3 * SECOND + 5 * MS

    on_bench(body, profile=OLD)


def test_a_heartbeat_that_was_owed_is_not_sent_when_the_coordinator_is_found(on_bench):
    """A heartbeat that was due without a coordinator is followed by one an interval after the look-up."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.NOT_COORDINATOR)
        bench.broker.reply(Api.FIND_COORDINATOR, *[ErrorCode.COORDINATOR_NOT_AVAILABLE] * 50)
        await bench.loop.until(lambda: len(bench.emitted(Kind.COORDINATOR_FOUND)) == 2, 60 * SECOND)
        found, before = bench.loop.now_us, bench.broker.times(Api.HEARTBEAT)
        assert found - before[-1] > 4 * SECOND
        bench.data.append(TopicPartition("t", 0), 1)  # so that there is a poll
        await bench.run_for(4)
        after = bench.broker.times(Api.HEARTBEAT)[len(before) :]
        assert [round((at - found) / SECOND, 1) for at in after] == [3.0]

    on_bench(body, profile=OLD)


@pytest.mark.parametrize(("profile", "joins"), [("java-4.x", 2), (NEW, 1)])
def test_a_fenced_one_that_polls_on_is_a_zombie(on_bench, profile, joins):
    """FENCED_INSTANCE_ID for a heartbeat is thrown once; then 2.3 neither heartbeats nor joins."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.FENCED_INSTANCE_ID)
        await bench.run_for(10)
        fenced = bench.broker.times(Api.HEARTBEAT)[0]
        assert len(bench.broker.times(Api.JOIN_GROUP)) == joins
        assert bool([at for at in bench.broker.times(Api.HEARTBEAT) if at > fenced]) is (joins == 2)
        assert bench.consumer.assignment

    on_bench(
        body, profile=profile, behaviour=Behaviour(on_error=OnError.RETRY_ALL), properties={"group.instance.id": "i"}
    )


def test_a_join_that_met_another_coordinator_waits_before_it_looks(on_bench):
    """The application's thread sleeps for retry.backoff.ms, and looks the coordinator up then."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, ErrorCode.NOT_COORDINATOR)
        await bench.stable()
        first = bench.broker.times(Api.JOIN_GROUP)[0]
        looked = bench.broker.times(Api.FIND_COORDINATOR)[-1]
        assert 100 * MS <= looked - first < 105 * MS

    on_bench(body, profile=OLD)


@pytest.mark.parametrize(("profile", "epochs"), [("java-4.x", {0}), (NEW, {-1})])
async def test_commits_carry_no_epoch(sim, profile, epochs):
    """kafka-python commits offsets without a leader epoch."""
    sim.topic("orders", 1, rate=10)
    sim.member("c1", client=profile)
    await sim.settled(members=1)
    await sim.run_for("10s")
    answer = await sim.request(OffsetFetchRequest("g1", version=7))
    assert {one.leader_epoch for one in answer.offsets} == epochs


@pytest.mark.parametrize(("profile", "asked"), [("java-4.x", 2), (NEWEST, 1)])
def test_what_is_assigned_again_goes_on_at_its_position(on_bench, profile, asked):
    """3.x keeps the position of a partition over an eager rebalance; Java fetches the committed offset."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(1)
        bench.broker.rebalance()
        await bench.run_for(5)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked", "assigned"]
        assert len(bench.broker.all(Api.OFFSET_FETCH)) == asked

    on_bench(body, profile=profile)


def test_what_was_lost_is_asked_for_again(on_bench):
    """3.x keeps no position of a partition that another member may have owned meanwhile."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(1)
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID)
        await bench.run_for(10)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "lost", "assigned"]
        assert len(bench.broker.all(Api.OFFSET_FETCH)) == 2

    on_bench(body, profile=NEWEST)


@pytest.mark.parametrize(("profile", "stable"), [("java-4.x", True), (NEWEST, False)])
def test_offsets_that_are_not_stable_are_good_enough_for_it(on_bench, profile, stable):
    """OffsetFetch of 3.x does not set require_stable."""

    async def body(bench):
        await bench.stable()
        assert bench.broker.last(Api.OFFSET_FETCH).require_stable is stable

    on_bench(body, profile=profile)
