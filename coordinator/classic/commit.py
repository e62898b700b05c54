"""Check the sender of an offset commit to a classic group, and prolong its session.

Source: `ClassicGroup.validateOffsetCommit`, `OffsetMetadataManager.commitOffset`; classic-protocol reference, 1.7 and
1.8.
"""

from __future__ import annotations

from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.states import AWAITING_SYNC, DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from groupsim.coordinator.classic.validation import member_error
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import OffsetCommitRequest
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest

_PROLONGING = (STABLE, PREPARING_REBALANCE)


def commit_error(group: GroupData, op: Operation, request: OffsetCommitRequest) -> ErrorCode | None:
    """Return the error of a sender that may not commit now; None when it may.

    A sender with generation -1 may commit to an Empty group only; a sender that claims membership is checked. An
    accepted commit prolongs the member's session, as a heartbeat does.
    """
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if request.generation_id < 0 and group.state is EMPTY:
        return None
    if _is_anonymous(request):
        return ErrorCode.UNKNOWN_MEMBER_ID
    # Between its JoinGroup and SyncGroup a member has the new generation, but no right to commit for it yet.
    error = _fenced(op, group, request, "offset-commit") or (
        ErrorCode.REBALANCE_IN_PROGRESS if group.state is AWAITING_SYNC else None
    )
    if error is None and group.state in _PROLONGING:
        op.refresh_session(group, group.lookup[request.member_id])
    return error


def txn_commit_error(group: GroupData, op: Operation, request: TxnOffsetCommitRequest) -> ErrorCode | None:
    """Return the same for a commit in a transaction.

    The state does not matter. An anonymous sender passes, because requests before version 3 have no fields for it.
    """
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    outside = request.generation_id < 0 and group.state is EMPTY
    if outside or _is_anonymous(request):
        return None
    return _fenced(op, group, request, "txn-offset-commit")


def _is_anonymous(request: OffsetCommitRequest | TxnOffsetCommitRequest) -> bool:
    return request.generation_id < 0 and request.member_id == "" and request.group_instance_id is None


def _fenced(
    op: Operation, group: GroupData, request: OffsetCommitRequest | TxnOffsetCommitRequest, request_name: str
) -> ErrorCode | None:
    """Return the error of a sender that claims membership and is fenced, unknown, or of another generation."""
    unknown = member_error(op, group, request.member_id, request.group_instance_id, request_name)
    if unknown is not None:
        return unknown
    # Generation -1 with a valid member id is ILLEGAL_GENERATION, too (`ClassicGroup.validateOffsetCommit`).
    return None if request.generation_id == group.generation else ErrorCode.ILLEGAL_GENERATION
