"""The classic group with the methods that a partition calls, as one kind of group (`base/group_kind.py` `Group`).

A method with a module of its own is a function there, which takes the group as its first argument.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.group_kind import Answer, GroupKind
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.purgatory import ANSWERED
from groupsim.coordinator.base.records import GroupRecord, Record, whole_ms
from groupsim.coordinator.base.timers import CLASSIC_KINDS, Timer, TimerKind
from groupsim.coordinator.classic.commit import commit_error, txn_commit_error
from groupsim.coordinator.classic.describe import describe, listed
from groupsim.coordinator.classic.expiry import expiry_rule
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.heartbeat import heartbeat, session_expired
from groupsim.coordinator.classic.join import join
from groupsim.coordinator.classic.leave import leave
from groupsim.coordinator.classic.load import loaded, unloaded, vanished
from groupsim.coordinator.classic.rebalance import close_no_round, complete_join, initial_timer_fired, prepare
from groupsim.coordinator.classic.snapshot import snapshot
from groupsim.coordinator.classic.states import (
    AWAITING_SYNC,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    Reason,
    TransitionCause,
)
from groupsim.coordinator.classic.sync import sync, sync_timer_fired
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import DescribedConsumerGroup
from groupsim.protocol.messages.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from groupsim.protocol.values import define


@define(eq=False)
class ClassicGroup(GroupData):
    """A group of the classic protocol."""

    kind: ClassVar[GroupKind] = GroupKind.CLASSIC
    answers: ClassVar[Mapping[type[Any], Answer]] = {
        JoinGroupRequest: join,
        SyncGroupRequest: sync,
        HeartbeatRequest: heartbeat,
        LeaveGroupRequest: leave,
    }
    #: The error of a sender that may not commit offsets now (outside a transaction, in one); None when it may.
    commit_error = commit_error
    txn_commit_error = txn_commit_error
    #: The instant from which the retention of the group's offsets counts; None when none of them may expire now.
    expiry_rule = expiry_rule
    describe = describe
    listed = listed
    snapshot = snapshot
    #: The partition was loaded, it is given up, or the append that created the group failed.
    loaded = loaded
    unloaded = unloaded
    vanished = vanished

    def answered_otherwise(self, call: CallToken) -> None:
        """Mark a parked request as answered with an error. It still counts as parked, as in Kafka."""
        for member in self.lookup.values():
            if member.join_call is call:
                member.join_call = ANSWERED
            if member.sync_call is call:
                member.sync_call = ANSWERED

    def timer_fired(self, op: Operation, timer: Timer) -> None:
        """Run the action of one of the group's timers."""
        if timer.kind not in CLASSIC_KINDS:
            return
        if timer.kind is TimerKind.SESSION:
            session_expired(op, self, timer.member_id)
        elif timer.kind is TimerKind.SYNC:
            sync_timer_fired(op, self, timer.args[0])
        elif self.state is not PREPARING_REBALANCE:
            close_no_round(self)
        elif timer.kind is TimerKind.INITIAL_JOIN:
            initial_timer_fired(op, self, *timer.args)
        else:
            complete_join(op, self)

    def metadata_changed(self, op: Operation, names: Collection[str]) -> None:
        """Ignore changed topics: the members of a classic group look at topics themselves."""

    def fetch_error(self, request: OffsetFetchRequest, *, committed: bool) -> ErrorCode | None:
        """Return None: every sender may fetch the offsets of a classic group (`ClassicGroup.validateOffsetFetch`)."""
        return None

    def described(self, op: Operation) -> DescribedConsumerGroup:
        """Return the answer of ConsumerGroupDescribe, which has consumer groups only."""
        message = f"Group {self.group_id} is not a consumer group."
        return DescribedConsumerGroup(self.group_id, ErrorCode.GROUP_ID_NOT_FOUND, message)

    @property
    def has_record(self) -> bool:
        """Whether the log of a broker up to 3.9 holds a record of the group: the first is that of generation 1."""
        return self.generation > 0

    def tombstones(self) -> tuple[Record, ...]:
        """Return the records that delete the group."""
        return (GroupRecord(self.group_id, None),)

    @property
    def is_empty(self) -> bool:
        return self.state is EMPTY

    @property
    def is_dead(self) -> bool:
        return self.state is DEAD

    @property
    def is_simple(self) -> bool:
        """Whether it is a group of offsets only, which the records of a consumer group replace (`isSimpleGroup`)."""
        return self.protocol_type is None and self.state is EMPTY and not self.pending_join

    def force_rebalance(self, op: Operation, reason: str) -> bool:
        """Open a round as if a member's metadata had changed; return False when none can be opened.

        Kafka has no such request. An operator makes an application rejoin (`enforceRebalance`), with the same effect.
        """
        if self.state not in (STABLE, AWAITING_SYNC):
            return False
        prepare(op, self, Reason(TransitionCause.UPDATE_META, reason))
        return True


def simple_group(group_id: str, now_us: int) -> ClassicGroup:
    """Return a group of offsets only: classic, Empty, without a protocol type."""
    return ClassicGroup(group_id, state_us=whole_ms(now_us))
