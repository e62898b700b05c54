"""Appends that fail: no record fits, since `max.message.bytes` of the offsets topic has been made too small.

What could not be written is taken back, and who waits is told UNKNOWN_SERVER_ERROR (reference 1.2, 1.4, 2.11, 3.2). Too
few replicas in sync do not make an append fail: see `short_of_replicas`.
"""

from __future__ import annotations

from tests.conformance.script import Script, script
from tests.conformance.scripts.transactions import begun_elsewhere, ended_elsewhere

FAILED = "UNKNOWN_SERVER_ERROR"
MEGABYTE = 1_048_576
"""The least that `segment.bytes` may be."""


async def nothing_fits(s: Script) -> None:
    """From now on appends fail."""
    await s.cluster.configure("max.message.bytes", 1)


async def all_fits(s: Script) -> None:
    """From now on they do not."""
    await s.cluster.configure("max.message.bytes", None)


@script(rows=["1.2-append-message-size", "3.2-failed-commit-is-taken-back"], versions=(2, 5, 9), nodes=3)
async def a_commit_fails(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic(partitions=2)
    await a.commit(offsets={t: {0: 1}})
    await nothing_fits(s)
    await a.commit(s.v, offsets={t: {0: 2, 1: 2}}, error=FAILED)
    await a.fetch(topics={t: [0, 1]}, stable=True)
    await all_fits(s)
    await a.fetch(topics={t: [0, 1]}, stable=True)
    await a.commit(s.v, offsets={t: {0: 3}})
    await a.fetch(topics={t: [0, 1]})


@script(rows=["1.4-store-failed-size", "2.1-failed-leader-write-does-not-count"], versions=(0, 5), nodes=3)
async def an_assignment_cannot_be_written(s: Script) -> None:
    a, b = await s.pair()
    await s.awaiting(a, b, s.v)
    await nothing_fits(s)
    await a.sync(s.v, give={a: "for a", b: "for b"}, error=FAILED)
    await b.answer(error=FAILED)
    await a.describe()
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await all_fits(s)
    await s.again(a, b)
    await s.synced(a, b)
    await a.describe()


@script(rows=["1.3-failed-first-record-fails-the-join-and-removes-the-group"], versions=(1, 3), nodes=3)
async def a_new_group_cannot_be_written(s: Script) -> None:
    a = await s.actor("a")
    await nothing_fits(s)
    await a.join(s.v, error=FAILED)
    await a.describe(error="GROUP_ID_NOT_FOUND")
    await all_fits(s)
    await a.describe(error="GROUP_ID_NOT_FOUND")


@script(rows=["1.3-failed-first-record-leaves-an-answer-given-already"], versions=(4, 9), nodes=3)
async def a_handshake_with_a_group_that_cannot_be_written(s: Script) -> None:
    a = await s.actor("a")
    await nothing_fits(s)
    await a.join(s.v, error="MEMBER_ID_REQUIRED")
    await s.settle()
    await a.describe(error="GROUP_ID_NOT_FOUND")
    await a.join(s.v, error="UNKNOWN_MEMBER_ID")


@script(rows=["2.11-failed-delete-brings-the-group-back"], versions=(0, 2), nodes=3)
async def a_delete_that_cannot_be_written(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic()
    await s.form(a)
    await a.commit(offsets={t: {0: 1}})
    await a.leave()
    await s.until("Empty", 0)
    await nothing_fits(s)
    await a.delete(s.v, error=FAILED)
    await a.describe()
    await a.fetch(topics={t: [0]})
    await all_fits(s)
    await a.delete(s.v)
    await a.describe(error="GROUP_ID_NOT_FOUND")


@script(rows=["2.11-failed-delete-brings-the-group-back"], nodes=3)
async def offsets_that_cannot_be_deleted(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    await nothing_fits(s)
    await a.delete_offsets({t: [0]}, error=FAILED)
    await a.fetch(topics={t: [0]})


@script(rows=["J3-quiet-replacement-that-cannot-be-written-is-reverted"], versions=(5, 9), nodes=3)
async def a_replacement_that_cannot_be_written(s: Script) -> None:
    a, b = await s.actor("a", instance="i"), await s.actor("b", instance="i")
    await s.form(a)
    await nothing_fits(s)
    await b.join(s.v, error=FAILED)
    await a.heartbeat()
    await a.describe()
    await all_fits(s)
    await a.heartbeat()
    await b.join(s.v)
    await a.heartbeat(error="FENCED_INSTANCE_ID")


@script(rows=["3.5-ghost-members-of-a-group-that-was-empty-unwritten", "2.11-what-is-not-written"], nodes=3)
async def ghosts_of_a_group_that_was_empty(s: Script) -> None:
    a = await s.actor("a")
    await s.form(a)
    await nothing_fits(s)
    await a.leave(error=FAILED)
    await s.until("Empty", 0)
    await all_fits(s)
    await a.describe()
    await s.move()
    await s.follow(a)
    await a.describe()
    await a.heartbeat()


@script(rows=["1.8-append-fails"], versions=(0, 3, 4), nodes=3)
async def offsets_in_a_transaction_that_cannot_be_written(s: Script) -> None:
    a, p = await s.actor("a"), await s.actor("p")
    t = await s.topic()
    await a.commit(offsets={t: {0: 1}})
    producer = await begun_elsewhere(s, p)
    await nothing_fits(s)
    await producer.commit(s.v, {t: {0: 5}}, error=FAILED)
    await all_fits(s)
    await a.fetch(topics={t: [0]}, stable=True)
    await producer.commit(s.v, {t: {0: 6}})
    await a.fetch(topics={t: [0]}, stable=True, error="UNSTABLE_OFFSET_COMMIT")
    await ended_elsewhere(s, producer)
    await a.fetch(topics={t: [0]}, stable=True)


@script(rows=["1.2-append-batch-size"], versions=(2, 5), nodes=3)
async def an_assignment_larger_than_a_segment(s: Script) -> None:
    a = await s.actor()
    await s.complete(a)
    await s.cluster.configure("max.message.bytes", 4 * MEGABYTE)
    await s.cluster.configure("segment.bytes", MEGABYTE)
    await a.sync(s.v, give={a: "x" * (MEGABYTE + 1_000)}, error=FAILED)
    await a.describe()
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await a.join()
    await a.sync(s.v, give={a: "less"})
