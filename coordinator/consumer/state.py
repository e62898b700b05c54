"""The state of a consumer group as its records make it, with a way back.

Kafka keeps a consumer group in timeline structures: an operation makes records, the records are applied at once, and
when their append fails every structure goes back to what it was. Here the state is changed in place, and each change
under an append leaves the old value in the *undo list* of that append. `settle` drops the list when the append is
committed; when it failed, that list and all later ones are played backwards. `committed` shows the group as of the last
committed append, which is what describe and list answer.

There is one `apply` for the live group and for the load of a log, so a group that is loaded equals the group that was
written. A compacted log has lost records, and so the order of those that are left is another: the current assignment of
a member may come before its metadata, and a partition may seem to have two owners for a while. Therefore the *partition
epochs*, the map of what is not free, follow two rules (KAFKA-19862): an owner that goes removes an entry only if it is
still its own, and a newer owner replaces one of a lower epoch. An entry of the same or a higher epoch is an error.

Not here: timers, the deadline of the metadata, a resolution of regular expressions under way. They do not go back.

Source: `ConsumerGroup`, `ModernGroup`, `GroupMetadataManager.replay`, 4.4.0; consumer-protocol reference, 1.1 to 1.3.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from attrs import evolve, field

from groupsim.assignors.server.interface import Target
from groupsim.assignors.server.partition_sets import in_set_order
from groupsim.coordinator.base.consumer_records import (
    ConsumerRecord,
    CurrentRecord,
    EpochRecord,
    MemberRecord,
    MemberState,
    Partitions,
    RegexRecord,
    ResolvedRegex,
    SubscribedTopic,
    TargetEpochRecord,
    TargetRecord,
    TopicsRecord,
)
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.consumer.assignment.alike import are_alike
from groupsim.coordinator.consumer.assignment.partition_order import in_stored_order
from groupsim.coordinator.consumer.assignment.timeline_order import SMALLEST, grown, in_slots
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.protocol.topic_ids import topic_ids_set_order
from groupsim.protocol.values import value

FREE: Final = -1
"""The partition epoch of a partition that no member owns or has to revoke."""
LEFT: Final = -1
"""The member epoch after the tombstone of a member's current assignment, and the assignment epoch after its own."""
_MISSING: Final = object()
_NO_TARGET: Target = {}
_NO_EPOCHS: Mapping[int, int] = {}

Undo = list[tuple[int, Any, Any]]
"""Changes of one append, oldest first: the table, the key, the value before."""


class ConsumerGroupState(Enum):
    """The state of a group, by its name in Kafka's answers; it follows from members and epochs."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@value
class Head:
    """The fields of the group itself. Since 4.3 a new group is at epoch 1, with an empty target of epoch 1."""

    group_epoch: int = 1
    metadata_hash: int = 0
    assignment_epoch: int = 1
    target_us: int | None = None
    topics: tuple[SubscribedTopic, ...] | None = None
    """The record of the subscribed topics, which 4.0 writes; None without one."""
    #: Whether all members subscribed alike before a regular expression changed; None: a member has changed since.
    #: It is in no record, and a compacted log may have lost it.
    were_alike: bool | None = field(default=None, eq=False)


def _in_map_order(target: Target) -> Target:
    """Return a target in the order of the map and the sets that Kafka collects a record into."""
    topics = topic_ids_set_order(target) if len(target) > 1 else target
    return {topic: in_set_order(target[topic]) for topic in topics}


class GroupState:
    """One consumer group. Its mappings are read only, and their order has no meaning.

    members            member id → member
    static_members     instance id → member id; before 4.4 one may name a member that has another id now, or has gone
    targets            member id → target assignment; `target` gives an empty one to a member without
    resolved           text of a regular expression → the topics that match
    names              topic → number of members that subscribe to it by name
    resolved_topics    topic → number of resolved regular expressions that match it
    regexes            text → number of members that subscribe with it
    assignors          name → number of members that prefer it
    classic_members    number of members of the classic protocol
    classic_protocols  name → number of classic members that support it
    restored           members that a failed append had changed or removed (`listings`)
    """

    def __init__(self, group_id: str, head: Head | None = None, *, frees_instances: bool = True) -> None:
        """Make an empty group; `head` has the epochs before its first record, by default those of a new group.

        `frees_instances`: a member that takes another instance id gives up its former one (since 4.4, KAFKA-20747).
        """
        self.group_id = group_id
        self.head = Head() if head is None else head
        self._frees_instances = frees_instances
        self._tables: tuple[dict[Any, Any], ...] = tuple({} for _ in range(_COUNT))
        self._undo: deque[tuple[int, Undo]] = deque()
        self._list: Undo | None = None
        self.restored: dict[str, None] = {}
        self._slots = [SMALLEST] * _COUNT
        self._show()

    def _show(self) -> None:
        tables = self._tables
        self.members: Mapping[str, ConsumerMember] = tables[_MEMBERS]
        self.static_members: Mapping[str, str] = tables[_STATIC]
        self.targets: Mapping[str, Target] = tables[_TARGETS]
        self.resolved: Mapping[str, ResolvedRegex] = tables[_RESOLVED]
        self.names: Mapping[str, int] = tables[_NAMES]
        self.resolved_topics: Mapping[str, int] = tables[_RESOLVED_TOPICS]
        self.regexes: Mapping[str, int] = tables[_REGEXES]
        self.assignors: Mapping[str, int] = tables[_ASSIGNORS]
        self.classic_protocols: Mapping[str, int] = tables[_CLASSIC_PROTOCOLS]

    # --- queries -----------------------------------------------------------------------------------------------------

    @property
    def group_epoch(self) -> int:
        return self.head.group_epoch

    @property
    def metadata_hash(self) -> int:
        return self.head.metadata_hash

    @property
    def assignment_epoch(self) -> int:
        """The epoch of the target assignment; -1 after its tombstone."""
        return self.head.assignment_epoch

    @property
    def target_us(self) -> int | None:
        """When the target was computed; None: a new target may be computed at once."""
        return self.head.target_us

    @property
    def classic_members(self) -> int:
        count: int = self._tables[_CLASSIC].get(True, 0)
        return count

    @property
    def state(self) -> ConsumerGroupState:
        """The state of the group (`ConsumerGroup.maybeUpdateGroupState`)."""
        head, members = self.head, len(self.members)
        if not members:
            return ConsumerGroupState.EMPTY
        if head.group_epoch > head.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if self._tables[_RECONCILED].get(head.assignment_epoch, 0) < members:
            return ConsumerGroupState.RECONCILING
        return ConsumerGroupState.STABLE

    def listings(self, member_id: str) -> int:
        """Return how often Kafka's describe lists a member: twice when the last append that failed had changed it.

        A `SnapshottableHashTable` puts the members of a snapshot back into its table and leaves them in the snapshot as
        well (`executeRevert`), so that its `HistoricalIterator` meets them in both until the partition has committed
        the next append.
        """
        return 2 if member_id in self.restored else 1

    def member_order(self) -> list[str]:
        """Return the member ids in the order of Kafka's map, whose table remembers how many there were."""
        return in_slots(self.members, self._slots[_MEMBERS])

    def regex_order(self) -> list[str]:
        """Return the texts of the members in the order of Kafka's map."""
        return in_slots(self.regexes, self._slots[_REGEXES])

    def resolved_order(self) -> list[str]:
        """Return the resolved texts in the order of Kafka's map."""
        return in_slots(self.resolved, self._slots[_RESOLVED])

    def put_once(self) -> None:
        """Take each member as put into the map once, as those of a group that is made of a classic one."""
        slots = SMALLEST
        for size in range(len(self.members)):
            slots = grown(slots, size)
        self._slots[_MEMBERS] = slots

    def static_member(self, instance_id: str) -> str | None:
        """Return the member id of an instance; None when no member has it."""
        return self.static_members.get(instance_id)

    def target(self, member_id: str) -> Target:
        """Return the target assignment of a member, by topic id."""
        return self.targets.get(member_id, _NO_TARGET)

    def partition_epoch(self, topic_id: str, partition: int) -> int:
        """Return the epoch of the member that owns the partition or has to revoke it; -1 when it is free."""
        epochs: Mapping[int, int] = self._tables[_PARTITIONS].get(topic_id, _NO_EPOCHS)
        return epochs.get(partition, FREE)

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member subscribes to the topic, by name or by a regular expression that is resolved."""
        return topic in self.names or topic in self.resolved_topics

    def subscribed_topics(self) -> frozenset[str]:
        """Return the topics to which members subscribe, resolved regular expressions included."""
        return frozenset(self.names) | frozenset(self.resolved_topics)

    # --- records -----------------------------------------------------------------------------------------------------

    def apply(self, record: ConsumerRecord, append_id: int | None = None) -> None:
        """Apply a record of this group: one of an append under way, or (None) one of the log, which counts for good.

        The tombstone of the group epoch changes nothing: it checks that the group may be removed. Raises IllegalState
        where Kafka does; then the append has to be settled as failed.
        """
        self._list = None if append_id is None else self._undo_list(append_id)
        _APPLY[type(record)](self, record)

    def _undo_list(self, append_id: int) -> Undo:
        if not self._undo or self._undo[-1][0] != append_id:
            self._undo.append((append_id, []))
        return self._undo[-1][1]

    def _epoch(self, record: EpochRecord) -> None:
        if record.value is not None:
            self._set_head(group_epoch=record.value.epoch, metadata_hash=record.value.metadata_hash)
            return
        left = f"Received a tombstone record to delete group {self.group_id} but"
        if self.members:
            raise IllegalState(f"{left} the group still has {len(self.members)} members.")
        if self.targets:
            raise IllegalState(f"{left} the target assignment still has {len(self.targets)} members.")
        if self.assignment_epoch != LEFT:
            raise IllegalState(f"{left} did not receive ConsumerGroupTargetAssignmentMetadataValue tombstone.")

    def _topics(self, record: TopicsRecord) -> None:
        self._set_head(topics=record.value)

    def _target_epoch(self, record: TargetEpochRecord) -> None:
        if record.value is not None:
            self._set_head(assignment_epoch=record.value.epoch, target_us=record.value.time_us)
            return
        if self.targets:
            raise IllegalState(
                f"Received a tombstone record to delete target assignment of {self.group_id} but the assignment still "
                f"has {len(self.targets)} members."
            )
        self._set_head(assignment_epoch=LEFT, target_us=None)

    def _target(self, record: TargetRecord) -> None:
        self._set(_TARGETS, record.member_id, _MISSING if record.value is None else _in_map_order(record.value))

    def _member(self, record: MemberRecord) -> None:
        member_id, sent = record.member_id, record.value
        old = self.members.get(member_id)
        if sent is not None:
            new = evolve(
                old or ConsumerMember(member_id),
                instance_id=sent.instance_id,
                rack_id=sent.rack_id,
                client_id=sent.client_id,
                client_host=sent.client_host,
                names=sent.names,
                regex=sent.regex,
                rebalance_timeout_ms=sent.rebalance_timeout_ms,
                assignor=sent.assignor,
                classic=sent.classic,
            )
            self._put_member(old, new)
        elif old is not None:
            left = f"Received a tombstone record to delete member {member_id} but did not receive"
            if old.member_epoch != LEFT:
                raise IllegalState(f"{left} ConsumerGroupCurrentMemberAssignmentValue tombstone.")
            if member_id in self.targets:
                raise IllegalState(f"{left} ConsumerGroupTargetAssignmentMetadataValue tombstone.")
            self._put_member(old, None)

    def _current(self, record: CurrentRecord) -> None:
        member_id, at = record.member_id, record.value
        old = self.members.get(member_id)
        if at is not None:
            new = evolve(
                old or ConsumerMember(member_id),
                member_epoch=at.member_epoch,
                previous_epoch=at.previous_epoch,
                state=at.state,
                assigned=in_stored_order(at.assigned),
                pending=in_stored_order(at.pending),
            )
            self._put_member(old, new)
        elif old is not None:
            self._put_member(old, evolve(old, member_epoch=LEFT, previous_epoch=LEFT, assigned={}, pending={}))

    def _regex(self, record: RegexRecord) -> None:
        old = self.resolved.get(record.regex)
        if self.head.were_alike is None:
            alike = are_alike(self.names, self.resolved_topics, self.regexes, len(self.members))
            self._set_head(were_alike=alike)
        if old is not None:
            self._count(_RESOLVED_TOPICS, old.topics, -1)
        if record.value is not None:
            self._count(_RESOLVED_TOPICS, record.value.topics, 1)
        if old is not None or record.value is not None:
            self._set(_RESOLVED, record.regex, _MISSING if record.value is None else record.value)

    # --- members -----------------------------------------------------------------------------------------------------

    def _put_member(self, old: ConsumerMember | None, new: ConsumerMember | None) -> None:
        """Replace a member, add one (`old` None) or remove one (`new` None), with all that is counted of it."""
        kept = new or old
        assert kept is not None
        if self.head.were_alike is not None:
            self._set_head(were_alike=None)
        self._set(_MEMBERS, kept.member_id, _MISSING if new is None else new)
        for index, counted in _COUNTED:
            before = () if old is None else counted(old)
            after = () if new is None else counted(new)
            if before != after:
                self._count(index, before, -1)
                self._count(index, after, 1)
        if old is not None:
            self._release(old.assigned, old.member_epoch)
            self._release(old.pending, old.member_epoch)
            if old.instance_id is not None and (new is None or self._frees_instances):
                self._set(_STATIC, old.instance_id, _MISSING)
        if new is not None:
            self._occupy(new.assigned, new.member_epoch)
            self._occupy(new.pending, new.member_epoch)
            if new.instance_id is not None:
                self._set(_STATIC, new.instance_id, new.member_id)

    def _release(self, partitions: Partitions, epoch: int) -> None:
        """Make partitions free, those that are still held at this epoch (`removePartitionEpochs`)."""
        for topic_id, held in partitions.items():
            for partition in held:
                if self.partition_epoch(topic_id, partition) == epoch:
                    self._set_partition(topic_id, partition, _MISSING)

    def _occupy(self, partitions: Partitions, epoch: int) -> None:
        """Hold partitions at an epoch (`addPartitionEpochs`)."""
        for topic_id, held in partitions.items():
            present: Mapping[int, int] = self._tables[_PARTITIONS].get(topic_id, _NO_EPOCHS)
            for partition in held:
                before = present.get(partition)
                if before is not None and before >= epoch:
                    raise IllegalState(
                        f"Cannot set the epoch of {topic_id}-{partition} to {epoch} because the partition is still "
                        f"owned at epoch {before}"
                    )
                self._set_partition(topic_id, partition, epoch)

    # --- changes and the way back ------------------------------------------------------------------------------------

    def _set(self, index: int, key: Any, new: Any) -> None:
        """Set or (missing) delete an entry of a table, and note what was there."""
        table = self._tables[index]
        if self._list is not None:
            self._list.append((index, key, table.get(key, _MISSING)))
        if new is not _MISSING:
            self._slots[index] = grown(self._slots[index], len(table))
        _put(table, key, new)

    def _set_head(self, **fields: Any) -> None:
        if self._list is not None:
            self._list.append((_HEAD, None, self.head))
        self.head = evolve(self.head, **fields)

    def _set_partition(self, topic_id: str, partition: int, new: Any) -> None:
        table = self._tables[_PARTITIONS]
        if self._list is not None:
            old = table.get(topic_id, _NO_EPOCHS).get(partition, _MISSING)
            self._list.append((_PARTITIONS, (topic_id, partition), old))
        _put_partition(table, topic_id, partition, new)

    def _count(self, index: int, keys: Iterable[Any], change: int) -> None:
        """Count keys up or down; a key of count 0 is not there."""
        table = self._tables[index]
        for key in keys:
            count = table.get(key, 0) + change
            self._set(index, key, count if count else _MISSING)

    def settle(self, append_id: int, *, committed: bool) -> None:
        """Handle the end of an append: the oldest one committed; or one failed, with which all later ones go back."""
        undo = self._undo
        if committed:
            while undo and undo[0][0] <= append_id:
                undo.popleft()
            return
        while undo and undo[-1][0] >= append_id:
            failed = undo.pop()[1]
            self._take_back(failed)
            for index in _ORDERED:
                self._put_again(index, list(dict.fromkeys(key for at, key, _ in failed if at == index)))
            self.restored |= {key: None for index, key, _ in failed if index == _MEMBERS and key in self.members}

    def _put_again(self, index: int, changed: Sequence[str]) -> None:
        """Make keys of a table, in the order of their changes, the newest ones, as `executeRevert` does.

        It removes and puts them, in the order of a table that got each at its first change.
        """
        table, slots = self._tables[index], SMALLEST
        back = [key for key in changed if key in table]
        for size in range(len(back)):
            slots = grown(slots, size)
        for key in in_slots(reversed(back), slots):
            table[key] = table.pop(key)

    def committed(self) -> GroupState:
        """Return the group as of the last committed append: itself when none is under way, else a copy."""
        if not self._undo:
            return self
        before = GroupState(self.group_id, self.head, frees_instances=self._frees_instances)
        before._tables = tuple(
            {topic_id: dict(epochs) for topic_id, epochs in table.items()} if index == _PARTITIONS else dict(table)
            for index, table in enumerate(self._tables)
        )
        before._slots = self._slots
        before._show()
        before.restored = self.restored
        for _, undo in reversed(self._undo):
            before._take_back(undo)
        return before

    def _take_back(self, undo: Undo) -> None:
        for index, key, old in reversed(undo):
            if index == _HEAD:
                self.head = old
            elif index == _PARTITIONS:
                _put_partition(self._tables[_PARTITIONS], key[0], key[1], old)
            else:
                _put(self._tables[index], key, old)


def _put(table: dict[Any, Any], key: Any, new: Any) -> None:
    if new is _MISSING:
        table.pop(key, None)
    else:
        table[key] = new


def _put_partition(table: dict[str, dict[int, int]], topic_id: str, partition: int, new: Any) -> None:
    epochs = table.get(topic_id)
    if new is not _MISSING:
        if epochs is None:
            epochs = table[topic_id] = {}
        epochs[partition] = new
    elif epochs is not None:
        epochs.pop(partition, None)
        if not epochs:
            del table[topic_id]


def _names(member: ConsumerMember) -> tuple[str, ...]:
    return member.names


def _regexes(member: ConsumerMember) -> tuple[str, ...]:
    return (member.regex,) if member.regex else ()


def _assignors(member: ConsumerMember) -> tuple[str, ...]:
    return () if member.assignor is None else (member.assignor,)


def _classic(member: ConsumerMember) -> tuple[bool, ...]:
    return () if member.classic is None else (True,)


def _protocols(member: ConsumerMember) -> tuple[str, ...]:
    return () if member.classic is None else tuple(protocol.name for protocol in member.classic.protocols)


def _reconciled(member: ConsumerMember) -> tuple[int, ...]:
    return (member.member_epoch,) if member.state is MemberState.STABLE else ()


_HEAD: Final = -1
(
    _MEMBERS,
    _STATIC,
    _TARGETS,
    _RESOLVED,
    _NAMES,
    _RESOLVED_TOPICS,
    _REGEXES,
    _ASSIGNORS,
    _CLASSIC,
    _CLASSIC_PROTOCOLS,
    _RECONCILED,
    _PARTITIONS,
    _COUNT,
) = range(13)
"""The tables of a group; `_RECONCILED` counts the members in the state STABLE by their epoch."""
_ORDERED = (_MEMBERS, _REGEXES, _RESOLVED)
"""The tables whose order shows."""

_COUNTED: tuple[tuple[int, Callable[[ConsumerMember], tuple[Any, ...]]], ...] = (
    (_NAMES, _names),
    (_REGEXES, _regexes),
    (_ASSIGNORS, _assignors),
    (_CLASSIC, _classic),
    (_CLASSIC_PROTOCOLS, _protocols),
    (_RECONCILED, _reconciled),
)
_APPLY: Mapping[type[Any], Callable[[GroupState, Any], None]] = {
    EpochRecord: GroupState._epoch,
    TopicsRecord: GroupState._topics,
    MemberRecord: GroupState._member,
    TargetEpochRecord: GroupState._target_epoch,
    TargetRecord: GroupState._target,
    CurrentRecord: GroupState._current,
    RegexRecord: GroupState._regex,
}
