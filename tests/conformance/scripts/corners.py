"""Corners that nobody's client looks into: one request that says a thing twice, or not at all."""

from __future__ import annotations

from tests.conformance.script import Script, script

NO_UTF8 = b"\0\0" + b"\0\0\0\1" + b"\0\2\xff\xfe" + b"\xff\xff\xff\xff"


@script(rows=["1.7-a-partition-named-twice"], versions=(2, 9))
async def a_partition_is_committed_twice(s: Script) -> None:
    a, t, none = await s.actor(), await s.topic(), s.no_topic()
    one = {"committed_leader_epoch": -1, "commit_timestamp": -1, "partition_index": 0}
    long = {**one, "committed_offset": 1, "committed_metadata": "x" * 5_000}
    short = {**one, "committed_offset": 2, "committed_metadata": "x"}
    for partitions in ([long, short], [short, long]):
        for more in ([], [{"name": none.name, "topic_id": none.topic_id, "partitions": [short]}]):
            topics = [{"name": t.name, "topic_id": t.topic_id, "partitions": partitions}]
            body = {"group_id": s.group, "generation_id_or_member_epoch": -1, "member_id": "", "retention_time": -1}
            body |= {"group_instance_id": None, "topics": topics + more}
            await a.post("OffsetCommit", s.v, body)
            await a.answer(error="OFFSET_METADATA_TOO_LARGE" + (" UNKNOWN_TOPIC_OR_PARTITION" if more else ""))


@script(rows=["wire-topics-named-twice"], versions=(1, 5, 9, 10))
async def topics_named_twice(s: Script) -> None:
    a, t, none = await s.actor(), await s.topic(partitions=2), s.no_topic()
    for names in ((t, t), (t, none, t)) if s.v < 10 else ((t, t),):
        asked = [{"name": n.name, "topic_id": n.topic_id, "partition_indexes": [at]} for at, n in enumerate(names)]
        for topics in (asked, [{**asked[0], "partition_indexes": []}, *asked]):
            group = {"group_id": s.group, "member_id": None, "member_epoch": -1, "topics": topics}
            await a.ask(
                "OffsetFetch", s.v, {"group_id": s.group, "topics": topics, "groups": [group], "require_stable": False}
            )
    one = {"committed_leader_epoch": -1, "commit_timestamp": -1, "committed_offset": 2, "committed_metadata": ""}
    who = {"group_id": s.group, "generation_id_or_member_epoch": -1, "member_id": "", "retention_time": -1}
    who |= {"group_instance_id": None}
    unknown = "UNKNOWN_TOPIC_OR_PARTITION"
    for numbers, error in (([0, 1], "NONE"), ([0, 7, 1], unknown), ([9, 9], unknown)):
        asked = [
            {"name": t.name, "topic_id": t.topic_id, "partitions": [{**one, "partition_index": number}]}
            for number in numbers
        ]
        await a.post("OffsetCommit", max(2, s.v), {**who, "topics": asked})
        await a.answer(error=error)
        named = [{"name": t.name, "partitions": [{"partition_index": number}]} for number in numbers]
        await a.ask("OffsetDelete", 0, {"group_id": s.group, "topics": named}, error=error)
    if s.v < 10:
        empty = [{"name": n.name, "topic_id": n.topic_id, "partitions": []} for n in (t, none)]
        await a.ask("OffsetCommit", max(2, s.v), {**who, "topics": empty})
    empty = [{"name": n.name, "partitions": []} for n in (t, none)]
    await a.ask("OffsetDelete", 0, {"group_id": s.group, "topics": empty})


@script(rows=["2.6-no-timeout"])
async def a_round_without_a_timeout_waits_for_an_absent_instance(s: Script) -> None:
    a, b, c = await s.actor("a", instance="i"), await s.actor("b"), await s.actor("c", instance="i")
    await b.enter()
    await s.until("PreparingRebalance", 1)
    await a.park_join(rebalance=0)
    await s.joined(b, a)
    await s.synced(b, a)
    await b.leave()
    await s.until("PreparingRebalance", 1)
    await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await s.sleep(200)
    await s.still("PreparingRebalance", 1)
    await c.park_join(rebalance=0)
    await c.answer()


@script(rows=["2.3-malformed-subscription-makes-the-topics-unknown"])
async def a_topic_whose_name_is_no_text(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    await a.commit(offsets={t: {0: 5}})
    await s.form(a, protocols={"range": NO_UTF8})
    await a.delete_offsets({t: [0]})


@script(rows=["J1-a-client-without-a-name"], versions=(3, 9))
async def a_client_without_a_name(s: Script) -> None:
    a = await s.actor("")
    a.client_id = None
    await a.enter(s.v)
    await a.answer()
    await a.describe(5)
