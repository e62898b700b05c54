"""A follower stands still: what waits for the log, what does not, and what is told after `offsets.commit.timeout.ms`.

Reference 3.2. The follower is paused (SIGSTOP on the real cluster) and is in sync until the controller or the leader
has missed it, so nothing is committed meanwhile.
"""

from __future__ import annotations

from tests.conformance.basics import COMMIT_MS
from tests.conformance.script import CAUGHT_UP_MS, LATER, Script, script
from tests.conformance.scripts.transactions import begun_elsewhere, ended_elsewhere

LATE = "COORDINATOR_NOT_AVAILABLE"


def follower(s: Script) -> int:
    """A node that is not the group's coordinator, and not the first: that one is asked by administrators."""
    return next(node for node in (2, 1, 0) if node != s.node)


@script(
    rows=[
        "3.2-{commit-waits,heartbeat-waits,leave-waits,stable-fetch-waits}",
        "3.2-commit-is-answered-when-it-is-replicated",
        "1.6-answer-waits-for-earlier-writes",
        "1.9-stable-fetch-waits-for-what-is-appended",
        "1.9-plain-fetch-reads-the-committed-view",
        "1.5-refused-unknown-id",
        "3.2-{join-at-once,stable-sync-at-once,plain-fetch-at-once,heartbeat-error-at-once,sync-error-at-once,commit-error-at-once}",
        "3.2-slow-replica",
    ],
    nodes=3,
)
async def what_waits_for_the_log(s: Script) -> None:
    a, b, c, d, e = [await s.actor(name) for name in "abcde"]
    t = await s.topic(partitions=2)
    await s.form(a, b)
    c.member_id, c.generation = a.member_id, a.generation
    await s.cluster.pause(follower(s))
    await a.commit(offsets={t: {0: 5}}, error=LATER)
    await s.settle()
    await c.heartbeat(error=LATER)
    await d.fetch(topics={t: [0]}, stable=True, error=LATER)
    await b.leave(members=[("x", None)], error=LATER)
    await e.fetch(topics={t: [0]})
    await e.join(error="MEMBER_ID_REQUIRED")
    await e.heartbeat(generation=1, member="x", error="UNKNOWN_MEMBER_ID")
    await e.sync(generation=1, member="x", protocol="range", error="UNKNOWN_MEMBER_ID")
    await e.sync(generation=1, member=a.member_id, protocol="range")
    await e.commit(offsets={t: {0: 5}}, generation=1, member="x", error="UNKNOWN_MEMBER_ID")
    for waits in (a, c, d, b):
        await waits.silence(20)
    await s.cluster.resume(follower(s))
    await a.answer()
    await c.answer()
    await d.answer()
    await b.answer(error="UNKNOWN_MEMBER_ID")


@script(rows=["3.2-write-timeout-answers-without-undoing", "trap-12-write-timeout", "1.2-append-timeout"], nodes=3)
async def a_commit_takes_too_long(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    await s.cluster.pause(follower(s))
    await a.commit(offsets={t: {0: 5}}, error=LATER)
    await a.answer(error=LATE, due=(COMMIT_MS, a.mark))
    await a.fetch(topics={t: [0]})
    await s.cluster.resume(follower(s))
    await s.sleep(3_000)
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["3.2-write-timeout-of-the-leaders-assignment"], versions=(0, 5), nodes=3)
async def an_assignment_takes_too_long(s: Script) -> None:
    a, b = await s.pair()
    await s.awaiting(a, b, s.v)
    await s.cluster.pause(follower(s))
    await a.park_sync(s.v, give={a: "for a", b: "for b"})
    await a.answer(error=LATE, due=(COMMIT_MS, a.mark))
    await b.answer(error=LATE)
    await a.describe()
    await s.cluster.resume(follower(s))
    await s.sleep(3_000)
    await a.describe()
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")


@script(rows=["3.2-{offset-delete-waits,commit-waits}", "3.2-delete-groups-waits-for-its-tombstones"], nodes=3)
async def deletions_wait_for_the_log(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic(partitions=2)
    await a.commit(offsets={t: {0: 5, 1: 6}})
    await s.cluster.pause(follower(s))
    await a.delete_offsets({t: [0]}, error=LATER)
    await s.settle()
    await b.delete(error=LATER)
    await a.silence(100)
    await b.silence(100)
    await s.cluster.resume(follower(s))
    await a.answer()
    await b.answer()
    await a.describe(error="GROUP_ID_NOT_FOUND")


@script(rows=["3.3-unload-fails-what-waits-for-the-log-first"], nodes=3)
async def the_coordinator_moves_while_a_commit_waits(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await s.awaiting(a, b)
    still = follower(s)
    await s.cluster.pause(still)
    await a.park_sync(give={a: "for a", b: "for b"})
    await s.settle()
    other = ({0, 1, 2} - {still, s.node}).pop()
    await s.cluster.move(s.partition, other)
    await a.answer(error="NOT_COORDINATOR")
    await b.answer(error="NOT_COORDINATOR")
    await s.cluster.resume(still)
    await s.settle_at_coordinator()
    await s.follow(a, b)
    await s.sleep(CAUGHT_UP_MS)
    await a.describe()
    await a.heartbeat()
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["1.10-group-appears-when-its-record-is-committed"], nodes=3)
async def a_group_appears_when_it_is_written(s: Script) -> None:
    a, b = await s.pair()
    await s.cluster.pause(follower(s))
    await a.join(error="MEMBER_ID_REQUIRED")
    await b.describe(error="GROUP_ID_NOT_FOUND")
    await b.list()
    await s.cluster.resume(follower(s))
    await s.sleep(1_000)
    await b.describe()
    await b.list()


@script(rows=["1.4-answers-leave-when-the-record-is-committed", "1.4-leader-may-repeat-its-sync"], nodes=3)
async def a_leader_repeats_its_sync(s: Script) -> None:
    a, b = await s.pair()
    await s.awaiting(a, b)
    await s.cluster.pause(follower(s))
    await a.park_sync(give={a: "for a", b: "for b"})
    await s.settle()
    again = await s.actor("again")
    await again.park_sync(
        member=a.member_id, generation=a.generation, protocol="range", give={a: "other a", b: "other b"}
    )
    await b.silence(100)
    await s.cluster.resume(follower(s))
    await b.answer()
    await again.answer()
    await b.describe()


@script(rows=["1.4-moved-on-commit"], nodes=3)
async def a_round_begins_while_an_assignment_waits(s: Script) -> None:
    a, b, c = *await s.pair(), await s.actor("c")
    await s.complete(a, b)
    await c.join(error="MEMBER_ID_REQUIRED")
    await b.park_sync()
    await s.settle()
    await s.cluster.pause(follower(s))
    await a.park_sync(give={a: "for a", b: "for b"})
    await s.settle()
    await c.park_join()
    await a.answer(error="REBALANCE_IN_PROGRESS")
    await b.answer(error="REBALANCE_IN_PROGRESS")
    await s.cluster.resume(follower(s))
    await s.until("PreparingRebalance", 3)
    await s.sleep(1_000)
    await s.still("PreparingRebalance", 3)
    await a.park_join()
    await b.park_join()
    await s.joined(a, b, c)


@script(rows=["J3-quiet-replacement-answers-after-its-record-is-written"], versions=(5, 9), nodes=3)
async def a_replacement_waits_for_the_log(s: Script) -> None:
    a, b = await s.actor("a", instance="i"), await s.actor("b", instance="i")
    await s.form(a)
    await s.cluster.pause(follower(s))
    await b.park_join(s.v)
    await b.silence(150)
    await s.cluster.resume(follower(s))
    await b.answer()
    await a.heartbeat(error="FENCED_INSTANCE_ID")


@script(rows=["3.3-unload-fails-a-waiting-static-replacement"], nodes=3)
async def the_coordinator_moves_while_a_replacement_waits(s: Script) -> None:
    a, b = await s.actor("a", instance="i"), await s.actor("b", instance="i")
    await s.form(a)
    still = follower(s)
    await s.cluster.pause(still)
    await b.park_join()
    await s.settle()
    await s.cluster.move(s.partition, ({0, 1, 2} - {still, s.node}).pop())
    await b.answer(error="NOT_COORDINATOR")
    await s.cluster.resume(still)
    await s.settle_at_coordinator()
    await s.follow(a)
    await s.sleep(CAUGHT_UP_MS)
    await a.describe()


@script(rows=["3.2-answers-leave-in-the-order-of-the-appends"], nodes=3)
async def answers_leave_in_order(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic(partitions=2)
    await a.commit(offsets={t: {0: 1}})
    await s.cluster.pause(follower(s))
    await a.commit(offsets={t: {0: 2}}, error=LATER)
    await s.sleep(800)
    await b.commit(offsets={t: {0: 3}}, error=LATER)
    await a.answer(error=LATE, due=(COMMIT_MS, a.mark))
    await b.silence(200)
    await s.cluster.resume(follower(s))
    await b.answer()
    await b.fetch(topics={t: [0]})


@script(rows=["1.8-append-fails"], versions=(0, 4), nodes=3)
async def offsets_in_a_transaction_take_too_long(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    producer = await begun_elsewhere(s, p)
    await s.cluster.pause(follower(s))
    await producer.commit(s.v, {t: {0: 5}}, error=LATER)
    await p.answer(error=LATE, due=(COMMIT_MS, p.mark))
    await s.cluster.resume(follower(s))
    await s.sleep(3_000)
    await a.fetch(topics={t: [0]}, stable=True, error="UNSTABLE_OFFSET_COMMIT")
    await ended_elsewhere(s, producer)
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["1.8-resignation"], versions=(0, 4), nodes=3)
async def the_coordinator_moves_while_a_transactions_offsets_wait(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    producer = await begun_elsewhere(s, p)
    still = follower(s)
    await s.cluster.pause(still)
    await producer.commit(s.v, {t: {0: 5}}, error=LATER)
    await s.settle()
    await s.cluster.move(s.partition, ({0, 1, 2} - {still, s.node}).pop())
    await p.answer(error="NOT_COORDINATOR")
    await s.cluster.resume(still)
    await s.settle_at_coordinator()
    await s.follow(a, p)
    await s.sleep(CAUGHT_UP_MS)
    await a.fetch(topics={t: [0]})


@script(rows=["1.4-append-of-an-older-generation-changes-nothing"], nodes=3)
async def a_further_round_closes_while_an_assignment_waits(s: Script) -> None:
    a, b, c = *await s.pair(), await s.actor("c")
    await s.complete(a, b)
    await c.join(error="MEMBER_ID_REQUIRED")
    await s.cluster.pause(follower(s))
    await a.park_sync(give={a: "old a", b: "old b"})
    await s.settle()
    await c.park_join()
    await a.answer(error="REBALANCE_IN_PROGRESS")
    await a.park_join()
    await b.park_join()
    await s.joined(a, b, c)
    await b.park_sync()
    await s.cluster.resume(follower(s))
    await b.silence(1_000)
    await a.describe()
    await a.sync(give={a: "new a", b: "new b", c: "new c"})
    await b.answer()
    await c.sync()


@script(rows=["3.3-uncommitted-tail-counts-when-it-is-on-the-log"], nodes=3)
async def a_commit_that_was_not_answered_counts_at_the_next_coordinator(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    committed = await s.cluster.high_watermark(s.partition)
    still = follower(s)
    await s.cluster.pause(still)
    await a.commit(offsets={t: {0: 5}}, error=LATER)
    await s.sleep(800)  # the other follower has it by then
    await s.cluster.move(s.partition, ({0, 1, 2} - {still, s.node}).pop())
    await a.answer(error="NOT_COORDINATOR")
    await s.cluster.resume(still)
    await s.settle_at_coordinator()
    await s.follow(a)
    await s.sleep(CAUGHT_UP_MS)
    await s.caught_up(committed + 1)
    await a.fetch(topics={t: [0]})
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["3.2-append-latency"], nodes=3)
async def commits_are_answered_in_the_order_of_the_log(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic(partitions=2)
    await s.cluster.pause(follower(s))
    await a.commit(offsets={t: {0: 1}}, error=LATER)
    await s.settle()
    await b.commit(offsets={t: {0: 2}}, error=LATER)
    await a.silence(100)
    await b.silence(20)
    await s.cluster.resume(follower(s))
    await a.answer()
    await b.answer()
    assert a.mark.hi_us <= b.mark.hi_us
    await b.fetch(topics={t: [0, 1]})


@script(rows=["J3-overtaken-{leader-v9,leader-v8}"], versions=(8, 9), nodes=3)
async def a_round_begins_while_a_replaced_leader_waits(s: Script) -> None:
    a, b, c, d = (
        await s.actor("a", instance="i"),
        await s.actor("b", instance="i"),
        await s.actor("c"),
        await s.actor("d"),
    )
    await s.form(a, d)
    await c.join(error="MEMBER_ID_REQUIRED")
    await s.sleep(1_000)
    await s.cluster.pause(follower(s))
    await b.park_join(s.v)
    await s.settle()
    await c.park_join()
    await s.until("PreparingRebalance", 3)
    await s.cluster.resume(follower(s))
    if s.v < 9:
        await b.answer()
        await b.park_join(s.v)
    else:
        await b.silence(1_500)
    await d.park_join()
    await s.joined(b, c, d)


@script(rows=["1.11-a-deletion-looks-when-earlier-writes-are-committed"], versions=(0, 2), nodes=3)
async def a_group_is_joined_while_its_deletion_waits(s: Script) -> None:
    a, b, c = *await s.pair(), await s.actor("c", instance="i")
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    await s.cluster.pause(follower(s))
    await a.commit(offsets={t: {0: 2}}, error=LATER)
    await s.settle()
    await b.delete(s.v, error=LATER)
    await s.settle()
    await c.park_join()
    await b.silence(100)
    await s.cluster.resume(follower(s))
    await a.answer()
    await b.answer(error="NON_EMPTY_GROUP")
    await c.answer()
    await c.fetch(topics={t: [0]})


@script(rows=["1.11-a-deletion-looks-when-earlier-writes-are-committed"], nodes=3)
async def a_deletion_that_waits_too_long_deletes_nothing(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    await s.cluster.pause(follower(s))
    await a.commit(offsets={t: {0: 2}}, error=LATER)
    await s.settle()
    await b.delete(error=LATER)
    await a.answer(error=LATE, due=(COMMIT_MS, a.mark))
    await b.answer(error=LATE, due=(COMMIT_MS, b.mark))
    await s.cluster.resume(follower(s))
    await s.sleep(3_000)
    await b.describe()
    await a.fetch(topics={t: [0]}, stable=True)
