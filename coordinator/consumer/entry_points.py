"""The consumer group with the methods that a partition calls, as one kind of group (`base/group_kind.py` `Group`).

Its records make the group: `data` is their result, and changes by them alone (`state.py`). Whatever else the group has
is soft: it is lost with the broker, and a failed append does not take it back.

A method with a module of its own is a function there, which takes the group as its first argument.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Protocol

from attrs import define

from groupsim.coordinator.base.consumer_records import (
    CurrentRecord,
    EpochRecord,
    MemberRecord,
    RegexRecord,
    TargetEpochRecord,
    TargetRecord,
    TopicsRecord,
)
from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.expiry import ExpiryRule
from groupsim.coordinator.base.group_kind import Answer, GroupKind
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.purgatory import Then
from groupsim.coordinator.base.records import Record
from groupsim.coordinator.base.snapshot import GroupSnapshot, MemberSnapshot, TimerSnapshot, held
from groupsim.coordinator.base.timers import Timer, TimerKind, session_timer
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.state import ConsumerGroupState, GroupState
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import DescribedGroup, ListedGroup, OffsetCommitRequest
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest

PROTOCOL_TYPE = "consumer"


class Write(Protocol):
    """Append records to the partition and apply them (`coordinator/partition/state.py` `Partition.append`)."""

    def __call__(self, records: tuple[Record, ...], then: Then | None = None, within_ms: int | None = None) -> None: ...


@define(eq=False)
class ConsumerGroup:
    """A group of the consumer protocol. `write` appends its records; it raises IllegalState, and then wrote nothing."""

    data: GroupState
    write: Write

    kind: ClassVar[GroupKind] = GroupKind.CONSUMER
    answers: ClassVar[Mapping[type[Any], Answer]] = {}
    timer_actions: ClassVar[Mapping[TimerKind, Callable[[Operation, ConsumerGroup, Timer], None]]] = {}

    @property
    def group_id(self) -> str:
        return self.data.group_id

    @property
    def generation(self) -> int:
        """The group epoch."""
        return self.data.group_epoch

    # --- offsets -----------------------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        return self.data.state is ConsumerGroupState.EMPTY

    @property
    def is_dead(self) -> bool:
        """Whether it is Dead: a consumer group never is (`ConsumerGroup.ConsumerGroupState`)."""
        return False

    @property
    def is_consumer(self) -> bool:
        return True

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member subscribes to the topic, by name or by a resolved regular expression."""
        return self.data.is_subscribed(topic)

    def expiry_rule(self, op: Operation) -> ExpiryRule:
        """Return the rule: from the commit of each offset on, for topics without a subscription."""
        return ExpiryRule(spared=self.data.subscribed_topics())

    @property
    def has_record(self) -> bool:
        """Whether the log holds a record of the group: it exists with its first one."""
        return True

    def tombstones(self) -> tuple[Record, ...]:
        """Return the records that delete the group: its parts first (`createGroupTombstoneRecords`)."""
        group_id, members = self.group_id, self.data.members
        return (
            *(CurrentRecord(group_id, member_id, None) for member_id in members),
            *(TargetRecord(group_id, member_id, None) for member_id in members),
            TargetEpochRecord(group_id, None),
            *(MemberRecord(group_id, member_id, None) for member_id in members),
            *(RegexRecord(group_id, regex, None) for regex in self.data.resolved),
            TopicsRecord(group_id, None),
            EpochRecord(group_id, None),
        )

    def commit_error(self, op: Operation, request: OffsetCommitRequest) -> ErrorCode | None:
        """Return the error of a sender that may not commit now (`ConsumerGroup.validateOffsetCommit`)."""
        data = self.data
        if request.generation_id < 0 and not data.members:
            return None
        member = data.members.get(request.member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if member.classic is None and request.version < 9:
            return ErrorCode.UNSUPPORTED_VERSION
        return _epoch_error(member, request.generation_id)

    def txn_commit_error(self, op: Operation, request: TxnOffsetCommitRequest) -> ErrorCode | None:
        """Return the error of a transactional commit; below version 6 a stale epoch is ILLEGAL_GENERATION."""
        anonymous = not request.member_id and request.group_instance_id is None
        if request.generation_id < 0 and (anonymous or not self.data.members):
            return None
        member = self.data.members.get(request.member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = _epoch_error(member, request.generation_id)
        return ErrorCode.ILLEGAL_GENERATION if error is not None and request.version < 6 else error

    # --- as administrators see it ------------------------------------------------------------------------------------

    def describe(self) -> DescribedGroup:
        """Return the answer of DescribeGroups, which shows classic groups only."""
        message = f"Group {self.group_id} is not a classic group."
        return DescribedGroup(self.group_id, ErrorCode.GROUP_ID_NOT_FOUND, message, "Dead")

    def listed(self) -> ListedGroup:
        """Return the group's entry in a list, as of the last committed append."""
        state = self.data.committed().state
        return ListedGroup(self.group_id, PROTOCOL_TYPE, state.value, self.kind.value)

    def snapshot(self, op: Operation) -> GroupSnapshot:
        """Return the group's present state as a value; it has no generation, but an epoch."""
        data = self.data
        return GroupSnapshot(
            self.group_id,
            self.kind.value,
            data.state.value,
            data.state.value,
            None,
            data.group_epoch,
            PROTOCOL_TYPE,
            None,
            None,
            tuple(_shown(self.group_id, data.members[member_id], op) for member_id in sorted(data.members)),
            (),
            (),
            False,
            tuple(sorted(data.subscribed_topics())),
            (),
            held(op),
            tuple(TimerSnapshot(timer.name, timer.due_us) for timer in op.timers.of_group(self.group_id)),
        )

    # --- life --------------------------------------------------------------------------------------------------------

    def answered_otherwise(self, call: CallToken) -> None:
        """Do nothing: no request is parked with the group itself."""

    def timer_fired(self, op: Operation, timer: Timer) -> None:
        """Run the action of one of the group's timers."""
        self.timer_actions[timer.kind](op, self, timer)

    def force_rebalance(self, op: Operation, reason: str) -> bool:
        """Return False: a consumer group has no rebalance that could be opened."""
        return False

    def loaded(self, op: Operation) -> None:
        """Report the group after the load of its partition."""
        op.emit(Kind.GROUP_LOADED, self, payload={"members": len(self.data.members), "generation": self.generation})

    def unloaded(self, op: Operation) -> None:
        """Report that the broker no longer leads the partition; the epochs stay as they are."""
        op.emit(Kind.GROUP_UNLOADED, self)

    def metadata_changed(self, op: Operation, names: Collection[str]) -> None:
        """Do nothing: a heartbeat, which would look at the topics, is not answered yet."""

    def vanished(self, op: Operation) -> None:
        """Do nothing after the failure of the append that created the group: no request is parked with it."""


def _epoch_error(member: ConsumerMember, epoch: int) -> ErrorCode | None:
    if epoch == member.member_epoch:
        return None
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION


def _shown(group_id: str, member: ConsumerMember, op: Operation) -> MemberSnapshot:
    session = op.timers.get(session_timer(group_id, member.member_id))
    classic = member.classic
    return MemberSnapshot(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        0 if classic is None else classic.session_timeout_ms,
        member.rebalance_timeout_ms,
        () if classic is None else tuple(protocol.name for protocol in classic.protocols),
        b"",
        False,
        False,
        False,
        None if session is None else session.due_us,
    )
