"""SyncGroup: the leader hands the assignment in, everybody fetches their part.

In CompletingRebalance the request is parked, the leader's too, and the leader's assignment is appended. When the
append is committed, and the group is still in that state and generation, everybody is answered and the group is
Stable. A leader may send it again meanwhile: a second append is made and the first request is forgotten.

Sources: `GroupMetadataManager.classicGroupSyncToClassicGroup`, `expirePendingSync`; classic-protocol reference, 1.4 and
2.8.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.failures import group_append_error
from groupsim.coordinator.base.timers import sync_timer
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.group_record import group_record
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.purgatory import SYNC_CONDITION
from groupsim.coordinator.classic.rebalance import (
    answer_sync,
    prepare,
    prepare_or_complete,
    remove_member,
    reset_assignments,
)
from groupsim.coordinator.classic.states import AWAITING_SYNC, DEAD, EMPTY, PREPARING_REBALANCE, STABLE, Cause, Reason
from groupsim.coordinator.classic.validation import member_error
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.javahash import java_set_order
from groupsim.protocol.messages.group import Api, SyncGroupRequest, SyncGroupResponse

# Looked up once: members of an enumeration are found slowly, and these are for every sync.
_SYNC, _NONE = Api.SYNC_GROUP, ErrorCode.NONE


def sync(group: GroupData, turn: Turn, call: CallToken, request: SyncGroupRequest) -> None:
    """Handle a SyncGroup to an existing group."""
    error = _error(turn, group, request)
    if error is not None:
        turn.reply(call, SyncGroupResponse(error))
        return
    member = group.lookup[request.member_id]
    _received(turn, group, member)
    if group.state is AWAITING_SYNC:
        _park(turn, group, call, member)
        if member.member_id == group.leader:
            _store(turn, group, request)
    else:
        if turn.differences.sync_keeps_session:
            turn.refresh_session(group, member)
        turn.reply(call, _assigned(group, member))


def _error(turn: Turn, group: GroupData, request: SyncGroupRequest) -> ErrorCode | None:
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    unknown = member_error(turn, group, request.member_id, request.group_instance_id, "sync-group")
    if unknown is not None:
        return unknown
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is PREPARING_REBALANCE else None


def _differs(asked: str | None, actual: str | None) -> bool:
    return asked is not None and actual is not None and asked != actual


def _received(turn: Turn, group: GroupData, member: Member) -> None:
    """One SyncGroup less to wait for; after the last the sync timer stops."""
    if group.pending_sync.pop(member.member_id, True) is None and not group.pending_sync:
        turn.stop_timer(sync_timer(group.group_id))


def _park(turn: Turn, group: GroupData, call: CallToken, member: Member) -> None:
    before, member.sync_call = member.sync_call, call
    if before is not None:
        turn.drop(before, _SYNC, group, member.member_id, "another SyncGroup of the same member took its place")
    turn.park(call, _SYNC, group, member, SYNC_CONDITION)


def _store(turn: Turn, group: GroupData, request: SyncGroupRequest) -> None:
    """Append the leader's assignment; who is not in it gets nothing, strangers in it are ignored."""
    given = {entry.member_id: entry.assignment for entry in request.assignments}
    assignments = {member_id: given.get(member_id, b"") for member_id in group.lookup}
    then = AssignmentStored(group, group.generation, request.member_id, assignments)
    turn.append((group_record(group, assignments),), then)


def _assigned(group: GroupData, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(_NONE, group.protocol_type, group.protocol, member.assignment)


@frozen(eq=False)
class AssignmentStored:
    """The leader's assignment is committed, or could not be written."""

    group: GroupData
    generation: int
    leader: str
    assignments: Mapping[str, bytes]

    def __call__(self, turn: Turn, error: ErrorCode | None) -> None:
        group = self.group
        if group.state is not AWAITING_SYNC or group.generation != self.generation:
            return  # the world has moved on; whoever was parked has been answered
        if error is None:
            self._deal_out(turn)
        else:
            told = group_append_error(turn.differences, error)
            reset_assignments(turn, group, told)
            text = f"Error {told.name} when storing group assignment during SyncGroup (member: {self.leader})."
            prepare_or_complete(turn, group, Reason(Cause.STORE_ERROR, text, self.leader))

    def _deal_out(self, turn: Turn) -> None:
        group = self.group
        for member in group.members.values():
            member.assignment = self.assignments.get(member.member_id, b"")
            if answer_sync(turn, member, _assigned(group, member)):
                turn.set_session(group, member)
        reason = Reason(Cause.ASSIGNMENT_STORED, "the leader's assignment is stored", self.leader)
        turn.change_state(group, reason, leader=group.leader, members=len(group.members), static=group.static_count)


def sync_timer_fired(turn: Turn, group: GroupData, generation: int) -> None:
    """Remove the members that never sent SyncGroup in this generation (KAFKA-12890)."""
    if generation != group.generation or group.state not in (AWAITING_SYNC, STABLE):
        return
    late = java_set_order(group.pending_sync)
    if not late:
        return
    for member_id in late:
        turn.end_session(group, member_id)
        if member_id in group.lookup:  # a ghost, a static member's former id, has nothing to be removed
            remove_member(turn, group, member_id, "sync-timeout")
    text = f"Removing [{', '.join(late)}] on pending sync request expiration"
    prepare(turn, group, Reason(Cause.SYNC_EXPIRED, text, late[0] if len(late) == 1 else None))
