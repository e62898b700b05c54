"""A network with brokers whose coordinator the test scripts, and a client that records the outcomes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.counted import CountedConfig
from groupsim.cluster.counted.controller import CountedController
from groupsim.cluster.network.endpoint import QUIET, Endpoint, broker_name
from groupsim.cluster.network.network import Network, Timing
from groupsim.eventloop.distributions import Distribution, constant
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.protocol.messages.group import Api, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest


class FakeCoordinator:
    """Answers heartbeats at once, keeps everything else until the test answers it."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.handled: list[tuple[int, Any]] = []
        self.parked: list[Any] = []

    def handle(self, call: Any) -> None:
        self.handled.append((self.loop.now_us, call.request))
        if call.request.API is Api.HEARTBEAT:
            call.answer(HeartbeatResponse())
        else:
            self.parked.append(call)


class Broker(Endpoint):
    """A broker that hands every request to a coordinator."""

    def __init__(self, loop: Any, node: int, coordinator: Any) -> None:
        super().__init__(loop, broker_name(node))
        self.handle = coordinator.handle

    def receive(self, call: Any) -> None:
        if type(call.request) not in QUIET or self._trace.heartbeats:
            self.emit_received(call)
        self.handle(call)


class Rig:
    """One network of three brokers."""

    def __init__(self, loop: VirtualLoop, events: list[Any], latency: Distribution, processing: Distribution) -> None:
        self.loop = loop
        self.events = events
        self.controller = CountedController(loop, ClusterConfig(brokers=3), CountedConfig())
        self.network = Network(loop, Timing(latency, processing))
        self.coordinators = {node: FakeCoordinator(loop) for node in range(3)}
        self.brokers = {node: Broker(loop, node, self.coordinators[node]) for node in range(3)}
        self.network.attach(self.brokers)
        self.got: list[tuple[int, str, Any]] = []

    def connect(self, host: str = "member-1", node: int = 0, purpose: str = "coordinator") -> Any:
        return self.network.connect(host, host, node, purpose)

    def send(self, connection: Any, request: Any, label: str = "", timeout_us: int = 30_000_000) -> int:
        correlation: int = connection.send(
            request, lambda outcome: self.got.append((self.loop.now_us, label, outcome)), timeout_us
        )
        return correlation

    def beat(self, connection: Any, label: str = "beat", **more: Any) -> int:
        return self.send(connection, HeartbeatRequest("g", 1, "m"), label, **more)

    def join(self, connection: Any, label: str = "join", **more: Any) -> int:
        return self.send(connection, JoinGroupRequest("g", 10_000), label, **more)

    def labels(self) -> list[str]:
        return [label for _, label, _ in self.got]

    def kinds(self) -> list[str]:
        return [event.kind.value for event in self.events]


Play = Callable[..., list[Any]]


@pytest.fixture
def play() -> Play:
    """Run `story(rig)` in virtual time; segments take 1 ms and requests no time by default."""

    def run(
        story: Callable[[Rig], Awaitable[None]],
        *,
        latency: Distribution | None = None,
        processing: Distribution | None = None,
        level: Level = Level.NORMAL,
        seed: int = 0,
    ) -> list[Any]:
        trace = Trace(level)
        sink = MemorySink()
        trace.subscribe(sink)

        async def main(loop: VirtualLoop) -> None:
            await story(Rig(loop, sink.events, latency or constant(1_000), processing or constant(0)))

        run_virtual(main, seed=seed, trace=trace)
        return sink.events

    return run
