"""OffsetFetch (reference 1.9)."""

from __future__ import annotations

from tests.conformance.script import Script, script

ALL = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
EVERYTHING = (2, 3, 4, 5, 6, 7, 8, 9, 10)
BATCHED = (8, 9, 10)


@script(rows=["1.9-no-group"], versions=ALL)
async def offsets_of_no_group(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=2)
    await a.fetch(v=s.v, topics={t: [0, 1]})
    await a.describe(v=5)


@script(rows=["1.9-no-group"], versions=EVERYTHING)
async def all_offsets_of_no_group(s: Script) -> None:
    a = await s.actor()
    await a.fetch(v=s.v)


@script(rows=["1.9-Empty"], versions=ALL)
async def offsets_of_a_simple_group(s: Script) -> None:
    a = await s.actor()
    t, u = await s.topic("1", partitions=3), await s.topic("2")
    await a.commit(offsets={t: {0: 5, 2: 7}, u: {0: 1}}, metadata="m", leader_epoch=3)
    await a.fetch(v=s.v, topics={t: [0, 1, 2], u: [0]})
    await a.fetch(v=s.v, topics={t: [2, 0]})
    if s.v >= 2:
        await a.fetch(v=s.v)


@script(rows=["1.9-Empty"], versions=ALL[:-1])
async def offsets_of_an_unknown_topic(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(offsets={t: {0: 5}})
    await a.fetch(v=s.v, topics={s.no_topic(): [0], t: [0, 9]})


@script(rows=["1.9-Empty", "1.9-topic-ids"], versions=(10,))
async def offsets_of_an_unknown_topic_id(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(offsets={t: {0: 5}})
    await a.fetch(v=s.v, topics={s.no_topic(): [0], t: [0, 9]}, error="UNKNOWN_TOPIC_ID")


@script(rows=["1.9-Empty"], versions=ALL)
async def offsets_of_no_topics(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(offsets={t: {0: 5}})
    await a.fetch(v=s.v, topics={})


@script(rows=["1.9-{Empty,PreparingRebalance,CompletingRebalance,Stable}"], versions=(1, 7, 9))
async def offsets_in_every_state(s: Script) -> None:
    a, b = await s.pair()
    watch = await s.actor("watch")
    t = await s.topic()
    await watch.commit(offsets={t: {0: 5}})
    for stable in (False, True):
        await watch.fetch(v=s.v, topics={t: [0]}, stable=stable)
    await s.complete(a)
    for stable in (False, True):
        await watch.fetch(v=s.v, topics={t: [0]}, stable=stable)
    await s.synced(a)
    for stable in (False, True):
        await watch.fetch(v=s.v, topics={t: [0]}, stable=stable)
    await s.gather(b, before=1)
    for stable in (False, True):
        await watch.fetch(v=s.v, topics={t: [0]}, stable=stable)


@script(rows=["1.9-several-groups"], versions=BATCHED)
async def offsets_of_several_groups(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    one, two = s.named(".1"), s.named(".2")
    await a.commit(offsets={t: {0: 5}}, group=one)
    await a.commit(offsets={t: {0: 6}}, group=two)
    await a.fetch(v=s.v, topics={t: [0]}, groups=[one, two, s.named(".3")])
    await a.fetch(v=s.v, groups=[two, s.named(".3")])


@script(rows=["1.9-Stable"], versions=(9, 10))
async def offsets_asked_by_a_member(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await s.form(a)
    await a.commit(offsets={t: {0: 5}})
    await a.fetch(v=s.v, topics={t: [0]}, member=(a.member_id, 1))
    await a.fetch(v=s.v, topics={t: [0]}, member=(None, -1))
