"""LeaveGroup (reference 1.6)."""

from __future__ import annotations

from tests.conformance.script import DELAY_MS, Script, script

ALL = (0, 1, 2, 3, 4, 5)
BATCH = (3, 4, 5)


@script(
    rows=["1.6-unknown-group", "1.6-before-v3-an-unknown-group-is-a-top-level-error", "1.2-empty-group-id-LeaveGroup"],
    versions=ALL,
)
async def leave_no_group(s: Script) -> None:
    a = await s.actor()
    await a.leave(v=s.v, members=[("nobody", None)], error="UNKNOWN_MEMBER_ID")
    await a.leave(v=s.v, members=[("", None)], error="UNKNOWN_MEMBER_ID")
    await a.leave(v=s.v, members=[("nobody", None)], group="", error="INVALID_GROUP_ID")


@script(rows=["1.6-unknown-group"], versions=BATCH)
async def many_leave_no_group(s: Script) -> None:
    a = await s.actor()
    await a.leave(v=s.v, members=[("x", None), ("", "i"), ("y", "j")], error="UNKNOWN_MEMBER_ID")
    await a.leave(v=s.v, members=[])


@script(
    rows=["1.6-member", "1.6-last-member-leaves", "1.6-v2-member", "1.6-v2-unknown-id", "1.6-unknown-id"], versions=ALL
)
async def the_last_member_leaves(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    await a.leave(v=s.v, members=[("nobody", None)], error="UNKNOWN_MEMBER_ID")
    await a.leave(v=s.v)
    await s.until("Empty", 0)
    await a.describe()
    await a.leave(v=s.v, error="UNKNOWN_MEMBER_ID")
    b = await s.actor("b")
    await s.gather(b)
    await b.answer()


@script(
    rows=["1.6-Stable-opens", "1.6-after-member", "1.6-leaver-is-removed-with-its-timer-and-the-lead-moves"],
    versions=ALL,
)
async def the_leader_leaves(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a, b)
    await a.leave(v=s.v)
    await s.until("PreparingRebalance", 1)
    await b.heartbeat(error="REBALANCE_IN_PROGRESS")
    await b.join()


@script(
    rows=["1.6-leaver-is-removed-with-its-timer-and-the-lead-moves", "2.2-successor-is-the-first-in-hashmap-order"],
    versions=(0, 5),
    hash_order=True,
)
async def the_leader_of_four_leaves(s: Script) -> None:
    actors = [await s.actor(name) for name in "abcd"]
    await s.form(*actors)
    await actors[0].leave(v=s.v)
    await s.until("PreparingRebalance", 3)
    for actor in actors[1:]:
        await actor.park_join()
    await s.joined(*actors[1:])


@script(rows=["1.6-Completing-opens"], versions=ALL)
async def a_member_leaves_while_completing(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.complete(a, b, c)
    await b.park_sync()
    await s.settle()
    await c.leave(v=s.v)
    await b.answer(error="REBALANCE_IN_PROGRESS")
    await s.until("PreparingRebalance", 2)
    await a.park_join()
    await b.park_join()
    await s.joined(a, b)


@script(rows=["1.6-parked-join-of-a-leaver", "1.6-Preparing-member-completes"], versions=ALL)
async def a_parked_member_leaves(s: Script) -> None:
    a, b = await s.pair()
    watch = await s.actor("watch")
    await s.form(a)
    await s.gather(b, before=1)
    await watch.leave(v=s.v, members=[(b.member_id, None)])
    await b.answer(error="UNKNOWN_MEMBER_ID")
    await s.until("PreparingRebalance", 1)
    await a.join()


@script(rows=["1.6-Preparing-member-completes"], versions=ALL)
async def the_last_awaited_leaves(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.form(a, b)
    await s.gather(c, before=2)
    await a.park_join()
    await s.settle()
    await b.leave(v=s.v)
    await s.joined(a, c)


@script(rows=["1.6-Preparing-pending-completes", "2.7-round-waits-until-leaves"], versions=ALL)
async def the_last_awaited_pending_id_leaves(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.form(a)
    await c.join(error="MEMBER_ID_REQUIRED")
    await s.gather(b, before=1)
    await a.park_join()
    await s.settle()
    await a.silence(100)
    await c.leave(v=s.v)
    await s.joined(a, b)


@script(rows=["1.6-{after-pending-only,pending-id}", "trap-06-pending-ids-in-leave-and-delete"], versions=ALL)
async def a_pending_id_leaves_a_stable_group(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    await b.join(error="MEMBER_ID_REQUIRED")
    await b.leave(v=s.v)
    await s.until("PreparingRebalance", 1)
    await b.join(error="UNKNOWN_MEMBER_ID")
    await a.join()


@script(rows=["1.6-pending-id-leaves-an-empty-group"], versions=ALL)
async def a_pending_id_leaves_an_empty_group(s: Script) -> None:
    a = await s.actor()
    await a.join(error="MEMBER_ID_REQUIRED")
    await a.leave(v=s.v)
    await s.until("Empty", 0)
    await a.leave(v=s.v, error="UNKNOWN_MEMBER_ID")
    await a.join(error="UNKNOWN_MEMBER_ID")


@script(
    rows=["1.6-leaving-cannot-close-an-initial-round", "2.5-joins-and-leaves-cannot-end-the-delay"], versions=(2, 5)
)
async def leaving_does_not_end_the_delay(s: Script) -> None:
    a, b = await s.pair()
    watch = await s.actor("watch")
    await s.gather(a)
    mark = a.mark
    await s.gather(b, before=1)
    await watch.leave(v=s.v, members=[(b.member_id, None)])
    await b.answer(error="UNKNOWN_MEMBER_ID")
    await a.answer(due=(2 * DELAY_MS, mark))


@script(
    rows=["1.6-{admin-instance,no-id-no-instance,no-id-instance-unmapped,fenced,instance-unmapped,unknown-id}"],
    versions=BATCH,
)
async def entries_of_a_leave(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b", instance="j")
    c = await s.actor("c")
    await s.form(a, b, c)
    await c.leave(v=s.v, members=[("", None)], error="UNKNOWN_MEMBER_ID")
    await c.leave(v=s.v, members=[("", "unmapped")], error="UNKNOWN_MEMBER_ID")
    await c.leave(v=s.v, members=[(a.member_id, "unmapped")], error="UNKNOWN_MEMBER_ID")
    await c.leave(v=s.v, members=[("another", "i")], error="FENCED_INSTANCE_ID")
    await c.leave(v=s.v, members=[(b.member_id, "i")], error="FENCED_INSTANCE_ID")
    await c.leave(v=s.v, members=[("nobody", None)], error="UNKNOWN_MEMBER_ID")
    await s.until("Stable", 3)
    await c.leave(v=s.v, members=[("", "i")])
    await s.until("PreparingRebalance", 2)
    await c.leave(v=s.v, members=[(b.member_id, "j")])
    await s.until("PreparingRebalance", 1)
    await c.join()
    await c.describe()


@script(rows=["1.6-static-member-without-instance"], versions=ALL)
async def an_instance_leaves_by_its_id_alone(s: Script) -> None:
    a = await s.actor("a", instance="i")
    await s.form(a)
    await a.leave(v=s.v)
    await s.until("Empty", 0)
    await a.heartbeat(error="UNKNOWN_MEMBER_ID")


@script(rows=["1.6-mixed-batch-keeps-order-and-counts-one-success"], versions=BATCH)
async def a_mixed_batch_leaves(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b, c = await s.actor("b"), await s.actor("c")
    d = await s.actor("d")
    await s.form(a, b, c)
    await d.join(error="MEMBER_ID_REQUIRED")
    batch = [("nobody", None), (b.member_id, None), (b.member_id, None), ("", "i"), ("other", "i"), (d.member_id, None)]
    await c.leave(v=s.v, members=batch, error="UNKNOWN_MEMBER_ID")
    await s.until("PreparingRebalance", 1)
    await c.join()


@script(rows=["1.6-sync-unanswered", "1.6-sync-unanswered-admin", "trap-19-leaver-with-a-parked-sync"], versions=(2, 5))
async def a_leavers_parked_sync_is_not_answered(s: Script) -> None:
    a, b = await s.pair()
    watch = await s.actor("watch")
    await s.awaiting(a, b)
    await watch.leave(v=s.v, members=[(b.member_id, None)])
    await s.until("PreparingRebalance", 1)
    await a.join()
    await b.silence(400)
