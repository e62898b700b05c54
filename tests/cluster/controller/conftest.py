"""A controller, agents, and links between them that are no network: a fixed latency, in order, and a switch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.controller.agent import ControllerAgent
from groupsim.cluster.controller.controller import Controller
from groupsim.eventloop.interface import EventLoop, Order
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ClusterImage,
    IsrChange,
    MetadataLogResponse,
    PartitionState,
)

LATENCY_US = 1_000


class Asked:
    """A call made by a test itself; `answers` are the controller's."""

    def __init__(self, request: Any) -> None:
        self.request = request
        self.answers: list[Any] = []

    def answer(self, response: Any) -> None:
        self.answers.append(response)


class Wire:
    """One connection of one broker: requests sent while the link is cut are lost and time out."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.open = True
        self.host = link.loop.host(f"broker-{link.node}")
        self.waiting: tuple[Callable[[Any], None], Any] | None = None
        self.request: Any = None

    def send(self, request: Any, on_done: Callable[[Any], None], timeout_us: int) -> int:
        assert self.waiting is None, "one request at a time"
        loop = self.link.loop
        timer = self.host.call_at(loop.now_us + timeout_us, self._give_up)
        self.waiting = (on_done, timer)
        self.request = request
        self.link.sent.append(request)
        self.link.sent_us.append(self.link.loop.now_us)
        if self.link.up:
            loop.call_at(loop.now_us + LATENCY_US, self._arrive, request, order=Order.MESSAGE)
        return 0

    def _arrive(self, request: Any) -> None:
        if self.link.up:
            self.link.controller.receive(self)

    def answer(self, response: Any) -> None:
        if self.link.up and not self.link.loses(response):
            self.host.call_at(self.link.loop.now_us + LATENCY_US, self._back, response, order=Order.MESSAGE)

    def _back(self, response: Any) -> None:
        if self.open and self.link.up:
            self._end(response)

    def _give_up(self, _: object) -> None:
        self.open = False
        self._end(Disconnected("a request timed out", timed_out=True))

    def _end(self, outcome: Any) -> None:
        if self.waiting is not None:
            on_done, timer = self.waiting
            self.waiting = None
            self.host.cancel(timer)
            on_done(outcome)

    def close(self) -> None:
        self.open = False
        if self.waiting is not None:
            self.host.cancel(self.waiting[1])
            self.waiting = None


class Link:
    """One broker's way to the controller; `up` is its switch, `sent` all that was ever sent, `sent_us` when."""

    def __init__(self, loop: EventLoop, controller: Controller, node: int) -> None:
        self.loop = loop
        self.controller = controller
        self.node = node
        self.up = True
        self.sent: list[Any] = []
        self.sent_us: list[int] = []
        self.lose_next: type | None = None

    def loses(self, response: Any) -> bool:
        if self.lose_next is not None and isinstance(response, self.lose_next):
            self.lose_next = None
            return True
        return False

    def connect(self) -> Wire:
        return Wire(self)


class Rig:
    """A controller and as many brokers as asked for, all started; `racks` are dealt out in turn."""

    def __init__(
        self, loop: Any, events: list[Any], brokers: int, config: ControllerConfig, racks: tuple[str, ...]
    ) -> None:
        self.loop = loop
        self.events = events
        self.controller = Controller(loop, config)
        self.images: dict[int, list[tuple[ClusterImage, MetadataLogResponse]]] = {}
        self.links: dict[int, Link] = {}
        self.agents: dict[int, ControllerAgent] = {}
        for node in range(brokers):
            self.add(node, racks[node % len(racks)] if racks else None, config)

    def add(self, node: int, rack: str | None, config: ControllerConfig) -> None:
        link = self.links[node] = Link(self.loop, self.controller, node)
        seen = self.images[node] = []
        host = self.loop.host(f"broker-{node}")

        def on_image(image: ClusterImage, response: MetadataLogResponse) -> None:
            seen.append((image, response))

        agent = self.agents[node] = ControllerAgent(self.loop, host, node, rack, link.connect, on_image, config)
        agent.start()

    def crash(self, node: int) -> None:
        self.loop.host(f"broker-{node}").crash()

    def restart(self, node: int) -> None:
        self.loop.host(f"broker-{node}").start()
        self.agents[node].start()

    @property
    def image(self) -> ClusterImage:
        return self.controller.image

    def state(self, topic: str = "t", partition: int = 0) -> PartitionState:
        state = self.image.partition(TopicPartition(topic, partition))
        assert state is not None
        return state

    def ask(self, request: Any) -> Any:
        """Put a request straight to the controller; returns its answer, None when it has none yet."""
        call = Asked(request)
        self.controller.receive(call)
        return call.answers[0] if call.answers else None

    def register(self, node: int, incarnation: int, previous_epoch: int = -1) -> Any:
        return self.ask(BrokerRegistrationRequest(node, f"broker-{node}", None, incarnation, previous_epoch))

    def beat(self, node: int, epoch: int, **more: Any) -> Any:
        return self.ask(BrokerHeartbeatRequest(node, epoch, self.image.version, **more))

    def alter(
        self,
        isr: tuple[int, ...],
        *,
        node: int | None = None,
        epoch: int | None = None,
        leader_epoch: int | None = None,
        partition_epoch: int | None = None,
        recovering: bool = False,
        topic: str = "t",
        partition: int = 0,
    ) -> ErrorCode:
        """An AlterPartition of the partition's leader, right in everything that is not said otherwise."""
        state = self.state(topic, partition)
        node = state.leader if node is None else node
        change = IsrChange(
            TopicPartition(topic, partition),
            state.leader_epoch if leader_epoch is None else leader_epoch,
            isr,
            state.partition_epoch if partition_epoch is None else partition_epoch,
            recovering,
        )
        known = self.image.brokers[node].epoch if epoch is None else epoch
        response = self.ask(AlterPartitionRequest(node, known, (change,)))
        error: ErrorCode = response.error or response.results[0][1]
        return error

    def events_of(self, *kinds: str) -> list[Any]:
        return [event for event in self.events if event.kind in kinds]


Play = Callable[..., list[Any]]


@pytest.fixture
def play() -> Play:
    """Run `story(rig)` in virtual time, with three brokers that have registered a second ago unless said otherwise."""

    def run(
        story: Callable[[Rig], Awaitable[None]],
        *,
        brokers: int = 3,
        config: ControllerConfig | None = None,
        racks: tuple[str, ...] = (),
        settle_us: int = 1_000_000,
        seed: int = 0,
    ) -> list[Any]:
        trace, sink = Trace(), MemorySink()
        trace.subscribe(sink)

        async def main(loop: VirtualLoop) -> None:
            rig = Rig(loop, sink.events, brokers, config or ControllerConfig(), racks)
            await loop.sleep(settle_us)
            await story(rig)

        run_virtual(main, seed=seed, trace=trace)
        return sink.events

    return run


@pytest.fixture(scope="session")
def rig_class() -> type[Rig]:
    """The rig itself, for tests that run many stories."""
    return Rig
