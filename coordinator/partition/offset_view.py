"""Committed and pending offsets as they follow from a log: records go in, in the order of the log.

A plain record counts at once. One in a transaction is *pending* under its producer id until the end of that
transaction: committed, it counts unless the log has a later record of the same key that counts already (a plain commit
beside the transaction, or another producer's); aborted, it is dropped. A tombstone removes an offset and everything
pending for it.

Which record is the later one is known by the order in which they came; it is remembered only for keys with something
pending, so that a partition without transactions pays nothing.

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
        #: Which producers have something pending for a group's partition.
        self._holders: dict[str, dict[TopicPartition, dict[int, None]]] = {}
        #: For keys with something pending: the order of the newest record that counts, if it came after that.
        self._later: dict[Key, int] = {}

    def copy(self) -> OffsetView:
        """Another one in the same state."""
        other = OffsetView()
        other._tables = {group_id: dict(table) for group_id, table in self._tables.items()}
        other._pending = {producer_id: dict(offsets) for producer_id, offsets in self._pending.items()}
        other._holders = {
            group_id: {tp: dict(producers) for tp, producers in held.items()}
            for group_id, held in self._holders.items()
        }
        other._later = dict(self._later)
        return other

    # --- looking -------------------------------------------------------------------------------------------------

    def of(self, group_id: str) -> Mapping[TopicPartition, OffsetValue]:
        """The group's committed offsets."""
        return self._tables.get(group_id, _NOTHING)

    def is_pending(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether an open transaction has an offset for this partition (`hasPendingTransactionalOffsets`)."""
        held = self._holders.get(group_id)
        return held is not None and partition in held

    def held(self, group_id: str) -> Mapping[TopicPartition, Mapping[int, None]]:
        """The group's partitions with pending offsets, each with the producers that have them; empty: none is open."""
        return self._holders.get(group_id, {})

    def pending(self, group_id: str) -> Iterator[tuple[int, TopicPartition, OffsetValue]]:
        """Every pending offset of the group: producer, partition, value; by partition, then producer."""
        held = self._holders.get(group_id, {})
        for partition in sorted(held):
            for producer_id in sorted(held[partition]):
                yield producer_id, partition, self._pending[producer_id][group_id, partition][1]

    def groups(self) -> list[str]:
        """Every group with an offset, pending ones included, sorted."""
        groups = {group_id: None for group_id, table in self._tables.items() if table}
        return sorted({**groups, **dict.fromkeys(self._holders)})

    # --- the log goes on -----------------------------------------------------------------------------------------

    def apply(self, first: int, records: Sequence[OffsetRecord | TransactionEnd]) -> None:
        """The next records of the log; the order of the first is `first`, and rises from one to the next."""
        tables, pending = self._tables, self._pending
        for order, record in enumerate(records, first):
            if (
                isinstance(record, OffsetRecord)
                and record.producer is None
                and record.value is not None
                and not pending
            ):
                table = tables.get(record.group_id)  # `_put`, in place: nearly every record is such a one
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
        """A tombstone: nothing is pending for its key any more."""
        for producer_id in list(self._holders[group_id][partition]):
            offsets = self._pending[producer_id]
            del offsets[group_id, partition]
            if not offsets:
                del self._pending[producer_id]
            self._release(group_id, partition, producer_id)

    def _release(self, group_id: str, partition: TopicPartition, producer_id: int) -> None:
        """A producer has nothing pending for a key any more; the last one takes the memory of its order along."""
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
        """The end of a transaction; of one that has nothing pending here it changes nothing."""
        for (group_id, partition), (order, value) in self._pending.pop(producer_id, {}).items():
            newest = self._later.get((group_id, partition), -1)
            if committed and order > newest:
                self._tables.setdefault(group_id, {})[partition] = value
                self._later[group_id, partition] = order
            self._release(group_id, partition, producer_id)
