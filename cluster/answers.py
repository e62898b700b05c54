"""What a broker can say about a request or a response without looking into a group: its columns in the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from groupsim.protocol.acl_messages import CreateAclsResponse, DeleteAclsResponse
from groupsim.protocol.admin_messages import CreateTopicsResponse, DeleteTopicsResponse
from groupsim.protocol.data_messages import ListOffsetsResponse, OffsetForLeaderEpochResponse
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    Api,
    FindCoordinatorRequest,
    LeaveGroupRequest,
    OffsetFetchResponse,
    Request,
    Response,
)
from groupsim.protocol.txn_messages import TxnOffsetCommitResponse

TITLES: dict[Api, str] = {api: api.title for api in Api}
"""The api column of the trace."""


def group_of(request: Request) -> str | None:
    """The group a request is about; None when it is about no single one."""
    if type(request) is FindCoordinatorRequest:
        return request.key if request.key_type == 0 else None
    return getattr(request, "group_id", None)


def member_of(request: Request) -> str | None:
    """The member id a request carries; None when it carries none (a first join, a commit from outside)."""
    if type(request) is LeaveGroupRequest:
        ids = [leaving.member_id for leaving in request.members]
        return (ids[0] or None) if len(ids) == 1 else None
    return getattr(request, "member_id", None) or None


def generation_of(message: Request | Response) -> int | None:
    """The generation a message carries, None when it carries none."""
    generation: int | None = getattr(message, "generation_id", None)
    return generation if generation is not None and generation >= 0 else None


def error_of(response: Response) -> ErrorCode:
    """The error of a response; of those that answer item by item, the first there is."""
    error: ErrorCode = getattr(response, "error", _NONE)
    items = _ITEMS.get(type(response))
    return error if error or items is None else next((found for found in items(response) if found), error)


_NONE = ErrorCode.NONE

# The errors of the items in a response, for those responses that have some.
_ITEMS: Mapping[type, Callable[[Any], Iterator[ErrorCode]]] = {
    ListOffsetsResponse: lambda response: (part.error for part in response.partitions),
    OffsetForLeaderEpochResponse: lambda response: (part.error for part in response.partitions),
    OffsetFetchResponse: lambda response: (part.error for part in response.offsets),
    CreateTopicsResponse: lambda response: (topic.error for topic in response.topics),
    DeleteTopicsResponse: lambda response: (topic.error for topic in response.topics),
    TxnOffsetCommitResponse: lambda response: (error for _, error in response.results),
    CreateAclsResponse: lambda response: (error for error, _ in response.results),
    DeleteAclsResponse: lambda response: (result.error for result in response.results),
}
