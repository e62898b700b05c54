"""Committed offsets of one partition's groups: what is on the log, and what is on its way there.

Two views: `latest` sees what was appended, committed or not (a stable OffsetFetch reads it, and answers once it is
committed); `committed` sees only what has passed the high watermark. A failed append takes its offsets back.

Source: `OffsetMetadataManager` on its timeline data structures; classic-protocol reference, 1.9 and 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.coordinator.records import OffsetRecord, OffsetValue
from groupsim.protocol.messages import TopicPartition

_Table = dict[TopicPartition, OffsetValue]
_NOTHING: Mapping[TopicPartition, OffsetValue] = {}


class OffsetStore:
    """Offsets by group and partition, in the two views."""

    __slots__ = ("_committed", "_latest", "_staged")

    def __init__(self) -> None:
        self._latest: dict[str, _Table] = {}
        self._committed: dict[str, _Table] = {}
        self._staged: dict[tuple[str, TopicPartition], list[tuple[int, OffsetValue | None]]] = {}

    def latest(self, group_id: str) -> Mapping[TopicPartition, OffsetValue]:
        """The group's offsets with what is not yet committed."""
        return self._latest.get(group_id, _NOTHING)

    def committed(self, group_id: str) -> Mapping[TopicPartition, OffsetValue]:
        """The group's offsets as of the last committed append."""
        return self._committed.get(group_id, _NOTHING)

    def in_flight(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether an offset of this key is appended and not yet committed."""
        return (group_id, partition) in self._staged

    def groups(self) -> list[str]:
        """Every group with an offset in the latest view, sorted."""
        return sorted(group_id for group_id, table in self._latest.items() if table)

    def load(self, record: OffsetRecord) -> None:
        """A record read from the log."""
        _put(self._latest, record)
        _put(self._committed, record)

    def stage(self, append_id: int, record: OffsetRecord) -> None:
        """A record is appended."""
        _put(self._latest, record)
        self._staged.setdefault((record.group_id, record.partition), []).append((append_id, record.value))

    def settle(self, append_id: int, record: OffsetRecord, *, committed: bool) -> None:
        """The append of this staged record is committed, or failed."""
        key = (record.group_id, record.partition)
        left = [entry for entry in self._staged[key] if entry[0] != append_id]
        if left:
            self._staged[key] = left
        else:
            del self._staged[key]
        if committed:
            _put(self._committed, record)
        else:
            value = left[-1][1] if left else self.committed(record.group_id).get(record.partition)
            _put(self._latest, OffsetRecord(record.group_id, record.partition, value))


def _put(view: dict[str, _Table], record: OffsetRecord) -> None:
    table = view.setdefault(record.group_id, {})
    if record.value is None:
        table.pop(record.partition, None)
    else:
        table[record.partition] = record.value
