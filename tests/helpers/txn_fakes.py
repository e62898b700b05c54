"""A transaction coordinator on a bench: its log, its brokers and its callers are the test's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from groupsim.cluster.config.transactions import TransactionConfig
from groupsim.cluster.transactions.coordinator import TransactionCoordinator
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.batch.batch import LogRecord
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SECOND = 1_000_000
NAME = "tx"


class FakeLog:
    """`__transaction_state`: appends are committed after 2 ms; `fails` are the errors of the next ones."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.records: dict[int, list[LogRecord]] = {}
        self.fails: list[ErrorCode | None] = []
        self.holds = False

    def append(self, partition: int, records: Sequence[LogRecord], done: Callable[[ErrorCode | None], None]) -> None:
        error = self.fails.pop(0) if self.fails else None
        if error is None:
            self.records.setdefault(partition, []).extend(records)
        if not self.holds:
            self.loop.call_at(self.loop.now_us + 2_000, lambda _: done(error))

    def read(self, partition: int) -> Sequence[LogRecord]:
        return list(self.records.get(partition, []))


class FakeTopics:
    """Who leads what; `leaders` may say otherwise (None: no such partition)."""

    def __init__(self) -> None:
        self.leaders: dict[TopicPartition, int | None] = {}

    def leader(self, partition: TopicPartition) -> int | None:
        return self.leaders.get(partition, partition.partition % 3)

    def partition_count(self, topic: str) -> int | None:
        return 50


class FakeLink:
    """A connection to a broker that writes markers; `errors` are what it says of the next ones."""

    def __init__(self, bench: Any, node: int) -> None:
        self.bench, self.node, self.open = bench, node, True
        self.next_correlation = 1

    def send(self, request: Any, on_done: Callable[[Any], None], timeout_us: int) -> int:
        self.bench.written.append((self.bench.loop.now_us, self.node, request))
        error = self.bench.marker_errors.pop(0) if self.bench.marker_errors else ErrorCode.NONE
        if error == "drop":
            self.open = False
        if error != "hold":
            answer = Disconnected("reset") if error == "drop" else self._answer(request, error)
            self.bench.loop.call_at(self.bench.loop.now_us + 1_000, on_done, answer)
        return 1

    def _answer(self, request: WriteTxnMarkersRequest, error: Any) -> WriteTxnMarkersResponse:
        return WriteTxnMarkersResponse(
            tuple((marker.producer_id, tuple((tp, error) for tp in marker.partitions)) for marker in request.markers)
        )

    def close(self) -> None:
        self.open = False


class FakeCall:
    """One request and what it was answered."""

    client_id = client_host = "c"
    correlation = 1

    def __init__(self, request: Any) -> None:
        self.request = request
        self.answers: list[Any] = []

    def answer(self, response: Any) -> None:
        assert not self.answers, "answered twice"
        self.answers.append(response)


class TxnBench:
    """The coordinator of node 0, which leads all partitions of `__transaction_state`."""

    def __init__(self, loop: Any, **config: Any) -> None:
        self.loop = loop
        self.log = FakeLog(loop)
        self.topics = FakeTopics()
        self.written: list[tuple[int, int, Any]] = []
        self.marker_errors: list[Any] = []
        self.config = TransactionConfig(**config)
        self.events: list[TraceEvent] = []
        loop.trace.subscribe(self.events.append)
        self._ids = 4_000
        self.coordinator = self.make()
        self.partition = self.coordinator.partition_for(NAME)
        self.coordinator.elect(self.partition, 0)

    def make(self, name: str = "broker-0") -> TransactionCoordinator:
        """A coordinator on the same log."""
        return TransactionCoordinator(
            self.loop, self.loop.host(name), 0, self.config, self.log, self.topics, self._connect, self._fresh
        )

    def _connect(self, node: int) -> Any:
        return FakeLink(self, node)

    def _fresh(self) -> int:
        self._ids += 1
        return self._ids

    async def ask(self, request: Any, coordinator: Any = None) -> Any:
        """Send a request, and wait 10 ms for its answer; None when there is none."""
        call = FakeCall(request)
        (coordinator or self.coordinator).handle(call)
        await self.loop.sleep(10_000)
        return call.answers[0] if call.answers else None

    async def init(self, producer_id: int = -1, epoch: int = -1, timeout_ms: int = 60_000, **more: Any) -> Any:
        return await self.ask(InitProducerIdRequest(NAME, timeout_ms, producer_id, epoch), **more)

    async def add(self, who: Any, *partitions: TopicPartition) -> ErrorCode:
        answer = await self.ask(
            AddPartitionsToTxnRequest(NAME, who.producer_id, who.producer_epoch, partitions or (T0, T1))
        )
        error: ErrorCode = answer.results[0][1]
        return error

    async def add_offsets(self, who: Any, group: str = "g") -> ErrorCode:
        answer = await self.ask(AddOffsetsToTxnRequest(NAME, who.producer_id, who.producer_epoch, group))
        error: ErrorCode = answer.error
        return error

    async def end(self, who: Any, committed: bool = True) -> Any:
        answer = await self.ask(EndTxnRequest(NAME, who.producer_id, who.producer_epoch, committed))
        return None if answer is None else answer.error

    def states(self) -> list[str | None]:
        """The states entered, in order."""
        return [event.to for event in self.events if event.kind is Kind.TRANSACTION_STATE]

    def markers(self) -> list[tuple[TopicPartition, bool, int]]:
        """Every marker asked for: partition, committed or not, epoch."""
        return [
            (tp, marker.committed, marker.producer_epoch)
            for _, _, request in self.written
            for marker in request.markers
            for tp in marker.partitions
        ]
