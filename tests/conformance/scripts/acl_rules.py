"""Which ACLs allow what (`StandardAuthorizer`): read off from the operations that a stranger is told it may do.

DescribeGroups tells of every group it may describe which operations it may do, so that one answer holds the verdict of
the rules on all of them.
"""

from __future__ import annotations

from tests.conformance.acls import (
    ALL,
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    DELETE,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    KAFKA_CLUSTER,
    NO_GROUP,
    PREFIXED,
    READ,
    WRITE,
    admin,
    allow,
    deny,
    entry,
    make,
    stranger,
)
from tests.conformance.script import Actor, Script, script

ROWS = ["1.2-authorization-rules"]


async def told(s: Script, admin: Actor, a: Actor, *suffixes: str, error: str = "NONE") -> None:
    """What the stranger hears of the groups of these names, each of which has a committed offset."""
    t = s.topics.get("") or await s.topic()
    groups = [s.named(".g") + suffix for suffix in suffixes]
    for group in groups:
        await admin.commit(2, offsets={t: {0: 1}}, group=group, generation=-1, member="")
    await a.describe(groups=groups, operations=True, error=error)


@script(rows=[*ROWS, "1.10-authorized-operations"], kind="guarded")
async def some_operations_imply_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    operations = (ALL, READ, WRITE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
    await allow(s, by, *((GROUP, f"{s.named('.g')}{one}", [one]) for one in operations))
    await told(s, by, a, *map(str, operations), error=NO_GROUP)


@script(rows=ROWS, kind="guarded")
async def what_is_denied_implies_nothing(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    for one in (ALL, READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS):
        await allow(s, by, (GROUP, f"{s.named('.g')}{one}", [ALL]))
        await deny(s, by, (GROUP, f"{s.named('.g')}{one}", [one]))
    await told(s, by, a, "2", "3", "6", "8", "10", "11", error=NO_GROUP)


@script(rows=ROWS, kind="guarded")
async def a_denial_on_any_pattern_wins(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    group = s.named(".g")
    await allow(s, by, *((GROUP, group + name, [ALL]) for name in ("-one", "-two", "-three")))
    await make(
        by,
        entry(GROUP, group + "-o", READ, host=s.away, pattern=PREFIXED, permission=DENY),
        entry(GROUP, group + "-two", DELETE, principal="User:*", host=s.away, permission=DENY),
        entry(GROUP, "*", ALTER_CONFIGS, host=s.away, permission=DENY),
        entry(GROUP, group, DESCRIBE_CONFIGS, principal="User:somebody", permission=DENY),
        entry(GROUP, group + "-three", DESCRIBE, host="127.0.0.1", principal="User:x", permission=DENY),
    )
    await s.settle()
    await told(s, by, a, "-one", "-two", "-three")


@script(rows=ROWS, kind="guarded")
async def names_prefixes_and_the_wildcard(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    group = s.named(".g")
    await make(
        by,
        entry(GROUP, group + "-abc", READ, host=s.away),
        entry(GROUP, group + "-ab", DELETE, host=s.away, pattern=PREFIXED),
        entry(GROUP, group + "-a", DESCRIBE_CONFIGS, host=s.away, pattern=PREFIXED),
        entry(GROUP, group + "-ab", ALTER_CONFIGS, host=s.away),
        entry(GROUP, group + "-abcd", ALL, host=s.away),
        entry(GROUP, "*", DESCRIBE, host=s.away),
        entry(GROUP, "*", ALL, host=s.away, pattern=PREFIXED),
    )
    await s.settle()
    await told(s, by, a, "-abc", "-ab", "-a", "-abcd", "-abcde", "-b", "", "-aab")


@script(rows=ROWS, kind="guarded")
async def who_an_acl_is_for(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    group = s.named(".g")
    await make(
        by,
        entry(GROUP, group + "-any", READ, host=s.away, principal="User:*"),
        entry(GROUP, group + "-other", READ, host=s.away, principal="User:other"),
        entry(GROUP, group + "-kind", READ, host=s.away, principal="Group:ANONYMOUS"),
        entry(GROUP, group + "-case", READ, host=s.away, principal="User:anonymous"),
        entry(GROUP, group + "-here", READ, host="127.0.0.1"),
        entry(GROUP, group + "-all", READ, host="*"),
    )
    await s.settle()
    await told(s, by, a, "-any", "-other", "-kind", "-case", "-here", "-all", error=NO_GROUP)


@script(rows=ROWS, kind="guarded")
async def a_list_shows_what_may_be_described(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    await told(s, by, by, "-one", "-two", "-three")
    group = s.named(".g")
    await a.list()
    await allow(s, by, (GROUP, group + "-one", [DESCRIBE]), (GROUP, group + "-two", [READ]))
    await a.list()
    await a.list(v=0)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [DESCRIBE]))
    await a.list()
    await deny(s, by, (CLUSTER, KAFKA_CLUSTER, [DESCRIBE]), (GROUP, group + "-one", [DESCRIBE]))
    await a.list()
