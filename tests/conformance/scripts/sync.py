"""SyncGroup in every state (reference 1.4)."""

from __future__ import annotations

from tests.conformance.script import Script, script

ALL = (0, 1, 2, 3, 4, 5)
SHAPES = (0, 3, 5)


@script(rows=["1.4-unknown-group", "1.2-empty-group-id-SyncGroup"], versions=ALL)
async def sync_to_no_group(s: Script) -> None:
    a = await s.actor()
    await a.sync(v=s.v, generation=1, member="nobody", protocol="range", error="UNKNOWN_MEMBER_ID")
    await a.sync(v=s.v, generation=1, member="nobody", protocol="range", group="", error="INVALID_GROUP_ID")


@script(rows=["1.4-empty-group"], versions=SHAPES)
async def sync_in_empty(s: Script) -> None:
    a = await s.actor()
    await s.emptied(a)
    await a.sync(v=s.v, error="UNKNOWN_MEMBER_ID")


@script(rows=["1.2-sync-{v5-nothing,v5-no-name,v5-no-type,v5-both,v4}"], versions=(4, 5))
async def sync_has_to_name_its_protocol(s: Script) -> None:
    a = await s.actor()
    refused = "INCONSISTENT_GROUP_PROTOCOL" if s.v == 5 else "UNKNOWN_MEMBER_ID"
    await a.sync(v=s.v, generation=1, member="x", protocol_type=None, protocol=None, error=refused)
    await a.sync(v=s.v, generation=1, member="x", protocol=None, error=refused)
    await a.sync(v=s.v, generation=1, member="x", protocol_type=None, protocol="range", error=refused)
    await a.sync(v=s.v, generation=1, member="x", protocol="range", error="UNKNOWN_MEMBER_ID")
    await a.sync(
        v=s.v, generation=1, member="x", protocol=None, group="", error="INVALID_GROUP_ID" if s.v < 5 else refused
    )


@script(
    rows=["1.4-{unknown-id,pending-id}", "1.4-{CompletingRebalance,Stable,PreparingRebalance}-generation"], versions=ALL
)
async def sync_of_strangers_and_other_generations(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")

    async def refused() -> None:
        x = await s.actor("x") if "x" not in s.actors else s.actors["x"]
        names = {"protocol": "range"}
        await x.sync(v=s.v, member="x", generation=1, error="UNKNOWN_MEMBER_ID", **names)
        await x.sync(v=s.v, member="", generation=1, error="UNKNOWN_MEMBER_ID", **names)
        await x.sync(v=s.v, member=c.member_id, generation=1, error="UNKNOWN_MEMBER_ID", **names)
        await x.sync(v=s.v, member=a.member_id, generation=7, error="ILLEGAL_GENERATION", **names)
        await x.sync(v=s.v, member=a.member_id, generation=-1, error="ILLEGAL_GENERATION", **names)

    await s.gather(a)
    await c.join(error="MEMBER_ID_REQUIRED")
    await a.answer()
    await s.from_completing_on(refused, a, b)


@script(rows=["1.4-{fenced,instance-unmapped}"], versions=(3, 4, 5))
async def sync_of_instances(s: Script) -> None:
    a = await s.actor("a", instance="i")
    await s.complete(a)
    await a.sync(v=s.v, member="another", error="FENCED_INSTANCE_ID")
    await a.sync(v=s.v, member="another", generation=7, error="FENCED_INSTANCE_ID")
    await a.sync(v=s.v, instance="j", error="UNKNOWN_MEMBER_ID")
    await a.sync(v=s.v, give={a: "all"})
    await a.sync(v=s.v, member="another", error="FENCED_INSTANCE_ID")


@script(rows=["1.4-protocol-{type-differs,name-differs,consistent,not-provided}"], versions=(5,))
async def sync_with_another_protocol(s: Script) -> None:
    a, b = await s.pair()

    async def refused() -> None:
        await a.sync(protocol_type="connect", error="INCONSISTENT_GROUP_PROTOCOL")
        await a.sync(protocol="roundrobin", error="INCONSISTENT_GROUP_PROTOCOL")
        await a.sync(protocol="roundrobin", generation=9, error="ILLEGAL_GENERATION")

    await s.complete(a)
    await s.from_completing_on(refused, a, b)


@script(rows=["1.4-preparing"], versions=ALL)
async def sync_in_preparing(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    await s.gather(b, before=1)
    await a.sync(v=s.v, give={a: "x"}, error="REBALANCE_IN_PROGRESS")


@script(rows=["1.4-{leader,follower}-first", "1.4-follower-is-parked"], versions=ALL)
async def followers_sync_first(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.complete(a, b, c)
    await b.park_sync(v=s.v)
    await c.park_sync(v=s.v)
    await s.settle()
    await b.silence(50)
    await a.sync(v=s.v, give={a: "for a", b: "for b", c: "for c"})
    await b.answer()
    await c.answer()
    await s.until("Stable", 3)
    await a.describe()


@script(rows=["1.4-leader-first", "1.4-stable-answers-at-once"], versions=ALL)
async def the_leader_syncs_first(s: Script) -> None:
    a, b = await s.pair()
    await s.complete(a, b)
    await a.sync(v=s.v, give={a: "for a", b: "for b"})
    await s.until("Stable", 2)
    await b.sync(v=s.v)
    await b.sync(v=s.v)
    await a.sync(v=s.v, give={a: "another", b: "yet another"})
    await b.sync(v=s.v)


@script(rows=["1.4-follower-assignments-are-ignored"], versions=SHAPES)
async def a_follower_gives_assignments(s: Script) -> None:
    a, b = await s.pair()
    await s.complete(a, b)
    await b.park_sync(v=s.v, give={a: "from b", b: "from b"})
    await s.settle()
    await s.until("CompletingRebalance", 2)
    await a.sync(v=s.v, give={a: "for a"})
    await b.answer()


@script(rows=["1.4-missing-entries-are-empty-and-strangers-ignored"], versions=SHAPES)
async def a_leader_forgets_some_and_invents_others(s: Script) -> None:
    a, b = await s.pair()
    x = await s.actor("x")
    x.member_id = "stranger"
    await s.complete(a, b)
    await a.sync(v=s.v, give={x: "for nobody"})
    await b.sync(v=s.v)
    await a.describe()


@script(rows=["1.4-late-sync-in-stable-is-no-longer-awaited"])
async def a_late_sync_stops_the_timer(s: Script) -> None:
    a, b = await s.pair()
    await s.gather(a, b, rebalance=900)
    await s.joined(a, b)
    await a.sync(give={a: "for a", b: "for b"})
    await b.sync()
    await s.sleep(1_200)
    await s.until("Stable", 2)


@script(rows=["1.4-last-sync-stops-the-timer"])
async def all_syncs_stop_the_timer(s: Script) -> None:
    a, b = await s.pair()
    await s.gather(a, b, rebalance=900)
    await s.joined(a, b)
    await s.synced(a, b)
    await s.sleep(1_200)
    await s.until("Stable", 2)
    await b.heartbeat()


@script(rows=["1.4-follower-is-parked"], versions=SHAPES)
async def a_follower_repeats_its_sync(s: Script) -> None:
    a, b = await s.pair()
    again = await s.actor("again")
    await s.complete(a, b)
    await b.park_sync(v=s.v)
    await s.settle()
    await again.park_sync(v=s.v, member=b.member_id, generation=b.generation, protocol="range")
    await s.settle()
    await a.sync(v=s.v, give={b: "for b"})
    await again.answer()
    await b.silence(300)
