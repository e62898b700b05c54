"""`__consumer_offsets` as the coordinator of one broker reads and writes it, in Kafka's own bytes.

An append is one batch. The broker appends it as the partition's leader and calls the coordinator back when the high
watermark has passed it. Coordinators up to 3.9 append with `acks=-1`: too few in-sync replicas refuse the append, and
it can time out. The batch holds keys and values as bytes, the producer and the TRANSACTIONAL bit for offsets of a
transaction, and a control batch for the end of the transaction.

A coordinator has read the log up to some offset and has appended the rest itself. When the log ends elsewhere (only a
foreign producer can do that), an append raises `OutOfSync`, and the coordinator loads the partition again.

Loading reads up to the end of the log, uncommitted records included, in reads of `offsets.load.buffer.size`. The
duration comes from a model (`cluster/config/loading_cost.py`).

Sources: `CoordinatorLoaderImpl`, `CoordinatorPartitionWriter`, `CoordinatorRuntime`; classic-protocol reference, 3.3.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from groupsim.cluster.broker.offset_batches import to_batch, to_records
from groupsim.cluster.config.loading_cost import LoadingCost, everything
from groupsim.cluster.log.log import PartitionLog
from groupsim.coordinator.base.interfaces import AppendRefused, LoadFailed, OutOfSync
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.coordinator.base.records import Loaded, Record
from groupsim.coordinator.base.serde import form_of
from groupsim.eventloop.interface import Order
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch, timestamp_ms
from groupsim.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop, Host

Done = Callable[[ErrorCode | None], None]


class OffsetsReplicas(Protocol):
    """The part of a broker's replicas that the offsets topic uses."""

    def append(
        self,
        partition: TopicPartition,
        batches: Sequence[Batch],
        done: Done,
        *,
        on_appended: Callable[[int], None] | None = None,
        on_refused: Callable[[ErrorCode], None] | None = None,
        timeout_ms: int | None = None,
    ) -> None: ...

    def log(self, partition: TopicPartition) -> PartitionLog | None: ...


def _ignore_outcome(error: ErrorCode | None) -> None:
    """Ignore the outcome of an append whose caller has got `OutOfSync`."""


def _raise_refused(error: ErrorCode) -> None:
    raise AppendRefused(error)


class OffsetsTopic:
    """The partitions of `__consumer_offsets` that a broker leads; implements `coordinator.interfaces.Log`."""

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        replicas: OffsetsReplicas,
        cost: LoadingCost,
        broker_version: str,
        topic_id: Callable[[str], str | None],
    ) -> None:
        """`topic_id` returns the id of a topic, in Kafka's 22 letters; None for a topic unknown to the broker."""
        self._topic_id = topic_id
        self._ids: dict[str, bytes] = {}
        self._loop = loop
        self._host = host
        self._form = form_of(broker_version)
        self._replicas = replicas
        self._cost = cost
        self._next: dict[int, int] = {}
        self._failures: dict[int, list[ErrorCode]] = {}

    def fail_next(self, partition: int, error: ErrorCode, times: int) -> None:
        """Refuse the next `times` appends to a partition with `error`; none of their records reach the log."""
        self._failures.setdefault(partition, []).extend([error] * times)

    def loading_us(self, partition: int) -> int:
        """Return how long loading the partition takes with its present log."""
        return self._cost.of(self._replicas.log(TopicPartition(OFFSETS_TOPIC, partition)))

    # --- coordinator.interfaces.Log --------------------------------------------------------------------------

    def append(self, partition: int, records: Sequence[Record], done: Done, within_ms: int | None = None) -> None:
        if failures := self._failures.get(partition):
            self._host.call_at(self._loop.now_us, done, failures.pop(0), order=Order.APPEND)
            return
        where = TopicPartition(OFFSETS_TOPIC, partition)
        log = self._replicas.log(where)
        expected = self._next.get(partition)
        batch = to_batch(records, timestamp_ms(self._loop.now_us), self._form, self._id_bytes)
        if log is not None and expected is not None and (end := log.end_offset) != expected:
            # `CoordinatorRuntime` compares offsets after the append, so the records are in the log all the same.
            self._replicas.append(where, (batch,), _ignore_outcome)
            raise OutOfSync(f"{where} ends at {end}, but the coordinator has its records up to {expected}")

        def appended(base_offset: int) -> None:
            self._next[partition] = base_offset + batch.count

        on_refused = _raise_refused if batch.is_transactional else None
        self._replicas.append(where, (batch,), done, on_appended=appended, on_refused=on_refused, timeout_ms=within_ms)

    def _id_bytes(self, topic: str) -> bytes | None:
        """Return a topic's id as sixteen bytes; None for an unknown topic."""
        text = self._topic_id(topic)
        if text is None:
            return None
        found = self._ids.get(text)
        if found is None:
            found = self._ids[text] = urlsafe_b64decode(text + "==")
        return found

    def read(self, partition: int) -> Iterable[Loaded]:
        where = TopicPartition(OFFSETS_TOPIC, partition)
        log = self._replicas.log(where)
        if log is None:
            raise LoadFailed(f"{where}: this broker has no replica of it")
        empty = log.start_offset == log.end_offset  # most partitions are
        self._next[partition] = log.end_offset
        return () if empty else to_records(everything(log), partition)
