"""What the controller does with ACLs: looks at new ones, and keeps them as a set, so that one made twice is one.

What Kafka's own classes cannot hold (a kind ANY, a pattern that is for filters only) spoils the whole request; anything
else that is wrong is told of the ACL that has it.

Source: `AclControlManager`, `AclApis.handleCreateAcls`, `AccessControlEntry`, `ResourcePattern`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import (
    ANY,
    CLUSTER_NAME,
    MATCH,
    Acl,
    AclRequest,
    AclResponse,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DeletedAcls,
    DescribeAclsResponse,
    Operation,
    Pattern,
    Permission,
    Resource,
)
from groupsim.protocol.messages.group import Request

MOST_RECORDS: Final = 10_000
"""How many ACLs one request may make or delete (`QuorumController.MAX_RECORDS_PER_USER_OP`)."""
_TOO_LARGE: Final = "Unable to perform excessively large batch operation."
_KNOWN: Final[tuple[tuple[str, str, frozenset[int]], ...]] = (
    ("resource", "resourceType", frozenset(Resource)),
    ("pattern", "patternType", frozenset(Pattern)),
    ("operation", "operation", frozenset(Operation)),
    ("permission", "permissionType", frozenset(Permission)),
)


class AclDraft(Protocol):
    """The ACLs under change."""

    @property
    def acls(self) -> frozenset[Acl]:
        """Those there are, as changed so far."""

    def set_acls(self, acls: frozenset[Acl]) -> None:
        """Let it be these."""


class AclControl:
    """Requests of administrators for ACLs, on a draft, by their types (`handlers`). Nothing here commits the draft."""

    def __init__(self, draft: AclDraft) -> None:
        self._draft = draft
        self.handlers: dict[type, Callable[[Any], Any]] = {
            CreateAclsRequest: self._create,
            DeleteAclsRequest: self._delete,
        }

    def _create(self, request: CreateAclsRequest) -> AclResponse:
        if any(_is_none(acl) for acl in request.acls):
            return refused(request, ErrorCode.UNKNOWN_SERVER_ERROR, None)
        objections = [_objection(acl) for acl in request.acls]
        there = self._draft.acls
        fine = [acl for acl, why in zip(request.acls, objections, strict=True) if why is None and acl not in there]
        if len(fine) > MOST_RECORDS:
            return refused(request, ErrorCode.POLICY_VIOLATION, _TOO_LARGE)
        if fine:
            self._draft.set_acls(there.union(fine))
        return CreateAclsResponse(
            tuple((ErrorCode.INVALID_REQUEST, why) if why else (ErrorCode.NONE, "") for why in objections)
        )

    def _delete(self, request: DeleteAclsRequest) -> AclResponse:
        there = self._draft.acls
        taken = [tuple(sorted(acl for acl in there if asked.takes(acl))) for asked in request.filters]
        gone = {acl for acls in taken for acl in acls}
        if len(gone) > MOST_RECORDS:
            return refused(request, ErrorCode.POLICY_VIOLATION, _TOO_LARGE)
        if gone:
            self._draft.set_acls(there - gone)
        return DeleteAclsResponse(tuple(DeletedAcls(acls=acls) for acls in taken))


def _is_none(acl: Acl) -> bool:
    """Whether Kafka's classes cannot hold it."""
    return ANY in (acl.resource, acl.operation, acl.permission, acl.pattern) or acl.pattern == MATCH


def _objection(acl: Acl) -> str | None:
    """What is wrong with an ACL, in Kafka's words."""
    if acl.resource == Resource.CLUSTER and acl.name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not acl.name:
        return "Invalid empty resource name"
    unknown = next((word for field, word, known in _KNOWN if getattr(acl, field) not in known), None)
    if unknown is not None:
        return f"Invalid {unknown} UNKNOWN"
    if ":" not in acl.principal:
        words = "no colon is present separating the principal type from the principal name"
        return f"Could not parse principal from `{acl.principal}` ({words})"
    return None if acl.host else "Host pattern cannot be null or empty"


def not_authorized(request: Request) -> str:
    """In words that the cluster is not for who asks."""
    return f"Request {request.API.title} is not authorized."


def refused(request: AclRequest, error: ErrorCode, words: str | None) -> AclResponse:
    """The answer that says one error, with words, to all that was asked."""
    if isinstance(request, CreateAclsRequest):
        return CreateAclsResponse(((error, words),) * len(request.acls))
    if isinstance(request, DeleteAclsRequest):
        return DeleteAclsResponse((DeletedAcls(error, words),) * len(request.filters))
    return DescribeAclsResponse(error, words)
