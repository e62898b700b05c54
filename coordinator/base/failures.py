"""Answers to errors that do not depend on a group's state.

Since 4.0 one table maps the error of a failed append to the client's. Up to 3.9 there are two, one for the record of a
group and one for offsets; the field `append_errors_by_kind` of `versions.Differences` chooses.

`protocol/messages/refusals.py` gives the shape of an answer. This module chooses the error, and shapes the one answer
that the coordinator shapes differently.

Sources: `GroupCoordinatorService.handleOperationException`, `CoordinatorOperationExceptionHelper`; of 3.9
`GroupMetadataManager.storeGroup` and `maybeConvertOffsetCommitError`; classic-protocol reference, 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.coordinator.base.versions import Differences
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeftMember,
    OffsetFetchRequest,
    Request,
    Response,
)
from groupsim.protocol.messages.refusals import refusal


class IllegalState(Exception):
    """The broker met a state that Kafka excludes; the client is answered UNKNOWN_SERVER_ERROR."""


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
    """Return the client's error for an append that ended with `error`; errors without an entry are passed on."""
    return _APPEND_ERRORS.get(error, error)


def group_append_error(differences: Differences, error: ErrorCode) -> ErrorCode:
    """Return the client's error for a group record whose append ended with `error`."""
    return _GROUP_ERRORS.get(error, error) if differences.append_errors_by_kind else append_error(error)


def offsets_append_error(error: ErrorCode) -> ErrorCode:
    """Return the client's error of a broker up to 3.9 for offsets whose append ended with `error`."""
    return _OFFSETS_ERRORS.get(error, error)


def operation_error(request: Request, error: ErrorCode) -> ErrorCode:
    """Return the client's error for an answer that waited for the append.

    NETWORK_EXCEPTION becomes COORDINATOR_LOAD_IN_PROGRESS (`CoordinatorOperationExceptionHelper`).
    """
    if error is ErrorCode.NETWORK_EXCEPTION:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    client_error = append_error(error)
    if isinstance(request, OffsetFetchRequest) and client_error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        return ErrorCode.NOT_COORDINATOR
    return client_error


def refused_by_group(request: Request, error: ErrorCode) -> Response:
    """Return the answer to a request of a member that the group's id refuses.

    A LeaveGroup with UNKNOWN_MEMBER_ID gets the error per member, a JoinGroup its member id back.
    """
    if isinstance(request, LeaveGroupRequest):
        return leave_failure(request, error)
    if isinstance(request, JoinGroupRequest):
        return JoinGroupResponse(error, member_id=request.member_id)
    answer: Response = refusal(request, error)
    return answer


def leave_failure(request: LeaveGroupRequest, error: ErrorCode) -> LeaveGroupResponse:
    """Return the answer to a LeaveGroup that failed: UNKNOWN_MEMBER_ID per member, any other error once at the top.

    Versions 0–2 have only the top-level field.
    """
    if error is not ErrorCode.UNKNOWN_MEMBER_ID or request.version < 3:
        return LeaveGroupResponse(error)
    members = tuple(LeftMember(member.member_id, member.group_instance_id, error) for member in request.members)
    return LeaveGroupResponse(ErrorCode.NONE, members)
