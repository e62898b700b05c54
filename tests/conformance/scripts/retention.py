"""What becomes of offsets and groups nobody needs (reference 2.12): a minute of retention, ten looks a second.

No initial delay on these brokers, so that a lone member has its generation at once. Who has shaken hands only may be
gone before it joins: members enter with version 3, which does not.
"""

from __future__ import annotations

from typing import Any

from tests.conformance.basics import subscription
from tests.conformance.script import Actor, Script, Topic, script

KIND = "forgetful"
MINUTE = 60_000
STANDS_FOR_IT = 0x0011_2233_4455_6677
"""In the place of a number that the schemas' own type of a duration cannot hold."""
BEFORE, AFTER = 58_500, 61_000
"""When to look, in ms: what is due after a minute is there, and is gone."""


async def alone(s: Script, a: Actor, **others: Any) -> None:
    """A Stable group of this member."""
    await a.join(v=3, **others)
    await a.sync(v=3, give={a: "all"})


async def commit_for_ever(s: Script, a: Actor, topic: Topic) -> None:
    """An OffsetCommit whose retention is the largest number of milliseconds that a request can hold."""
    one = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
    body = {"group_id": s.group, "generation_id_or_member_epoch": -1, "member_id": "", "retention_time": STANDS_FOR_IT}
    body["topics"] = [{"name": topic.name, "partitions": [one]}]
    ever, here = (number.to_bytes(8, "big") for number in (2**63 - 1, STANDS_FOR_IT))
    await a.post("OffsetCommit", s.v, body, lambda frame: frame.replace(here, ever))
    await a.answer()


# --- at once --------------------------------------------------------------------------------------------------------


@script(rows=["1.7-retention-beyond-64-bits"], versions=(2, 4), kind="forgetful")
async def a_retention_longer_than_time_is_over_at_once(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    await commit_for_ever(s, a, t)
    await s.sleep(1_000)
    await a.fetch(8, None)
    await a.describe(5)


@script(rows=["2.12-empty-group-without-offsets-vanishes-at-the-next-look", "trap-14-three-kinds-of-empty"], kind=KIND)
async def a_group_that_was_left_vanishes(s: Script) -> None:
    a, b = await s.pair()
    await alone(s, a)
    await a.leave()
    await s.until("Dead", 0, due=(0, a.mark))
    await a.describe(error="GROUP_ID_NOT_FOUND")
    await alone(s, b)
    await b.heartbeat()
    await a.list()


@script(rows=["2.12-pending-ids-go-with-the-group"], versions=(4, 9), kind=KIND)
async def a_pending_id_goes_with_its_group(s: Script) -> None:
    a = await s.actor()
    await a.join(v=s.v, error="MEMBER_ID_REQUIRED")
    await s.until("Dead", 0, due=(0, a.mark))
    await s.sleep(300)
    await a.join(v=s.v, error="UNKNOWN_MEMBER_ID")
    await a.describe(v=5)


@script(rows=["2.12-live-groups-are-never-deleted"], kind=KIND)
async def live_groups_stay(s: Script) -> None:
    a, b = await s.pair()
    await a.join(v=3)
    await s.sleep(500)
    await a.sync(v=3, give={a: "all"})
    await s.sleep(500)
    await a.heartbeat()
    await b.park_join(v=3)
    await s.until("PreparingRebalance", 2)
    await s.sleep(500)
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await a.describe()


@script(rows=["2.12-explicit-expiry-wins", "2.12-group-goes-with-its-last-offset"], versions=(2, 3, 4), kind=KIND)
async def a_commit_says_when_it_expires(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=2)
    await a.commit(v=s.v, offsets={t: {0: 5}}, retention=1_000)
    first = a.mark
    await s.sleep(500)
    await a.commit(v=s.v, offsets={t: {1: 6}}, retention=2_500)
    last = a.mark
    await a.fetch(topics={t: [0, 1]})
    await s.after(1_500, first)
    await a.fetch(topics={t: [0, 1]})
    await a.describe()
    await s.until("Dead", 0, due=(2_500, last))
    await a.fetch(topics={t: [0, 1]})


@script(rows=["2.12-Stable-subscription-unknown", "2.12-explicit-expiry-wins"], versions=(4,), kind=KIND)
async def a_commit_of_a_member_that_says_when_it_expires(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await alone(s, a)
    await a.commit(v=s.v, offsets={t: {0: 5}}, retention=500)
    await s.sleep(1_000)
    await a.fetch(topics={t: [0]})
    await a.leave()
    await s.until("Dead", 0, due=(0, a.mark))
    await a.fetch(topics={t: [0]})


@script(rows=["2.12-stable-consumers-lose-topics-nobody-subscribes", "2.12-explicit-expiry-wins"], kind=KIND)
async def what_expires_of_a_consumer_at_its_own_time(s: Script) -> None:
    a = await s.actor()
    read, other = await s.topic(), await s.topic("2")
    await alone(s, a, protocols={"range": subscription(read.name)})
    await a.commit(v=4, offsets={read: {0: 5}, other: {0: 6}}, retention=700)
    await a.fetch(topics={read: [0], other: [0]})
    await s.sleep(1_200)
    await a.fetch(topics={read: [0], other: [0]})
    await a.describe()


@script(rows=["2.5-delay-zero", "2.5-no-delay-is-the-next-event"], versions=(0, 3, 9), kind=KIND)
async def no_delay(s: Script) -> None:
    a = await s.actor("a", instance="i" if s.v >= 5 else None)
    await a.park_join(v=s.v)
    await a.answer(due=(0, a.mark))
    await a.describe()


@script(rows=["2.10-default-limit-is-no-limit"], kind=KIND)
async def six_members(s: Script) -> None:
    a = await s.actor()
    others = [await s.actor(name) for name in "bcdef"]
    await alone(s, a)
    for count, actor in enumerate(others, 2):
        await actor.park_join(v=3)
        await s.until("PreparingRebalance", count)
    await a.park_join(v=3)
    await s.joined(a, *others)


# --- after a minute -------------------------------------------------------------------------------------------------


@script(
    rows=[
        "2.12-simple-group-counts-from-the-commit",
        "2.12-group-goes-with-its-last-offset",
        "1.7-retention-{default,v5-has-none}",
        "trap-14-three-kinds-of-empty",
    ],
    versions=(2, 4, 5, 9),
    long=True,
    kind=KIND,
)
async def a_simple_groups_offsets_expire(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=2)
    retention = -1 if s.v < 5 else 1_000  # from version 5 on there is no field for it
    await a.commit(v=s.v, offsets={t: {0: 5}}, retention=retention)
    first = a.mark
    await s.after(10_000, first)
    await a.commit(v=s.v, offsets={t: {1: 6}}, retention=retention)
    last = a.mark
    await s.after(BEFORE, first)
    await a.fetch(topics={t: [0, 1]})
    await s.after(AFTER, first)
    await a.fetch(topics={t: [0, 1]})
    await a.describe()
    await s.after(BEFORE, last)
    await s.until("Dead", 0, due=(MINUTE, last))
    await a.fetch(topics={t: [0, 1]})


@script(
    rows=[
        "2.12-empty-group-counts-from-when-it-became-empty",
        "2.12-group-goes-with-its-last-offset",
        "trap-14-three-kinds-of-empty",
    ],
    long=True,
    kind=KIND,
)
async def an_emptied_groups_offsets_expire(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=2)
    await alone(s, a)
    await a.commit(offsets={t: {0: 5}})
    mark = a.mark
    await s.after(8_000, mark)
    await a.leave()
    left = a.mark
    await s.after(20_000, mark)
    await a.commit(offsets={t: {1: 6}}, member="", generation=-1)
    await s.after(AFTER, mark)
    await a.fetch(topics={t: [0, 1]})
    await a.describe()
    await s.after(BEFORE, left)
    await s.until("Dead", 0, due=(MINUTE, left))
    await a.fetch(topics={t: [0, 1]})


@script(
    rows=["2.12-created-but-never-joined-counts-from-the-commit", "2.12-pending-ids-go-with-the-group"],
    long=True,
    kind=KIND,
)
async def a_group_that_was_never_joined(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await a.join(error="MEMBER_ID_REQUIRED")
    await b.commit(offsets={t: {0: 5}})
    mark = b.mark
    await s.after(10_000, mark)
    await a.join(member="", error="MEMBER_ID_REQUIRED")
    await b.describe()
    await s.after(BEFORE, mark)
    await b.fetch(topics={t: [0]})
    await s.until("Dead", 0, due=(MINUTE, mark))
    await a.join(error="UNKNOWN_MEMBER_ID")
    await b.fetch(topics={t: [0]})


@script(rows=["2.12-stable-consumers-lose-topics-nobody-subscribes"], long=True, kind=KIND)
async def consumers_lose_what_nobody_subscribes(s: Script) -> None:
    a = await s.actor()
    read, other = await s.topic(), await s.topic("2")
    await alone(s, a, protocols={"range": subscription(read.name)})
    await a.commit(offsets={read: {0: 5}, other: {0: 6}})
    mark = a.mark
    await s.after(30_000, mark)
    await a.heartbeat()
    await s.after(BEFORE, mark)
    await a.fetch(topics={read: [0], other: [0]})
    await s.after(AFTER, mark)
    await a.fetch(topics={read: [0], other: [0]})
    await a.describe()


@script(rows=["2.12-nothing-expires-during-a-rebalance"], long=True, kind=KIND)
async def nothing_expires_in_a_rebalance(s: Script) -> None:
    a, b = await s.pair()
    read, other = await s.topic(), await s.topic("2")
    same: dict[str, Any] = {"protocols": {"range": subscription(read.name)}, "rebalance": 200_000}
    await alone(s, a, **same)
    await a.commit(offsets={read: {0: 5}, other: {0: 6}})
    mark = a.mark
    await b.park_join(v=3, **same)
    await s.until("PreparingRebalance", 2)
    await s.after(30_000, mark)
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await s.after(AFTER, mark)
    await a.fetch(topics={read: [0], other: [0]})
    await a.park_join(v=3, **same)
    await s.joined(a, b)
    await s.sleep(500)
    await a.fetch(topics={read: [0], other: [0]})
    await s.synced(a, b, v=3)
    await s.sleep(500)
    await a.fetch(topics={read: [0], other: [0]})


@script(rows=["2.12-Stable-subscription-unknown"], long=True, kind=KIND)
async def what_cannot_be_read_keeps_everything(s: Script) -> None:
    await _kept(s)


@script(rows=["2.12-Stable-other-type", "2.3-other-protocol-types-have-no-topics"], long=True, kind=KIND)
async def another_protocol_type_keeps_everything(s: Script) -> None:
    await _kept(s, protocol_type="connect", protocols={"range": subscription(s.no_topic().name)})


async def _kept(s: Script, **others: Any) -> None:
    a = await s.actor()
    t = await s.topic()
    await alone(s, a, **others)
    await a.commit(offsets={t: {0: 5}})
    mark = a.mark
    await s.after(30_000, mark)
    await a.heartbeat()
    await s.after(AFTER, mark)
    await a.fetch(topics={t: [0]})
    await a.leave()
    left = a.mark
    await s.after(BEFORE, left)
    await a.fetch(topics={t: [0]})
    await s.until("Dead", 0, due=(MINUTE, left))


@script(rows=["2.12-explicit-expiry-wins"], versions=(4,), long=True, kind=KIND)
async def a_commit_outlives_the_brokers_retention(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=2)
    await a.commit(v=s.v, offsets={t: {0: 5}}, retention=70_000)
    mark = a.mark
    await a.commit(v=s.v, offsets={t: {1: 6}})
    await s.after(AFTER, mark)
    await a.fetch(topics={t: [0, 1]})
    await s.after(69_000, mark)
    await s.until("Dead", 0, due=(70_000, mark))
