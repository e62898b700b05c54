"""Who may commit offsets to a classic group, and what that does to the session.

Source: `ClassicGroup.validateOffsetCommit`, `OffsetMetadataManager.commitOffset`; classic-protocol reference, 1.7 and
1.8.
"""

from __future__ import annotations

from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.states import AWAITING_SYNC, DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from groupsim.coordinator.classic.validation import member_error
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import OffsetCommitRequest
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest

_PROLONGING = (STABLE, PREPARING_REBALANCE)


def commit_error(group: GroupData, turn: Turn, request: OffsetCommitRequest) -> ErrorCode | None:
    """Why the sender may not commit now; None when it may.

    From outside (generation -1) only an empty group can be committed to; whoever claims membership is checked.
    """
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if request.generation_id < 0 and group.state is EMPTY:
        return None
    if _is_anonymous(request):
        return ErrorCode.UNKNOWN_MEMBER_ID
    return _fenced(turn, group, request, "offset-commit") or (
        ErrorCode.REBALANCE_IN_PROGRESS if group.state is AWAITING_SYNC else None
    )


def txn_commit_error(group: GroupData, turn: Turn, request: TxnOffsetCommitRequest) -> ErrorCode | None:
    """The same for a commit in a transaction. Its state does not matter, and an anonymous one is let through: requests
    before version 3 cannot say who sends them.
    """
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    outside = request.generation_id < 0 and group.state is EMPTY
    if outside or _is_anonymous(request):
        return None
    return _fenced(turn, group, request, "txn-offset-commit")


def _is_anonymous(request: OffsetCommitRequest | TxnOffsetCommitRequest) -> bool:
    return request.generation_id < 0 and request.member_id == "" and request.group_instance_id is None


def _fenced(
    turn: Turn, group: GroupData, request: OffsetCommitRequest | TxnOffsetCommitRequest, operation: str
) -> ErrorCode | None:
    """Why one that claims membership is not believed: no member, another process's, or of another generation."""
    unknown = member_error(turn, group, request.member_id, request.group_instance_id, operation)
    if unknown is not None:
        return unknown
    return None if request.generation_id == group.generation else ErrorCode.ILLEGAL_GENERATION


def keep_session(group: GroupData, turn: Turn, member_id: str) -> None:
    """An accepted commit counts as a heartbeat in Stable and PreparingRebalance."""
    if group.state in _PROLONGING:
        turn.refresh_session(group, group.lookup[member_id])
