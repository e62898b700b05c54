"""JoinGroup with a member id (reference, table J2)."""

from __future__ import annotations

from tests.conformance.script import Script, script

SHAPES = (0, 4, 9)
STATIC = (5, 9)


@script(
    rows=["J2-{PreparingRebalance,CompletingRebalance,Stable}-unsupported-before-membership", "J2-unknown-id"],
    versions=(0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
)
async def strangers_ids(s: Script) -> None:
    a, b = await s.pair()
    x = await s.actor("x")

    async def refused() -> None:
        await x.join(v=s.v, member="x", protocols={"roundrobin": "x"}, error="INCONSISTENT_GROUP_PROTOCOL")
        await x.join(v=s.v, member="x", protocol_type="connect", error="INCONSISTENT_GROUP_PROTOCOL")
        await x.join(v=s.v, member="x", protocols={}, error="INCONSISTENT_GROUP_PROTOCOL")
        await x.join(v=s.v, member="x", error="UNKNOWN_MEMBER_ID")

    await s.gather(a)
    await refused()
    await s.still("PreparingRebalance", 1)
    await a.answer()
    await s.from_completing_on(refused, a, b)


@script(rows=["J2-id-unknown-in-an-empty-group"], versions=SHAPES)
async def an_id_in_an_empty_group(s: Script) -> None:
    a, b = await s.pair()
    await s.emptied(a)
    await a.join(v=s.v, error="UNKNOWN_MEMBER_ID")
    await b.join(v=s.v, member="stranger", error="UNKNOWN_MEMBER_ID")
    await b.join(v=s.v, member="stranger", protocols={}, error="INCONSISTENT_GROUP_PROTOCOL")


@script(rows=["J2-id-pending-with-instance"], versions=STATIC)
async def a_pending_id_with_an_instance(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    await b.join(v=s.v, error="MEMBER_ID_REQUIRED")
    await b.join(v=s.v, instance="i", error="UNKNOWN_SERVER_ERROR")
    await b.park_join(v=s.v)
    await s.until("PreparingRebalance", 2)
    await a.park_join()
    await s.joined(a, b)


@script(rows=["J2-{instance-unmapped,instance-mapped-to-another,instance-mapped-unknown-id}"], versions=STATIC)
async def ids_with_instances(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    x = await s.actor("x")
    await s.form(a, b)
    await x.join(v=s.v, member=a.member_id, instance="unknown", error="UNKNOWN_MEMBER_ID")
    await x.join(v=s.v, member=a.member_id, instance="j", error="FENCED_INSTANCE_ID")
    await x.join(v=s.v, member="nobody", instance="i", error="FENCED_INSTANCE_ID")
    await x.join(v=s.v, member="nobody", instance="unknown", error="UNKNOWN_MEMBER_ID")
    await a.heartbeat()


@script(rows=["J2-id-of-a-static-member-without-its-instance-is-accepted"], versions=SHAPES)
async def an_id_of_an_instance_without_it(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    await s.form(a, b)
    x = await s.actor("x")
    await x.join(v=s.v, member=b.member_id, protocols={"range": "of b"})


@script(rows=["J2-Preparing-equal", "J2-Preparing-changed", "J2-last-known-id-closes-the-round"], versions=SHAPES)
async def members_join_while_preparing(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.form(a, b)
    await s.gather(c, before=2)
    await b.park_join(v=s.v)
    await s.settle()
    await b.silence(20)
    await a.park_join(v=s.v, protocols={"range": "changed"})
    await s.joined(a, b, c)


@script(rows=["J2-repeated-join-forgets-the-first"], versions=SHAPES)
async def a_join_is_repeated_on_another_connection(s: Script) -> None:
    a, b = await s.pair()
    again = await s.actor("again")
    await s.form(a)
    await b.enter()
    await s.until("PreparingRebalance", 2)
    await again.park_join(v=s.v, member=b.member_id, protocols={"range": "second"})
    await s.settle()
    await a.park_join()
    await a.answer()
    await again.answer()
    await b.silence(300)


@script(rows=["J2-{Completing-leader,Completing-follower}-equal"], versions=tuple(range(10)))
async def the_same_again_while_completing(s: Script) -> None:
    a, b = await s.pair()
    await s.complete(a, b)
    await a.join(v=s.v)
    await b.join(v=s.v)
    await b.join(v=s.v, session=1_000, rebalance=1_000)
    await s.until("CompletingRebalance", 2)


@script(rows=["J2-Completing-leader-changed", "J2-news-while-completing-sends-the-waiting-back"], versions=SHAPES)
async def a_changed_leader_while_completing(s: Script) -> None:
    a, b = await s.pair()
    await s.awaiting(a, b)
    await a.park_join(v=s.v, protocols={"range": "changed"})
    await b.answer(error="REBALANCE_IN_PROGRESS")
    await s.until("PreparingRebalance", 2)
    await b.park_join(v=s.v)
    await s.joined(a, b)


@script(rows=["J2-Completing-follower-changed", "J2-news-while-completing-sends-the-waiting-back"], versions=SHAPES)
async def a_changed_follower_while_completing(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.complete(a, b, c)
    await b.park_sync()
    await s.settle()
    await c.park_join(v=s.v, protocols={"range": "changed"})
    await b.answer(error="REBALANCE_IN_PROGRESS")
    await s.until("PreparingRebalance", 3)
    await a.park_join(v=s.v)
    await b.park_join(v=s.v)
    await s.joined(a, b, c)


@script(rows=["J2-Stable-follower-equal"], versions=tuple(range(10)))
async def the_same_again_of_a_stable_follower(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a, b)
    await b.join(v=s.v)
    await b.join(v=s.v, session=1_000)
    await s.until("Stable", 2)


@script(rows=["J2-Stable-leader-equal"], versions=SHAPES)
async def the_same_again_of_a_stable_leader(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a, b)
    await a.park_join(v=s.v)
    await s.until("PreparingRebalance", 2)
    await b.heartbeat(error="REBALANCE_IN_PROGRESS")
    await b.park_join(v=s.v)
    await s.joined(a, b)


@script(rows=["J2-Stable-leader-changed"], versions=SHAPES)
async def a_changed_stable_leader(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a, b)
    await a.park_join(v=s.v, protocols={"range": "changed"})
    await s.until("PreparingRebalance", 2)
    await b.park_join(v=s.v)
    await s.joined(a, b)


@script(rows=["J2-Stable-follower-changed"], versions=SHAPES)
async def a_changed_stable_follower(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a, b)
    await b.park_join(v=s.v, protocols={"range": "changed"})
    await s.until("PreparingRebalance", 2)
    await a.park_join(v=s.v)
    await s.joined(a, b)


@script(rows=["2.4-prepare-completes-at-once-when-all-have-joined"], versions=SHAPES)
async def a_sole_leader_joins_again(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    await a.join(v=s.v)
    await s.until("CompletingRebalance", 1)
    await s.synced(a)


@script(rows=["2.1-generation-counts-completed-join-phases"])
async def generations_count_rounds(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a, b)
    for _ in range(3):
        await s.again(a, b)
        await s.synced(a, b)


@script(rows=["2.4-prepare-keeps-assignments-of-a-stable-group", "2.6-completion-with-members"])
async def assignments_stay_until_there_are_others(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a, b)
    await b.park_join(protocols={"range": "changed"})
    await s.until("PreparingRebalance", 2)
    await a.describe()
    await a.park_join()
    await s.joined(a, b)
    await a.describe()
    await s.synced(a, b)
    await a.describe()
