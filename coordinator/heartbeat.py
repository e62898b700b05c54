"""Heartbeat, and what happens when none comes.

Sources: `GroupMetadataManager.classicGroupHeartbeatToClassicGroup`, `expireClassicGroupMemberHeartbeat`;
classic-protocol reference, 1.5, 2.7 and 2.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.coordinator.effects import CallToken
from groupsim.coordinator.group import GroupData
from groupsim.coordinator.member import Member
from groupsim.coordinator.rebalance import answer_join, complete_after_expiry, prepare, remove_member
from groupsim.coordinator.states import AWAITING_SYNC, DEAD, EMPTY, PREPARING_REBALANCE, STABLE, Cause, Reason, State
from groupsim.coordinator.timers import Timer
from groupsim.coordinator.turn import Turn
from groupsim.coordinator.validation import member_error
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import HeartbeatRequest, HeartbeatResponse, JoinGroupResponse

ALIVE = HeartbeatResponse()
REBALANCING = HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)

_BY_STATE: Mapping[State, HeartbeatResponse] = {
    EMPTY: HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID),
    PREPARING_REBALANCE: REBALANCING,
    AWAITING_SYNC: ALIVE,
    STABLE: ALIVE,
}


def heartbeat(turn: Turn, group: GroupData, call: CallToken, request: HeartbeatRequest) -> None:
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


def quick_heartbeat(group: GroupData, turn: Turn, request: HeartbeatRequest) -> bool:
    """The same for the one case that happens all the time: a valid heartbeat in Stable. False for any other.

    No effects, no objects: only the deadline and its rank move. The caller answers ALIVE. The group comes first because
    this is a method of `ClassicGroup`.
    """
    member = _steady_member(group, request)
    if member is None or member.session is None:
        return False
    return _prolong(turn, member.session, turn.now_us + 1_000 * member.session_timeout_ms)


def _steady_member(group: GroupData, request: HeartbeatRequest) -> Member | None:
    """The member that a valid heartbeat in Stable is of."""
    if group.state is not STABLE or request.generation_id != group.generation:
        return None
    member = group.lookup.get(request.member_id)
    if member is None or (request.group_instance_id is not None and request.group_instance_id != member.instance_id):
        return None
    return member


def _prolong(turn: Turn, timer: Timer, due_us: int) -> bool:
    """Move a session's deadline, if it runs and does not come nearer."""
    if not 0 <= timer.due_us <= due_us:
        return False
    timer.move(due_us, turn.timers.draw_ticket())
    return True


class Steady:
    """What the heartbeats of a Stable group are judged by, looked at once: the shortest way of all.

    Whoever brings the same request again and again may keep this, borrow the member's session timer (`Timer.lend`), and
    judge by `ready` alone: a heartbeat that comes when that is true is answered ALIVE, and prolongs the session by
    `session_us` from then on. It holds while the group's era lasts: what a heartbeat is judged by (the state, the
    generation, who has the member id, its timeouts) changes with the era only; a member that goes, or a partition that
    is given up, stops the session's timer. The members of a group with the same timeout share one of these. `kept` is
    for whoever brings their heartbeats.
    """

    __slots__ = ("_era", "_group", "_turn", "kept", "session_us")

    def __init__(self, turn: Turn, group: GroupData, session_us: int) -> None:
        self._turn = turn
        self._group = group
        self._era = group.era
        self.session_us = session_us
        self.kept: dict[Any, Any] = {}

    @property
    def holds(self) -> bool:
        """Whether the era it was made in lasts."""
        return self._group.era == self._era

    @property
    def ready(self) -> bool:
        """Whether a heartbeat is answered ALIVE, and at once; that changes only by what the coordinator is given."""
        return self._group.era == self._era and self._turn.purgatory.idle


def steady(group: GroupData, turn: Turn, request: HeartbeatRequest) -> tuple[Steady, Timer] | None:
    """The short way for heartbeats like this one, and the member's session; None when this is none for it."""
    member = _steady_member(group, request)
    if member is None or member.session is None:
        return None
    way, session_us = group.short_way, 1_000 * member.session_timeout_ms
    if way is None or way.session_us != session_us or not way.holds:
        way = group.short_way = Steady(turn, group, session_us)
    return way, member.session


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
