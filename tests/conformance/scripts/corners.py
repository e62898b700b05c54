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
