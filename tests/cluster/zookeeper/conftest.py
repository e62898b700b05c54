"""A ZooKeeper server on a network, and clients that send it single requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.zookeeper import add_zookeeper
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.virtual import run_virtual
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.messages.zookeeper import ZOOKEEPER_NODE, OpenSession, WatchEvent, ZkAnswer

SECOND = 1_000_000


class ByHand:
    """One client; `received` has its responses and events in the order of arrival."""

    def __init__(self, bench: Bench, host: str) -> None:
        self.loop = bench.loop
        self.link: Any = bench.cluster.network.connect(host, host, ZOOKEEPER_NODE, "zookeeper")
        self.link.listen(self.take_event, self.lost)
        self.received: list[Any] = []
        self.losses: list[Disconnected] = []

    def take_event(self, event: WatchEvent) -> None:
        self.received.append(event)

    def lost(self, outcome: Disconnected) -> None:
        self.losses.append(outcome)

    @property
    def events(self) -> list[WatchEvent]:
        """The events among them."""
        return [one for one in self.received if isinstance(one, WatchEvent)]

    async def ask(self, request: Any) -> Any:
        """Send, and wait for what comes back."""
        done, found = self.loop.event(), []

        def answered(outcome: Any) -> None:
            found.append(outcome)
            self.received.append(outcome)
            done.set()

        self.link.send(request, answered, 3_600 * SECOND)
        await done.wait()
        return found[0]

    async def open(self, timeout_ms: int = 6_000, session: int = 0) -> ZkAnswer:
        """Open a session, or go on with one."""
        answer = await self.ask(OpenSession(timeout_ms, session))
        assert isinstance(answer, ZkAnswer)
        return answer


class Bench:
    """A cluster with a ZooKeeper beside it, and all events of its trace."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.events: list[Any] = []
        loop.trace.subscribe(self.events.append)
        self.cluster = Cluster(loop, ClusterConfig.with_counted_logs())
        self.server = add_zookeeper(loop, self.cluster.network)

    async def client(self, host: str = "c", timeout_ms: int = 6_000) -> ByHand:
        """A client with a session."""
        client = ByHand(self, host)
        await client.open(timeout_ms)
        return client

    def connect(self, host: str = "c") -> ByHand:
        """Return a connected client without a session."""
        return ByHand(self, host)


@pytest.fixture
def on_bench() -> Callable[..., None]:
    """Run an async function with a bench in virtual time."""

    def run(story: Callable[[Bench], Awaitable[None]], *, seed: int = 0) -> None:
        async def main(loop: Any) -> None:
            await story(Bench(loop))

        run_virtual(main, seed=seed, trace=Trace())

    return run
