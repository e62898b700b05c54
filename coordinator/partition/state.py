"""The state of one partition of `__consumer_offsets`: its groups, their offsets, its appends under way."""

from __future__ import annotations

from attrs import define

from groupsim.coordinator.base.group_kind import Group
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.purgatory import Then
from groupsim.coordinator.base.records import GroupRecord, OffsetRecord, Record
from groupsim.coordinator.partition.offset_store import OffsetStore
from groupsim.coordinator.partition.registry import Registry
from groupsim.protocol.errors import ErrorCode

NOTHING_LEFT = "nothing is left of it"
BY_REQUEST = "deleted by request"
"""Why a group was deleted: it was Empty without offsets, or by request of an administrator."""


@define(eq=False)
class Partition:
    """The state that operations on offsets and on whole groups work on."""

    number: int
    op: Operation
    groups: Registry
    offsets: OffsetStore
    loaded_us: int = 0

    def append(self, records: tuple[Record, ...], then: Then | None = None, within_ms: int | None = None) -> None:
        """Append records; readers of the latest view see their effect at once."""
        self.op.append(records, then, within_ms)
        append_id = self.op.purgatory.last_id
        offsets = [record for record in records if not isinstance(record, GroupRecord)]
        if offsets:
            self.offsets.stage(append_id, offsets)
        if len(offsets) < len(records):
            for record in records:
                if isinstance(record, GroupRecord) and record.value is None:
                    self._delete(record.group_id, append_id)

    def delete(self, records: tuple[Record, ...]) -> None:
        """Append tombstones.

        Up to 3.9 their effect is immediate and final: no request waits for the append, and its failure undoes nothing
        (`GroupMetadataManager.cleanupGroupMetadata`). A group that never had a generation has no record to be deleted.
        """
        if self.op.differences.deletions_are_awaited:
            self.append(records)
            return
        written = tuple(record for record in records if not self._has_no_record(record))
        for record in records:
            if isinstance(record, GroupRecord):
                self._remove(record.group_id)
        self.offsets.delete([record for record in records if isinstance(record, OffsetRecord)])
        if written:
            self.op.append_unawaited(written)

    def _has_no_record(self, tombstone: Record) -> bool:
        group = self.groups.get(tombstone.group_id) if isinstance(tombstone, GroupRecord) else None
        return group is not None and not group.has_record

    def _remove(self, group_id: str) -> None:
        self._stop_timers(group_id)
        self.groups.remove(group_id)

    def settle(self, append_id: int, error: ErrorCode | None) -> list[Group]:
        """Handle the end of an append: keep or undo its effect. Returns the groups that disappear."""
        self.offsets.settle(append_id, committed=error is None)
        return self.groups.settle(append_id, committed=error is None)

    def tombstones(self, group: Group) -> tuple[Record, ...]:
        """Return the records that delete a group with all its offsets, pending ones included."""
        group_id = group.group_id
        stored, pending = self.offsets.latest(group_id), self.offsets.view.held(group_id)
        keys = [*sorted(stored), *sorted(tp for tp in pending if tp not in stored)]
        offsets = [OffsetRecord(group_id, tp, None) for tp in keys]
        return (*offsets, *group.tombstones())

    def _delete(self, group_id: str, append_id: int) -> None:
        group = self.groups.get(group_id)
        if group is not None:
            self.groups.deleted_by(group, append_id)
            self._stop_timers(group_id)

    def _stop_timers(self, group_id: str) -> None:
        for timer in self.op.timers.of_group(group_id):
            self.op.stop_timer(timer.name)
