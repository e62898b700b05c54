"""Static members that come back (reference, table J3)."""

from __future__ import annotations

from tests.conformance.script import Script, script

STATIC = (5, 6, 7, 8, 9)


@script(
    rows=[
        "J3-Stable-quiet-leader-v9",
        "J3-Stable-quiet-leader-v8",
        "J3-Stable-quiet-leader-v5",
        "J3-Stable-common",
        "J3-leader-seat-moves-to-the-new-id",
        "1.10-describe-shows-the-replaced-member",
    ],
    versions=STATIC,
)
async def a_leader_restarts_in_stable(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    new = await s.actor("new", instance="i")
    await s.form(a, b)
    await new.join(v=s.v)
    await s.until("Stable", 2)
    await new.describe()
    await a.heartbeat(error="FENCED_INSTANCE_ID")
    await new.heartbeat()
    await new.sync()
    await b.heartbeat()


@script(rows=["J3-Stable-quiet-follower-v9", "J3-Stable-quiet-follower-v8"], versions=STATIC)
async def a_follower_restarts_in_stable(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    new = await s.actor("new", instance="j")
    await s.form(a, b)
    await new.join(v=s.v)
    await s.until("Stable", 2)
    await b.heartbeat(error="FENCED_INSTANCE_ID")
    await b.sync(error="FENCED_INSTANCE_ID")
    await new.sync()
    await new.describe()


@script(rows=["J3-every-restart-gets-another-id"], versions=(5, 9))
async def an_instance_restarts_again_and_again(s: Script) -> None:
    a = await s.actor("a", instance="i")
    await s.form(a)
    for _ in range(3):
        await a.join(v=s.v, member="")
        await a.heartbeat()
    await a.describe()


@script(rows=["J3-quiet-replacement-ignores-changed-topics"], versions=(5, 9))
async def a_restart_with_other_metadata_is_quiet(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    await s.form(a, b)
    await b.join(v=s.v, member="", protocols={"range": "other"})
    await s.until("Stable", 2)
    await b.describe()


@script(rows=["J3-replacement-with-other-names-but-the-same-vote-is-quiet"], versions=(5, 9))
async def a_restart_with_other_names_is_quiet(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    await s.form(a, b, protocols={"range": "r", "roundrobin": "rr"})
    await b.join(v=s.v, member="", protocols={"range": "r", "sticky": "s"})
    await s.until("Stable", 2)


@script(rows=["J3-replacement-that-changes-the-vote-rebalances"], versions=(5, 9))
async def a_restart_that_changes_the_vote(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    await s.form(a, b, protocols={"range": "r", "roundrobin": "rr"})
    await b.park_join(v=s.v, member="", protocols={"roundrobin": "rr"})
    await s.until("PreparingRebalance", 2)
    await a.park_join(v=s.v, protocols={"range": "r", "roundrobin": "rr"})
    await s.joined(a, b)


@script(rows=["J1-{PreparingRebalance,CompletingRebalance,Stable}-{no-common-protocol,other-type}"], versions=(5, 9))
async def a_restart_with_foreign_protocols(s: Script) -> None:
    a = await s.actor("a", instance="i")
    await s.form(a)
    await a.join(v=s.v, member="", protocols={"roundrobin": "rr"}, error="INCONSISTENT_GROUP_PROTOCOL")
    await a.join(v=s.v, member="", protocol_type="connect", error="INCONSISTENT_GROUP_PROTOCOL")
    await a.heartbeat()


@script(
    rows=["J3-Completing-leader", "J3-parked-sync-of-the-old-id-is-fenced", "J3-CompletingRebalance-common"],
    versions=(5, 9),
)
async def a_follower_restarts_with_its_sync_parked(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    c = await s.actor("c")
    new = await s.actor("new", instance="j")
    await s.complete(a, b, c)
    await b.park_sync()
    await c.park_sync()
    await s.settle()
    await new.park_join(v=s.v)
    await b.answer(error="FENCED_INSTANCE_ID")
    await c.answer(error="REBALANCE_IN_PROGRESS")
    await s.until("PreparingRebalance", 3)
    await a.park_join()
    await c.park_join()
    await s.joined(a, c, new)


@script(rows=["J3-Completing-leader", "J3-Completing-follower"], versions=(5, 9))
async def a_leader_restarts_while_completing(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    await s.awaiting(a, b)
    await a.park_join(v=s.v, member="")
    await b.answer(error="REBALANCE_IN_PROGRESS")
    await s.until("PreparingRebalance", 2)
    await b.park_join()
    await s.joined(a, b)


@script(
    rows=[
        "J3-parked-join-of-the-old-id-is-fenced",
        "J3-replacement-while-preparing-joins-the-round",
        "J3-PreparingRebalance-common",
    ],
    versions=STATIC,
)
async def an_instance_restarts_with_its_join_parked(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    new = await s.actor("new", instance="j")
    await s.form(a, b)
    await a.park_join()
    await s.until("PreparingRebalance", 2)
    c = await s.actor("c")
    await c.join(error="MEMBER_ID_REQUIRED")
    await b.park_join()
    await s.settle()
    await new.park_join(v=s.v)
    await b.answer(error="FENCED_INSTANCE_ID")
    await c.park_join()
    await s.joined(a, c, new)


@script(rows=["J3-parked-join-of-the-old-id-is-fenced"], versions=STATIC)
async def an_instance_is_replaced_in_the_delay(s: Script) -> None:
    a = await s.actor("a", instance="i")
    new = await s.actor("new", instance="i")
    await s.gather(a, v=s.v)
    await new.park_join(v=s.v)
    await a.answer(error="FENCED_INSTANCE_ID")
    await new.answer()
    await new.describe()


@script(
    rows=[
        "2.2-returning-static-leader-does-not-lead-again",
        "2.2-absent-static-member-survives-the-round-and-loses-the-lead",
        "2.6-absent-static-member-gets-an-assignment-and-a-fresh-session",
    ]
)
async def an_absent_static_leader_loses_the_lead(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    await s.form(a, b, rebalance=700)
    await b.park_join(protocols={"range": "changed"}, rebalance=700)
    mark = await s.until("PreparingRebalance", 2)
    await b.answer(due=(700, mark))
    await s.synced(b)
    await a.heartbeat(error="ILLEGAL_GENERATION")
    await a.join()
    await s.until("Stable", 2)
    await b.describe()


@script(rows=["J3-timer-of-the-old-id-fires-without-effect"])
async def the_old_ids_session_ends_without_effect(s: Script) -> None:
    a = await s.actor("a", instance="i")
    await s.form(a, session=1_000)
    await a.join(member="", session=10_000)
    await a.heartbeat()
    await s.sleep(1_300)
    await s.until("Stable", 1)
    await a.heartbeat()


@script(rows=["J3-Stable-common"])
async def a_replaced_instances_first_session_is_the_old_one(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b")
    await s.form(a, b, session=60_000)
    await s.again(a, b)
    await s.synced(a, b)
    await b.leave()
    await s.until("PreparingRebalance", 1)
    await a.join(session=800)
    await s.synced(a)
    await a.join(member="", session=10_000)
    mark = a.mark
    await s.until("Empty", 0, due=(800, mark))


@script(
    rows=[
        "J3-pending-sync-keeps-the-old-id",
        "2.8-ghost-of-a-replaced-member-causes-a-rebalance",
        "trap-07-ghost-in-pending-sync",
    ]
)
async def the_ghost_of_a_replaced_member(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    await s.gather(a, b, rebalance=1_200)
    await s.joined(a, b)
    mark = a.mark
    await a.sync(give={a: "for a", b: "for b"})
    await s.until("Stable", 2)
    await b.join(member="", rebalance=1_200)
    await b.sync()
    await s.until("PreparingRebalance", 2, due=(1_200, mark))
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await b.heartbeat(error="REBALANCE_IN_PROGRESS")


@script(rows=["2.2-absent-leader-is-replaced-by-the-first-joined"], hash_order=True)
async def an_absent_leader_gives_way_to_one_of_three(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b, c, d = [await s.actor(name) for name in "bcd"]
    await s.form(a, b, c, d, rebalance=900)
    for actor in (d, c, b):
        await actor.park_join(protocols={"range": "changed"}, rebalance=900)
        await s.until("PreparingRebalance", 4)
    await s.joined(b, c, d)
    await b.describe()
