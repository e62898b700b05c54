"""Heartbeat in every state (reference 1.5)."""

from __future__ import annotations

from tests.conformance.script import Script, script


@script(rows=["1.5-unknown-group", "1.2-empty-group-id-Heartbeat"], versions=(0, 4))
async def heartbeat_to_no_group(s: Script) -> None:
    a = await s.actor()
    await a.heartbeat(v=s.v, generation=1, member="nobody", error="UNKNOWN_MEMBER_ID")
    await a.heartbeat(v=s.v, generation=1, member="nobody", group="", error="INVALID_GROUP_ID")


@script(rows=["1.5-Stable-valid", "1.5-Stable-generation", "1.5-unknown-id"], versions=(0, 1, 2, 3, 4))
async def heartbeat_in_stable(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    await a.heartbeat(v=s.v)
    await a.heartbeat(v=s.v, generation=0, error="ILLEGAL_GENERATION")
    await a.heartbeat(v=s.v, generation=2, error="ILLEGAL_GENERATION")
    await a.heartbeat(v=s.v, generation=-1, error="ILLEGAL_GENERATION")
    await a.heartbeat(v=s.v, member="nobody", error="UNKNOWN_MEMBER_ID")
    await a.heartbeat(v=s.v, member="nobody", generation=9, error="UNKNOWN_MEMBER_ID")
    await a.heartbeat(v=s.v, member="", error="UNKNOWN_MEMBER_ID")


@script(rows=["1.5-empty-group"], versions=(0, 4))
async def heartbeat_in_empty(s: Script) -> None:
    a = await s.actor()
    await s.emptied(a)
    await a.heartbeat(v=s.v, error="UNKNOWN_MEMBER_ID")


@script(
    rows=[
        "1.5-Preparing-valid",
        "1.5-PreparingRebalance-generation",
        "1.5-old-generation-stays-valid-until-the-round-closes",
        "trap-02-heartbeats-during-a-rebalance",
    ],
    versions=(0, 4),
)
async def heartbeat_in_preparing(s: Script) -> None:
    a, b = await s.pair()
    watch = await s.actor("watch")
    await s.form(a)
    await s.gather(b, before=1)
    await a.heartbeat(v=s.v, error="REBALANCE_IN_PROGRESS")
    await a.heartbeat(v=s.v, generation=2, error="ILLEGAL_GENERATION")
    await a.heartbeat(v=s.v, member="nobody", error="UNKNOWN_MEMBER_ID")
    await watch.heartbeat(v=s.v, member=a.member_id, generation=1, error="REBALANCE_IN_PROGRESS")
    await a.park_join()
    await s.joined(a, b)
    await watch.heartbeat(v=s.v, member=a.member_id, generation=1, error="ILLEGAL_GENERATION")
    await watch.heartbeat(v=s.v, member=a.member_id, generation=2)


@script(
    rows=["1.5-Completing-valid", "1.5-CompletingRebalance-generation", "trap-02-heartbeats-during-a-rebalance"],
    versions=(0, 4),
)
async def heartbeat_in_completing(s: Script) -> None:
    a, b = await s.pair()
    await s.complete(a, b)
    await s.until("CompletingRebalance", 2)
    await a.heartbeat(v=s.v)
    await b.heartbeat(v=s.v)
    await b.heartbeat(v=s.v, generation=0, error="ILLEGAL_GENERATION")
    await b.heartbeat(v=s.v, member="nobody", error="UNKNOWN_MEMBER_ID")


@script(rows=["1.5-pending-id", "2.7-pending-id-is-no-member"], versions=(0, 4))
async def heartbeat_of_a_pending_id(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    await b.join(error="MEMBER_ID_REQUIRED")
    await b.heartbeat(v=s.v, generation=1, error="UNKNOWN_MEMBER_ID")
    await b.heartbeat(v=s.v, generation=-1, error="UNKNOWN_MEMBER_ID")


@script(rows=["1.5-fenced", "1.5-instance-unknown"], versions=(3, 4))
async def heartbeat_of_instances(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b")
    await s.form(a)
    await a.heartbeat(v=s.v)
    await a.heartbeat(v=s.v, member="another", error="FENCED_INSTANCE_ID")
    await a.heartbeat(v=s.v, member="another", generation=7, error="FENCED_INSTANCE_ID")
    await a.heartbeat(v=s.v, generation=7, error="ILLEGAL_GENERATION")
    await b.heartbeat(v=s.v, member=a.member_id, generation=1)
    await b.heartbeat(v=s.v, member=a.member_id, generation=1, instance="j", error="UNKNOWN_MEMBER_ID")


@script(rows=["1.5-Preparing-valid", "1.5-Completing-valid"])
async def heartbeat_of_an_instance_in_a_round(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    await s.form(a)
    await s.gather(b, before=1)
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await a.heartbeat(member="another", error="FENCED_INSTANCE_ID")
    await a.park_join()
    await s.joined(a, b)
    await a.heartbeat()
    await b.heartbeat(member="another", error="FENCED_INSTANCE_ID")


@script(rows=["1.5-refused-{fenced,generation}"], versions=(3, 4))
async def refused_heartbeats_keep_no_session(s: Script) -> None:
    a, b = await s.actor("a", instance="i"), await s.actor("b")
    await b.enter()
    await s.until("PreparingRebalance", 1)
    await a.park_join(session=900)
    await s.until("PreparingRebalance", 2)
    await s.joined(b, a)
    await s.synced(b, a)
    begun = a.mark
    for ms in (300, 600):
        await s.after(ms, begun)
        await a.heartbeat(s.v, generation=7, error="ILLEGAL_GENERATION")
        await a.heartbeat(s.v, member=b.member_id, error="FENCED_INSTANCE_ID")
    await s.until("PreparingRebalance", 1, due=(900, begun))
