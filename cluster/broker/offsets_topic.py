"""`__consumer_offsets` as the coordinator of one broker uses it: a partition's log, in Kafka's own bytes.

An append is one batch: the broker appends it as the partition's leader, and tells the coordinator when the high
watermark has passed it. Coordinators up to 3.9 append with `acks=-1`: too few replicas in sync refuse it, and it fails
when it takes too long. It carries what Kafka's batch would: keys and values as bytes,
the producer and the TRANSACTIONAL bit for offsets of a transaction, a control batch for the transaction's end.

A coordinator has read the log up to some offset and appended the rest itself. When something else stands there (only
a foreign producer can do that), what it would append does not follow what it knows: `OutOfSync`, and it reads anew.

Loading reads everything up to the end of the log, uncommitted records too, in reads of `offsets.load.buffer.size`. How
long that takes is a model (`cluster/config/loading_cost.py`).

Sources: `CoordinatorLoaderImpl`, `CoordinatorPartitionWriter`, `CoordinatorRuntime`; classic-protocol reference, 3.3.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from groupsim.cluster.broker.offset_batches import to_batch, to_records
from groupsim.cluster.config.loading_cost import LoadingCost, everything
from groupsim.cluster.log.log import PartitionLog
from groupsim.coordinator.base.interfaces import AppendRefused, LoadFailed, OutOfSync
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.coordinator.base.records import Loaded, Record
from groupsim.coordinator.base.serde import offset_version
from groupsim.eventloop.interface import Order
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch, timestamp_ms
from groupsim.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop, Host

Done = Callable[[ErrorCode | None], None]


class OffsetsReplicas(Protocol):
    """What is needed of a broker's replicas."""

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


def _nobody_waits(error: ErrorCode | None) -> None:
    """The end of an append that whoever waited for has been told of already."""


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
        """`topic_id` tells the id of a topic that the broker knows, in Kafka's 22 letters."""
        self._topic_id = topic_id
        self._ids: dict[str, bytes] = {}
        self._loop = loop
        self._host = host
        self._version = offset_version(broker_version)
        self._replicas = replicas
        self._cost = cost
        self._next: dict[int, int] = {}
        self._failures: dict[int, list[ErrorCode]] = {}

    def fail_next(self, partition: int, error: ErrorCode, times: int) -> None:
        """Refuse the next `times` appends to a partition with `error`; nothing of them gets into the log."""
        self._failures.setdefault(partition, []).extend([error] * times)

    def loading_us(self, partition: int) -> int:
        """How long it takes to load a partition as it is now."""
        return self._cost.of(self._replicas.log(TopicPartition(OFFSETS_TOPIC, partition)))

    # --- coordinator.interfaces.Log --------------------------------------------------------------------------

    def append(self, partition: int, records: Sequence[Record], done: Done, within_ms: int | None = None) -> None:
        if failures := self._failures.get(partition):
            self._host.call_at(self._loop.now_us, done, failures.pop(0), order=Order.APPEND)
            return
        where = TopicPartition(OFFSETS_TOPIC, partition)
        log = self._replicas.log(where)
        expected = self._next.get(partition)
        batch = to_batch(records, timestamp_ms(self._loop.now_us), self._version, self._id_bytes)
        if log is not None and expected is not None and (end := log.end_offset) != expected:
            # Kafka looks where the records went, so they are written before anybody notices.
            self._replicas.append(where, (batch,), _nobody_waits)
            raise OutOfSync(f"{where} ends at {end}, and the coordinator knows it up to {expected}")

        def appended(base_offset: int) -> None:
            self._next[partition] = base_offset + batch.count

        on_refused = _raise_refused if batch.is_transactional else None
        self._replicas.append(where, (batch,), done, on_appended=appended, on_refused=on_refused, timeout_ms=within_ms)

    def _id_bytes(self, topic: str) -> bytes | None:
        """A topic's id as its sixteen bytes; None for a topic that is not known."""
        text = self._topic_id(topic)
        if text is None:
            return None
        found = self._ids.get(text)
        if found is None:
            found = self._ids[text] = urlsafe_b64decode(text + "==")
        return found

    def read(self, partition: int) -> Sequence[Loaded]:
        where = TopicPartition(OFFSETS_TOPIC, partition)
        log = self._replicas.log(where)
        if log is None:
            raise LoadFailed(f"{where}: this broker has no replica of it")
        empty = log.start_offset == log.end_offset  # as most are
        found = () if empty else to_records(everything(log), partition)
        self._next[partition] = log.end_offset
        return found
