"""Committed and pending offsets as the result of a log: records are applied in the order of the log.

A plain record counts at once. A record in a transaction is *pending* under its producer id until the end of that
transaction. If that commits, the record counts, unless the log has a later record of the same key that counts already
(a plain commit beside the transaction, or another producer's). If it aborts, the record is dropped. A tombstone removes
an offset and all pending ones of its key.

The order of the records decides which one is later. It is stored only for keys with a pending offset, so that a
partition without transactions does not pay for it.

Source: `OffsetMetadataManager.replay`, `replayEndTransactionMarker`, `OpenTransactions`; classic-protocol reference,
1.7 and 1.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from groupsim.coordinator.base.records import OffsetRecord, OffsetValue, TransactionEnd
from groupsim.protocol.messages.group import TopicPartition

Table = dict[TopicPartition, OffsetValue]
Key = tuple[str, TopicPartition]
_NOTHING: Mapping[TopicPartition, OffsetValue] = {}


class OffsetView:
    """Offsets by group and partition, after some prefix of the log."""

    __slots__ = ("_holders", "_later", "_pending", "_tables")

    def __init__(self) -> None:
        self._tables: dict[str, Table] = {}
        self._pending: dict[int, dict[Key, tuple[int, OffsetValue]]] = {}
        #: The producers with a pending offset, by group and partition.
        self._holders: dict[str, dict[TopicPartition, dict[int, None]]] = {}
        #: For keys with a pending offset: the order of the newest record that counts, if it is later than that offset.
        self._later: dict[Key, int] = {}

    def copy(self) -> OffsetView:
        """Return a copy with the same state."""
        other = OffsetView()
        other._tables = {group_id: dict(table) for group_id, table in self._tables.items()}
        other._pending = {producer_id: dict(offsets) for producer_id, offsets in self._pending.items()}
        other._holders = {
            group_id: {tp: dict(producers) for tp, producers in held.items()}
            for group_id, held in self._holders.items()
        }
        other._later = dict(self._later)
        return other

    # --- queries -----------------------------------------------------------------------------------------------------

    def of(self, group_id: str) -> Mapping[TopicPartition, OffsetValue]:
        """Return the group's committed offsets."""
        return self._tables.get(group_id, _NOTHING)

    def is_pending(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether an open transaction has an offset for this partition (`hasPendingTransactionalOffsets`)."""
        held = self._holders.get(group_id)
        return held is not None and partition in held

    def held(self, group_id: str) -> Mapping[TopicPartition, Mapping[int, None]]:
        """Return the group's partitions with pending offsets, each with their producers."""
        return self._holders.get(group_id, {})

    def pending(self, group_id: str) -> Iterator[tuple[int, TopicPartition, OffsetValue]]:
        """Yield every pending offset of the group: producer, partition, value; by partition, then producer."""
        held = self._holders.get(group_id, {})
        for partition in sorted(held):
            for producer_id in sorted(held[partition]):
                yield producer_id, partition, self._pending[producer_id][group_id, partition][1]

    def groups(self) -> list[str]:
        """Return every group with an offset, pending ones included, sorted."""
        groups = {group_id: None for group_id, table in self._tables.items() if table}
        return sorted({**groups, **dict.fromkeys(self._holders)})

    # --- records of the log ------------------------------------------------------------------------------------------

    def apply(self, first: int, records: Sequence[OffsetRecord | TransactionEnd]) -> None:
        """Apply the next records of the log; `first` is the order of the first one, the others follow by one each."""
        tables, pending = self._tables, self._pending
        for order, record in enumerate(records, first):
            if (
                isinstance(record, OffsetRecord)
                and record.producer is None
                and record.value is not None
                and not pending
            ):
                table = tables.get(record.group_id)  # `_put`, inlined: nearly every record is of this kind
                if table is None:
                    table = tables[record.group_id] = {}
                table[record.partition] = record.value
            elif isinstance(record, TransactionEnd):
                self._end(record.producer.producer_id, record.committed)
            elif record.producer is None or record.value is None:
                self._put(order, record.group_id, record.partition, record.value)
            else:
                key = (record.group_id, record.partition)
                producer_id = record.producer.producer_id
                self._pending.setdefault(producer_id, {})[key] = (order, record.value)
                self._holders.setdefault(key[0], {}).setdefault(key[1], {})[producer_id] = None

    def _put(self, order: int, group_id: str, partition: TopicPartition, value: OffsetValue | None) -> None:
        table = self._tables.get(group_id)
        if table is None:
            table = self._tables[group_id] = {}
        if value is None:
            table.pop(partition, None)
        else:
            table[partition] = value
        if self._pending and self.is_pending(group_id, partition):
            if value is None:
                self._forget(group_id, partition)
            else:
                self._later[group_id, partition] = order

    def _forget(self, group_id: str, partition: TopicPartition) -> None:
        """Drop all pending offsets of a key, after its tombstone."""
        for producer_id in list(self._holders[group_id][partition]):
            offsets = self._pending[producer_id]
            del offsets[group_id, partition]
            if not offsets:
                del self._pending[producer_id]
            self._release(group_id, partition, producer_id)

    def _release(self, group_id: str, partition: TopicPartition, producer_id: int) -> None:
        """Remove a producer from a key's holders; with the last one the key's stored order goes, too."""
        held = self._holders[group_id]
        producers = held[partition]
        del producers[producer_id]
        if producers:
            return
        del held[partition]
        self._later.pop((group_id, partition), None)
        if not held:
            del self._holders[group_id]

    def _end(self, producer_id: int, committed: bool) -> None:
        """End a transaction; without pending offsets here it changes nothing."""
        for (group_id, partition), (order, value) in self._pending.pop(producer_id, {}).items():
            newest = self._later.get((group_id, partition), -1)
            if committed and order > newest:
                self._tables.setdefault(group_id, {})[partition] = value
                self._later[group_id, partition] = order
            self._release(group_id, partition, producer_id)
