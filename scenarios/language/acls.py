"""Read ACLs of a scenario file, in the words of `kafka-acls`: allow or deny an operation on a resource.

They hold from the beginning of the run, on brokers with an authorizer (`authorizer.class.name`). No client is
authenticated, so every client is User:ANONYMOUS; clients differ by the host, which is the name of a
process.

Sources: `AclCommand`, `StandardAuthorizerData`; KIP-140, KIP-290 (prefixed names).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from groupsim.cluster.acl.operations import SUPPORTED
from groupsim.cluster.acl.rules import EVERY_USER
from groupsim.protocol.messages.acl import CLUSTER_NAME, WILDCARD, Acl, Operation, Pattern, Permission, Resource
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.mistakes import Wrong
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.values import Names

#: Operations in Kafka's own spelling.
OPERATIONS: Final[Mapping[str, Operation]] = {
    "".join(word.capitalize() for word in operation.name.split("_")): operation for operation in Operation
}
_BY_LETTERS: Final = {name.casefold(): operation for name, operation in OPERATIONS.items()}


@frozen(str=False)
class AclSpec:
    """One ACL, or one for each of several operations."""

    allow: Names | None = key("Operations that are allowed: Read, `[Read, Describe]`, All.", None)
    deny: Names | None = key("Operations that are denied, even if another ACL allows them.", None)
    topic: str | None = key("The topic; `*` is every topic.", None)
    group: str | None = key("The group; `*` is every group.", None)
    transactional_id: str | None = key("The transactional.id; `*` is every one.", None)
    cluster: bool = key("Whether the resource is the cluster itself.", False)
    prefixed: bool = key("Whether the name is a prefix of resource names.", False)
    principal: str = key("The user it holds for; without authentication every client is User:ANONYMOUS.", EVERY_USER)
    host: str = key("The process it holds for, by name; `*` is every one.", WILDCARD)

    def __str__(self) -> str:
        """Return `allow Read, Describe of group billing- (prefix) to User:Bob from c-1`."""
        verb, words = ("deny", self.deny) if self.allow is None else ("allow", self.allow)
        about = " and ".join(f"{resource.name.lower().replace('_', '-')} {name}" for resource, name in _resources(self))
        prefix = " (prefix)" if self.prefixed else ""
        whom = f" to {self.principal}" if self.principal != EVERY_USER else ""
        where = f" from {self.host}" if self.host != WILDCARD else ""
        return f"{verb} {', '.join(words or ())} of {about}{prefix}{whom}{where}"


def acls_of(specs: Iterable[AclSpec]) -> frozenset[Acl]:
    """Return the ACLs of a scenario, in which `wrong_acls` finds no mistake."""
    return frozenset(acl for spec in specs for acl in _acls(spec))


def _acls(spec: AclSpec) -> Iterator[Acl]:
    ((resource, name),) = _resources(spec)
    pattern = Pattern.PREFIXED if spec.prefixed else Pattern.LITERAL
    for permission, words in ((Permission.ALLOW, spec.allow), (Permission.DENY, spec.deny)):
        for word in words or ():
            operation = _BY_LETTERS[word.casefold()]
            yield Acl(resource, name, pattern, spec.principal, spec.host, operation, permission)


def _resources(spec: AclSpec) -> list[tuple[Resource, str]]:
    named = (
        (Resource.TOPIC, spec.topic),
        (Resource.GROUP, spec.group),
        (Resource.TRANSACTIONAL_ID, spec.transactional_id),
        (Resource.CLUSTER, CLUSTER_NAME if spec.cluster else None),
    )
    return [(resource, name) for resource, name in named if name is not None]


# --- mistakes ------------------------------------------------------------------------------------------------------


def wrong_acls(specs: Iterable[AclSpec]) -> Iterator[tuple[Path_, Wrong]]:
    """Yield the mistakes, each with its place in the list."""
    for index, spec in enumerate(specs):
        for below, wrong in _wrong(spec):
            yield (index, *below), wrong


def hosts_of(specs: Iterable[AclSpec]) -> Iterator[tuple[Path_, str]]:
    """Yield the processes that ACLs name, each with its place in the list."""
    for index, spec in enumerate(specs):
        if spec.host != WILDCARD:
            yield (index, "host"), spec.host


def _wrong(spec: AclSpec) -> Iterator[tuple[Path_, Wrong]]:
    if (spec.allow is None) == (spec.deny is None):
        yield (), Wrong("an ACL allows or denies", "write either `allow: Read` or `deny: Read`")
    resources = _resources(spec)
    if len(resources) != 1:
        message = f"an ACL has one resource, this one has {len(resources) or 'none'}"
        yield (), Wrong(message, "write one of `topic`, `group`, `transactional-id` and `cluster: true`")
        return
    yield from _wrong_operations(spec, resources[0][0])
    if spec.cluster and spec.prefixed:
        yield ("prefixed",), Wrong("the cluster has no name, so no prefix", "remove `prefixed`")
    elif any(not name for _, name in resources):
        yield (), Wrong("an ACL needs the name of its resource", f"write a name, or `{WILDCARD}` for every resource")
    kind, colon, user = spec.principal.partition(":")
    if not (kind and colon and user):
        yield ("principal",), Wrong(f"`{spec.principal}` is not a principal", "write User:ANONYMOUS or User:*")


def _wrong_operations(spec: AclSpec, resource: Resource) -> Iterator[tuple[Path_, Wrong]]:
    can = (Operation.ALL, *SUPPORTED.get(resource, _OF_TRANSACTIONAL_IDS))
    names = [name for name, operation in OPERATIONS.items() if operation in can]
    for where, words in (("allow", spec.allow), ("deny", spec.deny)):
        for word in words or ():
            operation = _BY_LETTERS.get(word.casefold())
            if operation is None:
                yield (where,), Wrong(f"unknown operation `{word}`", suggest(word, names, "operations"))
            elif operation not in can:
                what = resource.name.lower().replace("_", "-")
                yield (where,), Wrong(f"a {what} has no operation `{word}`", f"operations: {', '.join(names)}")


_OF_TRANSACTIONAL_IDS: Final = (Operation.DESCRIBE, Operation.WRITE, Operation.TWO_PHASE_COMMIT)
