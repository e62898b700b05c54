"""What a broker can say about a request without looking into a group: its columns, and an answer that is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    Api,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FetchedOffset,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Request,
    Response,
    SyncGroupResponse,
    TopicInfo,
)

TITLES: dict[Api, str] = {api: api.title for api in Api}
"""The api column of the trace."""


def group_of(request: Request) -> str | None:
    """The group a request is about; None when it is about no single one."""
    if isinstance(request, FindCoordinatorRequest):
        return request.key
    return getattr(request, "group_id", None)


def member_of(request: Request) -> str | None:
    """The member id a request carries; None when it carries none (a first join, a commit from outside)."""
    if isinstance(request, LeaveGroupRequest):
        ids = [leaving.member_id for leaving in request.members]
        return (ids[0] or None) if len(ids) == 1 else None
    return getattr(request, "member_id", None) or None


def generation_of(message: Request | Response) -> int | None:
    """The generation a message carries, None when it carries none."""
    generation: int | None = getattr(message, "generation_id", None)
    return generation if generation is not None and generation >= 0 else None


def error_of(response: Response) -> ErrorCode:
    """The error of a response; of those that answer item by item, the first there is."""
    error: ErrorCode = getattr(response, "error", ErrorCode.NONE)
    return error


def error_response(request: Request, error: ErrorCode) -> Response:
    """The response to `request` that says `error` and nothing else, shaped as Kafka's `getErrorResponse` does.

    A JoinGroup that fails this way names no member (classic-protocol reference, 1.2).
    """
    return _ERRORS[request.API](request, error)


def _metadata(request: MetadataRequest, error: ErrorCode) -> Response:
    return MetadataResponse(brokers=(), topics=tuple(TopicInfo(name, error) for name in request.topics or ()))


def _commit(request: OffsetCommitRequest, error: ErrorCode) -> Response:
    return OffsetCommitResponse(tuple((item.partition, error) for item in request.offsets))


def _offset_fetch(request: OffsetFetchRequest, error: ErrorCode) -> Response:
    offsets = tuple(FetchedOffset(partition, error=error) for partition in request.partitions or ())
    return OffsetFetchResponse(error, offsets)


def _describe(request: DescribeGroupsRequest, error: ErrorCode) -> Response:
    return DescribeGroupsResponse(tuple(DescribedGroup(group, error) for group in request.groups))


def _delete(request: DeleteGroupsRequest, error: ErrorCode) -> Response:
    return DeleteGroupsResponse(tuple((group, error) for group in request.groups))


_ERRORS: dict[Api, Callable[[Any, ErrorCode], Response]] = {
    Api.METADATA: _metadata,
    Api.FIND_COORDINATOR: lambda request, error: FindCoordinatorResponse(error),
    Api.JOIN_GROUP: lambda request, error: JoinGroupResponse(error),
    Api.SYNC_GROUP: lambda request, error: SyncGroupResponse(error),
    Api.HEARTBEAT: lambda request, error: HeartbeatResponse(error),
    Api.LEAVE_GROUP: lambda request, error: LeaveGroupResponse(error),
    Api.OFFSET_COMMIT: _commit,
    Api.OFFSET_FETCH: _offset_fetch,
    Api.OFFSET_DELETE: lambda request, error: OffsetDeleteResponse(error),
    Api.DESCRIBE_GROUPS: _describe,
    Api.LIST_GROUPS: lambda request, error: ListGroupsResponse(error),
    Api.DELETE_GROUPS: _delete,
}
