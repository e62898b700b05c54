"""Heartbeat, and what happens when none comes.

Sources: `GroupMetadataManager.classicGroupHeartbeatToClassicGroup`, `expireClassicGroupMemberHeartbeat`;
classic-protocol reference, 1.5, 2.7 and 2.9.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.rebalance import answer_join, complete_after_expiry, prepare, remove_member
from groupsim.coordinator.classic.states import (
    AWAITING_SYNC,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    Cause,
    Reason,
    State,
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


def heartbeat(group: GroupData, turn: Turn, call: CallToken, request: HeartbeatRequest) -> None:
    """Handle a Heartbeat: the session is prolonged at once, the answer waits for earlier writes."""
    error = _error(turn, group, request)
    if error is not None:
        turn.reply(call, HeartbeatResponse(error))
        return
    response = _BY_STATE[group.state]
    if group.state is AWAITING_SYNC and not turn.differences.heartbeat_while_assigning:
        response = REBALANCING
    else:
        turn.refresh_session(group, group.lookup[request.member_id])
    turn.reply_after_writes(call, request, response)


def _error(turn: Turn, group: GroupData, request: HeartbeatRequest) -> ErrorCode | None:
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    unknown = member_error(turn, group, request.member_id, request.group_instance_id, "heartbeat")
    if unknown is not None:
        return unknown
    return ErrorCode.ILLEGAL_GENERATION if request.generation_id != group.generation else None


# --- silence -----------------------------------------------------------------------------------------------------


def session_expired(turn: Turn, group: GroupData, member_id: str) -> None:
    """The timer of a member, or of a pending id, fired.

    A member that waits for us is excused, and its timer is not set again until its request is answered; a new member is
    not: its JoinGroup has waited for five minutes, and its client has given up.
    """
    if group.state is DEAD:
        return
    if member_id in group.pending_join:
        remove_member(turn, group, member_id, "pending-expired")
        complete_after_expiry(turn, group)
        return
    member = group.lookup.get(member_id)
    if member is not None and not member.satisfies_heartbeat:
        _expel(turn, group, member)


def _expel(turn: Turn, group: GroupData, member: Member) -> None:
    answer_join(turn, group, member, JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
    remove_member(turn, group, member.member_id, "session-expired")
    if group.state in (STABLE, AWAITING_SYNC):
        text = f"removing member {member.member_id} on heartbeat expiration."
        prepare(turn, group, Reason(Cause.HEARTBEAT_EXPIRED, text, member.member_id))
    else:
        complete_after_expiry(turn, group)
