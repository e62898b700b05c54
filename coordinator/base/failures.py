"""How each request is told of an error that has nothing to do with its group's state.

A failed append is answered by one table since 4.0. Up to 3.9 there are two, one for the record of a group and one for
offsets; the row `append_errors_by_kind` of `versions.Differences` chooses.

The shape of the answer is `protocol/messages/refusals.py`'s; here is which error it says, and the one answer that the
coordinator shapes otherwise.

Sources: `GroupCoordinatorService.handleOperationException`, `CoordinatorOperationExceptionHelper`; of 3.9
`GroupMetadataManager.storeGroup` and `maybeConvertOffsetCommitError`; classic-protocol reference, 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.coordinator.base.versions import Differences
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeftMember,
    OffsetFetchRequest,
    Request,
)

_APPEND_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}

_BOTH_KINDS: Mapping[ErrorCode, ErrorCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}
_GROUP_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    **_BOTH_KINDS,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
_OFFSETS_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    **_BOTH_KINDS,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
}


def append_error(error: ErrorCode) -> ErrorCode:
    """Return the error that a client gets for an append that ended with `error`; other errors are passed on."""
    return _APPEND_ERRORS.get(error, error)


def group_append_error(differences: Differences, error: ErrorCode) -> ErrorCode:
    """Return the error that a client gets for a group record whose append ended with `error`."""
    return _GROUP_ERRORS.get(error, error) if differences.append_errors_by_kind else append_error(error)


def offsets_append_error(error: ErrorCode) -> ErrorCode:
    """Return the error that a broker up to 3.9 gives for offsets whose append ended with `error`."""
    return _OFFSETS_ERRORS.get(error, error)


def operation_error(request: Request, error: ErrorCode) -> ErrorCode:
    """The same for an answer that waited for the append; a network error there means that the load goes on."""
    if error is ErrorCode.NETWORK_EXCEPTION:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    told = append_error(error)
    if isinstance(request, OffsetFetchRequest) and told is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        return ErrorCode.NOT_COORDINATOR
    return told


def leave_failure(request: LeaveGroupRequest, error: ErrorCode) -> LeaveGroupResponse:
    """UNKNOWN_MEMBER_ID is told per member; any other error once. Versions 0–2 have one place for either."""
    if error is not ErrorCode.UNKNOWN_MEMBER_ID or request.version < 3:
        return LeaveGroupResponse(error)
    told = tuple(LeftMember(member.member_id, member.group_instance_id, error) for member in request.members)
    return LeaveGroupResponse(ErrorCode.NONE, told)
