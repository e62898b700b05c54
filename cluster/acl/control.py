"""The controller's part of CreateAcls and DeleteAcls: it validates ACLs and stores them as a set, without duplicates.

A value that Kafka's classes cannot hold (the type ANY, a pattern for filters only) fails the whole request; any other
mistake fails its own ACL.

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

MAX_RECORDS: Final = 10_000
"""Maximum number of ACLs that one request may create or delete (`QuorumController.MAX_RECORDS_PER_USER_OP`)."""
_TOO_LARGE: Final = "Unable to perform excessively large batch operation."
_KNOWN: Final[tuple[tuple[str, str, frozenset[int]], ...]] = (
    ("resource", "resourceType", frozenset(Resource)),
    ("pattern", "patternType", frozenset(Pattern)),
    ("operation", "operation", frozenset(Operation)),
    ("permission", "permissionType", frozenset(Permission)),
)


class AclDraft(Protocol):
    """The ACLs of an uncommitted change."""

    @property
    def acls(self) -> frozenset[Acl]:
        """The ACLs with all changes so far."""

    def set_acls(self, acls: frozenset[Acl]) -> None:
        """Replace all ACLs."""


class AclControl:
    """Handlers of ACL changes by request type (`handlers`). They change a draft and never commit it."""

    def __init__(self, draft: AclDraft) -> None:
        self._draft = draft
        self.handlers: dict[type, Callable[[Any], Any]] = {
            CreateAclsRequest: self._create,
            DeleteAclsRequest: self._delete,
        }

    def _create(self, request: CreateAclsRequest) -> AclResponse:
        # The constructors of `AccessControlEntry` and `ResourcePattern` throw, so the request fails as a whole.
        if any(_not_constructible(acl) for acl in request.acls):
            return refused(request, ErrorCode.UNKNOWN_SERVER_ERROR, None)
        errors = [_validation_error(acl) for acl in request.acls]
        existing = self._draft.acls
        added = [acl for acl, why in zip(request.acls, errors, strict=True) if why is None and acl not in existing]
        if len(added) > MAX_RECORDS:
            return refused(request, ErrorCode.POLICY_VIOLATION, _TOO_LARGE)
        if added:
            self._draft.set_acls(existing.union(added))
        return CreateAclsResponse(
            tuple((ErrorCode.INVALID_REQUEST, why) if why else (ErrorCode.NONE, "") for why in errors)
        )

    def _delete(self, request: DeleteAclsRequest) -> AclResponse:
        existing = self._draft.acls
        matches = [tuple(sorted(acl for acl in existing if pattern.takes(acl))) for pattern in request.filters]
        deleted = {acl for acls in matches for acl in acls}
        if len(deleted) > MAX_RECORDS:
            return refused(request, ErrorCode.POLICY_VIOLATION, _TOO_LARGE)
        if deleted:
            self._draft.set_acls(existing - deleted)
        return DeleteAclsResponse(tuple(DeletedAcls(acls=acls) for acls in matches))


def _not_constructible(acl: Acl) -> bool:
    """Whether Kafka's classes refuse to hold the ACL."""
    return ANY in (acl.resource, acl.operation, acl.permission, acl.pattern) or acl.pattern == MATCH


def _validation_error(acl: Acl) -> str | None:
    """Return Kafka's message for the first mistake in an ACL (`AclControlManager.validateNewAcl`)."""
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
    """Return Kafka's message of a ClusterAuthorizationException."""
    return f"Request {request.API.title} is not authorized."


def refused(request: AclRequest, error: ErrorCode, words: str | None) -> AclResponse:
    """Return the response with one error and message for every element of the request."""
    if isinstance(request, CreateAclsRequest):
        return CreateAclsResponse(((error, words),) * len(request.acls))
    if isinstance(request, DeleteAclsRequest):
        return DeleteAclsResponse((DeletedAcls(error, words),) * len(request.filters))
    return DescribeAclsResponse(error, words)
