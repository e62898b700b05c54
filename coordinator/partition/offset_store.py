"""The offsets of one partition's groups, with and without the appends under way.

Two views: `latest` contains everything appended, committed or not (a stable OffsetFetch reads it, and is answered once
it is committed); `committed` contains only records below the high watermark. After a failed append the latest view is
rebuilt from the committed one and the other appends under way.

Source: `OffsetMetadataManager` on its timeline data structures; classic-protocol reference, 1.9 and 3.2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from groupsim.coordinator.base.records import OffsetRecord, OffsetValue, TransactionEnd
from groupsim.coordinator.partition.offset_view import OffsetView
from groupsim.protocol.messages.group import TopicPartition

Staged: TypeAlias = OffsetRecord | TransactionEnd


class OffsetStore:
    """Offsets by group and partition, in the two views."""

    __slots__ = ("_order", "_staged", "committed_view", "left_pending", "view")

    def __init__(self) -> None:
        self.view = OffsetView()
        self.committed_view = OffsetView()
        self._staged: deque[tuple[int, int, Sequence[Staged]]] = deque()  # append id, first order, records
        self._order = 0
        #: Refused offsets that count as under way (KAFKA-16371), until their partition's next commit.
        self.left_pending: dict[tuple[str, TopicPartition], None] = {}

    def latest(self, group_id: str) -> Mapping[TopicPartition, OffsetValue]:
        """Return the group's offsets, uncommitted ones included."""
        return self.view.of(group_id)

    def committed(self, group_id: str) -> Mapping[TopicPartition, OffsetValue]:
        """Return the group's offsets as of the last committed append."""
        return self.committed_view.of(group_id)

    def in_flight(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether an offset of this key is appended but not committed, or counts as such."""
        return (group_id, partition) in self.left_pending or any(
            isinstance(record, OffsetRecord) and record.partition == partition and record.group_id == group_id
            for _, _, records in self._staged
            for record in records
        )

    def groups(self) -> list[str]:
        """Return every group with an offset in the latest view, sorted."""
        return self.view.groups()

    def load(self, record: Staged) -> None:
        """Add a record from the log."""
        self.view.apply(self._next_order(1), (record,))

    def loaded(self) -> None:
        """End the load: everything read counts as committed."""
        self.committed_view = self.view.copy()

    def stage(self, append_id: int, records: Sequence[Staged]) -> None:
        """Add the records of one append under way."""
        order = self._next_order(len(records))
        self.view.apply(order, records)
        self._staged.append((append_id, order, records))

    def delete(self, tombstones: Sequence[OffsetRecord]) -> None:
        """Delete offsets from both views for good, with the appends under way for the same keys."""
        keys = {(record.group_id, record.partition) for record in tombstones}

        def stays(record: Staged) -> bool:
            return not isinstance(record, OffsetRecord) or (record.group_id, record.partition) not in keys

        for key in keys:
            self.left_pending.pop(key, None)
        self._staged = deque((number, order, [*filter(stays, records)]) for number, order, records in self._staged)
        order = self._next_order(len(tombstones))
        self.view.apply(order, tombstones)
        self.committed_view.apply(order, tombstones)

    def settle(self, append_id: int, *, committed: bool) -> None:
        """Handle the end of an append, with or without offsets: the oldest one committed, or any one failed."""
        if not committed:
            self._take_back(append_id)
            return
        staged = self._staged
        while staged and staged[0][0] == append_id:
            _, order, records = staged.popleft()
            self.committed_view.apply(order, records)

    def _take_back(self, append_id: int) -> None:
        left = deque(entry for entry in self._staged if entry[0] != append_id)
        if len(left) != len(self._staged):
            self._staged = left
            self.view = self.committed_view.copy()
            for _, order, records in left:
                self.view.apply(order, records)

    def _next_order(self, count: int) -> int:
        """Return the order of the first of so many records."""
        first = self._order + 1
        self._order += count
        return first
