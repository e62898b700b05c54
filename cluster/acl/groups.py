"""What is asked of who asks about groups: members, and administrators.

Source: `KafkaApis.handleJoinGroupRequest` and its neighbours; classic-protocol reference, 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve

from groupsim.cluster.acl.authorization import Check, Visit
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
_PROTOCOL_REQUIRED = 5  # from this version of SyncGroup on its absence comes before all else


def reads_group(visit: Visit, request: Any) -> None:
    """A member reads its group."""
    if visit.may(Operation.READ, Resource.GROUP, request.group_id):
        visit.go_on(request)
    else:
        visit.refuse(NO_GROUP)


def _sync(visit: Visit, request: SyncGroupRequest) -> None:
    unnamed = request.protocol_type is None or request.protocol_name is None
    if unnamed and request.version >= _PROTOCOL_REQUIRED:
        visit.go_on(request)
    else:
        reads_group(visit, request)


def _find(visit: Visit, request: FindCoordinatorRequest) -> None:
    """Who describes a group, or a transactional id, may know who coordinates it."""
    kind, error = (
        (Resource.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if request.key_type
        else (Resource.GROUP, NO_GROUP)
    )
    if visit.may(Operation.DESCRIBE, kind, request.key):
        visit.go_on(request)
    else:
        visit.answer(FindCoordinatorResponse(error))


def _describe(visit: Visit, request: DescribeGroupsRequest) -> None:
    seen = visit.allowed(Operation.DESCRIBE, Resource.GROUP, request.groups)

    def told(answer: DescribeGroupsResponse) -> DescribeGroupsResponse:
        found = iter(answer.groups)
        groups = (next(found) if seen[name] else DescribedGroup(name, NO_GROUP) for name in request.groups)
        return DescribeGroupsResponse(tuple(_with_operations(visit, group, request) for group in groups))

    some = tuple(name for name in request.groups if seen[name])
    visit.go_on_with(evolve(request, groups=some), told)


def _with_operations(visit: Visit, group: DescribedGroup, request: DescribeGroupsRequest) -> DescribedGroup:
    if not request.include_authorized_operations or group.error:
        return group
    return evolve(group, authorized_operations=visit.operations(Resource.GROUP, group.group_id))


def _list(visit: Visit, request: ListGroupsRequest) -> None:
    """Who describes the cluster sees all groups, others those that they may describe."""
    if visit.may_with_cluster(Operation.DESCRIBE):
        visit.go_on(request)
        return

    def told(answer: ListGroupsResponse) -> ListGroupsResponse:
        seen = visit.allowed(Operation.DESCRIBE, Resource.GROUP, (group.group_id for group in answer.groups))
        return evolve(answer, groups=tuple(group for group in answer.groups if seen[group.group_id]))

    visit.go_on_with(request, told)


def _delete(visit: Visit, request: DeleteGroupsRequest) -> None:
    asked = tuple(dict.fromkeys(request.groups))
    mine = visit.allowed(Operation.DELETE, Resource.GROUP, asked)

    def told(answer: DeleteGroupsResponse) -> DeleteGroupsResponse:
        results = dict(answer.results)
        return DeleteGroupsResponse(tuple((name, results[name] if mine[name] else NO_GROUP) for name in asked))

    visit.go_on_with(evolve(request, groups=tuple(name for name in asked if mine[name])), told)


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
