"""One node is stopped, and the offsets topic wants all three replicas in sync.

Coordinators append with acks=1: nothing fails. But with too few in sync nothing is committed, so who waits for the log
is told COORDINATOR_NOT_AVAILABLE after `offsets.commit.timeout.ms`, and nothing is taken back (reference 1.2, 3.2).
"""

from __future__ import annotations

from tests.conformance.basics import COMMIT_MS
from tests.conformance.script import LATER, Script, script

LATE = "COORDINATOR_NOT_AVAILABLE"


async def too_few(s: Script) -> None:
    """From now on nothing is committed."""
    await s.cluster.configure("min.insync.replicas", 3)


async def enough(s: Script) -> None:
    """From now on it is again, and with the next append that is replicated so is what waited, and not before."""
    await s.cluster.configure("min.insync.replicas", None)


@script(
    rows=[
        "1.2-append-timeout",
        "3.2-write-timeout-answers-without-undoing",
        "1.9-plain-fetch-reads-the-committed-view",
    ],
    versions=(2, 5, 9),
    nodes=3,
    short=True,
)
async def a_commit_is_not_committed(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic(partitions=2)
    await a.commit(offsets={t: {0: 1}})
    await too_few(s)
    await a.commit(s.v, offsets={t: {0: 2, 1: 2}}, error=LATER)
    await a.answer(error=LATE, due=(COMMIT_MS, a.mark))
    await a.fetch(topics={t: [0, 1]})
    await enough(s)
    await a.fetch(topics={t: [0, 1]})
    await a.commit(s.v, offsets={t: {1: 3}})
    await a.fetch(topics={t: [0, 1]}, stable=True)


@script(rows=["3.2-write-timeout-of-the-leaders-assignment"], versions=(0, 5), nodes=3, short=True)
async def an_assignment_is_not_committed(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await s.awaiting(a, b, s.v)
    await too_few(s)
    await a.park_sync(s.v, give={a: "for a", b: "for b"})
    await a.answer(error=LATE, due=(COMMIT_MS, a.mark))
    await b.answer(error=LATE)
    await a.describe()
    await enough(s)
    await a.commit(offsets={t: {0: 1}})
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await s.again(a, b)
    await s.synced(a, b)
    await a.describe()


@script(rows=["3.2-heartbeat-waits", "3.2-waiting-heartbeat-has-prolonged-the-session"], nodes=3, short=True)
async def a_heartbeat_that_waits_counts(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await s.form(a, session=4_000)
    await too_few(s)
    await b.commit(offsets={t: {0: 1}}, generation=1, member=a.member_id, error=LATER)
    await s.sleep(1_000)
    await a.heartbeat(error=LATER)
    sent = a.mark
    await b.answer(error=LATE)
    await a.answer(error=LATE, due=(COMMIT_MS, sent))
    await s.until("Empty", 0, due=(4_000, sent))


@script(rows=["1.10-deleted-group-disappears-when-its-tombstone-is-committed"], versions=(0, 2), nodes=3, short=True)
async def a_delete_is_not_committed(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    await too_few(s)
    await a.delete(s.v, error=LATER)
    await a.answer(error=LATE, due=(COMMIT_MS, a.mark))
    await a.describe()
    await enough(s)
    await a.describe()
    await a.join(error="MEMBER_ID_REQUIRED")
    await s.settle()
    await a.describe()
    await a.fetch(topics={t: [0]})


@script(rows=["1.6-answer-waits-for-earlier-writes"], nodes=3, short=True)
async def what_writes_nothing_goes_on(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await s.form(a, b)
    await too_few(s)
    await a.heartbeat()
    await a.fetch(topics={t: [0]}, stable=True)
    await b.leave()
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await a.join()
    await a.sync(give={a: "for a"}, error=LATE)
