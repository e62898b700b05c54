"""The rules by which ACLs allow and deny: `StandardAuthorizer`.

An ACL concerns a question when its resource is of the kind asked about and its name fits: the same name, the LITERAL
"*", or a PREFIXED one that the name begins with. Of those that are for the principal (or "User:*") and the host (or
"*") and whose operation fits,

    one that denies ──▶ no        else one that allows ──▶ yes        else ──▶ no

and where no ACL at all concerns the resource, `allow.everyone.if.no.acl.found` decides. An operation fits the same one
and ALL; what allows READ, WRITE, DELETE or ALTER allows DESCRIBE, too, and ALTER_CONFIGS allows DESCRIBE_CONFIGS. What
denies implies nothing. Super users may do everything.

Verdicts are remembered until the ACLs change: the same member asks for the same group with every heartbeat.

Sources: `StandardAuthorizerData`, `Authorizer.authorizeByResourceType`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from groupsim.cluster.config.acl import AclConfig
from groupsim.protocol.messages.acl import WILDCARD, Acl, Operation, Pattern, Permission, Resource

EVERY_USER: Final = "User:*"
_MOST_VERDICTS: Final = 50_000
_IMPLY: Final[Mapping[int, frozenset[int]]] = {
    Operation.DESCRIBE: frozenset(
        {Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    ),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}),
}


class Who(NamedTuple):
    """Who asks: the principal, and the address it asks from, as Java writes it ("0:0:0:0:0:0:0:1")."""

    principal: str
    host: str


class Authorizer(Protocol):
    """Knows who may do what."""

    def allows(self, who: Who, operation: Operation, resource: Resource, name: str) -> bool:
        """Whether somebody may do an operation with a resource."""

    def allows_some(self, who: Who, operation: Operation, resource: Resource) -> bool:
        """Whether somebody may do an operation with at least one resource of a kind, there or not."""


class StandardAuthorizer:
    """KRaft's authorizer over the ACLs of one broker's image, which `acls` tells."""

    def __init__(self, config: AclConfig, acls: Callable[[], frozenset[Acl]]) -> None:
        self._config = config
        self._acls = acls
        self._known: frozenset[Acl] = frozenset()
        self._exact: dict[tuple[int, str], list[Acl]] = {}
        self._prefixed: dict[int, list[Acl]] = {}
        self._verdicts: dict[tuple[Who, Operation, Resource, str], bool] = {}

    def allows(self, who: Who, operation: Operation, resource: Resource, name: str) -> bool:
        self._look()
        asked = (who, operation, resource, name)
        verdict = self._verdicts.get(asked)
        if verdict is None:
            if len(self._verdicts) >= _MOST_VERDICTS:  # somebody may ask for ever other names
                self._verdicts.clear()
            verdict = self._verdicts[asked] = self._decide(*asked)
        return verdict

    def _look(self) -> None:
        """Take over the ACLs there are now."""
        acls = self._acls()
        if acls is self._known:
            return
        self._known = acls
        self._exact, self._prefixed = {}, {}
        self._verdicts.clear()
        for acl in acls:  # in any order: all that counts is whether one of them allows, and whether one denies
            if acl.pattern == Pattern.PREFIXED:
                self._prefixed.setdefault(acl.resource, []).append(acl)
            else:
                self._exact.setdefault((acl.resource, acl.name), []).append(acl)

    def _decide(self, who: Who, operation: Operation, resource: Resource, name: str) -> bool:
        if who.principal in self._config.super_users:
            return True
        concerned = self._concerned(resource, name)
        if not concerned:
            return self._config.allow_everyone
        said = {acl.permission for acl in concerned if _is_for(acl, who) and _fits(acl, operation)}
        return Permission.DENY not in said and Permission.ALLOW in said

    def _concerned(self, resource: Resource, name: str) -> list[Acl]:
        """The ACLs of a resource, whoever they are for."""
        found = [*self._exact.get((resource, name), ())]
        if name != WILDCARD:
            found += self._exact.get((resource, WILDCARD), ())
        return found + [acl for acl in self._prefixed.get(resource, ()) if name.startswith(acl.name)]

    def allows_some(self, who: Who, operation: Operation, resource: Resource) -> bool:
        """See `Authorizer.allows_some`.

        An ACL that allows counts unless one that denies covers it: the same name, a prefix of it, or all names.
        """
        self._look()
        if who.principal in self._config.super_users:
            return True
        if self.allows(who, operation, resource, "hardcode"):  # Kafka's own way to ask for a name that has no ACL
            return True
        ours = [acl for acl in self._of(resource) if _is_for(acl, who) and acl.operation in (operation, Operation.ALL)]
        denied = [acl for acl in ours if acl.permission == Permission.DENY]
        if any(_is_wildcard(acl) for acl in denied):
            return False
        allowed = (acl for acl in ours if acl.permission == Permission.ALLOW)
        return any(_is_wildcard(acl) or not _covered(acl, denied) for acl in allowed)

    def _of(self, resource: Resource) -> Iterable[Acl]:
        return (acl for acl in self._known if acl.resource == resource)


def _is_for(acl: Acl, who: Who) -> bool:
    return acl.principal in (who.principal, EVERY_USER) and acl.host in (who.host, WILDCARD)


def _fits(acl: Acl, operation: Operation) -> bool:
    if acl.operation in (operation, Operation.ALL):
        return True
    return acl.permission == Permission.ALLOW and acl.operation in _IMPLY.get(operation, ())


def _is_wildcard(acl: Acl) -> bool:
    return acl.name == WILDCARD and acl.pattern == Pattern.LITERAL


def _covered(acl: Acl, denied: Iterable[Acl]) -> bool:
    """Whether everything that an ACL allows is denied."""
    for other in denied:
        if other.pattern == Pattern.PREFIXED and acl.name.startswith(other.name):
            return True
        if other.pattern == Pattern.LITERAL and acl.pattern == Pattern.LITERAL and acl.name == other.name:
            return True
    return False
