"""Heartbeat, and the expiry of a session.

Sources: `GroupMetadataManager.classicGroupHeartbeatToClassicGroup`, `expireClassicGroupMemberHeartbeat`;
classic-protocol reference, 1.5, 2.7 and 2.9.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.rebalance import answer_join, complete_after_expiry, prepare, remove_member
from groupsim.coordinator.classic.states import (
    AWAITING_SYNC,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    Reason,
    State,
    TransitionCause,
)
from groupsim.coordinator.classic.validation import member_error
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import HeartbeatRequest, HeartbeatResponse, JoinGroupResponse

ALIVE = HeartbeatResponse()
REBALANCING = HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)

_BY_STATE: Mapping[State, HeartbeatResponse] = {
    EMPTY: HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID),
    PREPARING_REBALANCE: REBALANCING,
    AWAITING_SYNC: ALIVE,
    STABLE: ALIVE,
}


def heartbeat(group: GroupData, op: Operation, arrival: Arrival, request: HeartbeatRequest) -> None:
    """Handle a Heartbeat: prolong the session at once; the answer waits for earlier writes."""
    call = arrival.call
    error = _error(op, group, request)
    if error is not None:
        op.reply(call, HeartbeatResponse(error))
        return
    response = _BY_STATE[group.state]
    # Before 2.7 a heartbeat in CompletingRebalance was refused and did not prolong the session (KAFKA-10134).
    if group.state is AWAITING_SYNC and not op.differences.heartbeat_while_assigning:
        response = REBALANCING
    else:
        op.refresh_session(group, group.lookup[request.member_id])
    # A write operation of `CoordinatorRuntime` without records: it is answered when earlier appends are committed.
    op.reply_after_writes(call, request, response)


def _error(op: Operation, group: GroupData, request: HeartbeatRequest) -> ErrorCode | None:
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if request.group_instance_id is not None or request.member_id not in group.lookup:
        unknown = member_error(op, group, request.member_id, request.group_instance_id, "heartbeat")
        if unknown is not None:
            return unknown
    return ErrorCode.ILLEGAL_GENERATION if request.generation_id != group.generation else None


# --- session expiry --------------------------------------------------------------------------------------------------


def session_expired(op: Operation, group: GroupData, member_id: str) -> None:
    """Handle the expiry of a member's session, or of a pending id.

    A member with a parked request does not expire; its timer starts again when the request is answered. A new member
    does expire: its JoinGroup has been parked for five minutes, and its client has given up (KAFKA-7610).
    """
    if group.state is DEAD:
        return
    if member_id in group.pending_join:
        remove_member(op, group, member_id, "pending-expired")
        complete_after_expiry(op, group)
        return
    member = group.lookup.get(member_id)
    if member is not None and not member.satisfies_heartbeat:
        _expel(op, group, member)


def _expel(op: Operation, group: GroupData, member: Member) -> None:
    answer_join(op, group, member, JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
    remove_member(op, group, member.member_id, "session-expired")
    if group.state in (STABLE, AWAITING_SYNC):
        text = f"removing member {member.member_id} on heartbeat expiration."
        prepare(op, group, Reason(TransitionCause.HEARTBEAT_EXPIRED, text, member.member_id))
    else:
        complete_after_expiry(op, group)
