"""What a coordinator writes to `__consumer_offsets`, byte for byte, and what it makes of what others wrote there.

Reference 3.1, 3.3, 3.4. The log is read by Fetch; the client id `__admin_client` may write to it.
"""

from __future__ import annotations

from tests.conformance.basics import TimingFailed, subscription
from tests.conformance.script import Script, script
from tests.conformance.scripts.transactions import begun, ended
from tests.conformance.stored import key_of

KIND = "alone"
PARTITIONS = {"": 0, "group-id": 13, "my-group": 12, "test": 48, "foo": 24, "polygenelubricants": 0}
CLEANED_AT_ONCE = {"min.cleanable.dirty.ratio": 0, "delete.retention.ms": 0, "segment.ms": 1_000}
UNKNOWN_KIND = (99).to_bytes(2, "big") + b"who knows"
OF_NO_GROUP = (2).to_bytes(2, "big") + b"\0\4gone", (3).to_bytes(2, "big") + b"\xff"


@script(rows=["3.1-{empty,group-id,my-group,test,foo,min-value}"], kind=KIND)
async def where_groups_are_stored(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    for group, partition in PARTITIONS.items():
        await a.commit(offsets={t: {0: 1}}, group=group)
        keys = [key_of(key) for key, _ in await s.log_of(partition)]
        assert any((key["group_id"], key.get("topic")) == (group, t.name) for key in keys), (group, keys)


@script(rows=["3.4-bytes", "3.4-group-record-fields"], versions=(0, 1, 5, 9), kind=KIND)
async def the_bytes_of_a_groups_records(s: Script) -> None:
    a = await s.actor("a", instance="i" if s.v >= 5 else None)
    await a.park_join(v=s.v, session=7_000, rebalance=30_000, protocols={"range": subscription("t"), "other": "x"})
    await a.answer()
    await a.sync(give={a: "all of it"})
    await a.leave(members=[(a.member_id, None)])
    await s.until("Empty", 0)
    await a.delete()
    await s.on_log()


@script(rows=["3.4-bytes"], versions=(2, 5, 6, 9, 10), kind=KIND)
async def the_bytes_of_an_offsets_record(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=3)
    await a.commit(v=s.v, offsets={t: {0: 5}}, metadata="said", leader_epoch=7)
    await a.commit(v=s.v, offsets={t: {1: 2**40}}, metadata=None)
    if s.v == 2:
        await a.commit(v=s.v, offsets={t: {2: 6}}, retention=60_000)
    await a.delete_offsets({t: [0]})
    await s.on_log()


@script(rows=["3.4-bytes"], versions=(0, 3, 4), kind=KIND)
async def the_bytes_of_a_transactions_offsets(s: Script) -> None:
    p = await s.actor("p")
    t = await s.topic()
    producer = await begun(s, p)
    await producer.commit(s.v, {t: {0: 5}}, metadata="said")
    await ended(s, producer)
    await s.on_log()


@script(rows=["3.4-compaction"], kind=KIND)
async def a_compacted_log_tells_the_same(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic(partitions=3)
    await s.restart(log_cleaner_backoff_ms=200)
    await s.follow(a, b)
    for setting, value in CLEANED_AT_ONCE.items():
        await s.cluster.configure(setting, value)
    await s.form(a)
    for offset in range(5):
        await a.commit(offsets={t: {0: offset, 1: offset}})
    await a.delete_offsets({t: [1]}, error="GROUP_SUBSCRIBED_TO_TOPIC")
    await b.commit(offsets={t: {1: 7}}, group=s.named(".gone"))
    await b.delete(groups=[s.named(".gone")])
    await s.sleep(1_500)  # what stands in the last segment stays
    await a.commit(offsets={t: {2: 9}})
    await _until_cleaned(s, t.name)
    await s.restart()
    await s.follow(a, b)
    await a.describe()
    await a.heartbeat()
    await a.fetch(topics={t: [0, 1, 2]})
    await b.describe(groups=[s.named(".gone")], error="GROUP_ID_NOT_FOUND")


async def _until_cleaned(s: Script, topic: str) -> None:
    """The log has each of the group's offsets once. Raises TimingFailed."""
    for _ in range(120):
        keys = [key_of(key) for key, _ in await s.log_of(s.partition)]
        if [key["partition"] for key in keys if key.get("topic") == topic] == [0, 1, 2]:
            return
        await s.sleep(250)
    raise TimingFailed(f"{s.id}: not compacted after 30 s: {keys}")


@script(rows=["3.3-unknown-records"], kind=KIND)
async def records_nobody_knows_are_skipped(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await s.form(a)
    await a.commit(offsets={t: {0: 5}})
    await s.write(s.partition, (UNKNOWN_KIND, b"anything"), (UNKNOWN_KIND, None))
    await s.restart()
    await s.follow(a)
    await a.describe()
    await a.heartbeat()
    await a.fetch(topics={t: [0]})


@script(rows=["3.3-offset-mismatch"], kind=KIND)
async def the_log_has_moved_behind_the_coordinators_back(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await s.form(a)
    await a.commit(offsets={t: {0: 5}})
    await s.write(s.partition, (UNKNOWN_KIND, b"anything"))
    await a.commit(offsets={t: {0: 6}}, error="NOT_COORDINATOR")
    await s.settle_at_coordinator()
    await a.fetch(topics={t: [0]})
    await a.heartbeat()
    await a.describe()
    await a.commit(offsets={t: {0: 7}})
    await a.fetch(topics={t: [0]})


@script(rows=["3.3-load-failure", "1.2-shard-failed"], kind=KIND)
async def a_log_that_cannot_be_read(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    await s.write(s.partition, OF_NO_GROUP)
    await s.cluster.restart({})
    await s.sleep(1_500)
    await s.follow(a)
    await a.describe(error="NOT_COORDINATOR")
    await a.heartbeat(error="NOT_COORDINATOR")
    await a.join(error="NOT_COORDINATOR")
    await a.find()
    await a.list()
