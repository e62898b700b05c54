"""How each request is told of an error that has nothing to do with its group's state.

Sources: `GroupCoordinatorService.handleOperationException`, `CoordinatorOperationExceptionHelper`; classic-protocol
reference, 1.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FetchedOffset,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeftMember,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupsim.protocol.txn_messages import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
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


def append_error(error: ErrorCode) -> ErrorCode:
    """What a client is told when an append ended with `error`; other errors stand for themselves."""
    return _APPEND_ERRORS.get(error, error)


def operation_error(request: Request, error: ErrorCode) -> ErrorCode:
    """The same for an answer that waited for the append; a network error there means that the load goes on."""
    if error is ErrorCode.NETWORK_EXCEPTION:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    told = append_error(error)
    if isinstance(request, OffsetFetchRequest) and told is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        return ErrorCode.NOT_COORDINATOR
    return told


def failure(request: Request, error: ErrorCode) -> Response:
    """The response to `request` that says `error` and nothing else."""
    return _FAILURES[type(request)](request, error)


def leave_failure(request: LeaveGroupRequest, error: ErrorCode) -> LeaveGroupResponse:
    """UNKNOWN_MEMBER_ID is told per member; any other error once. Versions 0–2 have one place for either."""
    if error is not ErrorCode.UNKNOWN_MEMBER_ID or request.version < 3:
        return LeaveGroupResponse(error)
    told = tuple(LeftMember(member.member_id, member.group_instance_id, error) for member in request.members)
    return LeaveGroupResponse(ErrorCode.NONE, told)


def fetch_failure(request: OffsetFetchRequest, error: ErrorCode) -> OffsetFetchResponse:
    """Versions 0 and 1 have no top-level error: it is repeated per partition."""
    if request.version >= 2:
        return OffsetFetchResponse(error)
    return OffsetFetchResponse(error, tuple(FetchedOffset(tp, error=error) for tp in request.partitions or ()))


def _commit_failure(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(tuple((entry.partition, error) for entry in request.offsets))


def _describe_failure(request: DescribeGroupsRequest, error: ErrorCode) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(tuple(DescribedGroup(group_id, error) for group_id in request.groups))


def _delete_failure(request: DeleteGroupsRequest, error: ErrorCode) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(tuple((group_id, error) for group_id in request.groups))


def _txn_commit_failure(request: TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(tuple((entry.partition, error) for entry in request.offsets))


def _markers_failure(request: WriteTxnMarkersRequest, error: ErrorCode) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        tuple((marker.producer_id, tuple((tp, error) for tp in marker.partitions)) for marker in request.markers)
    )


_FAILURES: Mapping[type[Any], Callable[[Any, ErrorCode], Response]] = {
    JoinGroupRequest: lambda request, error: JoinGroupResponse(error),
    SyncGroupRequest: lambda request, error: SyncGroupResponse(error),
    HeartbeatRequest: lambda request, error: HeartbeatResponse(error),
    LeaveGroupRequest: leave_failure,
    OffsetCommitRequest: _commit_failure,
    OffsetFetchRequest: fetch_failure,
    OffsetDeleteRequest: lambda request, error: OffsetDeleteResponse(error),
    DescribeGroupsRequest: _describe_failure,
    ListGroupsRequest: lambda request, error: ListGroupsResponse(error),
    DeleteGroupsRequest: _delete_failure,
    TxnOffsetCommitRequest: _txn_commit_failure,
    WriteTxnMarkersRequest: _markers_failure,
}
