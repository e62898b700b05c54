"""Access control lists, and what administrators ask about them, as values.

An ACL says that a principal on a host may, or may not, do something with the resources that a pattern names. The
numbers are Kafka's codes; 0 is UNKNOWN and 1 ANY in all of them, which occur in filters and in nothing that is kept.

Sources: `CreateAclsRequest.json`, `DescribeAclsRequest.json`, `DeleteAclsRequest.json`; `ResourceType`, `PatternType`,
`AclOperation`, `AclPermissionType`, `ResourcePatternFilter`, `AccessControlEntryFilter`; KIP-4, KIP-140, KIP-290.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar, Final, TypeAlias

from attrs import frozen

from groupsim.protocol.basics import Api, Asks
from groupsim.protocol.errors import ErrorCode

ANY: Final = 1
"""The code that every filter's kind, operation, permission or pattern has for "whichever"."""
MATCH: Final = 2
"""The pattern type of a filter that asks for all patterns which concern a resource of its name."""
WILDCARD: Final = "*"
CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the one resource of the type CLUSTER."""
ANONYMOUS: Final = "User:ANONYMOUS"
"""Who has not been authenticated."""
NOT_ASKED: Final = -(2**31)
"""The authorized operations where nobody asked for them."""


class Resource(IntEnum):
    """What an ACL is about."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Pattern(IntEnum):
    """How the name of an ACL's resource is meant; the LITERAL "*" is every name."""

    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """What is done with a resource; ALL stands for each of them."""

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
    """What an ACL says of it."""

    DENY = 2
    ALLOW = 3


@frozen(order=True)
class Acl:
    """One ACL, as codes: those of a request may be any number, those that are kept are of the enums above."""

    resource: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int


@frozen
class AclFilter:
    """Which ACLs are meant: those that agree in all that is neither None nor ANY."""

    resource: int = ANY
    name: str | None = None
    pattern: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission: int = ANY

    def takes(self, acl: Acl) -> bool:
        """Whether an ACL is meant."""
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
class CreateAclsRequest(Asks["CreateAclsResponse"]):
    """Make ACLs."""

    API: ClassVar[Api] = Api.CREATE_ACLS
    acls: tuple[Acl, ...]
    version: int = 3


@frozen
class CreateAclsResponse:
    """One error, with words, per ACL of the request, in its order."""

    API: ClassVar[Api] = Api.CREATE_ACLS
    results: tuple[tuple[ErrorCode, str | None], ...] = ()


@frozen
class DescribeAclsRequest(Asks["DescribeAclsResponse"]):
    """Tell the ACLs that a filter takes."""

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
class DeleteAclsRequest(Asks["DeleteAclsResponse"]):
    """Delete the ACLs that any of the filters takes."""

    API: ClassVar[Api] = Api.DELETE_ACLS
    filters: tuple[AclFilter, ...]
    version: int = 3


@frozen
class DeletedAcls:
    """What became of one filter: the ACLs that it took."""

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
