"""Consumers of 0.8 on a cluster with ZooKeeper."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.zookeeper import add_zookeeper
from groupsim.cluster.zookeeper.kafka import register_brokers, write_topics
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.virtual import run_virtual
from groupsim.members.behaviour import Behaviour
from groupsim.members.zookeeper.kinds import ZOOKEEPER_0_8, client_settings, consumer_for

SECOND = 1_000_000


class Bench:
    """Topic `t` with six partitions and records; `consumer` makes consumers of group g."""

    def __init__(self, loop: Any, partitions: int = 6, rate: int = 60) -> None:
        self.loop = loop
        self.events: list[Any] = []
        loop.trace.subscribe(self.events.append)
        self.cluster = Cluster(loop, ClusterConfig.with_counted_logs())
        self.cluster.create_topic("t", partitions, rate=rate)
        self.zookeeper = add_zookeeper(loop, self.cluster.network)
        register_brokers(self.zookeeper, self.cluster.brokers)
        write_topics(self.zookeeper, self.cluster.brokers[0].metadata)
        self.cluster.watch(lambda image: write_topics(self.zookeeper, self.cluster.brokers[0].metadata))

    def consumer(self, host: str, properties: Mapping[str, object] | None = None, **behaviour: Any) -> Any:
        """Start a consumer that subscribes to `t`; its behaviour as in scenarios."""
        settings, _ = client_settings(ZOOKEEPER_0_8, {"group.id": "g", **(properties or {})})
        drawn = {name: parse_distribution(value) if type(value) is str else value for name, value in behaviour.items()}
        cluster = self.cluster
        made = consumer_for(
            self.loop, host, settings, cluster.transport, cluster.data, Behaviour(**drawn), ZOOKEEPER_0_8
        )
        made.subscribe(["t"])
        made.start()
        return made

    async def until(self, seconds: float) -> None:
        """Run until so many seconds after the start."""
        await self.loop.sleep(int(seconds * SECOND) - self.loop.now_us)

    def kinds(self, kind: str, host: str | None = None) -> list[Any]:
        """Return the events of a kind, of one host or of all."""
        return [e for e in self.events if e.kind.value == kind and host in (None, e.host)]

    def data(self, path: str) -> str | None:
        """Return the data of a node; None without it."""
        node = self.zookeeper.tree.find(path)
        return None if node is None else node.data


@pytest.fixture
def on_bench() -> Callable[..., Any]:
    """Run an async test body with a bench in virtual time; return the bench."""

    def run(body: Callable[[Bench], Awaitable[None]], *, seed: int = 0, **options: Any) -> Bench:
        benches: list[Bench] = []

        async def main(loop: Any) -> None:
            benches.append(Bench(loop, **options))
            await body(benches[0])

        run_virtual(main, seed=seed, trace=Trace())
        return benches[0]

    return run
