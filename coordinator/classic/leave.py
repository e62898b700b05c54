"""LeaveGroup of one or more members, by member id or (administrators) by instance id.

Sources: `GroupMetadataManager.classicGroupLeaveToClassicGroup`; classic-protocol reference, 1.6.
"""

from __future__ import annotations

from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.rebalance import answer_join, maybe_complete, prepare, remove_member
from groupsim.coordinator.classic.states import NO_REASON, Reason, State, TransitionCause
from groupsim.coordinator.classic.validation import member_error
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    LeftMember,
)

_BATCH_VERSION = 3


def leave(group: GroupData, op: Operation, arrival: Arrival, request: LeaveGroupRequest) -> None:
    """Handle a LeaveGroup to an existing group; the answer waits for earlier writes."""
    call = arrival.call
    if group.state is State.DEAD:
        op.reply_after_writes(call, request, LeaveGroupResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return
    pending_only = not any(_names_member(group, entry) for entry in request.members)
    results = tuple(_leave_one(op, group, entry) for entry in request.members)
    gone = [result for result in results if result.error is ErrorCode.NONE]
    if gone:
        _after(op, group, request, gone, pending_only=pending_only)
    op.reply_after_writes(call, request, _response(request, results))


def _names_member(group: GroupData, entry: LeavingMember) -> bool:
    return entry.member_id in group.lookup or entry.member_id == ""


def _response(request: LeaveGroupRequest, results: tuple[LeftMember, ...]) -> LeaveGroupResponse:
    # Versions before 3 (KIP-345) name one member, whose error is the error of the whole response.
    if request.version >= _BATCH_VERSION:
        return LeaveGroupResponse(ErrorCode.NONE, results)
    return LeaveGroupResponse(results[0].error if results else ErrorCode.NONE)


def _leave_one(op: Operation, group: GroupData, entry: LeavingMember) -> LeftMember:
    error = ErrorCode.NONE
    # An administrator removes a static member by its instance id alone (KIP-345).
    if entry.member_id == "":
        named = entry.group_instance_id
        current = None if named is None else group.instances.get(named)
        if current is None:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        else:
            _remove(op, group, current, "admin", entry.reason)
    elif entry.member_id in group.pending_join:
        op.end_session(group, entry.member_id)
        remove_member(op, group, entry.member_id, "left", entry.reason)
    else:
        error = member_error(op, group, entry.member_id, entry.group_instance_id, "leave-group") or error
        if error is ErrorCode.NONE:
            _remove(op, group, entry.member_id, "left", entry.reason)
    return LeftMember(entry.member_id, entry.group_instance_id, error)


def _remove(op: Operation, group: GroupData, member_id: str, why: str, client_reason: str | None) -> None:
    """Remove a member. Its parked JoinGroup is answered; a parked SyncGroup never is, as in Kafka."""
    op.end_session(group, member_id)
    answer_join(op, group, group.lookup[member_id], JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
    remove_member(op, group, member_id, why, client_reason)


def _after(
    op: Operation, group: GroupData, request: LeaveGroupRequest, gone: list[LeftMember], *, pending_only: bool
) -> None:
    # The Scala coordinator did not open a round when only pending ids left; the Java one does.
    opens = op.differences.pending_leave_rebalances or not pending_only
    if group.state in (State.STABLE, State.AWAITING_SYNC) and opens:
        names = ", ".join(result.member_id for result in gone)
        text = f"explicit `LeaveGroup` request for ({names}) members."
        first = gone[0].member_id or None
        client_reason = next((entry.reason for entry in request.members if entry.reason), NO_REASON)
        prepare(op, group, Reason(TransitionCause.LEAVE_GROUP, text, first if len(gone) == 1 else None, client_reason))
    else:
        maybe_complete(op, group)
