"""What another coordinator knows: N27.

Source: consumer-protocol reference, 1.21 and 3.1.
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

from attrs import evolve, field

from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.state import Head
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.values import define
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.steps import GroupChange, GroupModel, Input


@define
class _Written:
    """What one append changed in a group; None in place of a member or a target: it is gone."""

    append_id: int
    head: Head
    members: dict[str, ConsumerMember | None]
    targets: dict[str, Any]


@define
class _Committed:
    """A group as of its last committed append, and the appends under way, oldest first."""

    partition: int
    head: Head
    members: dict[str, ConsumerMember] = field(factory=dict)
    targets: dict[str, Any] = field(factory=dict)
    under_way: deque[_Written] = field(factory=deque)

    def apply(self, written: _Written) -> None:
        """Apply the changes of an append."""
        self.head = written.head
        for table, changes in ((self.members, written.members), (self.targets, written.targets)):
            for member_id, new in changes.items():
                if new is None:
                    table.pop(member_id, None)
                else:
                    table[member_id] = new

    def differs(self, model: GroupModel) -> list[str] | None:
        """Return the members in which a loaded group differs; None when it is equal, [] when only its head differs."""
        members = {**self.members, **model.members}
        wrong = [one for one in members if self.members.get(one) != model.members.get(one)]
        wrong += [one for one in members if self.targets.get(one) != model.targets.get(one) and one not in wrong]
        if wrong:
            return sorted(wrong)
        same = evolve(self.head, topics=None) == evolve(model.head, topics=None)
        return None if same else []


class FailoverKeepsState(Checker):
    """N27. An election that loses records suspends it until the next load of the partition."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset({Kind.PARTITION_LEADER, Kind.LOG_TRUNCATED})

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._groups: dict[str, _Committed] = {}
        self._lossy: dict[int, None] = {}

    def event(self, event: TraceEvent) -> Found:
        """Note an election that may lose records."""
        loses = event.reason == "unclean" or event.kind is Kind.LOG_TRUNCATED
        if event.topic == OFFSETS_TOPIC and loses and event.partition is not None:
            self._lossy[event.partition] = None
        return ()

    def change(self, change: GroupChange) -> Found:
        """Note what an append changes."""
        number = change.step.shard.partition.number
        known = self._groups.get(change.group_id)
        if known is None:
            known = self._groups[change.group_id] = _Committed(number, change.head)
        members = {one: new for one, (_, new) in change.members.items()}
        targets = {one: new for one, (_, new) in change.targets.items()}
        for append in change.step.appends:
            known.under_way.append(_Written(append.append_id, change.state.head, members, targets))
            break
        return ()

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Apply an append that is committed, and drop one that failed."""
        number = step.shard.partition.number
        if step.ended:
            for known in self._groups.values():
                if known.partition == number:
                    self._ended(known, step.ended, failed=step.error is not None)
        if step.loads:
            yield from self._missing(step, number)
        return

    def _ended(self, known: _Committed, append_id: int, *, failed: bool) -> None:
        if failed:
            known.under_way = deque(one for one in known.under_way if one.append_id != append_id)
        while known.under_way and known.under_way[0].append_id <= append_id:
            known.apply(known.under_way.popleft())

    def _missing(self, step: Input, number: int) -> Found:
        for group_id, known in list(self._groups.items()):
            if known.partition == number and step.shard.groups.get(group_id) is None:
                lossy = number in self._lossy or known.under_way
                del self._groups[group_id]
                if known.members and not lossy:
                    yield self.at(step, group_id, "a load has lost a group with members", members=sorted(known.members))

    def loaded(self, step: Input, model: GroupModel) -> Found:
        """Compare a loaded group with what was committed, and with each append that was under way."""
        number = step.shard.partition.number
        known = self._groups.get(model.group_id)
        suspended = number in self._lossy
        wrong: list[str] | None = None
        if known is not None and not suspended:
            wrong = known.differs(model)
            while wrong is not None and known.under_way:
                known.apply(known.under_way.popleft())
                wrong = known.differs(model)
        if wrong is not None and known is not None:
            yield self.at(
                step,
                model.group_id,
                "a coordinator loads another group than was committed",
                members=wrong,
                epochs={"group epoch loaded": model.head.group_epoch, "committed": known.head.group_epoch},
            )
        self._groups[model.group_id] = _Committed(number, model.head, dict(model.members), dict(model.targets))
        return

    def gone(self, step: Input, model: GroupModel) -> Found:
        """Forget a group that is no more; its tombstones may still be under way."""
        self._groups.pop(model.group_id, None)
        return ()
