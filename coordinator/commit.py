"""Who may commit offsets to a classic group, and what that does to the session.

Source: `ClassicGroup.validateOffsetCommit`, `OffsetMetadataManager.commitOffset`; classic-protocol reference, 1.7.
"""

from __future__ import annotations

from groupsim.coordinator.group import GroupData
from groupsim.coordinator.states import State
from groupsim.coordinator.turn import Turn
from groupsim.coordinator.validation import member_error
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import OffsetCommitRequest


def commit_error(turn: Turn, group: GroupData, request: OffsetCommitRequest) -> ErrorCode | None:
    """Why the sender may not commit now; None when it may.

    From outside (generation -1) only an empty group can be committed to; whoever claims membership is checked.
    """
    if group.state is State.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if request.generation_id < 0 and group.state is State.EMPTY:
        return None
    if request.generation_id < 0 and request.member_id == "" and request.group_instance_id is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    unknown = member_error(turn, group, request.member_id, request.group_instance_id, "offset-commit")
    if unknown is not None:
        return unknown
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is State.AWAITING_SYNC else None


def keep_session(turn: Turn, group: GroupData, member_id: str) -> None:
    """An accepted commit counts as a heartbeat in Stable and PreparingRebalance."""
    if group.state in (State.STABLE, State.PREPARING_REBALANCE):
        turn.refresh_session(group, group.lookup[member_id])
