"""The consumer group with the methods that a partition calls, as one kind of group (`base/group_kind.py` `Group`).

Its records make the group: `data` is their result, and changes by them alone (`state.py`). Whatever else the group has
is soft: it is lost with the broker, and a failed append does not take it back.

A method with a module of its own is a function there, which takes the group as its first argument.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

from attrs import Factory

from groupsim.coordinator.base.consumer_records import MemberState
from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.expiry import ExpiryRule
from groupsim.coordinator.base.group_kind import Answer, GroupKind
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.records import Record
from groupsim.coordinator.base.snapshot import GroupSnapshot
from groupsim.coordinator.consumer.changes import Downgrade, Write
from groupsim.coordinator.consumer.commit import commit_error, fetch_error, txn_commit_error
from groupsim.coordinator.consumer.describe import described, listed
from groupsim.coordinator.consumer.fence import timer_fired
from groupsim.coordinator.consumer.group_records import group_tombstones
from groupsim.coordinator.consumer.heartbeat import heartbeat
from groupsim.coordinator.consumer.hosted.heartbeat import classic_heartbeat
from groupsim.coordinator.consumer.hosted.leave import leave_group
from groupsim.coordinator.consumer.hosted.sync import sync
from groupsim.coordinator.consumer.snapshot import snapshot
from groupsim.coordinator.consumer.soft_state import SoftState
from groupsim.coordinator.consumer.state import ConsumerGroupState, GroupState
from groupsim.coordinator.consumer.timers import set_rebalance, set_session
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest, DescribedConsumerGroup
from groupsim.protocol.messages.group import (
    DescribedGroup,
    HeartbeatRequest,
    LeaveGroupRequest,
    ListedGroup,
    SyncGroupRequest,
)
from groupsim.protocol.values import define

PROTOCOL_TYPE = "consumer"


@define(eq=False)
class ConsumerGroup:
    """A group of the consumer protocol. `write` appends its records; it raises IllegalState, and then wrote nothing."""

    data: GroupState
    write: Write
    #: The group of an id, as the partition has it.
    find: Callable[[str], Any]
    downgrade: Downgrade
    soft: SoftState = Factory(SoftState)

    kind: ClassVar[GroupKind] = GroupKind.CONSUMER
    answers: ClassVar[Mapping[type[Any], Answer]] = {
        ConsumerGroupHeartbeatRequest: heartbeat,
        SyncGroupRequest: sync,
        HeartbeatRequest: classic_heartbeat,
        LeaveGroupRequest: leave_group,
    }
    #: Run the action of one of the group's timers.
    timer_fired = timer_fired

    @property
    def group_id(self) -> str:
        return self.data.group_id

    @property
    def generation(self) -> int:
        """The group epoch."""
        return self.data.group_epoch

    def written(self) -> ConsumerGroup:
        """Return the group as the partition has it: a group that is new is another object once it is written."""
        found = self.find(self.group_id)
        return found if isinstance(found, ConsumerGroup) else self

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
        """Return the records that delete the group."""
        return group_tombstones(self.data)

    #: The error of a sender that may not commit, or fetch, offsets now; None when it may.
    commit_error = commit_error
    txn_commit_error = txn_commit_error
    fetch_error = fetch_error

    # --- as administrators see it ------------------------------------------------------------------------------------

    def describe(self) -> DescribedGroup:
        """Return the answer of DescribeGroups, which shows classic groups only."""
        message = f"Group {self.group_id} is not a classic group."
        return DescribedGroup(self.group_id, ErrorCode.GROUP_ID_NOT_FOUND, message, "Dead")

    def listed(self) -> ListedGroup:
        """Return the group's entry in a list, as of the last committed append."""
        return listed(self.data.committed())

    def snapshot(self, op: Operation) -> GroupSnapshot:
        """Return the group's present state as a value; it has no generation, but an epoch."""
        return snapshot(self.data, op)

    # --- life --------------------------------------------------------------------------------------------------------

    def answered_otherwise(self, call: CallToken) -> None:
        """Do nothing: no request is parked with the group itself."""

    def force_rebalance(self, op: Operation, reason: str) -> bool:
        """Return False: a consumer group has no rebalance that could be opened."""
        return False

    def loaded(self, op: Operation) -> None:
        """Start the timers of every member, in full length, after the load of the partition."""
        op.emit(Kind.GROUP_LOADED, self, payload={"members": len(self.data.members), "generation": self.generation})
        timeout_ms = op.config_of(self.group_id).consumer_session_timeout_ms
        for member_id in self.data.member_order():
            set_session(self, op, member_id, timeout_ms)
            member = self.data.members[member_id]
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                set_rebalance(self, op, member)

    def unloaded(self, op: Operation) -> None:
        """Report that the broker no longer leads the partition; the epochs stay as they are."""
        op.emit(Kind.GROUP_UNLOADED, self)

    def metadata_changed(self, op: Operation, names: Collection[str]) -> None:
        """Make the metadata due when one of the topics has a subscription."""
        if any(self.data.is_subscribed(name) for name in names):
            self.soft.request_metadata()

    def described(self, op: Operation) -> DescribedConsumerGroup:
        """Return the answer of ConsumerGroupDescribe, as of the last committed append."""
        return described(self.data.committed(), op)

    def vanished(self, op: Operation) -> None:
        """Do nothing after the failure of the append that created the group: no request is parked with it."""
