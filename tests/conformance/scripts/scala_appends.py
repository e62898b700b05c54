"""Appends of the group coordinator up to 3.9, which are made with acks=-1.

With fewer replicas in sync than `min.insync.replicas` they fail at once, and nothing is written; after
`offsets.commit.timeout.ms` they have failed, though the record is in the log. What a failure is called depends on what
was to be written (`storeGroup`, `maybeConvertOffsetCommitError`). Tombstones are not waited for at all. Asked of 3.9.1.
"""

from __future__ import annotations

from tests.conformance.basics import COMMIT_MS
from tests.conformance.script import LATER, Script, script
from tests.conformance.scripts.failed_appends import all_fits, nothing_fits
from tests.conformance.scripts.short_of_replicas import enough, too_few
from tests.conformance.scripts.slow_replicas import follower
from tests.conformance.scripts.transactions import begun_elsewhere, ended_elsewhere

FEW = "COORDINATOR_NOT_AVAILABLE"
LATE_GROUP = "REBALANCE_IN_PROGRESS"
LATE_COMMIT = "REQUEST_TIMED_OUT"
LARGE_COMMIT = "INVALID_COMMIT_OFFSET_SIZE"
LARGE_GROUP = "UNKNOWN_SERVER_ERROR"
UNSTABLE = "UNSTABLE_OFFSET_COMMIT"


# --- too few replicas in sync ----------------------------------------------------------------------------------------


@script(rows=["old-appends-to-all-few-commit"], versions=(2, 5, 9), nodes=3, short=True, kind="scala")
async def old_a_commit_short_of_replicas(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic(partitions=2)
    await a.commit(offsets={t: {0: 1}})
    await too_few(s)
    await a.commit(s.v, offsets={t: {0: 2, 1: 2}}, error=FEW)
    await a.fetch(topics={t: [0, 1]}, stable=True)
    await enough(s)
    await a.commit(s.v, offsets={t: {1: 3}})
    await s.move()
    await s.follow(a)
    await a.fetch(topics={t: [0, 1]})


@script(rows=["old-appends-to-all-few-group"], versions=(0, 5), nodes=3, short=True, kind="scala")
async def old_an_assignment_short_of_replicas(s: Script) -> None:
    a, b = await s.pair()
    await s.awaiting(a, b, s.v)
    await too_few(s)
    await a.sync(s.v, give={a: "for a", b: "for b"}, error=FEW)
    await b.answer(error=FEW)
    await a.describe()
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await enough(s)
    await s.again(a, b)
    await s.synced(a, b)
    await a.describe()


@script(
    rows=["old-appends-to-all-few-replacement", "old-a-reverted-replacement-keeps-the-refused-protocols"],
    versions=(5, 9),
    nodes=3,
    short=True,
    kind="scala",
)
async def old_a_replacement_short_of_replicas(s: Script) -> None:
    a, b, c = await s.actor("a"), await s.actor("b", instance="i"), await s.actor("c", instance="i")
    await s.form(a, b)
    await too_few(s)
    await c.join(s.v, protocols={"range": "cc"}, error=FEW)
    await b.heartbeat()
    await b.park_join(s.v)
    await s.until("PreparingRebalance", 2)
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")


@script(rows=["old-nothing-waits-for-tombstones"], versions=(0, 2), nodes=3, short=True, kind="scala")
async def old_deletions_short_of_replicas(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic(partitions=2)
    await s.form(a)
    await a.commit(offsets={t: {0: 1, 1: 1}})
    await a.leave()
    await s.until("Empty", 0)
    await too_few(s)
    await a.delete_offsets({t: [0]})
    await a.fetch(topics={t: [0, 1]})
    await a.delete(s.v)
    await a.describe()
    await a.fetch(topics={t: [0, 1]})


@script(rows=["old-appends-to-all-few-empty"], nodes=3, short=True, kind="scala")
async def old_what_writes_nothing_short_of_replicas(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await s.form(a, b)
    await too_few(s)
    await a.heartbeat()
    await a.fetch(topics={t: [0]}, stable=True)
    await b.leave()
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await a.leave()
    await s.until("Empty", 0)
    await b.describe()
    await s.move()
    await s.follow(a, b)
    await b.describe()


@script(rows=["old-appends-to-all-few-transaction"], versions=(0, 3), nodes=3, short=True, kind="scala")
async def old_a_transaction_short_of_replicas(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    producer = await begun_elsewhere(s, p)
    await too_few(s)
    await producer.commit(s.v, {t: {0: 5}}, error=FEW)
    await a.fetch(topics={t: [0]}, stable=True)
    await enough(s)
    await producer.commit(s.v, {t: {0: 6}})
    await a.fetch(topics={t: [0]}, stable=True, error=UNSTABLE)
    await ended_elsewhere(s, producer)
    await a.fetch(topics={t: [0]}, stable=True)


# --- a follower stands still -----------------------------------------------------------------------------------------


@script(
    rows=["old-appends-to-all-late-commit", "old-a-late-commit-shows-after-the-next-load"],
    versions=(2, 9),
    nodes=3,
    kind="scala",
)
async def old_a_commit_takes_too_long(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    await s.cluster.pause(follower(s))
    await a.commit(s.v, offsets={t: {0: 5}}, error=LATER)
    await s.settle()
    await b.fetch(topics={t: [0]})
    await b.fetch(topics={t: [0]}, stable=True, error=UNSTABLE)
    await a.answer(error=LATE_COMMIT, due=(COMMIT_MS, a.mark))
    await b.fetch(topics={t: [0]}, stable=True)
    await s.cluster.resume(follower(s))
    await s.sleep(3_000)
    await a.fetch(topics={t: [0]}, stable=True)
    await s.move()
    await s.follow(a)
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["old-appends-to-all-late-group"], versions=(0, 5), nodes=3, kind="scala")
async def old_an_assignment_takes_too_long(s: Script) -> None:
    a, b = await s.pair()
    await s.awaiting(a, b, s.v)
    await s.cluster.pause(follower(s))
    await a.park_sync(s.v, give={a: "for a", b: "for b"})
    await a.answer(error=LATE_GROUP, due=(COMMIT_MS, a.mark))
    await b.answer(error=LATE_GROUP)
    await a.describe()
    await s.cluster.resume(follower(s))
    await s.sleep(3_000)
    await a.describe()
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")


@script(rows=["old-appends-to-all-late-replacement"], versions=(5, 9), nodes=3, kind="scala")
async def old_a_replacement_takes_too_long(s: Script) -> None:
    a, b = await s.actor("a", instance="i"), await s.actor("b", instance="i")
    await s.form(a)
    await s.cluster.pause(follower(s))
    await b.park_join(s.v)
    await s.settle()
    await a.heartbeat(error="FENCED_INSTANCE_ID")
    await b.answer(error=LATE_GROUP, due=(COMMIT_MS, b.mark))
    await a.heartbeat()
    await s.cluster.resume(follower(s))


@script(rows=["old-a-new-group-is-there-at-once"], nodes=3, kind="scala")
async def old_a_group_appears_at_once(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await s.cluster.pause(follower(s))
    await a.join(error="MEMBER_ID_REQUIRED")
    await b.describe()
    await b.list()
    await b.delete()
    await b.describe()
    await b.commit(offsets={t: {0: 1}}, error=LATER)
    await s.settle()
    await a.describe()
    await b.answer(error=LATE_COMMIT, due=(COMMIT_MS, b.mark))
    await a.describe()
    await s.cluster.resume(follower(s))


@script(rows=["old-nothing-waits-for-tombstones"], nodes=3, kind="scala")
async def old_deletions_wait_for_nothing(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic(partitions=2)
    await s.form(a)
    await a.commit(offsets={t: {0: 5, 1: 6}})
    await s.cluster.pause(follower(s))
    await a.heartbeat()
    await a.leave()
    await s.until("Empty", 0)
    await b.commit(offsets={t: {1: 7}}, error=LATER)
    await s.settle()
    await a.delete_offsets({t: [1]})
    await a.fetch(topics={t: [0, 1]}, stable=True)
    await s.cluster.resume(follower(s))
    await b.answer()
    await a.fetch(topics={t: [0, 1]}, stable=True)


# --- what does not fit -----------------------------------------------------------------------------------------------


@script(rows=["old-appends-to-all-large-commit"], versions=(2, 5, 9), nodes=3, kind="scala")
async def old_a_commit_that_does_not_fit(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic(partitions=2)
    await a.commit(offsets={t: {0: 1}})
    await nothing_fits(s)
    await a.commit(s.v, offsets={t: {0: 2, 1: 2}}, error=LARGE_COMMIT)
    await a.fetch(topics={t: [0, 1]}, stable=True)
    await a.commit(s.v, offsets={t: {0: 2}}, metadata="x" * 5_000, error="OFFSET_METADATA_TOO_LARGE")
    await all_fits(s)
    await a.commit(s.v, offsets={t: {0: 3}})
    await a.fetch(topics={t: [0, 1]})


@script(rows=["old-appends-to-all-large-group"], versions=(0, 5), nodes=3, kind="scala")
async def old_an_assignment_that_does_not_fit(s: Script) -> None:
    a, b = await s.pair()
    await s.awaiting(a, b, s.v)
    await nothing_fits(s)
    await a.sync(s.v, give={a: "for a", b: "for b"}, error=LARGE_GROUP)
    await b.answer(error=LARGE_GROUP)
    await a.describe()
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")


@script(rows=["old-a-new-group-is-there-at-once"], versions=(1, 3), nodes=3, kind="scala")
async def old_a_new_group_writes_nothing(s: Script) -> None:
    a = await s.actor("a")
    await nothing_fits(s)
    await a.park_join(s.v)
    await s.until("PreparingRebalance", 1)
    await a.answer()
    await a.sync(0, give={a: "all"}, error=LARGE_GROUP)


@script(rows=["old-a-deletion-cannot-fail"], versions=(0, 2), nodes=3, kind="scala")
async def old_a_delete_that_does_not_fit(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic()
    await s.form(a)
    await a.commit(offsets={t: {0: 1}})
    await a.leave()
    await s.until("Empty", 0)
    await nothing_fits(s)
    await a.delete(s.v)
    await a.describe()
    await a.fetch(topics={t: [0]})
    await all_fits(s)
    await s.move()
    await s.follow(a)
    await a.describe()
    await a.fetch(topics={t: [0]})


@script(rows=["old-appends-to-all-large-transaction"], versions=(0, 3), nodes=3, kind="scala")
async def old_a_transaction_that_does_not_fit(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    producer = await begun_elsewhere(s, p)
    await nothing_fits(s)
    await producer.commit(s.v, {t: {0: 5}}, error=LARGE_COMMIT)
    await all_fits(s)
    await a.fetch(topics={t: [0]}, stable=True)
    await ended_elsewhere(s, producer)


@script(rows=["old-appends-to-all-large-empty"], nodes=3, kind="scala")
async def old_ghosts_of_a_group_that_was_empty(s: Script) -> None:
    a = await s.actor("a")
    await s.form(a)
    await nothing_fits(s)
    await a.leave()
    await s.until("Empty", 0)
    await all_fits(s)
    await a.describe()
    await s.move()
    await s.follow(a)
    await a.describe()
    await a.heartbeat()
