"""The decisions of `StandardAuthorizer`: which ACLs allow and deny what.

An ACL matches a resource of its type by name: the same name, the LITERAL "*", or a PREFIXED name that is a prefix of
the resource's. Of the matching ACLs for the principal (or "User:*"), the host (or "*") and the operation,

    one that denies ──▶ denied    else one that allows ──▶ allowed    else ──▶ denied

Where no ACL matches the resource, `allow.everyone.if.no.acl.found` decides. An ACL applies to its own operation, ALL to
every operation; an ACL that allows READ, WRITE, DELETE or ALTER also allows DESCRIBE, and ALTER_CONFIGS also allows
DESCRIBE_CONFIGS. An ACL that denies implies nothing. Super users are allowed everything.

Decisions are cached until the ACLs change, because every heartbeat of a member needs the same decision.

Sources: `StandardAuthorizerData`, `Authorizer.authorizeByResourceType`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from groupsim.cluster.config.acl import AclConfig
from groupsim.protocol.messages.acl import WILDCARD, Acl, Operation, Pattern, Permission, Resource

EVERY_USER: Final = "User:*"
_MAX_DECISIONS: Final = 50_000
# `StandardAuthorizerData`: IMPLIES_DESCRIBE and IMPLIES_DESCRIBE_CONFIGS.
_IMPLY: Final[Mapping[int, frozenset[int]]] = {
    Operation.DESCRIBE: frozenset(
        {Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    ),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}),
}


class Caller(NamedTuple):
    """The principal of a request, and its address as Java writes it ("0:0:0:0:0:0:0:1")."""

    principal: str
    host: str


class Authorizer(Protocol):
    """Decides which caller may perform which operation."""

    def allows(self, caller: Caller, operation: Operation, resource: Resource, name: str) -> bool:
        """Whether a caller may perform an operation on a resource."""

    def allows_by_type(self, caller: Caller, operation: Operation, resource: Resource) -> bool:
        """Whether a caller may perform an operation on at least one resource of a type, existing or not."""


class StandardAuthorizer:
    """KRaft's authorizer over the ACLs of one broker's image, which `acls` returns."""

    def __init__(self, config: AclConfig, acls: Callable[[], frozenset[Acl]]) -> None:
        self._config = config
        self._acls = acls
        self._known: frozenset[Acl] = frozenset()
        self._exact: dict[tuple[int, str], list[Acl]] = {}
        self._prefixed: dict[int, list[Acl]] = {}
        self._decisions: dict[tuple[Caller, Operation, Resource, str], bool] = {}

    def allows(self, caller: Caller, operation: Operation, resource: Resource, name: str) -> bool:
        self._refresh()
        key = (caller, operation, resource, name)
        decision = self._decisions.get(key)
        if decision is None:
            if len(self._decisions) >= _MAX_DECISIONS:  # a client may send new names without end
                self._decisions.clear()
            decision = self._decisions[key] = self._decide(*key)
        return decision

    def _refresh(self) -> None:
        """Index the ACLs and clear the cache when the ACLs have changed."""
        acls = self._acls()
        if acls is self._known:
            return
        self._known = acls
        self._exact, self._prefixed = {}, {}
        self._decisions.clear()
        for acl in acls:  # the order does not matter: only whether one ACL allows and whether one denies
            if acl.pattern == Pattern.PREFIXED:
                self._prefixed.setdefault(acl.resource, []).append(acl)
            else:
                self._exact.setdefault((acl.resource, acl.name), []).append(acl)

    def _decide(self, caller: Caller, operation: Operation, resource: Resource, name: str) -> bool:
        if caller.principal in self._config.super_users:
            return True
        matching = self._matching(resource, name)
        if not matching:
            return self._config.allow_everyone
        found = {acl.permission for acl in matching if _is_for(acl, caller) and _applies(acl, operation)}
        return Permission.DENY not in found and Permission.ALLOW in found

    def _matching(self, resource: Resource, name: str) -> list[Acl]:
        """Return the ACLs of a resource, for all principals and hosts."""
        found = [*self._exact.get((resource, name), ())]
        if name != WILDCARD:
            found += self._exact.get((resource, WILDCARD), ())
        return found + [acl for acl in self._prefixed.get(resource, ()) if name.startswith(acl.name)]

    def allows_by_type(self, caller: Caller, operation: Operation, resource: Resource) -> bool:
        """See `Authorizer.allows_by_type`: an ACL that allows counts unless one that denies covers it.

        A denial covers the same name, names with its prefix, or all names.
        """
        self._refresh()
        if caller.principal in self._config.super_users:
            return True
        # `Authorizer.authorizeByResourceType` uses this name for a resource without an ACL.
        if self.allows(caller, operation, resource, "hardcode"):
            return True
        ours = [
            acl for acl in self._of(resource) if _is_for(acl, caller) and acl.operation in (operation, Operation.ALL)
        ]
        denied = [acl for acl in ours if acl.permission == Permission.DENY]
        if any(_is_wildcard(acl) for acl in denied):
            return False
        allowed = (acl for acl in ours if acl.permission == Permission.ALLOW)
        return any(_is_wildcard(acl) or not _covered(acl, denied) for acl in allowed)

    def _of(self, resource: Resource) -> Iterable[Acl]:
        return (acl for acl in self._known if acl.resource == resource)


def _is_for(acl: Acl, caller: Caller) -> bool:
    return acl.principal in (caller.principal, EVERY_USER) and acl.host in (caller.host, WILDCARD)


def _applies(acl: Acl, operation: Operation) -> bool:
    if acl.operation in (operation, Operation.ALL):
        return True
    return acl.permission == Permission.ALLOW and acl.operation in _IMPLY.get(operation, ())


def _is_wildcard(acl: Acl) -> bool:
    return acl.name == WILDCARD and acl.pattern == Pattern.LITERAL


def _covered(acl: Acl, denied: Iterable[Acl]) -> bool:
    """Whether one ACL denies everything that another allows."""
    for other in denied:
        if other.pattern == Pattern.PREFIXED and acl.name.startswith(other.name):
            return True
        if other.pattern == Pattern.LITERAL and acl.pattern == Pattern.LITERAL and acl.name == other.name:
            return True
    return False
