"""A replicated cluster with transactional producers and consumers, for the tests that tell a story on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.trace import NORMAL, Trace
from groupsim.eventloop.virtual import run_virtual
from groupsim.members.behaviour import Behaviour
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.producer.eos import ExactlyOnce, Output
from groupsim.members.producer.producer import Producer
from groupsim.members.producer.settings import producer_settings_from
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode

SECOND = 1_000_000


class Rig:
    """A cluster of three brokers, a topic `in` and a topic `t` of three partitions each."""

    def __init__(self, loop: Any, properties: Mapping[str, object]) -> None:
        self.loop = loop
        settings = {"transaction.state.log.num.partitions": 5, **properties}
        self.cluster = Cluster(loop, ClusterConfig.from_properties(settings))
        self.cluster.create_topic("t", 3, replication=3, config={"min.insync.replicas": "2"})
        self.cluster.create_topic("in", 3, replication=3)
        self.producers: list[Producer] = []

    # --- clients ---------------------------------------------------------------------------------------------

    def producer(self, host: str = "p1", loads: Any = (), *, name: str = "tx", **more: Any) -> Producer:
        """A transactional producer on a host."""
        settings, _ = producer_settings_from({"transactional.id": name, "transaction.timeout.ms": 10_000})
        return Producer(self.loop, host, settings, self.cluster.network, loads, **more)

    async def ready(self, producer: Producer) -> Any:
        """Start a producer; its transactions, when the first may begin."""
        producer.start()
        told: list[bool] = []
        producer.transaction.when_ready(lambda: told.append(True))
        assert await self.loop.until(lambda: bool(told), 30 * SECOND)
        return producer.transaction

    async def done(self, ask: Callable[[Callable[[ErrorCode | None], None]], None]) -> ErrorCode | None:
        """Ask a transaction for something and wait for it; the error, if any."""
        heard: list[ErrorCode | None] = []
        ask(heard.append)
        assert await self.loop.until(lambda: bool(heard), 60 * SECOND)
        return heard[0]

    async def transact(self, producer: Producer, records: int, *, commit: bool) -> ErrorCode | None:
        """A transaction of so many records for each partition of `t`."""
        transaction = producer.transaction
        transaction.begin()
        for number in range(3 * records):
            producer.send("t", 10, partition=number % 3)
        await self.loop.sleep(SECOND)
        return await self.done(transaction.commit if commit else transaction.abort)

    def member(self, number: int, **behaviour: Any) -> Consumer:
        """A member of group g that turns each record of `in` into one of `t`, in transactions `tx<number>`."""
        producer = self.producer(f"app-{number}-producer", name=f"tx{number}")
        self.producers.append(producer)
        producer.start()
        app = ExactlyOnce(self.loop, producer, Output("t", same_partition=True))
        properties = {"group.id": "g", "enable.auto.commit": False, "session.timeout.ms": 6_000}
        return self.consumer(f"app-{number}", "in", properties, Behaviour(exactly_once=app, **behaviour))

    def reader(self, isolation: str) -> Consumer:
        """A consumer of `t`, on a host of the isolation level's name."""
        return self.consumer(isolation, "t", {"group.id": isolation, "isolation.level": isolation})

    def consumer(
        self, host: str, topic: str, properties: Mapping[str, object], behaviour: Behaviour | None = None
    ) -> Consumer:
        """A member of a group that begins at the beginning."""
        settings, _ = settings_from(PROFILES["java"], {"auto.offset.reset": "earliest", **properties}, pulls=True)
        made = Consumer(self.loop, host, settings, self.cluster.transport, None, behaviour or Behaviour())
        made.subscribe([topic])
        made.start()
        return made

    async def ask(self, node: int, request: Any) -> Any:
        """The answer of one broker, on a connection of its own."""
        got: list[Any] = []
        connection = self.cluster.network.connect("somebody", "somebody", node, "coordinator")
        connection.send(request, got.append, 60 * SECOND)
        assert await self.loop.until(lambda: bool(got), 10 * SECOND)
        connection.close()
        return got[0]

    # --- what there is ---------------------------------------------------------------------------------------

    def committed_records(self) -> int:
        """Records of `t` that a reader with read_committed sees."""
        total = 0
        for number in range(3):
            log = self.cluster.log("t", number)
            total += sum(_visible(batch, log) for batch in log.read(0, 1 << 40))
        return total

    def markers(self) -> int:
        """Markers in the logs of `t`."""
        return sum(b.is_control for n in range(3) for b in self.cluster.log("t", n).read(0, 1 << 40))

    def ends(self, topic: str = "t") -> list[tuple[int, int]]:
        """Of each partition: last stable offset and log end."""
        logs = [self.cluster.log(topic, number) for number in range(3)]
        return [(log.last_stable_offset, log.end_offset) for log in logs]

    def coordinator(self) -> int:
        """The broker that coordinates `tx`."""
        return self.cluster.replicated.transaction_coordinator_of("tx")[0]

    def group_elsewhere(self) -> str:
        """A group that another broker coordinates than `tx`."""
        names = (f"group-{number}" for number in range(100))
        return next(name for name in names if self.cluster.coordinator_of(name)[0] != self.coordinator())

    def leader_of_group(self, group: str) -> int:
        """Who leads the group's partition of `__consumer_offsets`."""
        where = TopicPartition(OFFSETS_TOPIC, partition_for(group, 50))
        state = self.cluster.controller.image.partition(where)
        assert state is not None
        return state.leader


def _visible(batch: Any, log: Any) -> int:
    """The records of a batch, none when it is a marker or belongs to an aborted transaction."""
    if batch.is_control:
        return 0
    markers = (b for b in log.read(batch.next_offset, 1 << 40) if b.is_control and b.producer_id == batch.producer_id)
    end = next(markers)
    return batch.count if end.records[0].key[3] == 1 else 0


def play(story: Callable[[Rig], Awaitable[None]], seed: int = 1, **properties: object) -> list[TraceEvent]:
    """Run a story on a rig, with broker settings whose dots are written as underscores; the events."""
    events: list[TraceEvent] = []

    async def main(loop: Any) -> None:
        loop.trace.subscribe(events.append)
        rig = Rig(loop, {name.replace("_", "."): value for name, value in properties.items()})
        await loop.sleep(SECOND)
        await story(rig)

    run_virtual(main, seed=seed, trace=Trace(NORMAL))
    return events


def states(events: list[TraceEvent]) -> list[str | None]:
    """The states transactions entered."""
    return [event.to for event in events if event.kind is Kind.TRANSACTION_STATE]


def delivered(events: list[TraceEvent], host: str) -> int:
    """Records that poll has returned on a host."""
    found = (event for event in events if event.kind is Kind.RECORDS_DELIVERED and event.host == host)
    return sum(int(event.payload["count"]) for event in found)  # type: ignore[index,call-overload]
