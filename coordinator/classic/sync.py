"""SyncGroup: the leader sends the assignment, and every member gets its part.

In CompletingRebalance the request is parked, the leader's too, and the leader's assignment is appended. When the append
is committed, and the group still has that state and generation, every member is answered and the group is Stable. A
leader may repeat its SyncGroup meanwhile: a second append follows, and the first request is never answered.

Sources: `GroupMetadataManager.classicGroupSyncToClassicGroup`, `expirePendingSync`; classic-protocol reference, 1.4 and
2.8.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.failures import group_append_error
from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.base.purgatory import SYNC_CONDITION
from groupsim.coordinator.base.timers import sync_timer
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.group_record import group_record
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.rebalance import (
    answer_sync,
    prepare,
    prepare_or_complete,
    remove_member,
    reset_assignments,
)
from groupsim.coordinator.classic.states import (
    AWAITING_SYNC,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    Reason,
    TransitionCause,
)
from groupsim.coordinator.classic.transition import change_state
from groupsim.coordinator.classic.validation import member_error
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.javahash import java_set_order
from groupsim.protocol.messages.group import Api, SyncGroupRequest, SyncGroupResponse
from groupsim.protocol.values import frozen

# Looked up once: access to a member of an enumeration is slow, and every sync needs these.
_SYNC, _NONE = Api.SYNC_GROUP, ErrorCode.NONE


def sync(group: GroupData, op: Operation, arrival: Arrival, request: SyncGroupRequest) -> None:
    """Handle a SyncGroup to an existing group."""
    call = arrival.call
    error = _error(op, group, request)
    if error is not None:
        op.reply(call, SyncGroupResponse(error))
        return
    member = group.lookup[request.member_id]
    _received(op, group, member)
    if group.state is AWAITING_SYNC:
        _park(op, group, call, member)
        if member.member_id == group.leader:
            _store(op, group, request)
    else:
        # In Stable the request's assignments are ignored, even the leader's. Up to 3.9 the request prolonged the
        # session; the Java coordinator leaves it alone.
        if op.differences.sync_keeps_session:
            op.refresh_session(group, member)
        op.reply(call, _assigned(group, member))


def _error(op: Operation, group: GroupData, request: SyncGroupRequest) -> ErrorCode | None:
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    unknown = member_error(op, group, request.member_id, request.group_instance_id, "sync-group")
    if unknown is not None:
        return unknown
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is PREPARING_REBALANCE else None


def _differs(requested: str | None, actual: str | None) -> bool:
    # Requests before version 5 do not name the protocol (KIP-559).
    return requested is not None and actual is not None and requested != actual


def _received(op: Operation, group: GroupData, member: Member) -> None:
    """Remove the member from those without a SyncGroup; after the last one the sync timer stops."""
    if group.pending_sync.pop(member.member_id, True) is None and not group.pending_sync:
        op.stop_timer(sync_timer(group.group_id))


def _park(op: Operation, group: GroupData, call: CallToken, member: Member) -> None:
    before, member.sync_call = member.sync_call, call
    if before is not None:
        op.drop(before, _SYNC, group, member.member_id, "another SyncGroup of the same member took its place")
    op.park(call, _SYNC, group, member, SYNC_CONDITION)


def _store(op: Operation, group: GroupData, request: SyncGroupRequest) -> None:
    """Append the leader's assignment; absent members get an empty one, unknown ids are ignored."""
    given = {entry.member_id: entry.assignment for entry in request.assignments}
    assignments = {member_id: given.get(member_id, b"") for member_id in group.lookup}
    then = AssignmentStored(group, group.generation, request.member_id, assignments)
    op.append((group_record(group, assignments),), then)


def _assigned(group: GroupData, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(_NONE, group.protocol_type, group.protocol, member.assignment)


@frozen(eq=False)
class AssignmentStored:
    """The end of the append of the leader's assignment."""

    group: GroupData
    generation: int
    leader: str
    assignments: Mapping[str, bytes]

    def __call__(self, op: Operation, error: ErrorCode | None) -> None:
        group = self.group
        if group.state is not AWAITING_SYNC or group.generation != self.generation:
            return  # a new round has begun and has answered the parked requests
        if error is None:
            self._distribute(op)
        else:
            client_error = group_append_error(op.differences, error)
            reset_assignments(op, group, client_error)
            text = f"Error {client_error.name} when storing group assignment during SyncGroup (member: {self.leader})."
            prepare_or_complete(op, group, Reason(TransitionCause.STORE_ERROR, text, self.leader))

    def _distribute(self, op: Operation) -> None:
        group = self.group
        for member in group.members.values():
            member.assignment = self.assignments.get(member.member_id, b"")
            if answer_sync(op, member, _assigned(group, member)):
                op.set_session(group, member)
        reason = Reason(TransitionCause.ASSIGNMENT_STORED, "the leader's assignment is stored", self.leader)
        change_state(op, group, reason, leader=group.leader, members=len(group.members), static=group.static_count)


def sync_timer_fired(op: Operation, group: GroupData, generation: int) -> None:
    """Remove the members that never sent SyncGroup in this generation (KAFKA-12890)."""
    if generation != group.generation or group.state not in (AWAITING_SYNC, STABLE):
        return
    late = java_set_order(group.pending_sync)
    if not late:
        return
    for member_id in late:
        op.end_session(group, member_id)
        if member_id in group.lookup:  # a static member's former id is no member
            remove_member(op, group, member_id, "sync-timeout")
    text = f"Removing [{', '.join(late)}] on pending sync request expiration"
    prepare(op, group, Reason(TransitionCause.SYNC_EXPIRED, text, late[0] if len(late) == 1 else None))
