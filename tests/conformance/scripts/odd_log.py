"""Records that no coordinator of today writes, and timers of groups that could not be written."""

from __future__ import annotations

from tests.conformance.script import Script, script
from tests.conformance.scripts.failed_appends import FAILED, all_fits, nothing_fits
from tests.conformance.scripts.retention import commit_for_ever
from tests.conformance.stored import group_record, key_of, state_time

KIND = "alone"
DELAY_MS = 5_000


@script(rows=["1.7-retention-beyond-64-bits", "3.4-bytes"], versions=(2, 3, 4), kind=KIND)
async def a_retention_longer_than_time(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    await commit_for_ever(s, a, t)
    await a.fetch(8, None)
    await s.on_log()
    await s.restart()
    await s.follow(a)
    await a.fetch(8, None)


@script(rows=["1.3-join-timer-of-a-group-that-was-not-written"], kind=KIND)
async def a_join_timer_of_a_group_that_could_not_be_written(s: Script) -> None:
    a, b = await s.pair()
    await s.restart(group_initial_rebalance_delay_ms=DELAY_MS)
    await s.follow(a, b)
    await nothing_fits(s)
    await a.join(3, error=FAILED)
    begun = a.mark
    await all_fits(s)
    await b.join(error="MEMBER_ID_REQUIRED")
    await b.describe()
    await s.after(DELAY_MS + 500, begun)
    await b.park_join()
    await b.answer()


@script(rows=["3.4-state-without-a-time"], kind=KIND)
async def a_group_that_does_not_know_since_when(s: Script) -> None:
    a, t = await s.actor("a", instance="i"), await s.topic()
    await a.commit(offsets={t: {0: 5}}, generation=-1)
    await s.write(s.partition, group_record(s.group, ["i"]))
    await s.restart()
    await s.follow(a)
    await a.describe(5)
    await a.join(protocols={"range": "of it"})
    await a.describe(5)
    times = [
        state_time(value)
        for key, value in await s.log_of(s.partition)
        if value is not None and key_of(key)["type"] == 2 and key_of(key)["group_id"] == s.group
    ]
    s.note("times of states", times)


@script(rows=["3.3-load-failure", "3.3-group-that-cannot-be"], kind=KIND)
async def a_stored_group_that_cannot_be(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    await s.write(s.partition, group_record(s.group, ["i", "i"]))
    await s.cluster.restart({})
    await s.sleep(1_500)
    await s.follow(a)
    await a.describe(error="NOT_COORDINATOR")
    await a.heartbeat(error="NOT_COORDINATOR")
    await a.list()


@script(rows=["1.10-describe-of-a-group-that-cannot-be"], kind=KIND)
async def a_stored_group_without_a_protocol(s: Script) -> None:
    a, t = await s.actor("a", instance="i"), await s.topic()
    await a.commit(offsets={t: {0: 5}}, generation=-1)
    await s.write(s.partition, group_record(s.group, ["i", "j"], protocol=None))
    await s.restart()
    await s.follow(a)
    await a.list()
    await a.heartbeat(member="m0", generation=7)
    await a.sync(member="m0", generation=7, protocol="range")
    await a.describe(5, error="UNKNOWN_SERVER_ERROR")
    await a.leave(members=[("", "j")])
    await a.describe(5)
