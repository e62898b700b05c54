"""How a consumer gets into its group, and what it does when that fails."""

from __future__ import annotations

from itertools import pairwise

from members_fakes import parts

from groupsim.eventloop.events import Kind
from groupsim.protocol.messages import Api


def test_a_java_consumer_joins_syncs_and_owns(on_bench):
    """A fresh consumer finds its coordinator, joins in two steps, syncs and owns what the leader (itself) assigned."""

    async def story(bench):
        await bench.stable()
        assert bench.consumer.assignment == parts(0, 1, 2, 3)
        assert bench.consumer.generation == 1
        first, second = bench.broker.all(Api.JOIN_GROUP)
        assert (first.member_id, first.reason) == ("", "")
        assert (second.member_id, second.reason) == ("m1", "rebalance failed due to MemberIdRequiredException")
        assert [event.to for event in bench.told(Kind.CLIENT_STATE)] == [
            "PREPARING_REBALANCE",
            "COMPLETING_REBALANCE",
            "STABLE",
        ]

    on_bench(story)


def test_heartbeats_then_leaves(on_bench):
    """A stable consumer heartbeats every three seconds and leaves when it is closed."""

    async def story(bench):
        await bench.stable()
        await bench.run_for(10)
        times = bench.broker.times(Api.HEARTBEAT)
        assert [b - a for a, b in pairwise(times)] == [3_000_000, 3_000_000]
        assert bench.consumer.heartbeats == 3
        await bench.consumer.close()
        [leaving] = bench.broker.last(Api.LEAVE_GROUP).members
        assert (leaving.member_id, leaving.reason) == ("m1", "the consumer is being closed")
        assert bench.consumer.state == "STOPPED"
        assert bench.reasons(Kind.PARTITION_RELEASED) == ["revoked"] * 4

    on_bench(story)
