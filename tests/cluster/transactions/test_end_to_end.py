"""Transactions on a replicated cluster: real logs, real group coordinators, brokers that die."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from groupsim.cluster.replicated import ReplicatedCluster
from groupsim.cluster.replicated_config import ReplicatedConfig
from groupsim.cluster.transactions.config import TRANSACTION_TOPIC, TransactionConfig
from groupsim.cluster.transactions.wiring import Transactions
from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.eventloop.trace import NORMAL, Trace
from groupsim.eventloop.virtual import run_virtual
from groupsim.members.behaviour import Behaviour
from groupsim.members.consumer import Consumer
from groupsim.members.interfaces import Fetched
from groupsim.members.producer.eos import ExactlyOnce, Output, Verdict
from groupsim.members.producer.load import Load
from groupsim.members.producer.producer import Producer
from groupsim.members.producer.settings import producer_settings_from
from groupsim.members.producer.traffic import as_rate
from groupsim.members.producer.transactions import GroupMetadata
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from
from groupsim.protocol.javahash import java_abs_mod
from groupsim.protocol.messages import FindCoordinatorRequest, TopicPartition

SECOND = 1_000_000
CONFIG = TransactionConfig(num_partitions=5)


class Rig:
    """A cluster whose brokers take part in transactions."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.cluster = ReplicatedCluster(loop, ReplicatedConfig())
        self.transactions = {number: self._equip(node) for number, node in self.cluster.brokers.items()}
        self.cluster.create_topic(TRANSACTION_TOPIC, 5, replication=3, config={"cleanup.policy": "compact"})
        self.cluster.create_topic("t", 3, replication=3, config={"min.insync.replicas": "2"})
        self.cluster.create_topic("in", 3, replication=3)
        self.producers: list[Producer] = []

    def _equip(self, node: Any) -> Transactions:
        name = node.host.name
        made = Transactions(
            self.loop,
            node.host,
            node.node,
            CONFIG,
            replicas=node.replicas,
            groups=node.groups,
            image=lambda: node.metadata.image,
            connect=partial(lambda to: self.cluster.network.connect(name, name, to, "replication")),
            fresh_producer_id=lambda: node._ids.fresh(),
        )
        node._handlers.update(made.handlers)
        node._handlers[FindCoordinatorRequest] = lambda call, request: call.answer(
            made.find_coordinator(request.key) if request.key_type else node.metadata.find_coordinator(request)
        )
        node.replicas.on_leading.append(made.leading)
        node.replicas.on_not_leading.append(made.not_leading)
        return made

    def producer(self, host: str = "p1", loads: Any = (), **more: Any) -> Producer:
        """A transactional producer `tx` on a host."""
        settings, _ = producer_settings_from({"transactional.id": "tx", "transaction.timeout.ms": 10_000})
        return Producer(self.loop, host, settings, self.cluster.network, loads, **more)

    def consumer(self, number: int) -> Consumer:
        """A member of group g that turns each record of `in` into one of `t`, in transactions `tx<number>`."""
        properties = {"transactional.id": f"tx{number}", "transaction.timeout.ms": 10_000}
        settings, _ = producer_settings_from(properties)
        producer = Producer(self.loop, f"app-{number}-producer", settings, self.cluster.network)
        self.producers.append(producer)
        producer.start()
        consuming, _ = settings_from(
            PROFILES["java"], {"group.id": "g", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        )
        behaviour = Behaviour(exactly_once=ExactlyOnce(self.loop, producer, Output("t", same_partition=True)))
        made = Consumer(self.loop, f"app-{number}", consuming, self.cluster.transport, None, behaviour)
        made.subscribe(["in"])
        made.start()
        return made

    def committed_records(self) -> int:
        """Records of `t` that a reader with read_committed sees."""
        total = 0
        for number in range(3):
            log = self.cluster.log("t", number)
            total += sum(_visible(batch, log) for batch in log.read(0, 1 << 40))
        return total

    def ends(self, topic: str = "t") -> list[tuple[int, int]]:
        """Of each partition: last stable offset and log end."""
        logs = [self.cluster.log(topic, number) for number in range(3)]
        return [(log.last_stable_offset, log.end_offset) for log in logs]

    def coordinator(self) -> int:
        """The broker that coordinates `tx`."""
        where = TopicPartition(TRANSACTION_TOPIC, java_abs_mod("tx", 5))
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


def play(story: Callable[[Rig], Awaitable[None]], seed: int = 1) -> list[TraceEvent]:
    """Run a story on a rig; the events."""
    events: list[TraceEvent] = []

    async def main(loop: Any) -> None:
        loop.trace.subscribe(events.append)
        rig = Rig(loop)
        await loop.sleep(SECOND)
        await story(rig)

    run_virtual(main, seed=seed, trace=Trace(NORMAL))
    return events


def states(events: list[TraceEvent]) -> list[str | None]:
    """The states transactions entered."""
    return [event.to for event in events if event.kind is Kind.TRANSACTION_STATE]


def test_markers_end_transactions_in_the_logs() -> None:
    """A load that commits every second: at the end everything is stable, each partition with its markers."""

    async def story(rig: Rig) -> None:
        load = Load("t", as_rate(100), weights=(1, 1, 1))
        producer = rig.producer(loads=[load], commit_every_us=SECOND)
        producer.start()
        await rig.loop.sleep(4_500_000)
        assert any(stable < end for stable, end in rig.ends())
        await producer.close()
        await rig.loop.sleep(2 * SECOND)
        assert all(stable == end for stable, end in rig.ends())
        markers = [b for n in range(3) for b in rig.cluster.log("t", n).read(0, 1 << 40) if b.is_control]
        assert len(markers) == 15
        assert sum(end for _, end in rig.ends()) == producer.counts["acknowledged"] + 15

    assert states(play(story)).count("CompleteCommit") == 4


def test_exactly_once_commits_offsets_of_the_group() -> None:
    """Outputs and offsets become visible together; the group's offset is the one of the transaction."""

    async def story(rig: Rig) -> None:
        producer = rig.producer()
        app = ExactlyOnce(rig.loop, producer, Output("t", same_partition=True))
        producer.start()
        source = TopicPartition("in", 0)
        for base in (0, 7):
            assert await app([Fetched(source, base, 7)], GroupMetadata("g")) is Verdict.GO_ON
        await rig.loop.sleep(SECOND)
        assert rig.ends()[0] == (16, 16)  # 14 records and two markers

    events = play(story)
    assert states(events).count("CompleteCommit") == 2


def test_consumers_that_transform_exactly_once() -> None:
    """Two members, one killed in the middle of its work: every input has one committed output, no more, no less."""

    async def story(rig: Rig) -> None:
        feed = rig.cluster.attach_feed("in", 60, [1, 1, 1])
        consumers = [rig.consumer(number) for number in (1, 2)]
        await rig.loop.sleep(8 * SECOND)
        consumers[0].crash()
        rig.producers[0].crash()
        await rig.loop.sleep(10 * SECOND)
        await feed.close()
        await rig.loop.sleep(40 * SECOND)
        inputs = sum(end for _, end in rig.ends("in"))
        assert inputs > 1_000
        assert rig.committed_records() == inputs

    play(story)


def test_a_coordinator_that_dies_is_followed_by_another() -> None:
    """The broker that coordinates dies in the middle: the producer finds the next, and all transactions end."""

    async def story(rig: Rig) -> None:
        load = Load("t", as_rate(100), weights=(1, 1, 1))
        producer = rig.producer(loads=[load], commit_every_us=SECOND)
        producer.start()
        await rig.loop.sleep(2_300_000)
        rig.cluster.crash_broker(rig.coordinator())
        await rig.loop.sleep(20 * SECOND)
        assert producer.running
        assert producer.counts["failed"] == 0
        await producer.close()  # which aborts the transaction it is in
        await rig.loop.sleep(5 * SECOND)
        assert all(stable == end for stable, end in rig.ends())

    assert states(play(story)).count("CompleteCommit") > 8


def test_what_a_dead_producer_left_open_is_aborted() -> None:
    """Killed in a transaction, nobody takes over: after its timeout it is aborted, and readers go on."""

    async def story(rig: Rig) -> None:
        producer = rig.producer(loads=[Load("t", as_rate(100), weights=(1, 1, 1))])
        producer.start()
        await rig.loop.sleep(2 * SECOND)
        producer.crash()
        await rig.loop.sleep(SECOND)
        assert all(stable == 0 < end for stable, end in rig.ends())
        await rig.loop.sleep(20 * SECOND)
        assert all(stable == end for stable, end in rig.ends())

    assert states(play(story))[-1] == "CompleteAbort"


def test_the_next_producer_fences_the_last() -> None:
    """A second producer under the same id: the first one's transaction is aborted and it ends as FAILED."""

    async def story(rig: Rig) -> None:
        load = Load("t", as_rate(100), weights=(1, 1, 1))
        first = rig.producer("p1", loads=[load], commit_every_us=SECOND)
        second = rig.producer("p2", loads=[load], commit_every_us=SECOND)
        first.start()
        await rig.loop.sleep(2_500_000)
        second.start()
        await rig.loop.sleep(4 * SECOND)
        assert first.state == "FAILED"
        assert second.running
        await second.close()
        await rig.loop.sleep(SECOND)
        assert all(stable == end for stable, end in rig.ends())

    assert "CompleteAbort" in states(play(story))


def test_one_seed_one_trace() -> None:
    """Two runs with transactions and a crash tell the same events."""

    async def story(rig: Rig) -> None:
        producer = rig.producer(loads=[Load("t", as_rate(50), weights=(1, 1, 1))], commit_every_us=SECOND)
        producer.start()
        await rig.loop.sleep(2_300_000)
        rig.cluster.crash_broker(rig.coordinator())
        await rig.loop.sleep(15 * SECOND)

    assert play(story, 4) == play(story, 4)
