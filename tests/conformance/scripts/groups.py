"""DescribeGroups and ListGroups (reference 1.10)."""

from __future__ import annotations

from tests.conformance.script import Script, script

DESCRIBE = (0, 1, 2, 3, 4, 5, 6)
LIST = (0, 1, 2, 3, 4, 5)


@script(rows=["1.10-describe-unknown-{v5,v6}"], versions=DESCRIBE)
async def describe_no_group(s: Script) -> None:
    a = await s.actor()
    error = "GROUP_ID_NOT_FOUND" if s.v >= 6 else "NONE"
    await a.describe(v=s.v, error=error)
    await a.describe(v=s.v, groups=[s.named(".1"), s.named(".2")], error=error)
    await a.describe(v=s.v, groups=[])


@script(rows=["1.2-empty-group-id-DescribeGroups"], versions=(0, 5))
async def describe_the_group_without_a_name(s: Script) -> None:
    a = await s.actor()
    answer = await a.describe(v=s.v, groups=["", s.named(".1")])
    answer["groups"] = [group for group in answer["groups"] if group["group_id"]]


@script(
    rows=[
        "1.10-describe-{Empty,PreparingRebalance,CompletingRebalance}",
        "1.10-describe-stable-group",
        "1.10-describe-shows-stored-assignments",
        "1.1-names-of-the-states",
        "1.10-describe-shows-the-state-of-now",
    ],
    versions=DESCRIBE,
)
async def describe_every_state(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b")
    watch = await s.actor("watch")
    await s.gather(a)
    await watch.describe(v=s.v)
    await s.still("PreparingRebalance", 1)
    await a.answer()
    await watch.describe(v=s.v)
    await s.synced(a)
    await watch.describe(v=s.v)
    await s.gather(b, before=1)
    await watch.describe(v=s.v)
    await a.park_join()
    await s.joined(a, b)
    await watch.describe(v=s.v)
    await b.park_sync()
    await s.settle()
    await a.park_join(protocols={"range": "changed"})
    await b.answer(error="REBALANCE_IN_PROGRESS")
    await watch.describe(v=s.v)
    await watch.leave(members=[(a.member_id, None), (b.member_id, None)])
    await a.answer(error="UNKNOWN_MEMBER_ID")
    await s.until("Empty", 0)
    await watch.describe(v=s.v)


@script(rows=["1.10-describe-Empty"], versions=(0, 6))
async def describe_a_simple_group(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(offsets={t: {0: 5}})
    await a.describe(v=s.v)


@script(rows=["1.10-authorized-operations"], versions=(3, 4, 5, 6))
async def describe_with_operations(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    await a.describe(v=s.v, operations=True)
    await a.describe(
        v=s.v, groups=[s.named(".none")], operations=True, error="GROUP_ID_NOT_FOUND" if s.v == 6 else "NONE"
    )


@script(rows=["1.10-describe-of-several-partitions"], versions=(0, 6))
async def describe_several_groups(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    await a.describe(
        v=s.v,
        groups=[s.named(".none"), s.group, s.named(".nobody")],
        error="GROUP_ID_NOT_FOUND" if s.v == 6 else "NONE",
    )


@script(rows=["1.10-list-all", "1.10-list-of-several-partitions"], versions=LIST)
async def list_groups(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await a.commit(offsets={t: {0: 5}}, group=s.named(".simple"))
    await a.list(v=s.v)
    await s.gather(a)
    await a.answer()
    await b.list(v=s.v)
    await s.synced(a)
    await b.list(v=s.v)
    await s.gather(b, before=1)
    await a.list(v=s.v)
    await a.leave()
    await b.answer()
    await b.leave()
    await s.until("Empty", 0)
    await b.list(v=s.v)


@script(rows=["1.10-list-{state,state-trimmed-any-case,state-unknown,state-one-unknown}"], versions=(4, 5))
async def list_by_state(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await a.commit(offsets={t: {0: 5}}, group=s.named(".simple"))
    await s.form(a)
    for states in (
        ["Stable"],
        ["stable"],
        [" STABLE "],
        ["Empty"],
        ["Stable", "Empty"],
        ["Nonsense"],
        ["Stable", "Nonsense"],
        ["Dead"],
        ["AwaitingSync"],
        ["CompletingRebalance"],
        [""],
    ):
        await b.list(v=s.v, states=states)
    await s.gather(b, before=1)
    await a.list(v=s.v, states=["PreparingRebalance"])
    await a.list(v=s.v, states=["Stable"])


@script(rows=["1.10-list-{type-any-case,type-consumer,type-unknown,both}"], versions=(5,))
async def list_by_type(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    for types in (
        ["classic"],
        ["CLASSIC"],
        ["Classic", "consumer"],
        ["consumer"],
        ["share"],
        ["nonsense"],
        [" classic "],
    ):
        await b.list(v=s.v, types=types)
    await b.list(v=s.v, types=["classic"], states=["Stable"])
    await b.list(v=s.v, types=["classic"], states=["Empty"])
    await b.list(v=s.v, types=["consumer"], states=["Stable"])


@script(rows=["1.10-list-all"], versions=(5,))
async def list_a_group_of_another_type(s: Script) -> None:
    a = await s.actor()
    await s.gather(a, protocol_type="connect", protocols={"default": "x"})
    await a.answer()
    await a.sync(give={a: "all"}, protocol_type="connect")
    await a.list(v=s.v)
    await a.describe()


@script(rows=["1.1-to-{Empty,PreparingRebalance,CompletingRebalance,Stable}"])
async def every_state_that_can_be_seen(s: Script) -> None:
    a = await s.actor("a")
    await a.join(error="MEMBER_ID_REQUIRED")
    await a.describe()
    await a.park_join()
    await s.until("PreparingRebalance", 1)
    await a.answer()
    await a.describe()
    await a.sync(give={a: "all"})
    await a.describe()
    await a.leave()
    await a.describe()


@script(rows=["2.12-topic-deleted-Stable"])
async def a_topic_of_a_stable_group_is_deleted(s: Script) -> None:
    a = await s.actor("a")
    t, kept = await s.topic(), await s.topic("kept")
    await s.form(a)
    await a.commit(offsets={t: {0: 1}, kept: {0: 2}})
    await s.delete_topic(t)
    await s.sleep(500)
    await a.fetch(stable=True)
    await a.heartbeat()
