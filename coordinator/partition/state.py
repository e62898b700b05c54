"""The state of one partition of `__consumer_offsets`: its groups, their offsets, its appends under way.

Offsets and consumer groups are made by their records: `append` applies them at once, and `settle` undoes them when the
append failed. A classic group changes its own state before it writes; only its existence is undone.

A consumer group exists from its first record on. The partition creates it, so a group that is only computed with, for a
request that may yet be refused, is another object (`GroupMetadataManager.getOrMaybeCreatePersistedConsumerGroup`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial

from attrs import field

from groupsim.coordinator.base.consumer_records import ConsumerRecord, EpochRecord
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.base.group_kind import Group
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.purgatory import Then
from groupsim.coordinator.base.records import GroupRecord, OffsetRecord, Record, TransactionEnd
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.consumer.changes import Write
from groupsim.coordinator.consumer.entry_points import ConsumerGroup
from groupsim.coordinator.consumer.hosted.classic_timers import start_classic_timers
from groupsim.coordinator.consumer.state import GroupState, Head
from groupsim.coordinator.conversion.downgrade import Downgrading
from groupsim.coordinator.conversion.upgrade import UpgradeWrite, upgraded
from groupsim.coordinator.partition.offset_store import OffsetStore
from groupsim.coordinator.partition.registry import Registry
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.values import define

NOTHING_LEFT = "nothing is left of it"
BY_REQUEST = "deleted by request"
"""Why a group was deleted: it was Empty without offsets, or by request of an administrator."""

_OFFSETS = (OffsetRecord, TransactionEnd)


@define(eq=False)
class _Applied:
    """The consumer records of one append under way, each with the group to which it was applied."""

    append_id: int
    records: list[tuple[ConsumerGroup, ConsumerRecord]] = field(factory=list)
    deleted: list[str] = field(factory=list)
    is_replacement: bool = False
    """Another group takes the place of this one. Kafka does not apply these records to the members of the old one."""

    def groups(self) -> list[ConsumerGroup]:
        """Return the groups, each once."""
        return list({id(group): group for group, _ in self.records}.values())


@define(eq=False)
class Partition:
    """The state that operations on offsets and on whole groups work on."""

    number: int
    op: Operation
    groups: Registry
    offsets: OffsetStore
    loaded_us: int = 0
    _under_way: deque[_Applied] = field(factory=deque)
    _restored: list[ConsumerGroup] = field(factory=list)
    """The groups that the append `_failed_id` had changed, until a later one is committed."""
    _failed_id: int = 0

    def append(self, records: tuple[Record, ...], then: Then | None = None, within_ms: int | None = None) -> None:
        """Append records; readers of the latest view see their effect at once. A group that goes has no timer any more.

        Raises IllegalState for a record that its consumer group does not accept; then nothing is appended or changed.
        """
        for group_id in self._append(records, then, within_ms):
            if self.groups.get(group_id) is None:
                self._stop_timers(group_id)

    def _append(self, records: tuple[Record, ...], then: Then | None, within_ms: int | None) -> Sequence[str]:
        """Append records and return the groups that they delete. Raises IllegalState."""
        offsets = [record for record in records if isinstance(record, _OFFSETS)]
        if len(offsets) == len(records):
            self.op.append(records, then, within_ms)
            self.offsets.stage(self.op.purgatory.last_id, offsets)
            return ()
        applied = self._apply(records, self.op.purgatory.last_id + 1)
        self.op.append(records, then, within_ms)
        if offsets:
            self.offsets.stage(applied.append_id, offsets)
        if applied.records:
            self._under_way.append(applied)
        return applied.deleted

    def replace(self, records: tuple[Record, ...], new: Group, then: Then | None = None) -> None:
        """Append records that delete a group, and put `new` in its place; a failure of the append takes both back.

        The timers of the group that goes run on (`convertToClassicGroup` cancels none). They do nothing to a group of
        the other kind; but one that is a consumer group again by then loses the members that they are for.
        """
        self._append(records, then, None)
        if self._under_way:
            self._under_way[-1].is_replacement = True
        self.groups.add(new)
        self.groups.created_by(new.group_id, self.op.purgatory.last_id)

    def _apply(self, records: tuple[Record, ...], append_id: int) -> _Applied:
        """Apply the records of groups, in their order: one append may replace a group by one of another kind."""
        applied = _Applied(append_id)
        try:
            for record in records:
                if isinstance(record, GroupRecord):
                    if record.value is None:
                        self._delete(record.group_id, applied)
                elif not isinstance(record, _OFFSETS):
                    self._apply_one(record, applied)
        except IllegalState:
            for group in applied.groups():
                group.data.settle(append_id, committed=False)
            self.groups.settle(append_id, committed=False)
            raise
        return applied

    def _apply_one(self, record: ConsumerRecord, applied: _Applied) -> None:
        group = self.groups.get(record.group_id)
        simple = isinstance(group, ClassicGroup) and group.is_simple
        if simple:
            self._delete(record.group_id, applied)
        if group is None or simple:
            if record.value is None and not simple:
                return
            group = self.new_consumer_group(record.group_id)
            self.groups.add(group)
            self.groups.created_by(record.group_id, applied.append_id)
        made = as_consumer(group)
        applied.records.append((made, record))
        made.data.apply(record, applied.append_id)
        if isinstance(record, EpochRecord) and record.value is None:
            self._delete(record.group_id, applied)

    def load(self, record: ConsumerRecord) -> None:
        """Apply a record of the log. Raises IllegalState where Kafka's load of the partition fails."""
        group = self.groups.get(record.group_id)
        if group is None:
            if record.value is None:
                return
            group = self.new_consumer_group(record.group_id)
            self.groups.add(group)
        as_consumer(group).data.apply(record)
        if isinstance(record, EpochRecord) and record.value is None:
            self.groups.remove(record.group_id)

    def new_consumer_group(self, group_id: str, before: tuple[Record, ...] = ()) -> ConsumerGroup:
        """Return a consumer group without members that is not in the registry.

        Its first append begins with the records `before`, the tombstones of the group that it replaces.
        """
        rules = self.op.differences
        head = Head(group_epoch=rules.new_group_epoch, assignment_epoch=rules.new_group_epoch)
        write = partial(self._append_after, before) if before else self.append
        state = GroupState(group_id, head, frees_instances=rules.instance_change_frees)
        return self._consumer_group(state, write)

    def upgraded(self, group: ClassicGroup, culprit: str) -> ConsumerGroup:
        """Return the consumer group that takes the place of a classic one with its first append.

        `culprit` is the member that joins. Raises Refused and IllegalState as `conversion.upgrade.upgraded`.
        """
        state = upgraded(group, self.op)
        made = self._consumer_group(state, UpgradeWrite(self.append, self.op, group, state, culprit))
        for member_id in state.member_order():
            start_classic_timers(made, self.op, state.members[member_id])
        return made

    def _consumer_group(self, state: GroupState, write: Write) -> ConsumerGroup:
        return ConsumerGroup(state, write, self.groups.get, Downgrading(self.replace))

    def _append_after(
        self,
        before: tuple[Record, ...],
        records: tuple[Record, ...],
        then: Then | None = None,
        within_ms: int | None = None,
    ) -> None:
        self.append((*before, *records), then, within_ms)

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

    def lose(self, group: Group) -> None:
        """Remove a group from memory alone: the next load brings it back (`maybeDeleteEmptyConsumerGroup`).

        Readers of the committed view see it until the next append of the partition is committed.
        """
        self._stop_timers(group.group_id)
        self.groups.deleted_by(group, self.op.purgatory.last_id + 1)

    def _remove(self, group_id: str) -> None:
        self._stop_timers(group_id)
        self.groups.remove(group_id)

    def settle(self, append_id: int, error: ErrorCode | None) -> list[Group]:
        """Handle the end of an append: keep or undo its effect. Returns the groups that disappear."""
        committed = error is None
        self.offsets.settle(append_id, committed=committed)
        vanished = self.groups.settle(append_id, committed=committed)
        if committed and self._restored and append_id > self._failed_id:
            for group in self._restored:
                group.data.restored.clear()
            self._restored.clear()
        if not self._under_way:
            return vanished
        if committed:
            while self._under_way and self._under_way[0].append_id <= append_id:
                for group in self._under_way.popleft().groups():
                    group.data.settle(append_id, committed=True)
        elif any(applied.append_id == append_id for applied in self._under_way):
            self._take_back(append_id, vanished)
        return vanished

    def _take_back(self, append_id: int, vanished: list[Group]) -> None:
        """Undo a failed append and all later ones in their consumer groups, then apply the later ones again.

        In Kafka there are none: an append that the log refuses is always the newest. Here one may have been made at
        the same instant; its records are in the log, so they count.
        """
        undone = [applied for applied in self._under_way if applied.append_id >= append_id]
        self._under_way = deque(applied for applied in self._under_way if applied.append_id != append_id)
        for applied in undone:
            for group in applied.groups():
                group.data.settle(append_id, committed=False)
                if applied.is_replacement:
                    group.data.restored.clear()
                else:
                    self._restored.append(group)
        self._failed_id = append_id
        for applied in undone[1:]:
            self._apply_again(applied, vanished)

    def _apply_again(self, applied: _Applied, vanished: list[Group]) -> None:
        for group, record in applied.records:
            if any(group is one for one in vanished) and self.groups.get(group.group_id) is None:
                vanished.remove(group)
                self.groups.add(group)
                self.groups.created_by(group.group_id, applied.append_id)
            try:
                group.data.apply(record, applied.append_id)
            except IllegalState as problem:
                self.op.emit_by_id(Kind.WARNING, group.group_id, reason=f"append {applied.append_id}: {problem}")

    def tombstones(self, group: Group) -> tuple[Record, ...]:
        """Return the records that delete a group with all its offsets, pending ones included."""
        group_id = group.group_id
        stored, pending = self.offsets.latest(group_id), self.offsets.view.held(group_id)
        keys = [*sorted(stored), *sorted(tp for tp in pending if tp not in stored)]
        offsets = [OffsetRecord(group_id, tp, None) for tp in keys]
        return (*offsets, *group.tombstones())

    def _delete(self, group_id: str, applied: _Applied) -> None:
        group = self.groups.get(group_id)
        if group is not None:
            self.groups.deleted_by(group, applied.append_id)
            applied.deleted.append(group_id)

    def _stop_timers(self, group_id: str) -> None:
        for timer in self.op.timers.of_group(group_id):
            self.op.stop_timer(timer.name)


def as_consumer(group: Group) -> ConsumerGroup:
    """Return the group as a consumer group. Raises IllegalState for one of another kind."""
    if not isinstance(group, ConsumerGroup):
        raise IllegalState(f"Group {group.group_id} is not a consumer group")
    return group
