"""The limit of a group's size, which is four on every peer (reference 2.10)."""

from __future__ import annotations

from tests.conformance.script import Actor, Script, script


async def four(s: Script) -> list[Actor]:
    return [await s.actor(name) for name in "abcd"]


@script(
    rows=[
        "2.10-Stable-newcomer",
        "2.10-Stable-member",
        "2.10-room-again-after-a-leave",
        "1.3-capacity-is-checked-before-protocols",
    ],
    versions=(0, 3, 4, 9),
)
async def a_full_stable_group(s: Script) -> None:
    actors = await four(s)
    e = await s.actor("e")
    await s.form(*actors)
    await e.join(v=s.v, error="GROUP_MAX_SIZE_REACHED")
    await e.join(v=s.v, protocols={"roundrobin": "x"}, error="GROUP_MAX_SIZE_REACHED")
    await e.join(v=s.v, member="stranger", error="GROUP_MAX_SIZE_REACHED")
    await actors[1].join(v=s.v)
    await s.until("Stable", 4)
    await actors[3].leave()
    await s.until("PreparingRebalance", 3)
    await e.enter(v=s.v)
    await s.until("PreparingRebalance", 4)
    for actor in actors[:3]:
        await actor.park_join()
    await s.joined(*actors[:3], e)


@script(rows=["2.10-CompletingRebalance-newcomer", "2.10-CompletingRebalance-member"], versions=(0, 4, 9))
async def a_full_completing_group(s: Script) -> None:
    actors = await four(s)
    e = await s.actor("e")
    await s.complete(*actors)
    await e.join(v=s.v, error="GROUP_MAX_SIZE_REACHED")
    await e.join(v=s.v, member="stranger", error="GROUP_MAX_SIZE_REACHED")
    await actors[1].join(v=s.v)


@script(
    rows=["2.10-preparing-counts-those-who-have-joined", "2.10-preparing-accepts-who-is-parked-already"],
    versions=(3, 9),
)
async def a_full_delay(s: Script) -> None:
    actors = await four(s)
    e = await s.actor("e")
    await s.gather(*actors, v=s.v)
    await e.join(v=s.v, error="GROUP_MAX_SIZE_REACHED")
    await s.still("PreparingRebalance", 4)
    await s.joined(*actors)


@script(
    rows=["2.10-last-to-rejoin-is-put-out", "2.10-putting-out-does-not-look-again", "trap-10-kick-does-not-look-again"]
)
async def the_last_to_rejoin_is_put_out(s: Script) -> None:
    actors = await four(s)
    e = await s.actor("e")
    await s.form(*actors, rebalance=1_500)
    await actors[0].park_join(rebalance=1_500)
    mark = await s.until("PreparingRebalance", 4)
    await e.enter(rebalance=1_500)
    await s.until("PreparingRebalance", 5)
    await actors[1].park_join(rebalance=1_500)
    await s.settle()
    await actors[2].park_join(rebalance=1_500)
    await s.settle()
    await actors[3].join(error="GROUP_MAX_SIZE_REACHED")
    await s.until("PreparingRebalance", 4)
    await actors[0].answer(due=(1_500, mark))
    await s.joined(e, actors[1], actors[2])
    await actors[3].heartbeat(error="UNKNOWN_MEMBER_ID")


@script(rows=["2.10-pending-ids-are-not-counted", "2.10-empty-group-accepts-always"], hash_order=True)
async def more_pending_ids_than_places(s: Script) -> None:
    actors = [await s.actor(name) for name in "abcde"]
    for actor in actors:
        await actor.join(error="MEMBER_ID_REQUIRED")
    for count, actor in enumerate(actors[:4], 1):
        await actor.park_join()
        await s.until("PreparingRebalance", count)
    await actors[4].join(error="GROUP_MAX_SIZE_REACHED")
    await s.still("PreparingRebalance", 4)
    await s.joined(*actors[:4])


@script(rows=["2.10-pending-id-of-a-full-stable-group"])
async def a_pending_id_of_a_full_group(s: Script) -> None:
    actors = await four(s)
    e = await s.actor("e")
    await s.form(*actors[:3])
    await e.join(error="MEMBER_ID_REQUIRED")
    await actors[3].enter()
    await s.until("PreparingRebalance", 4)
    for actor in actors[:3]:
        await actor.park_join(rebalance=60_000)
    await s.settle()
    await e.leave(members=[("nobody", None)], error="UNKNOWN_MEMBER_ID")
    f = await s.actor("f")
    await f.join(error="GROUP_MAX_SIZE_REACHED")
    await e.join(error="GROUP_MAX_SIZE_REACHED")


@script(rows=["2.10-Stable-static-restart", "trap-09-full-group-refuses-a-static-restart"], versions=(5, 9))
async def a_static_restart_in_a_full_group(s: Script) -> None:
    actors = [await s.actor(name, instance=f"i{name}") for name in "abcd"]
    new = await s.actor("new", instance="ib")
    await s.form(*actors)
    await new.join(v=s.v, error="GROUP_MAX_SIZE_REACHED")
    await s.until("Stable", 4)
    await actors[1].heartbeat()


@script(rows=["2.10-CompletingRebalance-static-restart"], versions=(5, 9))
async def a_static_restart_in_a_full_completing_group(s: Script) -> None:
    actors = [await s.actor(name, instance=f"i{name}") for name in "abcd"]
    new = await s.actor("new", instance="ib")
    await s.complete(*actors)
    await new.join(v=s.v, error="GROUP_MAX_SIZE_REACHED")
    await s.until("CompletingRebalance", 4)
