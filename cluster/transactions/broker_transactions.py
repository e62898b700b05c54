"""The transactions of one broker: `Transactions`.

The class connects the coordinator with the broker's replicas and image, and handles the markers of other coordinators:
a marker for `__consumer_offsets` goes to the group coordinator, others are appended as control batches. The broker
passes it the requests in `handlers` and its leaderships, and uses it to find the coordinator of a transactional id.

`__transaction_state` is created by the first FindCoordinator for a transactional id; until then the response is
COORDINATOR_NOT_AVAILABLE (`AutoTopicCreationManager`). A cluster without transactions does not have the topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from attrs import evolve

from groupsim.cluster.broker.offsets_topic import Done, OffsetsReplicas
from groupsim.cluster.config.loading_cost import LoadingCost, everything
from groupsim.cluster.config.transactions import TRANSACTION_TOPIC, TransactionConfig
from groupsim.cluster.transactions.coordinator import TransactionCoordinator
from groupsim.cluster.transactions.marker_writes import marker_batch, write_markers
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import LogRecord, timestamp_ms
from groupsim.protocol.batch.sizes import batch_of
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.javahash import java_abs_mod
from groupsim.protocol.messages.group import FindCoordinatorResponse
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnMarker,
    WriteTxnMarkersRequest,
)

if TYPE_CHECKING:
    from groupsim.coordinator.base.interfaces import Call
    from groupsim.eventloop.interface import EventLoop, Host
    from groupsim.members.interfaces import Connection
    from groupsim.protocol.messages.cluster import ClusterImage


class Groups(Protocol):
    """The part of the broker's group coordinator that is used here."""

    def end_transaction(self, partition: int, marker: TxnMarker, done: Callable[[ErrorCode], None]) -> None: ...


class TransactionStateLog:
    """`__transaction_state` on the broker's replicas; implements `interfaces.TransactionLog`."""

    def __init__(self, loop: EventLoop, host: Host, replicas: OffsetsReplicas, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._loop = loop
        self._host = host
        self._replicas = replicas

    def append(self, partition: int, records: Sequence[LogRecord], done: Done) -> None:
        batch = batch_of(records, timestamp_ms(self._loop.now_us))
        appending = True

        def appended(error: ErrorCode | None) -> None:
            if appending:  # `done` must not be called from within `append`
                self._host.call_at(self._loop.now_us, lambda _: done(error))
            else:
                done(error)

        where = TopicPartition(TRANSACTION_TOPIC, partition)
        self._replicas.append(where, (batch,), appended, timeout_ms=self._timeout_ms)
        appending = False

    def read(self, partition: int) -> Sequence[LogRecord]:
        log = self._replicas.log(TopicPartition(TRANSACTION_TOPIC, partition))
        if log is None:
            return ()
        return [record for batch in everything(log) if not batch.is_control for record in batch.records or ()]


class ImageTopics:
    """The topics in the broker's image; implements `interfaces.Topics`."""

    def __init__(self, image: Callable[[], ClusterImage]) -> None:
        self._image = image

    def leader(self, partition: TopicPartition) -> int | None:
        state = self._image().partition(partition)
        return None if state is None else state.leader

    def partition_count(self, topic: str) -> int | None:
        found = self._image().topics.get(topic)
        return None if found is None else len(found.partitions)


class Transactions:
    """The transactions of one broker, from its start to its crash."""

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        node: int,
        config: TransactionConfig,
        *,
        replicas: OffsetsReplicas,
        groups: Groups,
        image: Callable[[], ClusterImage],
        connect: Callable[[int], Connection],
        fresh_producer_id: Callable[[], int],
        make_topic: Callable[[], None] = lambda: None,
        loading: LoadingCost | None = None,
    ) -> None:
        self._loop = loop
        self._replicas = replicas
        self._groups = groups
        self._make_topic = make_topic
        self._marker_timeout_ms = config.request_timeout_ms
        self._loading = evolve(loading or LoadingCost(), buffer_bytes=config.load_buffer_bytes)
        self._topics = ImageTopics(image)
        self._image = image
        log = TransactionStateLog(loop, host, replicas, config.request_timeout_ms)
        self.coordinator = TransactionCoordinator(
            loop, host, node, config, log, self._topics, connect, fresh_producer_id
        )
        #: Request class → its handler, called with (call, request).
        self.handlers: Mapping[type, Callable[[Any, Any], None]] = {
            InitProducerIdRequest: self._to_coordinator,
            AddPartitionsToTxnRequest: self._to_coordinator,
            AddOffsetsToTxnRequest: self._to_coordinator,
            EndTxnRequest: self._to_coordinator,
            WriteTxnMarkersRequest: self._write_markers,
        }

    def leading(self, partition: TopicPartition, epoch: int, *, load_us: int = 0) -> None:
        """Elect the broker as leader of a partition; loading takes `load_us` longer than the log's size requires."""
        if partition.topic == TRANSACTION_TOPIC:
            load_us += self._loading.of(self._replicas.log(partition))
            self.coordinator.elect(partition.partition, epoch, load_us=load_us)

    def not_leading(self, partition: TopicPartition, epoch: int) -> None:
        """End the broker's leadership of a partition."""
        if partition.topic == TRANSACTION_TOPIC:
            self.coordinator.resign(partition.partition, epoch)

    def stop(self) -> None:
        """Shut down the coordinator."""
        self.coordinator.stop()

    def find_coordinator(self, transactional_id: str) -> FindCoordinatorResponse:
        """Return the coordinator of a transactional id by this broker's image; the first call creates the topic."""
        count = self._topics.partition_count(TRANSACTION_TOPIC)
        if count is None:
            self._make_topic()
            return FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        leader = self._topics.leader(TopicPartition(TRANSACTION_TOPIC, java_abs_mod(transactional_id, count)))
        broker = self._image().brokers.get(-1 if leader is None else leader)
        if leader is None or broker is None or broker.fenced:
            return FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return FindCoordinatorResponse(ErrorCode.NONE, leader, broker.host)

    def _to_coordinator(self, call: Call, request: Any) -> None:
        self.coordinator.handle(call)

    def _write_markers(self, call: Call, request: WriteTxnMarkersRequest) -> None:
        write_markers(call, request, self._write)

    def _write(self, partition: TopicPartition, marker: TxnMarker, done: Callable[[ErrorCode], None]) -> None:
        if partition.topic == OFFSETS_TOPIC:
            self._groups.end_transaction(partition.partition, marker, done)
            return
        batch = marker_batch(marker, timestamp_ms(self._loop.now_us))
        self._replicas.append(
            partition, (batch,), lambda error: done(error or ErrorCode.NONE), timeout_ms=self._marker_timeout_ms
        )
