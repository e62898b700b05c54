"""Authorization checks for group requests.

Source: `KafkaApis.handleJoinGroupRequest` and its neighbours; classic-protocol reference, 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve

from groupsim.cluster.acl.authorization import AuthContext, Check
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import Operation, Resource
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    SyncGroupRequest,
)

NO_GROUP: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
_PROTOCOL_REQUIRED = 5


def reads_group(auth: AuthContext, request: Any) -> None:
    """Require READ on the group."""
    if auth.allows(Operation.READ, Resource.GROUP, request.group_id):
        auth.forward(request)
    else:
        auth.refuse(NO_GROUP)


def _sync(auth: AuthContext, request: SyncGroupRequest) -> None:
    unnamed = request.protocol_type is None or request.protocol_name is None
    # `KafkaApis.handleSyncGroupRequest` looks for the protocol (KIP-559) before it authorizes the request.
    if unnamed and request.version >= _PROTOCOL_REQUIRED:
        auth.forward(request)
    else:
        reads_group(auth, request)


def _find(auth: AuthContext, request: FindCoordinatorRequest) -> None:
    """Require DESCRIBE on the group or the transactional id."""
    kind, error = (
        (Resource.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if request.key_type
        else (Resource.GROUP, NO_GROUP)
    )
    if auth.allows(Operation.DESCRIBE, kind, request.key):
        auth.forward(request)
    else:
        auth.answer(FindCoordinatorResponse(error))


def _describe(auth: AuthContext, request: DescribeGroupsRequest) -> None:
    described = auth.allowed(Operation.DESCRIBE, Resource.GROUP, request.groups)

    def complete(answer: DescribeGroupsResponse) -> DescribeGroupsResponse:
        found = iter(answer.groups)
        groups = (next(found) if described[name] else DescribedGroup(name, NO_GROUP) for name in request.groups)
        return DescribeGroupsResponse(tuple(_with_operations(auth, group, request) for group in groups))

    some = tuple(name for name in request.groups if described[name])
    auth.forward_with(evolve(request, groups=some), complete)


def _with_operations(auth: AuthContext, group: DescribedGroup, request: DescribeGroupsRequest) -> DescribedGroup:
    if not request.include_authorized_operations or group.error:
        return group
    return evolve(group, authorized_operations=auth.operations(Resource.GROUP, group.group_id))


def _list(auth: AuthContext, request: ListGroupsRequest) -> None:
    """Leave groups that the caller may not describe out, without an error, unless it may describe the cluster."""
    if auth.allows_cluster(Operation.DESCRIBE):
        auth.forward(request)
        return

    def complete(answer: ListGroupsResponse) -> ListGroupsResponse:
        described = auth.allowed(Operation.DESCRIBE, Resource.GROUP, (group.group_id for group in answer.groups))
        return evolve(answer, groups=tuple(group for group in answer.groups if described[group.group_id]))

    auth.forward_with(request, complete)


def _delete(auth: AuthContext, request: DeleteGroupsRequest) -> None:
    named = tuple(dict.fromkeys(request.groups))
    allowed = auth.allowed(Operation.DELETE, Resource.GROUP, named)

    def complete(answer: DeleteGroupsResponse) -> DeleteGroupsResponse:
        results = dict(answer.results)
        return DeleteGroupsResponse(tuple((name, results[name] if allowed[name] else NO_GROUP) for name in named))

    auth.forward_with(evolve(request, groups=tuple(name for name in named if allowed[name])), complete)


CHECKS: Mapping[type, Check] = {
    JoinGroupRequest: reads_group,
    SyncGroupRequest: _sync,
    HeartbeatRequest: reads_group,
    LeaveGroupRequest: reads_group,
    FindCoordinatorRequest: _find,
    DescribeGroupsRequest: _describe,
    ListGroupsRequest: _list,
    DeleteGroupsRequest: _delete,
}
"""Request class → its check."""
