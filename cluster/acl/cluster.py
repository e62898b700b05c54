"""Authorization checks for requests about settings, the cluster and ACLs.

Source: `ConfigHelper.handleDescribeConfigsRequest`, `ControllerApis.authorizeAlterResource`,
`AuthHelper.computeDescribeClusterResponse`, `AclApis`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import evolve

from groupsim.cluster.acl.authorization import AuthContext, Check, of_cluster, unchecked
from groupsim.cluster.acl.control import not_authorized, refused
from groupsim.cluster.acl.groups import NO_GROUP
from groupsim.cluster.acl.offsets import NO_TOPIC
from groupsim.cluster.acl.transactions import NO_CLUSTER
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import (
    AclRequest,
    AclResponse,
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

_MESSAGES: Final[Mapping[ErrorCode, str]] = {
    NO_TOPIC: "Topic authorization failed.",
    NO_GROUP: "Group authorization failed.",
    NO_CLUSTER: "Cluster authorization failed.",
}


def alter_error(auth: AuthContext, kind: int, name: str) -> tuple[ErrorCode, str | None] | None:
    """Return the error and its message when the caller may not alter these settings; None when it may."""
    error = config_error(auth, Operation.ALTER_CONFIGS, kind, name)
    # `ControllerApis` sends the error without a message; `ConfigHelper` of the broker, which checks topics, adds one.
    return None if error is None else (error, _MESSAGES[error] if kind == TOPIC_RESOURCE else None)


def config_error(auth: AuthContext, operation: Operation, kind: int, name: str) -> ErrorCode | None:
    """Return the error for an operation on the settings of a topic, group or broker; None when it is allowed."""
    if kind == TOPIC_RESOURCE:
        return None if auth.allows(operation, Resource.TOPIC, name) else NO_TOPIC
    if kind == GROUP_RESOURCE:
        return None if auth.allows(operation, Resource.GROUP, name) else NO_GROUP
    return None if auth.allows_cluster(operation) else NO_CLUSTER


def _describe_configs(auth: AuthContext, request: DescribeConfigsRequest) -> None:
    errors = [config_error(auth, Operation.DESCRIBE_CONFIGS, one.type, one.name) for one in request.resources]
    pairs = list(zip(request.resources, errors, strict=True))
    refused = [ConfigsDescribed(one.type, one.name, why, _MESSAGES[why]) for one, why in pairs if why is not None]
    if not refused:
        auth.forward(request)
        return

    def complete(answer: DescribeConfigsResponse) -> DescribeConfigsResponse:
        return DescribeConfigsResponse((*answer.results, *refused))

    auth.forward_with(evolve(request, resources=tuple(one for one, why in pairs if why is None)), complete)


def _describe_cluster(auth: AuthContext, request: DescribeClusterRequest) -> None:
    """Forward always: DescribeCluster needs no permission; only the authorized operations depend on the caller."""
    if not request.include_authorized_operations:
        auth.forward(request)
    else:
        auth.forward_with(request, lambda answer: evolve(answer, operations=auth.cluster_operations()))


def _refused(request: AclRequest) -> AclResponse:
    return refused(request, NO_CLUSTER, not_authorized(request))


CHECKS: Mapping[type, Check] = {
    DescribeConfigsRequest: _describe_configs,
    # `AdminRequests.forbids` checks each resource after it has found a change in it.
    IncrementalAlterConfigsRequest: unchecked,
    AlterConfigsRequest: unchecked,
    ListConfigResourcesRequest: of_cluster(Operation.DESCRIBE_CONFIGS),
    DescribeClusterRequest: _describe_cluster,
    DescribeAclsRequest: of_cluster(Operation.DESCRIBE, _refused),
    CreateAclsRequest: of_cluster(Operation.ALTER, _refused),
    DeleteAclsRequest: of_cluster(Operation.ALTER, _refused),
}
"""Request class → its check."""
