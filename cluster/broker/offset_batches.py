"""Encode records of a coordinator as batches of `__consumer_offsets`, and decode the batches.

The records of one append are one batch. In a transaction the batch has its producer and is transactional. As in Kafka
it has no sequence number, so the log checks only the producer's epoch. The end of a transaction is a control batch.

Source: `CoordinatorRuntime`, `CoordinatorLoaderImpl`; classic-protocol reference, 3.2 and 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from groupsim.cluster.log.markers import marker_batch, marker_of
from groupsim.coordinator.base import serde
from groupsim.coordinator.base.interfaces import LoadFailed
from groupsim.coordinator.base.records import Loaded, OffsetRecord, Producer, Record, TransactionEnd
from groupsim.protocol.batch.batch import COMPRESSION_MASK, TRANSACTIONAL, Batch, LogRecord
from groupsim.protocol.batch.sizes import batch_of
from groupsim.protocol.errors import ProtocolError


def _without_id(topic: str) -> bytes | None:
    return None


def to_batch(
    records: Sequence[Record],
    timestamp_ms: int,
    form: serde.Form = serde.NEWEST,
    topic_id: Callable[[str], bytes | None] = _without_id,
) -> Batch:
    """Return the batch of one append (`coordinator.interfaces.Log.append`), without its offset.

    `form` is that of the broker's release (`serde.form_of`); `topic_id` maps a topic's name to the id that is
    written with an offset. Raises ValueError for records that cannot share a batch, ProtocolError for a value that does
    not fit its field.
    """
    first = records[0] if records else None
    if isinstance(first, TransactionEnd) and len(records) == 1:
        return marker_batch(
            first.producer.producer_id,
            first.producer.producer_epoch,
            committed=first.committed,
            coordinator_epoch=first.coordinator_epoch,
            timestamp_ms=timestamp_ms,
        )
    producer = _producer(first)
    rows = []
    for delta, record in enumerate(records):
        if isinstance(record, TransactionEnd) or _producer(record) != producer:
            raise ValueError(f"the records of one append must share one transaction or none: {record}")
        of_topic = topic_id(record.partition.topic) if isinstance(record, OffsetRecord) else None
        rows.append(LogRecord(delta, *serde.encode(record, form, of_topic)))
    if producer is None:
        return batch_of(rows, timestamp_ms)
    return batch_of(
        rows,
        timestamp_ms,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        attributes=TRANSACTIONAL,
    )


def placed_records(batches: Iterable[Batch], partition: int) -> Iterator[tuple[int, Loaded]]:
    """Yield each record with its offset, in order; control batches other than ends of transactions are left out.

    Raises LoadFailed, which names partition and offset, for a record that no coordinator writes.
    """
    for batch in batches:
        producer = Producer(batch.producer_id, batch.producer_epoch) if batch.is_transactional else None
        if batch.is_control:
            marker = marker_of(batch)
            if marker is not None and producer is not None:
                yield batch.base_offset, TransactionEnd(producer, marker.committed, marker.coordinator_epoch)
            continue
        if batch.attributes & COMPRESSION_MASK:
            where = f"__consumer_offsets-{partition}, offset {batch.base_offset}"
            raise LoadFailed(f"{where}: the batch is compressed, which is not read here")
        for record in batch.records or ():
            offset = batch.base_offset + record.offset_delta
            try:
                yield offset, serde.decode(record.key, record.value, producer)
            except ProtocolError as error:
                raise LoadFailed(f"__consumer_offsets-{partition}, offset {offset}: {error}") from error


def to_records(batches: Iterable[Batch], partition: int) -> Iterator[Loaded]:
    """Yield the records of these batches, for `coordinator.interfaces.Log.read`. Raises LoadFailed."""
    return (record for _, record in placed_records(batches, partition))


def _producer(record: Record | None) -> Producer | None:
    return getattr(record, "producer", None)
