"""What scripts say about ACLs: the numbers of Kafka's schemas, entries, and who is a stranger.

Scripts of the kind `guarded` share one broker that allows everybody everything until the first ACLs are made. Each of
them makes the same ones first (`admin`): from 127.0.0.1, where the suite and the broker itself live, everything is
allowed, and so nothing is to anybody else. A `stranger` comes from a loopback address of the script's own, may do
nothing, and is then given what the script is about.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.conformance.bodies import Body
from tests.conformance.script import Actor, Script

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION = 2, 3, 4, 5, 6, 7, 8, 9
DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 10, 11, 12
DENY, ALLOW = 2, 3
KAFKA_CLUSTER = "kafka-cluster"
HOME = "127.0.0.1"
ANONYMOUS = "User:ANONYMOUS"

NO_GROUP, NO_TOPIC = "GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"
NO_ID, NO_CLUSTER = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"


def entry(
    kind: int,
    name: str,
    operation: int = ALL,
    *,
    host: str = "*",
    principal: str = ANONYMOUS,
    pattern: int = LITERAL,
    permission: int = ALLOW,
) -> Body:
    """One ACL as CreateAcls takes it."""
    resource = {"resource_type": kind, "resource_name": name, "resource_pattern_type": pattern}
    return {**resource, "principal": principal, "host": host, "operation": operation, "permission_type": permission}


async def make(actor: Actor, *entries: Body, error: str = "NONE", v: int = 3) -> Body:
    """CreateAcls."""
    return await actor.ask("CreateAcls", v, {"creations": list(entries)}, error=error)


def chosen(
    *,
    kind: int = ANY,
    name: str | None = None,
    pattern: int = ANY,
    principal: str | None = None,
    host: str | None = None,
    operation: int = ANY,
    permission: int = ANY,
) -> Body:
    """What DescribeAcls asks for, or one filter of DeleteAcls."""
    resource = {"resource_type_filter": kind, "resource_name_filter": name, "pattern_type_filter": pattern}
    who = {"principal_filter": principal, "host_filter": host}
    return {**resource, **who, "operation": operation, "permission_type": permission}


async def admin(s: Script) -> Actor:
    """Who may do everything, at home; from now on nobody else may do anything without an ACL."""
    actor = await s.actor("admin")
    everything = [entry(kind, "*", host=HOME) for kind in (TOPIC, GROUP, TRANSACTIONAL_ID)]
    everything.append(entry(CLUSTER, KAFKA_CLUSTER, host=HOME))
    await make(actor, *everything)
    await s.peer.await_acls(everything)
    await s.settle()
    return actor


async def stranger(s: Script, name: str = "a") -> Actor:
    """Who comes from elsewhere."""
    return await s.actor(name, host=s.away)


async def allow(s: Script, by: Actor, *what: tuple[int, str, Iterable[int]], permission: int = ALLOW) -> None:
    """From now on the script's strangers may do that: (kind, name, operations)."""
    entries = [
        entry(kind, name, operation, host=s.away, permission=permission)
        for kind, name, operations in what
        for operation in operations
    ]
    await make(by, *entries)
    await s.peer.await_acls(entries)
    await s.settle()


async def deny(s: Script, by: Actor, *what: tuple[int, str, Iterable[int]]) -> None:
    """From now on the script's strangers may not do that, whatever else allows it."""
    await allow(s, by, *what, permission=DENY)
