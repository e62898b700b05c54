"""Brokers with logs, for tests of a consumer that pulls.

`LogBrokers` is all brokers in one, as `ScriptedBroker` is; each connection knows the node it leads to, and a node
answers for the partitions it leads or follows. Logs are lists of batches that a test appends to, cuts, and moves
between leaders. A connection answers one request at a time; a Fetch that finds nothing is parked for its waiting time.
Any answer can be scripted with `reply`, as ever.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve

from groupsim.eventloop.interface import Order
from groupsim.eventloop.trace.events import Kind
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.batch.batch import CONTROL, TRANSACTIONAL, Batch, LogRecord
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    EpochEndOffset,
    FetchRequest,
    FetchResponse,
    LeaderIs,
    ListOffsetsResponse,
    OffsetForLeaderEpochResponse,
    OffsetListed,
    PartitionData,
)
from groupsim.protocol.messages.group import (
    MetadataResponse,
    PartitionInfo,
    Request,
    Response,
    TopicInfo,
    TopicPartition,
)
from tests.helpers.members_fakes import LATENCY_US, Bench, FakeConnection, FakeTransport, ScriptedBroker

E = ErrorCode
NODES = (0, 1, 2)


class FakeLog:
    """Batches in order; `epochs` are (epoch, first offset), as a leader epoch cache keeps them."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.start = 0
        self.epochs: list[tuple[int, int]] = []
        self.aborted: list[tuple[int, int]] = []
        self.high_watermark: int | None = None  # None: the end
        self.stable: int | None = None

    @property
    def end(self) -> int:
        return self.batches[-1].next_offset if self.batches else self.start

    @property
    def visible(self) -> int:
        return self.end if self.high_watermark is None else self.high_watermark

    def add(self, batch: Batch, epoch: int) -> Batch:
        placed = batch.placed(self.end, epoch)
        if not self.epochs or self.epochs[-1][0] < epoch:
            self.epochs.append((epoch, placed.base_offset))
        self.batches.append(placed)
        return placed

    def cut(self, offset: int) -> None:
        self.batches = [batch for batch in self.batches if batch.next_offset <= offset]
        self.epochs = [entry for entry in self.epochs if entry[1] < offset]

    def end_of(self, epoch: int) -> tuple[int, int]:
        """As EpochEnd: the largest epoch not above this one, and where it ends."""
        found = -1
        for number, _ in self.epochs:
            if number <= epoch:
                found = number
        if found < 0:
            return -1, -1
        return found, next((begin for number, begin in self.epochs if number > found), self.end)

    def read(self, offset: int, limit: int, max_bytes: int) -> tuple[Batch, ...]:
        taken: list[Batch] = []
        size = 0
        for batch in self.batches:
            if batch.next_offset <= offset or batch.next_offset > limit:
                continue
            if taken and size + batch.size > max_bytes:
                break
            taken.append(batch)
            size += batch.size
        return tuple(taken)


def counted(count: int, **fields: Any) -> Batch:
    """Traffic: only the number of records is known."""
    return Batch(0, count, 61 + 10 * count, fields.pop("timestamp_ms", 0), 0, **fields)


def with_records(*records: LogRecord, count: int | None = None, **fields: Any) -> Batch:
    """Records with a content; with `count` greater than their number, what compaction has left."""
    span = len(records) if count is None else count
    return Batch(0, span, 61 + 20 * len(records), 0, 0, records=tuple(records), **fields)


def marker(producer: int, *, commit: bool) -> Batch:
    """The end of a transaction."""
    key = (0).to_bytes(2) + int(commit).to_bytes(2)
    return with_records(LogRecord(0, key, b""), producer_id=producer, attributes=CONTROL | TRANSACTIONAL)


class Parked:
    """A Fetch that waits."""

    def __init__(self, link: LogConnection, number: int, request: FetchRequest, at_us: int) -> None:
        self.link, self.number, self.request, self.at_us = link, number, request, at_us
        self.done = False


class LogConnection(FakeConnection):
    """One request in the broker's hands at a time."""

    def __init__(self, net: Any, host: str, node: int, purpose: str) -> None:
        super().__init__(net, host, node, purpose)
        self.busy = False
        self.queue: deque[tuple[int, Request]] = deque()
        self.parked: Parked | None = None
        self.come_back = False

    def _arrive(self, what: tuple[int, Request]) -> None:
        if self.node in self.net.broker.down:
            self._end(Disconnected("connection refused"))
        elif self.busy:
            self.queue.append(what)
        elif self.open:
            self.busy = True
            super()._arrive(what)

    def answer(self, number: int, response: Response) -> None:
        self.busy = False
        super().answer(number, response)
        if self.queue:
            loop = self.net.loop
            loop.call_at(loop.now_us, self._arrive, self.queue.popleft(), order=Order.MESSAGE)


class RenewingConnection(LogConnection):
    """One that can do without the repetitions of quiet long polls; it counts none of them."""

    waited_us = 0

    def long_polls(self) -> int:
        return 0

    def send(self, request: Request, on_done: Callable[[Any], None], timeout_us: int) -> int:
        never = isinstance(request, FetchRequest) and request.renewed
        return super().send(request, on_done, 1 << 50 if never else timeout_us)

    def answer(self, number: int, response: Response) -> None:
        if isinstance(response, FetchResponse):
            self.come_back = False
        super().answer(number, response)

    def renew(self) -> None:
        self.come_back = True  # one that is still on its way does not stay either
        parked, loop = self.parked, self.net.loop
        if parked is not None and not parked.done:
            period = parked.request.max_wait_ms * 1_000
            rounds = max(-(-(loop.now_us - parked.at_us) // period), 1)
            loop.call_at(parked.at_us + rounds * period, self.net.broker.time_is_up, parked)


class LogTransport(FakeTransport):
    """Connections to nodes, which may be able to renew."""

    kind: type[LogConnection] = LogConnection

    def connect(self, host: str, client_id: str, node: int, purpose: str) -> FakeConnection:
        made = self.kind(self, host, node, purpose)
        self.connections.append(made)
        return made


class LogBrokers(ScriptedBroker):
    """Three brokers with replicated logs; partition n of a topic is led by broker n mod 3 at first."""

    def __init__(self, loop: Any, topics: Any) -> None:
        super().__init__(loop, topics)
        self.logs: dict[TopicPartition, FakeLog] = defaultdict(FakeLog)
        self.leaders: dict[TopicPartition, LeaderIs] = {}
        self.named_leaders: dict[TopicPartition, LeaderIs] = {}  # leaders in Metadata that differ from the real ones
        self.prefers: dict[TopicPartition, int] = {}  # the replica that a leader sends consumers to
        self.down: set[int] = set()
        self.names_leader = True
        self.parked: list[Parked] = []
        self._nodes_asked: list[tuple[int, Any]] = []
        self._node = -1  # who is answering

    # -- for tests ----------------------------------------------------------------------------------------------

    def leader(self, partition: TopicPartition) -> LeaderIs:
        return self.leaders.setdefault(partition, LeaderIs(partition.partition % len(NODES), 0))

    def append(self, partition: TopicPartition, *batches: Batch) -> None:
        for batch in batches:
            self.logs[partition].add(batch, self.leader(partition).epoch)
        self.look(partition)

    def produce(self, partition: TopicPartition, count: int) -> None:
        self.append(partition, counted(count))

    def elect(self, partition: TopicPartition, node: int) -> None:
        """Move the leadership; fetches that wait at the old leader are refused."""
        self.leaders[partition] = LeaderIs(node, self.leader(partition).epoch + 1)
        self.look(partition)

    def kill(self, node: int) -> None:
        self.down.add(node)

    def fetches(self, node: int | None = None) -> list[FetchRequest]:
        return [request for at, request in self.fetched if node is None or at == node]

    @property
    def fetched(self) -> list[tuple[int, FetchRequest]]:
        return [(node, r) for node, r in self._nodes_asked if isinstance(r, FetchRequest)]

    # -- answering ----------------------------------------------------------------------------------------------

    def handle(self, link: Any, number: int, request: Request) -> None:
        self._nodes_asked.append((link.node, request))
        if isinstance(request, FetchRequest) and not self._script[request.API]:
            self.asked.append((self.loop.now_us, request))
            self._fetch(link, number, request)
        else:
            self._node = link.node
            super().handle(link, number, request)

    def _fetch(self, link: LogConnection, number: int, request: FetchRequest) -> None:
        found = self._read(link.node, request)
        size = sum(batch.size for data in found for batch in data.batches)
        at_once = any(data.error or data.preferred_read_replica >= 0 for data in found)
        if at_once or size >= request.min_bytes or request.max_wait_ms == 0:
            link.answer(number, FetchResponse(partitions=found))
            return
        parked = link.parked = Parked(link, number, request, self.loop.now_us)
        self.parked.append(parked)
        if not request.renewed or link.come_back:
            self.loop.call_at(self.loop.now_us + request.max_wait_ms * 1_000, self.time_is_up, parked)

    def look(self, partition: TopicPartition) -> None:
        """Something changed in a log: does that end somebody's waiting?"""
        for parked in list(self.parked):
            found = self._read(parked.link.node, parked.request)
            size = sum(batch.size for data in found for batch in data.batches)
            if any(data.error for data in found) or size >= parked.request.min_bytes:
                self.time_is_up(parked)

    def time_is_up(self, parked: Parked) -> None:
        if not parked.done:
            parked.done = True
            self.parked.remove(parked)
            if parked.link.open:
                found = self._read(parked.link.node, parked.request)
                parked.link.answer(parked.number, FetchResponse(partitions=found))

    def _read(self, node: int, request: FetchRequest) -> tuple[PartitionData, ...]:
        return tuple(self._data(node, request, asked) for asked in request.partitions)

    def _data(self, node: int, request: FetchRequest, asked: Any) -> PartitionData:
        partition, leader = asked.partition, self.leader(asked.partition)
        error = self._refusal(node, partition, asked.current_leader_epoch)
        if error:
            return PartitionData(partition, error, current_leader=leader if self.names_leader else None)
        log = self.logs[partition]
        if node == leader.leader and partition in self.prefers and request.rack_id:
            return PartitionData(partition, preferred_read_replica=self.prefers[partition])
        if not log.start <= asked.fetch_offset <= log.end:
            return PartitionData(partition, E.OFFSET_OUT_OF_RANGE)
        limit = log.stable if request.isolation_level and log.stable is not None else log.visible
        batches = log.read(asked.fetch_offset, limit, asked.max_bytes)
        aborted = tuple(log.aborted) if request.isolation_level else ()
        return PartitionData(partition, E.NONE, log.visible, limit, log.start, batches, aborted)

    def _refusal(self, node: int, partition: TopicPartition, epoch: int) -> ErrorCode:
        leader = self.leader(partition)
        if partition.topic not in self.topics:
            return E.UNKNOWN_TOPIC_OR_PARTITION
        if epoch != -1 and epoch != leader.epoch:
            return E.FENCED_LEADER_EPOCH if epoch < leader.epoch else E.UNKNOWN_LEADER_EPOCH
        if node != leader.leader and self.prefers.get(partition) != node:
            return E.NOT_LEADER_OR_FOLLOWER
        return E.NONE

    def _metadata(self, request: Any) -> Response:
        response = super()._metadata(request)
        assert isinstance(response, MetadataResponse)
        up = tuple((node, f"b{node}") for node in NODES if node not in self.down)
        return evolve(response, brokers=up)

    def _topic(self, name: str) -> TopicInfo:
        topic = super()._topic(name)
        return evolve(topic, partitions=tuple(self._partition(name, info) for info in topic.partitions))

    def _partition(self, topic: str, info: PartitionInfo) -> PartitionInfo:
        partition = TopicPartition(topic, info.partition)
        leader = self.named_leaders.get(partition, self.leader(partition))
        return evolve(info, leader=leader.leader, leader_epoch=leader.epoch, replicas=NODES, isr=NODES)

    def _list_offsets(self, request: Any) -> Response:
        return ListOffsetsResponse(tuple(self._listed(asked, request) for asked in request.partitions))

    def _listed(self, asked: Any, request: Any) -> OffsetListed:
        error = self._refusal(self._node, asked.partition, asked.current_leader_epoch)
        log = self.logs[asked.partition]
        if error:
            return OffsetListed(asked.partition, error)
        epoch = log.epochs[-1][0] if log.epochs else -1
        if asked.timestamp == EARLIEST_TIMESTAMP:
            return OffsetListed(asked.partition, offset=log.start, leader_epoch=epoch)
        if asked.timestamp == LATEST_TIMESTAMP:
            end = log.stable if request.isolation_level and log.stable is not None else log.visible
            return OffsetListed(asked.partition, offset=end, leader_epoch=epoch)
        young = next((batch for batch in log.batches if batch.timestamp_ms >= asked.timestamp), None)
        if young is None:
            return OffsetListed(asked.partition)
        return OffsetListed(asked.partition, E.NONE, young.base_offset, young.timestamp_ms, young.leader_epoch)

    def _offset_for_leader_epoch(self, request: Any) -> Response:
        found = []
        for asked in request.partitions:
            error = self._refusal(self._node, asked.partition, asked.current_leader_epoch)
            epoch, end = (-1, -1) if error else self.logs[asked.partition].end_of(asked.leader_epoch)
            found.append(EpochEndOffset(asked.partition, error, epoch, end))
        return OffsetForLeaderEpochResponse(tuple(found))


class PullBench(Bench):
    """A consumer that pulls, of group `g` on topic `t`, with three brokers. `renewing`: long polls may be left out."""

    def make_broker(self, options: dict[str, Any]) -> Any:
        return LogBrokers(self.loop, options.pop("topics", {"t": 4}))

    def make_net(self, options: dict[str, Any]) -> Any:
        net = LogTransport(self.loop, self.broker)
        net.bootstrap = NODES
        net.kind = RenewingConnection if options.pop("renewing", False) else LogConnection
        return net

    def make_data(self) -> Any:
        return None

    @property
    def delivered(self) -> list[tuple[int, int, int]]:
        """What poll returned: partition, first offset, count."""
        return [
            (event.partition, event.payload["base"], event.payload["count"])
            for event in self.emitted(Kind.RECORDS_DELIVERED)
        ]

    def offsets(self, partition: int = 0) -> list[int]:
        """The offsets that poll returned of one partition, in order."""
        return [base + step for number, base, count in self.delivered if number == partition for step in range(count)]


ROUND_TRIP_US = 2 * LATENCY_US
Batches = Sequence[Batch]
