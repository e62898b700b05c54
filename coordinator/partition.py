"""The state of one partition of `__consumer_offsets`: its groups, their offsets, its appends under way."""

from __future__ import annotations

from attrs import define

from groupsim.coordinator.kinds import Group
from groupsim.coordinator.offset_store import OffsetStore
from groupsim.coordinator.purgatory import Then
from groupsim.coordinator.records import GroupRecord, OffsetRecord, Record
from groupsim.coordinator.registry import Registry
from groupsim.coordinator.turn import Turn
from groupsim.protocol.errors import ErrorCode


@define(eq=False)
class Partition:
    """What the operations on offsets and groups as a whole work on."""

    number: int
    turn: Turn
    groups: Registry
    offsets: OffsetStore
    loaded_us: int = 0

    def append(self, records: tuple[Record, ...], then: Then | None = None) -> None:
        """Append records whose effect is seen at once by those who read the latest view."""
        self.turn.append(records, then)
        append_id = self.turn.purgatory.last_id
        for record in records:
            if isinstance(record, OffsetRecord):
                self.offsets.stage(append_id, record)
            elif record.value is None:
                self._delete(record.group_id, append_id)

    def settle(self, append_id: int, records: tuple[Record, ...], error: ErrorCode | None) -> list[Group]:
        """An append has ended: keep its effect, or take it back. Returns the groups that vanish."""
        for record in records:
            if isinstance(record, OffsetRecord):
                self.offsets.settle(append_id, record, committed=error is None)
        return self.groups.settle(append_id, committed=error is None)

    def tombstones(self, group: Group) -> tuple[Record, ...]:
        """The records that delete a group with all its offsets."""
        offsets = [OffsetRecord(group.group_id, tp, None) for tp in sorted(self.offsets.latest(group.group_id))]
        return (*offsets, GroupRecord(group.group_id, None))

    def _delete(self, group_id: str, append_id: int) -> None:
        group = self.groups.get(group_id)
        if group is not None:
            self.groups.deleted_by(group, append_id)
            for timer in self.turn.timers.of_group(group_id):
                self.turn.stop_timer(timer.name)
