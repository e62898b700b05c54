"""The settings of groups as the coordinator of one broker sees them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from groupsim.cluster.broker.group_configs import BrokerGroupSettings
from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import ClusterImage
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest

BEAT = "consumer.heartbeat.interval.ms"


def test_a_setting_of_the_broker_precedes_one_of_all_brokers() -> None:
    """The merged settings are one object until they change, by which a reader sees a change."""
    image = ClusterImage(configs={"": {"a": "1", "b": "1"}, "2": {"b": "2"}, "3": {"b": "3"}})
    metadata = SimpleNamespace(image=image)
    settings = BrokerGroupSettings(metadata, 2)
    first = settings.in_force("g")[1]
    assert first == {"a": "1", "b": "2"}
    assert settings.in_force("g")[1] is first
    metadata.image = evolve(image, configs={"": {"a": "5"}})
    assert settings.in_force("g")[1] == {"a": "5"}


@pytest.mark.parametrize("counted", [False, True])
def test_a_change_of_a_groups_settings_reaches_the_brokers(counted: bool) -> None:
    """Both kinds of logs keep them in the image; None resets a setting, and a refused one changes nothing."""

    async def story(loop: VirtualLoop) -> None:
        cluster = Cluster(loop, ClusterConfig.with_counted_logs() if counted else ClusterConfig())
        broker = cluster.brokers[1]
        settings = BrokerGroupSettings(broker.metadata, 1)
        cluster.alter_group_config("g", {BEAT: "6000", "consumer.session.timeout.ms": "50000"})
        await loop.until(lambda: bool(settings.in_force("g")[0]))
        assert settings.in_force("g")[0] == {BEAT: "6000", "consumer.session.timeout.ms": "50000"}
        with pytest.raises(ValueError, match="must be in the range 5000 to 15000 inclusive"):
            cluster.alter_group_config("g", {BEAT: "1"})
        cluster.alter_group_config("g", {BEAT: None})
        await loop.until(lambda: BEAT not in settings.in_force("g")[0])
        cluster.alter_group_config("g", {"consumer.session.timeout.ms": None})
        await loop.until(lambda: not settings.in_force("g")[0])
        assert "g" not in cluster.image.groups

    run_virtual(story)


def test_the_coordinator_reads_a_groups_settings_at_each_use() -> None:
    """Those of a change that its broker knows, before it loads a partition and after."""

    async def story(loop: VirtualLoop) -> None:
        cluster = Cluster(loop, ClusterConfig.with_counted_logs())
        coordinator = cluster.brokers[cluster.coordinator_of("g")[0]].groups
        driver = coordinator._driver_of("g")
        assert driver is not None
        seen = [driver.shard.op.config_of("g").consumer_heartbeat_interval_ms]
        cluster.alter_group_config("g", {BEAT: "6000"})
        seen += [driver.shard.op.config_of(group).consumer_heartbeat_interval_ms for group in ("g", "other")]
        assert seen == [5_000, 6_000, 5_000]

    run_virtual(story)


def test_members_follow_a_change_with_their_next_heartbeat() -> None:
    """The answer has the group's interval at once, and the brokers' again after a reset."""

    async def story(loop: VirtualLoop) -> None:
        cluster = Cluster(loop, ClusterConfig.with_counted_logs())
        cluster.create_topic("t", 2)
        connection = cluster.transport.connect("m", "m", cluster.coordinator_of("g")[0], "test")
        got: list[Any] = []

        async def beat(epoch: int) -> int:
            request = ConsumerGroupHeartbeatRequest(
                "g", "m", epoch, rebalance_timeout_ms=60_000, subscribed_topic_names=("t",), topic_partitions=()
            )
            connection.send(request, got.append, 30_000_000)
            answers = len(got) + 1
            await loop.until(lambda: len(got) == answers)
            assert got[-1].error is ErrorCode.NONE, got[-1]
            return int(got[-1].heartbeat_interval_ms)

        seen = [await beat(0)]
        cluster.alter_group_config("g", {BEAT: "7000"})
        seen.append(await beat(0))
        cluster.alter_group_config("g", {BEAT: None})
        seen.append(await beat(0))
        assert seen == [5_000, 7_000, 5_000]

    run_virtual(story)
