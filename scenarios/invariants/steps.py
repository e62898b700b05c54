"""One input to a partition of a coordinator, with its effects, and what it changed in a consumer group.

A group changes by records alone, so the records of an input name what it touched. `GroupModel` is the group as it was
after the last input: it is brought up to date by the touched members, at a cost that does not depend on the size of the
group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import field

from groupsim.coordinator.base.consumer_records import (
    ConsumerRecord,
    CurrentRecord,
    MemberRecord,
    MemberState,
    Target,
    TargetEpochRecord,
    TargetRecord,
)
from groupsim.coordinator.base.effects import Append, Emit
from groupsim.coordinator.base.operation import Arrival
from groupsim.coordinator.base.records import GroupRecord, Record
from groupsim.coordinator.base.timers import Timer
from groupsim.coordinator.consumer.entry_points import ConsumerGroup
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.state import GroupState, Head
from groupsim.coordinator.partition_driver import LOAD, UNLOAD
from groupsim.coordinator.shard import Shard
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from groupsim.protocol.values import define

Key: TypeAlias = tuple[str, int]
"""A partition by the id of its topic and its number."""

_OF_MEMBER = (MemberRecord, CurrentRecord, TargetRecord)
_NOT_READ: Any = object()


@define(eq=False)
class Input:
    """One input to a partition: a request, a timer, the end of an append, a load or an unload. `given` is the input."""

    t_us: int
    seq: int
    host: str
    shard: Shard
    given: tuple[Any, ...]
    effects: Sequence[Any]
    arrival: Arrival | None = field(init=False, default=None)
    request: Any = field(init=False, default=None)
    timer: Timer | None = field(init=False, default=None)
    #: The id of the append that ended, 0 for another input, and its error.
    ended: int = field(init=False, default=0)
    error: ErrorCode | None = field(init=False, default=None)
    _refusal: Any = field(init=False, default=_NOT_READ)

    def __attrs_post_init__(self) -> None:
        first = self.given[0] if self.given else None
        if isinstance(first, Arrival):
            self.arrival, self.request = first, self.given[1]
        elif isinstance(first, Timer):
            self.timer = first
        elif isinstance(first, int):
            self.ended, self.error = self.given

    @property
    def loads(self) -> bool:
        """Whether the partition was loaded."""
        return self.given == (LOAD,)

    @property
    def unloads(self) -> bool:
        """Whether the broker gives the partition up."""
        return self.given == (UNLOAD,)

    @property
    def answers(self) -> Iterator[tuple[Any, Any]]:
        """The calls that are answered now, each with its response."""
        return (effect for effect in self.effects if isinstance(effect, tuple))

    @property
    def refusal(self) -> ErrorCode | None:
        """The error with which the request is answered at once; None when it is accepted."""
        if self._refusal is _NOT_READ:
            self._refusal = None
            for call, response in self.answers:
                if self.arrival is not None and call is self.arrival.call and response.error:
                    self._refusal = response.error
        found: ErrorCode | None = self._refusal
        return found

    @property
    def heartbeat(self) -> ConsumerGroupHeartbeatRequest | None:
        """The heartbeat of a member of the consumer protocol, if that is the input."""
        return self.request if isinstance(self.request, ConsumerGroupHeartbeatRequest) else None

    @property
    def appends(self) -> Iterator[Append]:
        """The appends that begin."""
        return (effect for effect in self.effects if isinstance(effect, Append))

    def events(self, kind: Kind, group_id: str) -> Iterator[Emit]:
        """Return the events of one kind about a group."""
        return (e for e in self.effects if isinstance(e, Emit) and e.kind is kind and e.group_id == group_id)

    def group(self, group_id: str) -> GroupState | None:
        """Return the state of a consumer group after the input; None when there is none of that id."""
        found = self.shard.groups.get(group_id)
        return found.data if isinstance(found, ConsumerGroup) else None

    def partition_name(self, key: Key) -> str:
        """Return a partition by the name of its topic; by its id when the topic is gone."""
        topic = self.shard.op.topics.topic_by_id(key[0])
        return f"{key[0] if topic is None else topic.name}-{key[1]}"


def keys(partitions: Mapping[str, Iterable[int]]) -> Iterator[Key]:
    """Yield the partitions of a mapping from topic id to numbers."""
    return ((topic, number) for topic, numbers in partitions.items() for number in numbers)


def held(member: ConsumerMember | None) -> set[Key]:
    """Return the partitions that a member has: those assigned to it and those that it has to revoke."""
    return set() if member is None else {*keys(member.assigned), *keys(member.pending)}


@define(eq=False)
class GroupModel:
    """A consumer group after the last input.

    `holders` maps a partition to the members that have it, `reconciled` an epoch to the number of members that are
    STABLE at it. `topics` are the inputs of the last target: topic id to number of partitions, None before one.
    `instances` maps an instance id to the member that it names; before 4.4 a former one still names its member, which
    may have gone (KAFKA-20747).
    """

    group_id: str
    head: Head
    members: dict[str, ConsumerMember] = field(factory=dict)
    targets: dict[str, Target] = field(factory=dict)
    holders: dict[Key, tuple[str, ...]] = field(factory=dict)
    reconciled: dict[int, int] = field(factory=dict)
    topics: dict[str, int] | None = None
    instances: dict[str, str] = field(factory=dict)

    @classmethod
    def of(cls, state: GroupState) -> GroupModel:
        """Return the model of a group as it is."""
        model = cls(state.group_id, state.head)
        for member_id, member in state.members.items():
            model.put(member_id, None, member)
        model.targets = dict(state.targets)
        model.instances = dict(state.static_members)
        return model

    def name(self, records: Iterable[Any], *, frees_instances: bool) -> None:
        """Follow the instance ids in the records of members, before these members are `put`."""
        ids: dict[str, str | None] = {}
        for record in records:
            if not isinstance(record, MemberRecord):
                continue
            member_id = record.member_id
            old = self.members.get(member_id)
            former = ids.get(member_id, None if old is None else old.instance_id)
            new = None if record.value is None else record.value.instance_id
            if former is not None and (record.value is None or frees_instances):
                self.instances.pop(former, None)
            if new is not None:
                self.instances[new] = member_id
            ids[member_id] = new

    def put(self, member_id: str, before: ConsumerMember | None, after: ConsumerMember | None) -> None:
        """Replace a member, add it or remove it."""
        for key in held(before):
            left = tuple(one for one in self.holders.get(key, ()) if one != member_id)
            if left:
                self.holders[key] = left
            else:
                self.holders.pop(key, None)
        for key in held(after):
            self.holders[key] = (*self.holders.get(key, ()), member_id)
        for member, change in ((before, -1), (after, 1)):
            if member is not None and member.state is MemberState.STABLE:
                count = self.reconciled.get(member.member_epoch, 0) + change
                if count:
                    self.reconciled[member.member_epoch] = count
                else:
                    self.reconciled.pop(member.member_epoch, None)
        if after is None:
            self.members.pop(member_id, None)
        else:
            self.members[member_id] = after


@define(eq=False)
class GroupChange:
    """What one input changed in a consumer group.

    state      the group after it
    model      the same, as the checkers keep it
    head       the epochs before it
    members    touched member id → the member before and after; None: not in the group
    replaced   id of a member that takes the place of a static one → the id of that one
    targets    touched member id → its target before and after
    holders    partition of a touched member → the members that had it before
    is_new     the group was created by it, or made from a classic group: nothing to compare with
    converted  it was made from a classic group
    inputs     of its target, once a checker has asked for them (`targets`)
    """

    step: Input
    group_id: str
    state: GroupState
    model: GroupModel
    head: Head
    records: Sequence[ConsumerRecord]
    members: Mapping[str, tuple[ConsumerMember | None, ConsumerMember | None]]
    replaced: Mapping[str, str]
    targets: Mapping[str, tuple[Target | None, Target | None]]
    holders: Mapping[Key, tuple[str, ...]]
    is_new: bool
    converted: bool
    inputs: Any = None

    @property
    def target_epoch(self) -> int | None:
        """The epoch of the target that was computed now; None without one. An emptied group gets none."""
        if not self.state.members:
            return None
        found = (record.value for record in self.records if isinstance(record, TargetEpochRecord))
        return next((value.epoch for value in found if value is not None), None)

    @property
    def assignor(self) -> str | None:
        """The assignor of the target that was computed now; None when it is unknown."""
        events = self.step.events(Kind.TARGET_COMPUTED, self.group_id)
        return next((str((event.payload or {}).get("assignor")) for event in events), None)

    def subscribed_topics(self, member: ConsumerMember) -> set[str]:
        """Return the ids of the existing topics to which a member subscribes now; an unresolved pattern has none."""
        image, names = self.step.shard.op.topics, set(member.names)
        resolved = self.state.resolved.get(member.regex) if member.regex else None
        if resolved is not None:
            names.update(resolved.topics)
        found = (image.topic(name) for name in names)
        return {topic.topic_id for topic in found if topic is not None}


def make_change(step: Input, model: GroupModel | None, records: Sequence[Record], group_id: str) -> GroupChange | None:
    """Bring the model of a group up to date and return what changed; None when it is no consumer group any more."""
    state = step.group(group_id)
    if state is None:
        return None
    converted = any(isinstance(one, GroupRecord) for one in records)
    own: list[Any] = [one for one in records if not isinstance(one, GroupRecord)]
    before = GroupModel(group_id, state.head) if model is None else model
    head = before.head
    touched = dict.fromkeys(one.member_id for one in own if isinstance(one, _OF_MEMBER))
    members: dict[str, tuple[ConsumerMember | None, ConsumerMember | None]] = {}
    targets: dict[str, tuple[Target | None, Target | None]] = {}
    holders: dict[Key, tuple[str, ...]] = {}
    for member_id in touched:
        old, new = before.members.get(member_id), state.members.get(member_id)
        old_target, new_target = before.targets.get(member_id), state.targets.get(member_id)
        if old != new:
            members[member_id] = (old, new)
            for key in held(old) | held(new):
                holders.setdefault(key, before.holders.get(key, ()))
        if old_target != new_target:
            targets[member_id] = (old_target, new_target)
    replaced = _replaced(before, members)
    before.name(own, frees_instances=step.shard.op.differences.instance_change_frees)
    for member_id, (old, new) in members.items():
        before.put(member_id, old, new)
    for member_id, (_, target) in targets.items():
        if target is None:
            before.targets.pop(member_id, None)
        else:
            before.targets[member_id] = target
    before.head = state.head
    return GroupChange(
        step, group_id, state, before, head, own, members, replaced, targets, holders, model is None, converted
    )


def _replaced(
    before: GroupModel, members: Mapping[str, tuple[ConsumerMember | None, ConsumerMember | None]]
) -> dict[str, str]:
    """Return the removed members whose instance id another member has now, by the id of that member."""
    found: dict[str, str] = {}
    for member_id, (_, new) in members.items():
        former = before.instances.get(new.instance_id) if new is not None and new.instance_id is not None else None
        if former is not None and former in members and members[former][1] is None:
            found[member_id] = former
    return found
