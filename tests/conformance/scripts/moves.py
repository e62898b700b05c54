"""The group's coordinator moves from one node to the next: what parked requests hear, what is kept and what is lost.

Reference 3.3 to 3.5. On the real cluster the partition's replicas are put into another order and the preferred leader
is elected; on the simulated one the controller is told to move the leadership.
"""

from __future__ import annotations

from tests.conformance.basics import TimingFailed
from tests.conformance.script import LATER, Script, script
from tests.conformance.scripts.slow_replicas import follower
from tests.conformance.scripts.transactions import begun_elsewhere, ended_elsewhere

NOT_HERE = "NOT_COORDINATOR"


@script(
    rows=[
        "1.2-not-leader-{JoinGroup,SyncGroup,Heartbeat,LeaveGroup,OffsetCommit,OffsetFetch,OffsetDelete,DescribeGroups,DeleteGroups}",
        "1.9-offset-fetch-v1-has-its-errors-per-partition",
    ],
    nodes=3,
)
async def the_old_coordinator_answers_nothing(s: Script) -> None:
    a = await s.actor("a", instance="i")
    t = await s.topic()
    await s.form(a)
    await s.move()
    await a.join(error=NOT_HERE)
    await a.sync(error=NOT_HERE)
    await a.heartbeat(error=NOT_HERE)
    await a.leave(error=NOT_HERE)
    await a.commit(offsets={t: {0: 1}}, error=NOT_HERE)
    await a.fetch(topics={t: [0]}, error=NOT_HERE)
    await a.fetch(topics={t: [0]}, stable=True, error=NOT_HERE)
    await a.fetch(v=1, topics={t: [0]}, error=NOT_HERE)
    await a.delete_offsets({t: [0]}, error=NOT_HERE)
    await a.describe(error=NOT_HERE)
    await a.delete(error=NOT_HERE)
    await a.list()
    await a.find()


@script(
    rows=[
        "3.5-stable-group-moves-without-a-rebalance",
        "3.3-group-is-served-after-the-load",
        "3.4-restored-group-equals-its-record",
        "3.4-group-record-fields",
        "3.5-metadata-after-a-fail-over-is-described",
        "trap-11-fail-over",
    ],
    versions=(0, 5, 9),
    nodes=3,
)
async def a_stable_group_moves(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic(partitions=2)
    await s.form(a, b, v=s.v)
    await a.commit(offsets={t: {0: 5}}, metadata="said", leader_epoch=0)
    await s.move()
    await s.follow(a, b)
    await a.heartbeat()
    await b.heartbeat()
    await b.describe()
    await a.list()
    await a.fetch(topics={t: [0, 1]}, stable=True)
    await a.fetch(topics={t: [0, 1]})
    await b.sync()
    await a.heartbeat(generation=0, error="ILLEGAL_GENERATION")


@script(rows=["3.4-restored-group-equals-its-record"], nodes=3)
async def static_members_move(s: Script) -> None:
    a, b = await s.actor("a", instance="i"), await s.actor("b", instance="j")
    await s.form(a, b)
    await s.move()
    await s.follow(a, b)
    await a.heartbeat()
    await b.heartbeat(member=a.member_id, error="FENCED_INSTANCE_ID")
    await a.heartbeat(instance="k", error="UNKNOWN_MEMBER_ID")
    again = await s.actor("again", instance="i")
    await again.join()
    await a.heartbeat(error="FENCED_INSTANCE_ID")
    await again.describe()


@script(rows=["3.3-unload-answers-parked-joins", "3.5-Preparing"], versions=(1, 5, 9), nodes=3)
async def joins_are_parked_at_the_move(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    await b.enter(s.v)
    await s.until("PreparingRebalance", 2)
    await s.move()
    await b.answer(error=NOT_HERE)
    await s.follow(a, b)
    await a.describe()
    await a.heartbeat()
    await b.join(member=b.member_id or "b-11111111-2222-4333-8444-555555555555", error="UNKNOWN_MEMBER_ID")


@script(rows=["3.3-unload-answers-parked-syncs", "3.5-Completing"], versions=(1, 5), nodes=3)
async def syncs_are_parked_at_the_move(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a, b)
    await s.again(a, b)
    await b.park_sync(s.v)
    await s.settle()
    await s.move()
    await b.answer(error=NOT_HERE)
    await s.follow(a, b)
    await a.describe()
    await a.heartbeat(error="ILLEGAL_GENERATION")
    await a.heartbeat(generation=1)


@script(rows=["3.5-generation-is-used-again"], nodes=3)
async def a_generation_is_used_again(s: Script) -> None:
    a, b, c = *await s.pair(), await s.actor("c")
    await s.form(a, b)
    await c.enter()
    await s.until("PreparingRebalance", 3)
    await a.park_join()
    await b.park_join()
    await s.joined(a, b, c)
    await s.move()
    await s.follow(a, b, c)
    await a.heartbeat(error="ILLEGAL_GENERATION")
    await b.sync(error="ILLEGAL_GENERATION")
    await c.heartbeat(error="UNKNOWN_MEMBER_ID")
    await s.again(a, b)
    await s.synced(a, b)
    await a.describe()


@script(rows=["3.5-never-persisted-beyond-its-creation"], nodes=3)
async def the_first_round_is_lost(s: Script) -> None:
    a = await s.actor("a")
    await s.complete(a)
    await s.move()
    await s.follow(a)
    await a.describe()
    await a.heartbeat(error="UNKNOWN_MEMBER_ID")
    await a.join(error="UNKNOWN_MEMBER_ID")
    await a.join(member="", error="MEMBER_ID_REQUIRED")


@script(rows=["3.5-pending-ids-are-lost"], nodes=3)
async def a_pending_id_is_lost(s: Script) -> None:
    a = await s.actor("a")
    await a.join(error="MEMBER_ID_REQUIRED")
    await s.move()
    await s.follow(a)
    await a.describe()
    await a.join(error="UNKNOWN_MEMBER_ID")


@script(rows=["3.5-protocol-collapse-makes-followers-rebalance"], nodes=3)
async def a_followers_list_is_another_after_the_move(s: Script) -> None:
    a, b = await s.pair()
    both = {"range": "r", "roundrobin": "rr"}
    await s.form(a, b, protocols=both)
    await b.join(protocols=both)
    await s.move()
    await s.follow(a, b)
    await b.park_join(protocols=both)
    await s.until("PreparingRebalance", 2)
    await a.join(protocols=both)
    await b.answer()


@script(rows=["3.5-protocol-collapse-refuses-newcomers-until-members-rejoin"], nodes=3)
async def a_newcomer_is_refused_after_the_move(s: Script) -> None:
    a, b = await s.pair()
    both = {"range": "r", "roundrobin": "rr"}
    await s.form(a, protocols=both)
    await s.move()
    await s.follow(a, b)
    await b.join(protocols={"roundrobin": "rr"}, error="INCONSISTENT_GROUP_PROTOCOL")
    await a.join(protocols=both)
    await b.enter(protocols={"roundrobin": "rr"})
    await s.until("PreparingRebalance", 2)
    await a.join(protocols=both)
    await b.answer()


@script(
    rows=["3.5-simple-group-is-there-while-a-commit-is-on-the-log", "3.4-tombstones-on-the-log-are-obeyed"], nodes=3
)
async def what_was_deleted_stays_deleted(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic(partitions=2)
    await a.commit(offsets={t: {0: 1, 1: 2}})
    await a.delete_offsets({t: [0]})
    await s.move()
    await s.follow(a)
    await a.fetch(topics={t: [0, 1]})
    await a.describe()
    await a.delete_offsets({t: [1]})
    await s.move()
    await s.follow(a)
    await a.describe()
    await a.list()
    await a.delete()
    await s.move()
    await s.follow(a)
    await a.describe(error="GROUP_ID_NOT_FOUND")


@script(rows=["3.4-tombstones-on-the-log-are-obeyed"], nodes=3)
async def a_deleted_group_stays_deleted(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic()
    await s.form(a)
    await a.commit(offsets={t: {0: 1}})
    await a.leave()
    await a.delete()
    await s.move()
    await s.follow(a)
    await a.describe(error="GROUP_ID_NOT_FOUND")
    await a.fetch(topics={t: [0]})


@script(rows=["3.5-sessions-begin-anew"], nodes=3)
async def sessions_begin_anew(s: Script) -> None:
    a = await s.actor("a")
    await s.form(a, session=4_000)
    await s.sleep(2_500)
    moved = await s.move()
    await s.until("Empty", 0, due=(4_000, moved))


@script(rows=["3.5-flags-are-lost"], nodes=3)
async def an_empty_group_keeps_counting(s: Script) -> None:
    a = await s.actor("a")
    await s.emptied(a)
    await s.move()
    await s.follow(a)
    await a.describe()
    a.member_id = ""
    await s.form(a)


@script(rows=["1.8-load", "3.3-markers"], versions=(3, 4), nodes=3)
async def an_open_transaction_moves(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic(partitions=2)
    await a.commit(offsets={t: {0: 1}})
    producer = await begun_elsewhere(s, p)
    await producer.commit(s.v, {t: {0: 5}})
    await s.move()
    await s.follow(a)
    await a.fetch(topics={t: [0]})
    await a.fetch(topics={t: [0]}, stable=True, error="UNSTABLE_OFFSET_COMMIT")
    await ended_elsewhere(s, producer)
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["3.3-crash", "1.12-leader"], nodes=3)
async def the_coordinator_is_stopped(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await s.form(a, b)
    await a.commit(offsets={t: {0: 5}})
    await s.cluster.stop(s.node)
    await s.settle_at_coordinator()
    await s.follow(a, b)
    await a.find()
    await a.heartbeat()
    await b.heartbeat()
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["3.3-crash"], nodes=3)
async def the_coordinator_is_killed(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await s.form(a)
    await a.commit(offsets={t: {0: 5}})
    await b.enter()
    await s.until("PreparingRebalance", 2)
    await s.cluster.kill(s.node)
    await b.closed()
    await s.settle_at_coordinator()
    await s.follow(a, b)
    await a.heartbeat()
    await a.describe()
    await a.fetch(topics={t: [0]}, stable=True)
    await b.join(error="UNKNOWN_MEMBER_ID")


@script(rows=["1.3-new-group-gets-its-record"], versions=(3, 9), nodes=3)
async def a_group_that_was_only_begun_moves(s: Script) -> None:
    a = await s.actor()
    refused = "INCONSISTENT_GROUP_PROTOCOL"
    if s.v == 3:
        await a.join(v=s.v, protocol_type="", error=refused)
    else:
        await a.join(v=s.v, error="MEMBER_ID_REQUIRED")
    await s.until("Empty", 0)
    await a.describe()
    await s.move()
    await s.follow(a)
    await s.until("Empty", 0)
    await a.describe()
    await a.list()
    await s.gather(await s.actor("b"))
    await s.actors["b"].answer()


@script(rows=["2.13-no-timer-outlives-the-partition"], nodes=3)
async def the_coordinator_moves_and_comes_back(s: Script) -> None:
    a = await s.actor("a")
    await s.form(a, session=5_000)
    for _ in range(len(s.cluster.up)):
        moved = await s.move()
    await s.follow(a)
    await s.until("Empty", 0, due=(5_000, moved))
    await a.heartbeat(error="UNKNOWN_MEMBER_ID")


@script(
    rows=["1.12-find-coordinator-can-be-stale"],
    nodes=3,
    only_real="a race: what is simulated hears of the move before it answers",
)
async def a_broker_that_has_not_heard_of_the_move(s: Script) -> None:
    a = await s.actor("a")
    before, away = s.node, follower(s)
    b = a if before == away else await s.actor("b")
    await b.go(await s.peer.connect("b", away))
    await s.cluster.pause(away)
    await b.find(error=LATER)
    await s.cluster.move(s.partition, ({0, 1, 2} - {before, away}).pop())
    await s.cluster.resume(away)
    (told,) = (await b.answer())["coordinators"]
    if told["node_id"] != before:
        raise TimingFailed(f"{s.id}: it has heard of the move already")
    await a.heartbeat(error=NOT_HERE)
    await s.sleep(500)
    (told,) = (await b.find())["coordinators"]
    assert told["node_id"] != before


@script(rows=["1.12-find-coordinator-without-a-leader"], versions=(2, 3, 6), nodes=3)
async def a_partition_that_nobody_leads(s: Script) -> None:
    a = await s.actor("a")
    await s.form(a)
    gone = s.node
    await s.cluster.orphan(s.partition, gone)
    await a.go(await s.peer.connect("a", min(s.cluster.up)))
    await a.find(v=s.v, error="COORDINATOR_NOT_AVAILABLE")
    await a.heartbeat(error=NOT_HERE)
    await s.cluster.start(gone)
    await s.settle_at_coordinator()
    await s.follow(a)
    await a.find(v=s.v)
    await a.heartbeat()
    await a.describe()
