"""Access control lists, and the requests about them, as values.

An ACL allows or denies a principal on a host an operation on the resources that a pattern names. The numbers are
Kafka's codes; 0 is UNKNOWN and 1 ANY in all of them, and both occur in filters only, never in a stored ACL.

Sources: `CreateAclsRequest.json`, `DescribeAclsRequest.json`, `DeleteAclsRequest.json`; `ResourceType`, `PatternType`,
`AclOperation`, `AclPermissionType`, `ResourcePatternFilter`, `AccessControlEntryFilter`; KIP-4, KIP-140, KIP-290.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar, Final, TypeAlias

from groupsim.protocol.basics import AnsweredBy, Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.values import frozen

ANY: Final = 1
"""The code for "any" in every filter's kind, operation, permission or pattern."""
MATCH: Final = 2
"""The pattern type of a filter for all patterns that match a resource of its name."""
WILDCARD: Final = "*"
CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the one resource of the type CLUSTER."""
ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of an unauthenticated connection."""
NOT_ASKED: Final = -(2**31)
"""The authorized operations of an answer to a request that did not ask for them."""


class Resource(IntEnum):
    """The type of an ACL's resource."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Pattern(IntEnum):
    """The meaning of the name of an ACL's resource; the LITERAL "*" is every name."""

    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """An operation on a resource; ALL stands for each of them."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """The effect of an ACL."""

    DENY = 2
    ALLOW = 3


@frozen(order=True)
class Acl:
    """One ACL, as codes. Those of a request may be any number; those of a stored ACL are of the enums above."""

    resource: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int


@frozen
class AclFilter:
    """A filter: it matches the ACLs that agree in every field that is neither None nor ANY."""

    resource: int = ANY
    name: str | None = None
    pattern: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission: int = ANY

    def takes(self, acl: Acl) -> bool:
        """Whether the filter matches an ACL."""
        return (
            self._takes_resource(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
        )

    def _takes_resource(self, acl: Acl) -> bool:
        if self.resource not in (ANY, acl.resource) or self.pattern not in (ANY, MATCH, acl.pattern):
            return False
        if self.name is None or self.pattern != MATCH:
            return self.name in (None, acl.name)
        if acl.pattern == Pattern.PREFIXED:
            return self.name.startswith(acl.name)
        return acl.name in (self.name, WILDCARD)


@frozen
class CreateAclsRequest(AnsweredBy["CreateAclsResponse"]):
    """Create ACLs."""

    API: ClassVar[Api] = Api.CREATE_ACLS
    acls: tuple[Acl, ...]
    version: int = 3


@frozen
class CreateAclsResponse:
    """One error, with its message, per ACL of the request, in its order."""

    API: ClassVar[Api] = Api.CREATE_ACLS
    results: tuple[tuple[ErrorCode, str | None], ...] = ()


@frozen
class DescribeAclsRequest(AnsweredBy["DescribeAclsResponse"]):
    """List the ACLs that a filter matches."""

    API: ClassVar[Api] = Api.DESCRIBE_ACLS
    filter: AclFilter
    version: int = 3


@frozen
class DescribeAclsResponse:
    """The ACLs, in order."""

    API: ClassVar[Api] = Api.DESCRIBE_ACLS
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    acls: tuple[Acl, ...] = ()


@frozen
class DeleteAclsRequest(AnsweredBy["DeleteAclsResponse"]):
    """Delete the ACLs that any of the filters matches."""

    API: ClassVar[Api] = Api.DELETE_ACLS
    filters: tuple[AclFilter, ...]
    version: int = 3


@frozen
class DeletedAcls:
    """The result of one filter: the ACLs that it matched."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    acls: tuple[Acl, ...] = ()


@frozen
class DeleteAclsResponse:
    """One result per filter of the request, in its order."""

    API: ClassVar[Api] = Api.DELETE_ACLS
    results: tuple[DeletedAcls, ...] = ()


AclRequest: TypeAlias = CreateAclsRequest | DescribeAclsRequest | DeleteAclsRequest
AclResponse: TypeAlias = CreateAclsResponse | DescribeAclsResponse | DeleteAclsResponse
