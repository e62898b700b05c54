"""JoinGroup without a member id (reference, table J1)."""

from __future__ import annotations

from tests.conformance.script import DELAY_MS, Script, script

OLD = (0, 1, 2, 3)
NEW = (4, 5, 9)


@script(rows=["J1-Empty-dynamic-old", "J1-fresh-ids-are-client-id-and-uuid"], versions=OLD)
async def old_newcomer_of_a_new_group(s: Script) -> None:
    a, b = await s.pair()
    await s.gather(a, b, v=s.v)
    await s.joined(a, b)
    await s.until("CompletingRebalance", 2)


@script(rows=["J1-Empty-dynamic-handshake", "J2-Empty-pending"], versions=(4, 5, 6, 7, 8, 9))
async def newcomer_of_a_new_group(s: Script) -> None:
    a, b = await s.pair()
    await s.gather(a, b, v=s.v)
    await s.joined(a, b)
    await s.until("CompletingRebalance", 2)
    await a.describe()


@script(rows=["J1-Stable-dynamic-handshake", "2.7-pending-id-does-not-open-a-round", "J2-Stable-pending"], versions=NEW)
async def newcomer_of_a_stable_group(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    await b.join(v=s.v, error="MEMBER_ID_REQUIRED")
    await a.heartbeat()
    await a.describe()
    await b.park_join(v=s.v)
    await s.until("PreparingRebalance", 2)
    await a.park_join(v=s.v)
    await s.joined(a, b)


@script(rows=["J1-Stable-dynamic-old"], versions=OLD)
async def old_newcomer_of_a_stable_group(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    await b.park_join(v=s.v)
    await s.until("PreparingRebalance", 2)
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await a.park_join(v=s.v)
    await s.joined(a, b)


@script(rows=["J1-CompletingRebalance-dynamic-handshake", "J2-CompletingRebalance-pending"], versions=NEW)
async def newcomer_of_a_completing_group(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.awaiting(a, b)
    await c.join(v=s.v, error="MEMBER_ID_REQUIRED")
    await s.until("CompletingRebalance", 2)
    await c.park_join(v=s.v)
    await b.answer(error="REBALANCE_IN_PROGRESS")
    await s.until("PreparingRebalance", 3)
    await a.park_join()
    await b.park_join()
    await s.joined(a, b, c)


@script(rows=["J1-CompletingRebalance-dynamic-old", "2.4-prepare-takes-assignments-back"], versions=OLD)
async def old_newcomer_of_a_completing_group(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.awaiting(a, b)
    await c.park_join(v=s.v)
    await b.answer(error="REBALANCE_IN_PROGRESS")
    await s.until("PreparingRebalance", 3)
    await a.park_join()
    await b.park_join()
    await s.joined(a, b, c)


@script(rows=["J1-PreparingRebalance-dynamic-handshake", "J2-PreparingRebalance-pending"], versions=NEW)
async def newcomer_of_a_preparing_group(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.form(a)
    await s.gather(b, before=1)
    await c.join(v=s.v, error="MEMBER_ID_REQUIRED")
    await s.until("PreparingRebalance", 2)
    await c.park_join(v=s.v)
    await s.until("PreparingRebalance", 3)
    await a.park_join()
    await s.joined(a, b, c)


@script(rows=["J1-PreparingRebalance-dynamic-old"], versions=OLD)
async def old_newcomer_of_a_preparing_group(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.form(a)
    await s.gather(b, before=1)
    await c.park_join(v=s.v)
    await s.until("PreparingRebalance", 3)
    await a.park_join()
    await s.joined(a, b, c)


@script(
    rows=["J1-{PreparingRebalance,CompletingRebalance,Stable}-{other-type,no-common-protocol,no-protocols}"],
    versions=(0, 4, 9),
)
async def newcomer_with_foreign_protocols(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")

    async def refused() -> None:
        await c.join(v=s.v, protocol_type="connect", error="INCONSISTENT_GROUP_PROTOCOL")
        await c.join(v=s.v, protocols={"roundrobin": "x"}, error="INCONSISTENT_GROUP_PROTOCOL")
        await c.join(v=s.v, protocols={}, error="INCONSISTENT_GROUP_PROTOCOL")

    await s.gather(a)
    await refused()
    await s.still("PreparingRebalance", 1)
    await a.answer()
    await s.from_completing_on(refused, a, b)


@script(
    rows=[
        "J1-{Empty,Stable,PreparingRebalance,CompletingRebalance}-static-new",
        "J1-first-static-member-needs-no-handshake",
    ],
    versions=(5, 7, 9),
)
async def new_instances(s: Script) -> None:
    a = await s.actor("a", instance="one")
    b = await s.actor("b", instance="two")
    c = await s.actor("c", instance="three")
    d = await s.actor("d", instance="four")
    await s.gather(a, v=s.v)
    await s.gather(b, before=1, v=s.v)
    await s.joined(a, b)
    await c.park_join(v=s.v)
    await s.until("PreparingRebalance", 3)
    await d.park_join(v=s.v)
    await s.until("PreparingRebalance", 4)
    await a.park_join(v=s.v)
    await b.park_join(v=s.v)
    await s.joined(a, b, c, d)


@script(rows=["J1-Stable-static-new"], versions=(5, 9))
async def new_instance_in_stable(s: Script) -> None:
    a = await s.actor("a", instance="one")
    b = await s.actor("b", instance="two")
    await s.form(a)
    await b.park_join(v=s.v)
    await s.until("PreparingRebalance", 2)
    await a.park_join()
    await s.joined(a, b)


@script(rows=["J1-first-member-fixes-protocol-type-and-leads", "2.1-generation-goes-on-when-members-come-back"])
async def protocol_type_begins_anew_in_an_empty_group(s: Script) -> None:
    a, b = await s.pair()
    await s.emptied(a)
    await a.describe()
    await s.gather(b, protocol_type="connect", protocols={"default": "x"})
    await b.answer()
    await b.sync(give={b: "all"}, protocol_type="connect")
    await b.describe()


@script(
    rows=["J1-after-all-left-in-the-delay-any-protocol-of-the-type-is-fine", "2.5-everybody-leaves-during-the-delay"]
)
async def everybody_leaves_and_others_come_in_the_delay(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await a.enter()
    mark = await s.until("PreparingRebalance", 1)
    watch = await s.actor("watch")
    await watch.leave(members=[(a.member_id, None)])
    await a.answer(error="UNKNOWN_MEMBER_ID")
    await s.until("PreparingRebalance", 0)
    await b.join(protocol_type="connect", error="INCONSISTENT_GROUP_PROTOCOL")
    await s.still("PreparingRebalance", 0)
    await c.enter(protocols={"roundrobin": "c"})
    await s.until("PreparingRebalance", 1)
    s.within(DELAY_MS, mark)  # later it would be another round, of a group that has become Empty
    await c.answer()
    await c.describe()


@script(rows=["2.2-first-member-leads", "2.2-member-lists-are-in-hashmap-order"], versions=(2, 5, 9), hash_order=True)
async def four_members_and_their_leader(s: Script) -> None:
    actors = [await s.actor(name) for name in "abcd"]
    await s.gather(*actors, v=s.v)
    await s.joined(*actors)
    await s.synced(*actors)
    await actors[0].describe()


@script(rows=["J1-Empty-no-type"], versions=(0, 3, 4, 9))
async def an_empty_group_is_joined_without_a_type(s: Script) -> None:
    a, b = await s.pair()
    await b.join(error="MEMBER_ID_REQUIRED")
    await s.until("Empty", 0)
    await a.join(v=s.v, protocol_type="", error="INCONSISTENT_GROUP_PROTOCOL")
    await a.describe()


@script(rows=["trap-16-which-errors-keep-the-member-id"], versions=(4, 9))
async def a_join_that_is_sent_again_keeps_its_id(s: Script) -> None:
    a, b = await s.pair()
    await a.join(v=s.v, error="MEMBER_ID_REQUIRED")
    await a.park_join(v=s.v)
    await s.until("PreparingRebalance", 1)
    await a.go(await s.peer.connect("a", s.node))
    await a.park_join(v=s.v)
    await s.settle()
    await s.still("PreparingRebalance", 1)
    await a.answer()
    await b.join(v=s.v, member="forgotten", error="UNKNOWN_MEMBER_ID")
    b.member_id = ""
    await b.enter(v=s.v)
    await s.until("PreparingRebalance", 2)
    await a.describe()
