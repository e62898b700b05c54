"""A regular expression of a member, resolved beside a broker's coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.coordinator.consumer.assignment import resolution
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest


@pytest.mark.parametrize("step", [1, resolution.STEP])
def test_a_member_gets_the_topics_of_its_pattern(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """With the heartbeat after the result, whether it took one step or one for each topic."""
    monkeypatch.setattr(resolution, "STEP", step)

    async def story(loop: VirtualLoop) -> None:
        cluster = Cluster(loop, ClusterConfig.with_counted_logs())
        for name in ("orders", "orders.eu", "bills"):
            cluster.create_topic(name, 2)
        connection = cluster.transport.connect("m", "m", cluster.coordinator_of("g")[0], "test")
        got: list[Any] = []

        async def beat(epoch: int, **more: Any) -> Any:
            request = ConsumerGroupHeartbeatRequest("g", "m", epoch, topic_partitions=(), **more)
            connection.send(request, got.append, 30_000_000)
            answers = len(got) + 1
            await loop.until(lambda: len(got) == answers)
            return got[-1]

        joined = await beat(0, rebalance_timeout_ms=60_000, subscribed_topic_regex="orders.*")
        assert (joined.member_epoch, joined.assignment) == (1, ())
        await loop.sleep(10_000)
        assigned = (await beat(1)).assignment
        ids = {cluster.image.topics[name].topic_id for name in ("orders", "orders.eu")}
        assert {one.topic_id: one.partitions for one in assigned} == dict.fromkeys(ids, (0, 1))

    run_virtual(story)
