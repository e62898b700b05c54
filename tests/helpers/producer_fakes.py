"""Brokers that take batches, and a producer on a bench: for tests of the producer alone.

`broker.reply(Api.PRODUCE, ...)` queues answers as in the room's other fakes; a function gets (node, request). Without
a script every batch is appended to `broker.logs`; a duplicate of an idempotent producer is dropped, as a leader does.
"""

from __future__ import annotations

from typing import Any

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.members.producer.load import Load
from groupsim.members.producer.producer import Producer
from groupsim.members.producer.settings import producer_settings_from
from groupsim.members.producer.traffic import as_rate
from groupsim.protocol.batch.batch import NO_SEQUENCE, Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import Produced, ProduceResponse
from groupsim.protocol.messages.group import (
    Api,
    FindCoordinatorResponse,
    MetadataResponse,
    PartitionInfo,
    TopicInfo,
    TopicPartition,
)
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
    TxnOffsetCommitResponse,
)
from tests.helpers.members_fakes import DROP, HOLD, FakeTransport, ScriptedBroker

SECOND = 1_000_000
NODES = (0, 1, 2)


class Brokers(ScriptedBroker):
    """Three brokers in one; partition p of a topic is led by node p mod 3 unless `leaders` says otherwise."""

    def __init__(self, loop: Any, topics: dict[str, int]) -> None:
        super().__init__(loop, topics)
        self.logs: dict[TopicPartition, list[Batch]] = {}
        self.leaders: dict[TopicPartition, int] = {}
        self.produced: list[tuple[int, int, Any]] = []
        self.epoch = self.ids = 0

    def handle(self, link: Any, number: int, request: Any) -> None:
        if request.API is Api.PRODUCE:
            self.produced.append((self.loop.now_us, link.node, request))
            if not self._script[Api.PRODUCE]:
                link.answer(number, self.append(request))
                return
            first = self._script[Api.PRODUCE][0]
            if isinstance(first, ErrorCode):
                self._script[Api.PRODUCE][0] = ProduceResponse(tuple(Produced(tp, first) for tp, _ in request.batches))
        super().handle(link, number, request)

    def append(self, request: Any) -> ProduceResponse:
        """Append all batches of a request, as leaders do."""
        placed = [(tp, self._append(tp, batch)) for tp, batch in request.batches]
        return ProduceResponse(tuple(Produced(tp, base_offset=base) for tp, base in placed))

    def _append(self, partition: TopicPartition, batch: Batch) -> int:
        log = self.logs.setdefault(partition, [])
        for old in log:
            same = (old.producer_id, old.producer_epoch, old.base_sequence)
            if batch.base_sequence != NO_SEQUENCE and same == (
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence,
            ):
                return old.base_offset
        base = log[-1].next_offset if log else 0
        log.append(batch.placed(base, 0))
        return base

    def records(self, topic: str = "t") -> int:
        """How many records its logs hold."""
        return sum(batch.count for tp, log in self.logs.items() if tp.topic == topic for batch in log)

    def _metadata(self, request: Any) -> MetadataResponse:
        names = sorted(self.topics if request.topics is None else request.topics)
        brokers = tuple((node, f"b{node}") for node in NODES)
        return MetadataResponse(brokers, tuple(self._topic(name) for name in names))

    def _topic(self, name: str) -> TopicInfo:
        if name not in self.topics:
            return TopicInfo(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        numbers = range(self.topics[name])
        leaders = [self.leaders.get(TopicPartition(name, number), number % 3) for number in numbers]
        return TopicInfo(name, partitions=tuple(PartitionInfo(n, leaders[n], (leaders[n],)) for n in numbers))

    def _find_coordinator(self, request: Any) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(node=1, host="b1")

    def _init_producer_id(self, request: Any) -> InitProducerIdResponse:
        if request.transactional_id is None:
            self.ids += 1
            return InitProducerIdResponse(producer_id=3_999 + self.ids, producer_epoch=0)
        self.epoch += 1
        return InitProducerIdResponse(producer_id=5_000, producer_epoch=self.epoch - 1)

    def _add_partitions_to_txn(self, request: Any) -> AddPartitionsToTxnResponse:
        return AddPartitionsToTxnResponse(tuple((tp, ErrorCode.NONE) for tp in request.partitions))

    def _add_offsets_to_txn(self, request: Any) -> AddOffsetsToTxnResponse:
        return AddOffsetsToTxnResponse()

    def _txn_offset_commit(self, request: Any) -> TxnOffsetCommitResponse:
        return TxnOffsetCommitResponse(tuple((entry.partition, ErrorCode.NONE) for entry in request.offsets))

    def _end_txn(self, request: Any) -> EndTxnResponse:
        return EndTxnResponse()


class ProducerBench:
    """A producer `p1` with loads, three brokers, topic `t` of 4 partitions."""

    def __init__(self, loop: Any, loads: Any = (), properties: Any = None, topics: Any = None, **more: Any) -> None:
        self.loop = loop
        self.broker = Brokers(loop, topics or {"t": 4})
        self.net = FakeTransport(loop, self.broker)
        self.net.bootstrap = NODES  # type: ignore[assignment]
        self.events: list[TraceEvent] = []
        loop.trace.subscribe(self.events.append)
        settings, self.notes = producer_settings_from(properties or {})
        self.producer = Producer(loop, "p1", settings, self.net, loads, **more)

    async def run_for(self, seconds: float) -> None:
        await self.loop.sleep(round(seconds * SECOND))

    def emitted(self, kind: Kind) -> list[TraceEvent]:
        return [event for event in self.events if event.kind is kind]

    def requests(self) -> list[Any]:
        """The Produce requests so far."""
        return [request for _, _, request in self.broker.produced]

    def batches(self) -> list[tuple[TopicPartition, Batch]]:
        """All batches sent so far, in order."""
        return [entry for request in self.requests() for entry in request.batches]

    def counted(self, kind: Kind) -> int:
        """Return the number of records in events of a kind."""
        return sum(event.payload["count"] for event in self.emitted(kind) if event.payload)


def steady(rate: float, topic: str = "t", **more: Any) -> Load:
    """A steady load by records per second."""
    return Load(topic, as_rate(rate), **more)


__all__ = ["DROP", "HOLD", "NODES", "SECOND", "Brokers", "ProducerBench", "steady"]
