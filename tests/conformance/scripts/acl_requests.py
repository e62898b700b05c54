"""CreateAcls, DescribeAcls and DeleteAcls themselves (`AclApis`, `AclControlManager`)."""

from __future__ import annotations

from typing import Any

from tests.conformance.acls import (
    ALL,
    ALLOW,
    ALTER,
    ANY,
    CLUSTER,
    DENY,
    DESCRIBE,
    GROUP,
    KAFKA_CLUSTER,
    LITERAL,
    MATCH,
    NO_CLUSTER,
    PREFIXED,
    READ,
    TOPIC,
    WRITE,
    admin,
    allow,
    chosen,
    entry,
    make,
    stranger,
)
from tests.conformance.script import Actor, Script, script

ROWS = ["1.2-authorization-acls"]


async def tell(a: Actor, *, v: int = 3, error: str = "NONE", **which: Any) -> None:
    """DescribeAcls."""
    await a.ask("DescribeAcls", v, chosen(**which), error=error)


async def drop(a: Actor, *filters: dict[str, Any], v: int = 3, error: str = "NONE") -> None:
    """DeleteAcls."""
    await a.ask("DeleteAcls", v, {"filters": [chosen(**which) for which in filters]}, error=error)


@script(rows=ROWS, versions=(1, 2, 3), kind="guarded")
async def acls_of_a_stranger(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    await make(a, entry(GROUP, s.group), entry(GROUP, ""), v=s.v, error=NO_CLUSTER)
    await tell(a, v=s.v, name=s.group, error=NO_CLUSTER)
    await drop(a, {"name": s.group}, {"name": s.group}, v=s.v, error=NO_CLUSTER)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [DESCRIBE]))
    await tell(a, v=s.v, name=s.group)
    await make(a, entry(GROUP, s.group), v=s.v, error=NO_CLUSTER)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [ALTER]))
    await make(a, entry(GROUP, s.group), v=s.v)
    await drop(a, {"name": s.group}, v=s.v)


@script(rows=ROWS, kind="guarded")
async def acls_that_are_none(s: Script) -> None:
    by = await admin(s)
    good = entry(GROUP, s.group, READ, principal="User:x")
    await make(by, good, entry(GROUP, ""), error="INVALID_REQUEST")
    await make(by, entry(CLUSTER, "another"), error="INVALID_REQUEST")
    await make(by, entry(CLUSTER, "another", pattern=PREFIXED), error="INVALID_REQUEST")
    for name in ("operation", "permission_type", "resource_type"):
        await make(by, {**good, name: ANY}, {**good, "principal": "User:z"}, error="UNKNOWN_SERVER_ERROR")
    for pattern in (ANY, MATCH):
        await make(by, {**good, "resource_pattern_type": pattern}, good, error="UNKNOWN_SERVER_ERROR")
    await make(by)
    await tell(by, name=s.group)


@script(rows=ROWS, kind="guarded")
async def acls_of_unknown_kinds(s: Script) -> None:
    await admin(s)
    good = entry(GROUP, s.group, READ, principal="User:x")
    for name, number in (("operation", 0), ("operation", 99), ("resource_type", 0), ("permission_type", 77)):
        a = await s.actor(f"a-{name}-{number}")
        await a.post("CreateAcls", 3, {"creations": [{**good, name: number}]})
        await a.closed() if number == 0 else await a.answer(error="INVALID_REQUEST")


@script(rows=ROWS, kind="guarded")
async def odd_principals_and_hosts(s: Script) -> None:
    by = await admin(s)
    for principal in ("x", ""):
        await make(by, entry(GROUP, s.group, principal=principal), error="INVALID_REQUEST")
    for number, principal in enumerate(("User:", ":x", "User:a:b", "user:x", "Ünser:ü")):
        await make(by, entry(GROUP, f"{s.named('.g')}{number}", principal=principal))
    await make(by, entry(GROUP, s.named(".h"), host="nowhere", principal="User:x"))
    await make(by, entry(GROUP, s.named(".i"), host="", principal="User:x"), error="INVALID_REQUEST")
    await tell(by, name=s.named(".h"))
    await tell(by, name=s.named(".i"))
    await tell(by, name=f"{s.named('.g')}2")


@script(rows=ROWS, kind="guarded")
async def the_same_acl_twice(s: Script) -> None:
    by = await admin(s)
    one = entry(GROUP, s.group, READ, principal="User:x")
    await make(by, one, one)
    await make(by, one, {**one, "operation": WRITE})
    await s.settle()
    await tell(by, name=s.group)
    await drop(by, {"name": s.group, "operation": READ}, {"name": s.group})
    await s.settle()
    await tell(by, name=s.group)
    await drop(by, {"name": s.group})


@script(rows=ROWS, kind="guarded")
async def acls_that_are_chosen(s: Script) -> None:
    by = await admin(s)
    name = s.named(".n")
    await make(
        by,
        entry(GROUP, name, READ, principal="User:x", host="10.1.1.1"),
        entry(GROUP, name, READ, principal="User:x", host="10.1.1.2", permission=DENY),
        entry(GROUP, name, ALL, principal="User:y"),
        entry(TOPIC, name, WRITE, principal="User:x"),
        entry(TOPIC, name, WRITE, principal="User:x", pattern=PREFIXED),
        entry(TOPIC, name[:-1], WRITE, principal="User:z", pattern=PREFIXED),
        entry(TOPIC, name + "x", WRITE, principal="User:z", pattern=PREFIXED),
        entry(TOPIC, name[:-1], WRITE, principal="User:w"),
    )
    await s.settle()
    await tell(by, name=name)
    await tell(by, name=name, v=1)
    await tell(by, kind=TOPIC, name=name, pattern=LITERAL)
    await tell(by, kind=TOPIC, name=name, pattern=PREFIXED)
    await tell(by, kind=TOPIC, name=name, pattern=MATCH, operation=WRITE, host="*")
    await tell(by, name=name, principal="User:x")
    await tell(by, name=name, principal="User:nobody")
    await tell(by, name=name, host="10.1.1.2")
    await tell(by, name=name, host="*")
    await tell(by, name=name, operation=ALL)
    await tell(by, name=name, permission=DENY)
    await tell(by, name=name, permission=ALLOW, kind=GROUP, operation=READ)
    await tell(by, name=name + "nobody's")
    await tell(by, kind=CLUSTER, name="another")


@script(rows=ROWS, versions=(1, 3), kind="guarded")
async def acls_to_delete(s: Script) -> None:
    by = await admin(s)
    name = s.named(".n")
    await make(
        by,
        *(entry(GROUP, name, one, principal="User:x") for one in (READ, DESCRIBE, ALL)),
        entry(TOPIC, name, WRITE, principal="User:x", pattern=PREFIXED),
    )
    await s.settle()
    await drop(by, {"name": name, "operation": WRITE, "pattern": LITERAL}, {"name": name, "operation": READ}, v=s.v)
    await s.settle()
    await tell(by, name=name)
    await drop(by, {"name": name + "-and-on", "pattern": MATCH, "kind": TOPIC, "principal": "User:x"}, v=s.v)
    await s.settle()
    await drop(by, {"name": name}, v=s.v)
    await s.settle()
    await tell(by, name=name)
    await drop(by, v=s.v)
