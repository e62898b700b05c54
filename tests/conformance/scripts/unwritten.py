"""What a request changes without writing a record (reference 1.7): seen when the next append is committed.

Played on three nodes, where nobody else writes to the partition meanwhile.
"""

from __future__ import annotations

from tests.conformance.script import Script, script

ROW = "1.7-commit-to-an-unknown-group-makes-a-simple-one"
TOO_LONG = "x" * 4097
REFUSED = "OFFSET_METADATA_TOO_LARGE"


@script(rows=[ROW], versions=(2, 9, 10), nodes=3)
async def a_commit_refused_in_every_partition(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(v=s.v, offsets={t: {0: 6}}, metadata=TOO_LONG, error=REFUSED)
    await a.describe(v=5)
    await a.describe(error="GROUP_ID_NOT_FOUND")
    await a.list()
    await a.commit(v=s.v, offsets={t: {0: 5}})
    await a.describe()
    await a.list()


@script(rows=[ROW], nodes=3)
async def a_group_that_nobody_sees_is_deleted(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(offsets={t: {0: 6}}, metadata=TOO_LONG, error=REFUSED)
    await a.describe(v=5)
    await a.delete()
    await a.describe(v=5)
    await a.delete(error="GROUP_ID_NOT_FOUND")


@script(rows=[ROW], nodes=3)
async def a_group_that_nobody_sees_is_joined(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(offsets={t: {0: 6}}, metadata=TOO_LONG, error=REFUSED)
    await a.join(error="MEMBER_ID_REQUIRED")
    await a.describe(v=5)
    await a.join()
    await a.sync(give={a: "all"})
    await a.describe()
