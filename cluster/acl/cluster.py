"""What is asked of who looks at settings or changes them, at the cluster, and at ACLs.

Source: `ConfigHelper.handleDescribeConfigsRequest`, `ControllerApis.authorizeAlterResource`,
`AuthHelper.computeDescribeClusterResponse`, `AclApis`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve

from groupsim.cluster.acl.authorization import Check, Visit
from groupsim.cluster.acl.control import not_authorized, refused
from groupsim.cluster.acl.groups import NO_GROUP
from groupsim.cluster.acl.offsets import NO_TOPIC
from groupsim.cluster.acl.transactions import NO_CLUSTER
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import (
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    Operation,
    Resource,
)
from groupsim.protocol.messages.admin import (
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    AlterConfigsRequest,
    ConfigsDescribed,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)

_WORDS: Final[Mapping[ErrorCode, str]] = {
    NO_TOPIC: "Topic authorization failed.",
    NO_GROUP: "Group authorization failed.",
    NO_CLUSTER: "Cluster authorization failed.",
}


def may_alter(visit: Visit, kind: int, name: str) -> tuple[ErrorCode, str | None] | None:
    """Why who asks may not change settings, with words where the broker tells it and not the controller."""
    why = forbidden(visit, Operation.ALTER_CONFIGS, kind, name)
    return None if why is None else (why, _WORDS[why] if kind == TOPIC_RESOURCE else None)


def forbidden(visit: Visit, operation: Operation, kind: int, name: str) -> ErrorCode | None:
    """Why who asks may not do this with the settings of a topic, a group, a broker; None when it may."""
    if kind == TOPIC_RESOURCE:
        return None if visit.may(operation, Resource.TOPIC, name) else NO_TOPIC
    if kind == GROUP_RESOURCE:
        return None if visit.may(operation, Resource.GROUP, name) else NO_GROUP
    return None if visit.may_with_cluster(operation) else NO_CLUSTER


def _describe_configs(visit: Visit, request: DescribeConfigsRequest) -> None:
    errors = [forbidden(visit, Operation.DESCRIBE_CONFIGS, one.type, one.name) for one in request.resources]
    pairs = list(zip(request.resources, errors, strict=True))
    refused = [ConfigsDescribed(one.type, one.name, why, _WORDS[why]) for one, why in pairs if why is not None]
    if not refused:
        visit.go_on(request)
        return

    def told(answer: DescribeConfigsResponse) -> DescribeConfigsResponse:
        return DescribeConfigsResponse((*answer.results, *refused))

    visit.go_on_with(evolve(request, resources=tuple(one for one, why in pairs if why is None)), told)


def _alter_configs(visit: Visit, request: IncrementalAlterConfigsRequest | AlterConfigsRequest) -> None:
    """Asked for each resource where it is looked at (`AdminRequests.forbids`): what is no change comes before."""
    visit.go_on(request)


def _describe_cluster(visit: Visit, request: DescribeClusterRequest) -> None:
    """Everybody may see it; what may be done with it depends."""
    if not request.include_authorized_operations:
        visit.go_on(request)
    else:
        visit.go_on_with(request, lambda answer: evolve(answer, operations=visit.cluster_operations()))


def _list_resources(visit: Visit, request: ListConfigResourcesRequest) -> None:
    _of_cluster(visit, request, Operation.DESCRIBE_CONFIGS)


def _describe_acls(visit: Visit, request: DescribeAclsRequest) -> None:
    _of_cluster(visit, request, Operation.DESCRIBE)


def _alter_acls(visit: Visit, request: Any) -> None:
    _of_cluster(visit, request, Operation.ALTER)


def _of_cluster(visit: Visit, request: Any, operation: Operation) -> None:
    if visit.may_with_cluster(operation):
        visit.go_on(request)
    else:
        visit.answer(refused(request, NO_CLUSTER, not_authorized(request)))


CHECKS: Mapping[type, Check] = {
    DescribeConfigsRequest: _describe_configs,
    IncrementalAlterConfigsRequest: _alter_configs,
    AlterConfigsRequest: _alter_configs,
    ListConfigResourcesRequest: _list_resources,
    DescribeClusterRequest: _describe_cluster,
    DescribeAclsRequest: _describe_acls,
    CreateAclsRequest: _alter_acls,
    DeleteAclsRequest: _alter_acls,
}
"""Request class → its check."""
