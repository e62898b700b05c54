"""The state of one partition of `__consumer_offsets`: its groups, their offsets, its appends under way."""

from __future__ import annotations

from attrs import define

from groupsim.coordinator.classic import ClassicGroup
from groupsim.coordinator.kinds import Group
from groupsim.coordinator.offset_store import OffsetStore
from groupsim.coordinator.purgatory import Then
from groupsim.coordinator.records import GroupRecord, OffsetRecord, Record, whole_ms
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
        offsets = [record for record in records if not isinstance(record, GroupRecord)]
        if offsets:
            self.offsets.stage(append_id, offsets)
        if len(offsets) < len(records):
            for record in records:
                if isinstance(record, GroupRecord) and record.value is None:
                    self._delete(record.group_id, append_id)

    def settle(self, append_id: int, error: ErrorCode | None) -> list[Group]:
        """An append has ended: keep its effect, or take it back. Returns the groups that vanish."""
        self.offsets.settle(append_id, committed=error is None)
        return self.groups.settle(append_id, committed=error is None)

    def add_simple_group(self, group_id: str) -> Group:
        """A group of which only offsets are known: classic, empty, without a protocol type."""
        group = ClassicGroup(group_id, state_us=whole_ms(self.turn.now_us))
        self.groups.add(group)
        return group

    def tombstones(self, group: Group) -> tuple[Record, ...]:
        """The records that delete a group with all its offsets, those that are only pending included."""
        group_id = group.group_id
        stored, pending = self.offsets.latest(group_id), self.offsets.view.held(group_id)
        keys = [*sorted(stored), *sorted(tp for tp in pending if tp not in stored)]
        offsets = [OffsetRecord(group_id, tp, None) for tp in keys]
        return (*offsets, GroupRecord(group.group_id, None))

    def _delete(self, group_id: str, append_id: int) -> None:
        group = self.groups.get(group_id)
        if group is not None:
            self.groups.deleted_by(group, append_id)
            for timer in self.turn.timers.of_group(group_id):
                self.turn.stop_timer(timer.name)
