"""A replicated cluster with one topic, for the tests that tell a story on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from
from groupsim.protocol.basics import TopicPartition

SECOND = 1_000_000
OF_G = TopicPartition(OFFSETS_TOPIC, partition_for("g"))
OF_G_OF_3 = TopicPartition(OFFSETS_TOPIC, partition_for("g", 3))


class Stage:
    """A cluster with a topic, and what the tests do with it."""

    def __init__(self, loop: VirtualLoop, config: ClusterConfig, events: list[Any]) -> None:
        self.loop = loop
        self.events = events
        self.cluster = Cluster(loop, config)

    def group(self, members: int, **properties: object) -> list[Consumer]:
        """Members of the group g on the topic t."""
        consumers = []
        for number in range(members):
            given = {"group.id": "g", "client.id": f"c{number}", "auto.commit.interval.ms": 1_000, **properties}
            settings, _ = settings_from(PROFILES["java"], given)
            consumer = Consumer(self.loop, f"member-{number}", settings, self.cluster.transport, self.cluster.data)
            consumer.subscribe(["t"])
            consumer.start()
            consumers.append(consumer)
        return consumers

    async def ask(self, node: int, request: Any, host: str = "somebody", wait_us: int = 10 * SECOND) -> Any:
        """The answer of one broker, on a connection of its own; None when none comes."""
        got: list[Any] = []
        connection = self.cluster.network.connect(host, host, node, "coordinator")
        connection.send(request, got.append, 60 * SECOND)
        await self.loop.until(lambda: bool(got), wait_us)
        connection.close()
        return got[0] if got else None

    def said(self, *kinds: str, since_us: int = -1) -> list[Any]:
        return [event for event in self.events if event.kind.value in kinds and event.t_us > since_us]

    def leader(self, partition: TopicPartition) -> int:
        state = self.cluster.controller.image.partition(partition)
        assert state is not None
        return state.leader

    def isr(self, partition: TopicPartition) -> set[int]:
        state = self.cluster.controller.image.partition(partition)
        assert state is not None
        return set(state.isr)


def run(story: Callable[[Stage], Awaitable[None]], *, seed: int = 0, **config: Any) -> list[Any]:
    """Run a story on four brokers with a topic t of six partitions, three replicas each."""
    trace, sink = Trace(), MemorySink()
    trace.subscribe(sink)

    async def main(loop: VirtualLoop) -> None:
        stage = Stage(loop, ClusterConfig(**{"brokers": 4, **config}), sink.events)
        stage.cluster.create_topic("t", 6, replication=3)
        await story(stage)

    run_virtual(main, seed=seed, trace=trace)
    return sink.events
