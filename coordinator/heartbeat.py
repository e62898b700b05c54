"""Heartbeat, and what happens when none comes.

Sources: `GroupMetadataManager.classicGroupHeartbeatToClassicGroup`, `expireClassicGroupMemberHeartbeat`;
classic-protocol reference, 1.5, 2.7 and 2.9.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.coordinator.group import GroupData
from groupsim.coordinator.member import Member
from groupsim.coordinator.rebalance import answer_join, complete_after_expiry, prepare, remove_member
from groupsim.coordinator.states import Cause, Reason, State
from groupsim.coordinator.turn import Turn
from groupsim.coordinator.validation import Arrival, member_error
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import HeartbeatRequest, HeartbeatResponse, JoinGroupResponse

ALIVE = HeartbeatResponse()
REBALANCING = HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)

_BY_STATE: Mapping[State, HeartbeatResponse] = {
    State.EMPTY: HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID),
    State.PREPARING_REBALANCE: REBALANCING,
    State.AWAITING_SYNC: ALIVE,
    State.STABLE: ALIVE,
}


def heartbeat(turn: Turn, group: GroupData, arrival: Arrival, request: HeartbeatRequest) -> None:
    """Handle a Heartbeat: the session is prolonged at once, the answer waits for earlier writes."""
    error = _error(turn, group, request)
    if error is not None:
        turn.reply(arrival.call, HeartbeatResponse(error))
        return
    response = _BY_STATE[group.state]
    if group.state is State.AWAITING_SYNC and not turn.differences.heartbeat_while_assigning:
        response = REBALANCING
    else:
        turn.refresh_session(group, group.lookup[request.member_id])
    turn.reply_after_writes(arrival.call, request, response)


def quick_heartbeat(group: GroupData, turn: Turn, request: HeartbeatRequest) -> bool:
    """The same for the one case that happens all the time: a valid heartbeat in Stable. False for any other.

    No effects, no objects: only the deadline and its rank move. The caller answers ALIVE. The group comes first because
    this is a method of `ClassicGroup`.
    """
    if group.state is not State.STABLE or request.generation_id != group.generation:
        return False
    member = group.lookup.get(request.member_id)
    if member is None or (request.group_instance_id is not None and request.group_instance_id != member.instance_id):
        return False
    timer = member.session
    due_us = turn.now_us + 1_000 * member.session_timeout_ms
    if timer is None or not 0 <= timer.due_us <= due_us:
        return False
    timer.due_us = due_us
    timer.ticket = turn.timers.draw_ticket()
    return True


def _error(turn: Turn, group: GroupData, request: HeartbeatRequest) -> ErrorCode | None:
    if group.state is State.DEAD:
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
    if group.state is State.DEAD:
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
    if group.state in (State.STABLE, State.AWAITING_SYNC):
        text = f"removing member {member.member_id} on heartbeat expiration."
        prepare(turn, group, Reason(Cause.HEARTBEAT_EXPIRED, text, member.member_id))
    else:
        complete_after_expiry(turn, group)
