"""Brokers with only their replicas, connections without a network, and a controller that the test drives."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from attrs import evolve

from groupsim.cluster.config.replica import ReplicaConfig
from groupsim.cluster.log.memory import MemoryStore
from groupsim.cluster.replica.manager import ReplicaManager
from groupsim.eventloop.interface import Order
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch, timestamp_ms
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import (
    BrokerState,
    ClusterImage,
    IsrChange,
    PartitionState,
    TopicState,
)
from groupsim.protocol.messages.data import (
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
    ProduceRequest,
)

LATENCY_US = 500


class Wire:
    """One connection between brokers, with one request at a time; a crash breaks it, a stalled link stalls it."""

    def __init__(self, rig: Rig, client: int, server: int) -> None:
        self.rig = rig
        self.client, self.server = client, server
        self.open = True
        self.give_up: Callable[[], None] | None = None
        self.on_done: Callable[[Any], None] | None = None
        self.held: deque[tuple[int, Callable[[Any], None], Any]] = deque()
        rig.wires.append(self)
        if not rig.host(server).alive:
            self.cut()

    @property
    def next_correlation(self) -> int:
        return 0

    def send(self, request: Any, on_done: Callable[[Any], None], timeout_us: int) -> int:
        self.rig.requests.append((self.rig.loop.now_us, self.client, self.server, request))
        self.on_done = on_done
        if self.open:
            self._carry(self.server, self._arrive, request)
        else:
            self.rig.host(self.client).call_at(self.rig.loop.now_us, self._lost, order=Order.MESSAGE)
        return 0

    def _carry(self, to: int, callback: Callable[[Any], None], arg: Any) -> None:
        if {self.client, self.server} in self.rig.stalled:
            self.held.append((to, callback, arg))
        else:
            self.rig.host(to).call_at(self.rig.loop.now_us + LATENCY_US, callback, arg, order=Order.MESSAGE)

    def release(self) -> None:
        held, self.held = self.held, deque()
        for entry in held:
            self._carry(*entry)

    def _arrive(self, request: Any) -> None:
        manager = self.rig.managers[self.server]
        if isinstance(request, FetchRequest):
            self.give_up = None
            answered = len(self.rig.answered)
            give_up = manager.fetch(request, self._answer)
            if len(self.rig.answered) == answered:
                self.give_up = give_up
        elif isinstance(request, ListOffsetsRequest):
            self._answer(manager.list_offsets(request))

    def _answer(self, response: Any) -> None:
        self.rig.answered.append(response)
        self.give_up = None
        if self.open:
            self._carry(self.client, self._back, response)

    def _back(self, response: Any) -> None:
        if self.open and self.on_done is not None:
            on_done, self.on_done = self.on_done, None
            on_done(response)

    def _lost(self, _: object) -> None:
        if self.on_done is not None:
            on_done, self.on_done = self.on_done, None
            on_done(Disconnected("gone"))

    def close(self) -> None:
        self.on_done = None
        self.open = False
        self._gone()

    def cut(self) -> None:
        self.open = False
        self._gone()
        self.rig.host(self.client).call_at(self.rig.loop.now_us + LATENCY_US, self._lost, order=Order.MESSAGE)

    def _gone(self) -> None:
        give_up, self.give_up = self.give_up, None
        if give_up is not None and self.rig.host(self.server).alive:
            give_up()


class Asked:
    """The responses to a client of the test, in order."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.answers: list[Any] = []
        self.at_us: list[int] = []
        self.give_up: Callable[[], None] = lambda: None

    def __call__(self, answer: Any) -> None:
        self.answers.append(answer)
        self.at_us.append(self.loop.now_us)

    @property
    def answer(self) -> Any:
        assert len(self.answers) == 1, self.answers
        return self.answers[0]


def batch(count: int = 1, size: int | None = None, **fields: Any) -> Batch:
    """A counted batch as a producer sends it; 100 bytes a record by default."""
    bytes_ = 100 * count if size is None else size
    return Batch(0, count, bytes_, timestamp_ms(0), timestamp_ms(0), **fields)


class Rig:
    """Brokers 0, 1, 2 … with one replica manager each, and a controller that the test drives."""

    def __init__(
        self, loop: VirtualLoop, sink: MemorySink, brokers: int, config: ReplicaConfig, racks: Mapping[int, str]
    ) -> None:
        self.loop = loop
        self.sink = sink
        self.wires: list[Wire] = []
        self.requests: list[tuple[int, int, int, Any]] = []
        self.answered: list[Any] = []
        self.stalled: list[set[int]] = []
        self.stores: dict[tuple[int, TopicPartition], MemoryStore] = {}
        self.proposals: list[tuple[int, IsrChange, Callable[[ErrorCode, PartitionState | None], None]]] = []
        self.obey = True
        self.leading: list[tuple[int, TopicPartition, int]] = []
        self.not_leading: list[tuple[int, TopicPartition, int]] = []
        states = {n: BrokerState(n, f"broker-{n}", racks.get(n), epoch=10 + n) for n in range(brokers)}
        self.image = ClusterImage(1, states, {})
        self.managers = {node: self._manager(node, racks.get(node), config) for node in range(brokers)}
        self.down: set[int] = set()
        self.cut_off: set[int] = set()  # brokers that get no images

    def _manager(self, node: int, rack: str | None, config: ReplicaConfig) -> ReplicaManager:
        manager = ReplicaManager(
            self.loop,
            self.host(node),
            node,
            rack,
            config,
            lambda name: self.stores.setdefault((node, name), MemoryStore()),
            lambda leader: Wire(self, node, leader),
            lambda change, on_done: self._propose(node, change, on_done),
        )
        manager.on_leading.append(lambda name, epoch: self.leading.append((node, name, epoch)))
        manager.on_not_leading.append(lambda name, epoch: self.not_leading.append((node, name, epoch)))
        return manager

    def host(self, node: int) -> Any:
        return self.loop.host(f"broker-{node}")

    # --- the controller ----------------------------------------------------------------------------------------------

    def topic(self, name: str = "orders", *replicas: tuple[int, ...], internal: bool = False, **config: str) -> None:
        """Create a topic; each partition is led by its first replica, all are in sync."""
        parts = tuple(PartitionState(nodes, nodes, nodes[0]) for nodes in replicas)
        settings = {key.replace("_", "."): value for key, value in config.items()}
        state = TopicState(name, f"id-{name}-{self.image.version}", parts, settings, internal)
        self.publish({**self.image.topics, name: state}, [TopicPartition(name, n) for n in range(len(parts))])

    def publish(self, topics: Mapping[str, TopicState], changed: list[TopicPartition]) -> None:
        self.image = evolve(self.image, version=self.image.version + 1, topics=topics)
        self.send_image(changed)

    def send_image(self, changed: list[TopicPartition]) -> None:
        for node, manager in self.managers.items():
            if node not in self.down and node not in self.cut_off:
                self.host(node).deliver(lambda manager: manager.apply(self.image, changed), manager)

    def change(self, name: TopicPartition, **fields: Any) -> PartitionState:
        """Change a partition, and send the image to all brokers."""
        topic = self.image.topics[name.topic]
        before = topic.partitions[name.partition]
        after = evolve(before, partition_epoch=before.partition_epoch + 1, **fields)
        parts = list(topic.partitions)
        parts[name.partition] = after
        self.publish({**self.image.topics, name.topic: evolve(topic, partitions=tuple(parts))}, [name])
        return after

    def elect(self, name: TopicPartition, leader: int, isr: tuple[int, ...] | None = None) -> None:
        before = self.image.topics[name.topic].partitions[name.partition]
        self.change(name, leader=leader, leader_epoch=before.leader_epoch + 1, isr=before.isr if isr is None else isr)

    def _propose(self, node: int, change: IsrChange, on_done: Any) -> None:
        self.proposals.append((node, change, on_done))
        if self.obey:
            self.host(node).call_at(self.loop.now_us + LATENCY_US, self._decide, (change, on_done), order=Order.MESSAGE)

    def _decide(self, arg: Any) -> None:
        change, on_done = arg
        before = self.image.partition(change.partition)
        if before is None or before.leader_epoch != change.leader_epoch:
            on_done(ErrorCode.FENCED_LEADER_EPOCH, None)
        elif before.partition_epoch != change.partition_epoch:
            on_done(ErrorCode.INVALID_UPDATE_VERSION, None)
        elif not all(self.image.is_up(node) for node in change.isr):
            on_done(ErrorCode.INELIGIBLE_REPLICA, None)
        else:
            on_done(ErrorCode.NONE, self.change(change.partition, isr=change.isr))

    # --- faults ------------------------------------------------------------------------------------------------------

    def trouble(self, begun: bool) -> None:
        for manager in self.managers.values():
            manager.set_clocked(begun)

    def crash(self, node: int, *, machine: bool = False) -> None:
        """Kill a broker; the controller notices only when the test changes the image."""
        self.down.add(node)
        self.host(node).crash()
        self.managers[node].crash(machine=machine)
        for wire in self.wires:
            if wire.open and node in (wire.client, wire.server):
                wire.cut()

    def fence(self, node: int) -> None:
        """The controller has noticed: the broker is fenced in the image, which changes nothing else."""
        broker = evolve(self.image.brokers[node], fenced=True)
        self.image = evolve(self.image, brokers={**self.image.brokers, node: broker})

    def start(self, node: int) -> None:
        self.down.discard(node)
        self.host(node).start()
        broker = self.image.brokers[node]
        brokers = {**self.image.brokers, node: evolve(broker, epoch=broker.epoch + 10, fenced=False)}
        self.image = evolve(self.image, version=self.image.version + 1, brokers=brokers)
        self.managers[node].start()
        everything = [
            TopicPartition(topic, n) for topic, state in self.image.topics.items() for n in range(len(state.partitions))
        ]
        self.managers[node].apply(self.image, everything)
        for other, manager in self.managers.items():
            if other not in self.down and other not in self.cut_off:
                manager.apply(self.image, [])

    def stall(self, one: int, other: int) -> None:
        self.trouble(True)
        self.stalled.append({one, other})

    def heal(self, one: int, other: int) -> None:
        self.stalled.remove({one, other})
        for wire in self.wires:
            wire.release()
        self.trouble(bool(self.stalled))

    # --- clients -----------------------------------------------------------------------------------------------------

    def produce(
        self, node: int, name: TopicPartition, *batches: Batch, acks: int = -1, timeout_ms: int = 30_000
    ) -> Any:
        asked = Asked(self.loop)
        request = ProduceRequest(acks, timeout_ms, tuple((name, one) for one in batches or (batch(),)))
        self.managers[node].produce(request, "producer-1", asked)
        return asked

    def fetch(
        self, node: int, *asked: FetchPartition, max_wait_ms: int = 500, min_bytes: int = 1, **fields: Any
    ) -> Any:
        got = Asked(self.loop)
        request = FetchRequest(max_wait_ms, min_bytes, asked, **fields)
        got.give_up = self.managers[node].fetch(request, got)
        return got

    def log(self, node: int, name: TopicPartition) -> Any:
        log = self.managers[node].log(name)
        assert log is not None
        return log

    def ends(self, name: TopicPartition, *nodes: int) -> list[tuple[int, int]]:
        """Log end and high watermark on some brokers."""
        return [(self.log(node, name).end_offset, self.log(node, name).high_watermark) for node in nodes]

    async def run(self, us: int) -> None:
        await self.loop.sleep(us)


P0 = TopicPartition("orders", 0)


@pytest.fixture
def simulate() -> Callable[..., Any]:
    """Run a story against a rig in virtual time."""

    def run(
        story: Callable[[Rig], Awaitable[Any]],
        *,
        brokers: int = 3,
        config: ReplicaConfig | None = None,
        racks: Mapping[int, str] | None = None,
        level: Level = Level.NORMAL,
    ) -> Any:
        trace = Trace(level)
        sink = MemorySink()
        trace.subscribe(sink)

        async def main(loop: VirtualLoop) -> Any:
            return await story(Rig(loop, sink, brokers, config or ReplicaConfig(), racks or {}))

        return run_virtual(main, trace=trace)

    return run


@pytest.fixture
def a_batch() -> Callable[..., Batch]:
    """Makes counted batches."""
    return batch
