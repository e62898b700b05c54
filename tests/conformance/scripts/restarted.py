"""A broker that is started again on its data, with other settings (reference 2.10, 2.12, 3.3).

The one node of these scripts is theirs alone, has fifty partitions as by default, and stops in good order.
"""

from __future__ import annotations

from tests.conformance.basics import Mark
from tests.conformance.script import Script, Topic, script

KIND = "alone"
LOOK_MS = 3_000
OFFSETS_TOPIC = Topic("__consumer_offsets")


@script(rows=["2.10-loaded-group-over-capacity"], kind=KIND)
async def a_loaded_group_is_too_large(s: Script) -> None:
    a, b, c = *await s.pair(), await s.actor("c")
    await s.form(a, b, c)
    await s.restart(group_max_size=2)
    await s.follow(a, b, c)
    await s.until("PreparingRebalance", 3)
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await c.park_join()
    await c.silence(150)
    await b.park_join()
    await b.silence(150)
    await a.join(error="GROUP_MAX_SIZE_REACHED")
    await c.hang_up()


@script(rows=["2.10-loaded-group-at-capacity"], kind=KIND)
async def a_loaded_group_is_as_large_as_may_be(s: Script) -> None:
    a, b, c = *await s.pair(), await s.actor("c")
    await s.form(a, b)
    await s.restart(group_max_size=2)
    await s.follow(a, b, c)
    await a.heartbeat()
    await b.heartbeat()
    await a.describe()
    await c.join(error="GROUP_MAX_SIZE_REACHED")
    await b.sync()


@script(rows=["2.12-first-look-is-one-interval-after-the-load"], kind=KIND)
async def the_first_look_comes_after_an_interval(s: Script) -> None:
    a, b = await s.pair()
    await a.join(error="MEMBER_ID_REQUIRED")
    loaded = await s.restart(offsets_retention_check_interval_ms=LOOK_MS)
    await s.follow(a, b)
    first = await s.until("Dead", 0, due=(LOOK_MS, loaded))
    await b.join(error="MEMBER_ID_REQUIRED")
    await b.describe()
    seen = Mark(first.hi_us - 100_000, first.hi_us)
    await s.until("Dead", 0, due=(LOOK_MS, seen))


@script(rows=["2.12-time-of-becoming-empty-survives-a-fail-over"], long=True, kind=KIND)
async def the_time_of_becoming_empty_is_kept(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await s.form(a)
    await a.commit(offsets={t: {0: 5}})
    await a.leave()
    left = a.mark
    await b.join(v=3, group=s.named(".later"))
    await b.sync(v=3, give={b: "all"}, group=s.named(".later"))
    await b.commit(offsets={t: {0: 6}}, group=s.named(".later"))
    await s.after(50_000, left)
    await b.leave(group=s.named(".later"))
    await s.after(61_000, left)
    await s.restart(offsets_retention_minutes=1, offsets_retention_check_interval_ms=500)
    await s.follow(a, b)
    await s.until("Dead", 0)
    await a.fetch(topics={t: [0]})
    await b.fetch(topics={t: [0]}, groups=[s.named(".later")])


@script(rows=["2.11-failed-tombstones-are-tried-again"], kind=KIND)
async def an_expiry_that_cannot_be_written(s: Script) -> None:
    a = await s.actor()
    await s.restart(offsets_retention_check_interval_ms=LOOK_MS)
    await s.follow(a)
    await a.join(error="MEMBER_ID_REQUIRED")
    await s.cluster.configure("max.message.bytes", 1)
    await s.still("Empty", 0)
    await s.sleep(LOOK_MS + 500)
    await s.still("Empty", 0)
    await a.describe()
    await s.cluster.configure("max.message.bytes", None)
    await s.until("Dead", 0)


@script(rows=["2.12-defaults"], kind=KIND)
async def the_defaults_of_retention(s: Script) -> None:
    a = await s.actor()
    await s.restart(offsets_retention_minutes=1, offsets_retention_check_interval_ms=LOOK_MS)
    await s.follow(a)
    names = ["offsets.retention.minutes", "offsets.retention.check.interval.ms"]
    resource = {"resource_type": 4, "resource_name": "0", "configuration_keys": names}
    body = {"resources": [resource], "include_synonyms": True, "include_documentation": False}
    (told,) = (await a.ask("DescribeConfigs", 4, body))["results"]
    for setting in told["configs"]:
        s.note(setting["name"], [setting["value"], setting["synonyms"]])


@script(rows=["1.12-topic-created"], kind=KIND)
async def the_offsets_topic_is_deleted_and_made_again(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    await b.enter()
    await s.until("PreparingRebalance", 2)
    await s.delete_topic(OFFSETS_TOPIC)
    await b.answer(error="NOT_COORDINATOR")
    await a.heartbeat(error="NOT_COORDINATOR")
    await a.find(error="COORDINATOR_NOT_AVAILABLE")
    await s.settle_at_coordinator()
    await a.find()
    await a.describe(error="GROUP_ID_NOT_FOUND")
    await a.heartbeat(error="UNKNOWN_MEMBER_ID")
