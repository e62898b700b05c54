"""A member's metadata of topics, and the rejoins they cause (section 4.9)."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import Api
from tests.helpers.members_fakes import parts, subscription_of

QUICK = {"metadata.max.age.ms": 10_000}


def test_a_leader_notices_new_partitions_at_its_next_refresh(on_bench):
    """With more partitions the leader rejoins within metadata.max.age.ms, and assigns them."""

    async def body(bench):
        await bench.stable()
        bench.broker.topics["t"] = 6
        await bench.run_for(9)
        assert len(bench.consumer.assignment) == 4
        await bench.run_for(2)
        assert len(bench.consumer.assignment) == 6
        rejoin = bench.emitted(Kind.REJOIN_REQUESTED)[-1]
        assert rejoin.reason == "cached metadata has changed"
        before, now = rejoin.payload["before"], rejoin.payload["now"]
        assert (before["topics"], now["topics"]) == ({"t": [[]] * 4}, {"t": [[]] * 6})
        assert before["version"] < now["version"]

    on_bench(body, properties=QUICK)


def test_the_default_view_is_five_minutes_old(on_bench):
    """Metadata is refreshed every 300 s by default."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(1_000)
        first, *others = bench.broker.times(Api.METADATA)
        assert [at - first for at in others] == [300_001_000 * n for n in (1, 2, 3)]

    on_bench(body)


def test_a_follower_does_not_care(on_bench):
    """Only the leader watches partition counts."""

    async def body(bench):
        bench.broker.follow(parts(0))
        await bench.stable()
        joined = len(bench.broker.all(Api.JOIN_GROUP))
        bench.broker.topics["t"] = 6
        await bench.run_for(60)
        assert len(bench.broker.all(Api.JOIN_GROUP)) == joined

    on_bench(body, properties=QUICK)


def test_a_leader_that_follows_now_does_not_care(on_bench):
    """A leader of the last generation that leads no more has no partition counts to compare."""

    async def body(bench):
        await bench.stable()
        bench.broker.follow(parts(0))
        bench.broker.rebalance()
        await bench.run_for(5)
        joined = len(bench.broker.all(Api.JOIN_GROUP))
        assert bench.consumer.assignment == parts(0)
        bench.broker.topics["t"] = 6
        await bench.run_for(60)
        assert len(bench.broker.all(Api.JOIN_GROUP)) == joined

    on_bench(body, properties=QUICK)


def test_a_topic_created_later_is_found_within_a_second(on_bench):
    """A missing topic is requested again with growing backoff up to 1 s."""

    async def body(bench):
        bench.consumer.start()
        await bench.run_for(30)
        assert (bench.consumer.state, bench.consumer.assignment) == ("STABLE", ())
        bench.broker.topics["t"] = 2
        await bench.run_for(1.5)
        assert bench.consumer.assignment == parts(0, 1)

    on_bench(body, topics={})


def test_a_deleted_topic_makes_the_leader_rejoin(on_bench):
    """When a topic disappears the leader rejoins, and no member gets its partitions any more."""

    async def body(bench):
        await bench.stable()
        del bench.broker.topics["u"]
        await bench.run_for(12)
        assert bench.consumer.assignment == parts(0)

    on_bench(body, topics={"t": 1, "u": 1}, subscribe={"topics": ["t", "u"]}, properties=QUICK)


def test_a_pattern_takes_whole_names_and_no_internal_topics(on_bench):
    """A pattern must match the whole topic name, and internal topics are excluded."""

    async def body(bench):
        await bench.stable()
        assert subscription_of(bench.broker.last(Api.JOIN_GROUP)).topics == ("orders.a", "orders.b")

    topics = {"orders.a": 1, "orders.b": 1, "old-orders.c": 1, "__consumer_offsets": 50}
    on_bench(body, topics=topics, subscribe={"pattern": r".?.?orders\..*"})


@pytest.mark.parametrize(
    ("leads", "reason"), [(True, "cached metadata has changed"), (False, "subscription has changed")]
)
def test_a_pattern_finds_a_new_topic(on_bench, leads, reason):
    """Every member matches its own pattern; the leader compares its snapshot, a follower its subscription."""

    async def body(bench):
        if not leads:
            bench.broker.follow(parts(0, topic="orders.a"))
        await bench.stable()
        bench.broker.topics["orders.b"] = 1
        await bench.run_for(12)
        assert subscription_of(bench.broker.last(Api.JOIN_GROUP)).topics == ("orders.a", "orders.b")
        assert bench.reasons(Kind.REJOIN_REQUESTED)[1:] == [reason]

    on_bench(body, topics={"orders.a": 1}, subscribe={"pattern": r"orders\..*"}, properties=QUICK)


def test_a_pattern_subscriber_looks_before_it_rejoins(on_bench):
    """A pattern subscriber fetches metadata before each rebalance, and does not join with outdated topics."""

    async def body(bench):
        await bench.stable()
        bench.broker.topics["orders.b"] = 1
        bench.broker.rebalance()
        await bench.run_for(4)
        assert subscription_of(bench.broker.last(Api.JOIN_GROUP)).topics == ("orders.a", "orders.b")

    on_bench(body, topics={"orders.a": 1}, subscribe={"pattern": r"orders\..*"})


def test_metadata_is_asked_elsewhere_when_a_broker_is_gone(on_bench):
    """A failed metadata request is repeated at another broker."""

    async def body(bench):
        bench.net.refuses = bench.net.unreachable = True
        bench.consumer.start()
        await bench.run_for(1)
        bench.net.refuses = bench.net.unreachable = False
        await bench.stable()
        asked = {event.payload["to"] for event in bench.emitted(Kind.REQUEST_SENT) if event.api == "Metadata"}
        assert asked == {0, 1}

    on_bench(body)
