"""CreateAcls, DescribeAcls, DeleteAcls.

An element of an unknown kind (0) is no request: the connection ends. A filter of a newer kind matches no ACL.

Sources: `CreateAclsRequest.validate`, `DescribeAclsResponse.aclsResources`, `DeleteAclsResponse.filterResult`,
`AclApis`; KIP-140, KIP-290.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groupsim.protocol.basics import Api
from groupsim.protocol.messages.acl import (
    Acl,
    AclFilter,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DeletedAcls,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from groupsim.protocol.wire.exchange import Directory, Exchange, Unreadable
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import one

_UNKNOWN = 0


def _create(fields: Fields, header: Header, directory: Directory) -> Exchange:
    acls = tuple([_acl(each, header) for each in fields["creations"]])
    return one(header, CreateAclsRequest(acls, header.version), _encode_created)


def _acl(fields: Fields, header: Header) -> Acl:
    acl = Acl(
        resource=fields["resource_type"],
        name=fields["resource_name"],
        pattern=fields["resource_pattern_type"],
        principal=fields["principal"],
        host=fields["host"],
        operation=fields["operation"],
        permission=fields["permission_type"],
    )
    _check(header, acl.resource, acl.pattern, acl.operation, acl.permission)
    return acl


def _check(header: Header, *codes: int) -> None:
    if _UNKNOWN in codes:
        raise Unreadable(f"{header.api.title} {header.version}: an ACL of an unknown kind")


def _encode_created(answer: CreateAclsResponse) -> Fields:
    results = [{"error_code": error, "error_message": why} for error, why in answer.results]
    return {"throttle_time": 0, "results": results}


def _filter(fields: Fields, header: Header) -> AclFilter:
    asked = AclFilter(
        resource=fields["resource_type_filter"],
        name=fields["resource_name_filter"],
        pattern=fields["pattern_type_filter"],
        principal=fields["principal_filter"],
        host=fields["host_filter"],
        operation=fields["operation"],
        permission=fields["permission_type"],
    )
    _check(header, asked.resource, asked.pattern, asked.operation, asked.permission)
    return asked


def _describe(fields: Fields, header: Header, directory: Directory) -> Exchange:
    return one(header, DescribeAclsRequest(_filter(fields, header), header.version), _encode_described)


def _encode_described(answer: DescribeAclsResponse) -> Fields:
    """Return the ACLs under their resources, each at the place of its first one."""
    resources: dict[tuple[int, str, int], list[Fields]] = {}
    for acl in answer.acls:
        resources.setdefault((acl.resource, acl.name, acl.pattern), []).append(_entry(acl))
    return {
        "throttle_time": 0,
        "error_code": answer.error,
        "error_message": answer.message,
        "resources": [
            {"resource_type": resource, "resource_name": name, "pattern_type": pattern, "acls": entries}
            for (resource, name, pattern), entries in resources.items()
        ],
    }


def _entry(acl: Acl) -> Fields:
    return {
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permission_type": acl.permission,
    }


def _delete(fields: Fields, header: Header, directory: Directory) -> Exchange:
    filters = tuple([_filter(each, header) for each in fields["filters"]])
    return one(header, DeleteAclsRequest(filters, header.version), _encode_deleted)


def _encode_deleted(answer: DeleteAclsResponse) -> Fields:
    return {"throttle_time": 0, "filter_results": [_deleted(result) for result in answer.results]}


def _deleted(result: DeletedAcls) -> Fields:
    matching = [
        {
            "error_code": 0,
            "error_message": None,
            "resource_type": acl.resource,
            "resource_name": acl.name,
            "pattern_type": acl.pattern,
            **_entry(acl),
        }
        for acl in result.acls
    ]
    return {"error_code": result.error, "error_message": result.message, "matching_acls": matching}


READERS: Mapping[Api, Callable[[Fields, Header, Directory], Exchange]] = {
    Api.DESCRIBE_ACLS: _describe,
    Api.CREATE_ACLS: _create,
    Api.DELETE_ACLS: _delete,
}
"""API → the function that makes an exchange from a request's fields."""
