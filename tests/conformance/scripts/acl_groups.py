"""What a stranger is told who asks about groups, committed offsets and transactions (`KafkaApis`)."""

from __future__ import annotations

from tests.conformance.acls import (
    CLUSTER,
    CLUSTER_ACTION,
    DELETE,
    DESCRIBE,
    GROUP,
    IDEMPOTENT_WRITE,
    KAFKA_CLUSTER,
    NO_CLUSTER,
    NO_GROUP,
    NO_ID,
    NO_TOPIC,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    admin,
    allow,
    deny,
    entry,
    make,
    stranger,
)
from tests.conformance.script import Script, Topic, script
from tests.conformance.scripts.transactions import Producer

MEMBERS = ["1.2-authorization-members"]
OFFSETS = ["1.2-authorization-offsets"]
ADMIN = ["1.2-authorization-groups"]
TRANSACTIONS = ["1.2-authorization-transactions"]


@script(rows=MEMBERS, kind="guarded")
async def a_stranger_to_a_group(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    await s.form(by)
    for v in (0, 1, 4, 5, 6, 7, 9):
        await a.join(v=v, member="x", error=NO_GROUP)
    for v in (0, 3, 5):
        await a.sync(v=v, member="x", protocol="range", error=NO_GROUP)
    await a.sync(v=5, member="x", protocol=None, error="INCONSISTENT_GROUP_PROTOCOL")
    for v in (0, 1, 4):
        await a.heartbeat(v=v, member="x", error=NO_GROUP)
    for v in (0, 2, 3, 5):
        await a.leave(v=v, members=[("x", None)], error=NO_GROUP)
    await a.join(session=1, error=NO_GROUP)
    await a.join(group="", error=NO_GROUP)
    await by.heartbeat()


@script(rows=MEMBERS, kind="guarded")
async def a_stranger_who_may_read_a_group(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    await allow(s, by, (GROUP, s.group, [READ]))
    await s.form(a)
    await a.heartbeat()
    await deny(s, by, (GROUP, s.group, [READ]))
    await a.heartbeat(error=NO_GROUP)
    await a.describe()
    await a.leave(error=NO_GROUP)
    await by.leave(members=[(a.member_id, None)])


@script(rows=OFFSETS, versions=(2, 5, 8, 9, 10), kind="guarded")
async def commits_to_topics_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs", partitions=2)
    both = {mine: {0: 1, 7: 1}, theirs: {0: 1, 1: 1, 7: 1}}
    await a.commit(v=s.v, offsets=both, generation=-1, member="", error=NO_GROUP)
    await allow(s, by, (GROUP, s.group, [READ]), (TOPIC, mine.name, [READ]))
    await a.commit(v=s.v, offsets=both, generation=-1, member="", error=f"{NO_TOPIC} UNKNOWN_TOPIC_OR_PARTITION")
    await a.commit(v=s.v, offsets={theirs: {0: 1}}, generation=-1, member="", error=NO_TOPIC)
    await a.commit(v=s.v, offsets={theirs: {0: 1}}, generation=5, member="x", error=NO_TOPIC)
    unknown = "UNKNOWN_TOPIC_ID" if s.v >= 10 else NO_TOPIC
    await a.commit(v=s.v, offsets={s.no_topic(): {0: 1}}, generation=-1, member="", error=unknown)


@script(rows=OFFSETS, versions=(1, 2, 5, 7, 8, 9, 10), kind="guarded")
async def fetches_of_offsets_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    both = {mine: [0, 7], theirs: [0, 7]}
    await by.commit(offsets={mine: {0: 1}, theirs: {0: 2}}, generation=-1, member="")
    await a.fetch(v=s.v, topics=both, error=NO_GROUP)
    await allow(s, by, (GROUP, s.group, [DESCRIBE]), (TOPIC, mine.name, [WRITE]))
    await a.fetch(v=s.v, topics=both, error=NO_TOPIC)
    await a.fetch(v=s.v, topics={theirs: [0]}, error=NO_TOPIC)
    unknown = "UNKNOWN_TOPIC_ID" if s.v >= 10 else NO_TOPIC
    await a.fetch(v=s.v, topics={s.no_topic(): [0]}, error=unknown)
    if s.v >= 2:
        await a.fetch(v=s.v)
        await deny(s, by, (GROUP, s.group, [DESCRIBE]))
        await a.fetch(v=s.v, error=NO_GROUP)


@script(rows=OFFSETS, versions=(8, 10), kind="guarded")
async def committed_offsets_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    t = await s.topic()
    mine = s.named(".mine")
    for group in (s.group, mine):
        await by.commit(offsets={t: {0: 1}}, generation=-1, member="", group=group)
    await allow(s, by, (GROUP, mine, [READ]), (TOPIC, t.name, [DESCRIBE]))
    await a.fetch(v=s.v, topics={t: [0]}, groups=[s.group, mine], error=NO_GROUP)
    await a.fetch(v=s.v, groups=[s.group, mine], error=NO_GROUP)


@script(rows=OFFSETS, kind="guarded")
async def offsets_to_delete(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    both = {mine: [0, 7], theirs: [0, 7]}
    await by.commit(offsets={mine: {0: 1}, theirs: {0: 2}}, generation=-1, member="")
    await allow(s, by, (GROUP, s.group, [READ]))
    await a.delete_offsets(both, error=NO_GROUP)
    await allow(s, by, (GROUP, s.group, [DELETE]), (TOPIC, mine.name, [READ]))
    await a.delete_offsets(both, error=f"{NO_TOPIC} UNKNOWN_TOPIC_OR_PARTITION")
    await a.delete_offsets({theirs: [0]}, error=NO_TOPIC)
    none = s.named(".none")
    await allow(s, by, (GROUP, none, [DELETE]))
    await a.delete_offsets({theirs: [0]}, group=none, error="GROUP_ID_NOT_FOUND")
    await by.fetch()


@script(rows=ADMIN, versions=(0, 3, 5, 6), kind="guarded")
async def groups_to_describe(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    await s.form(by)
    mine, none = s.named(".mine"), s.named(".none")
    t = await s.topic()
    await by.commit(offsets={t: {0: 1}}, generation=-1, member="", group=mine)
    await a.describe(v=s.v, groups=[s.group, mine, none], error=NO_GROUP)
    await allow(s, by, (GROUP, mine, [READ]))
    await a.describe(v=s.v, groups=[s.group, mine, none], error=NO_GROUP)
    await a.describe(v=s.v, groups=[s.group, mine, none], operations=s.v >= 3, error=NO_GROUP)


@script(rows=ADMIN, versions=(0, 2), kind="guarded")
async def groups_to_delete(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    t = await s.topic()
    mine, theirs, none = s.named(".mine"), s.named(".theirs"), s.named(".none")
    for group in (mine, theirs):
        await by.commit(offsets={t: {0: 1}}, generation=-1, member="", group=group)
    await allow(s, by, (GROUP, mine, [DELETE]), (GROUP, theirs, [READ, DESCRIBE]))
    await a.delete(v=s.v, groups=[theirs, none, theirs], error=NO_GROUP)
    await a.delete(v=s.v, groups=[mine, theirs, none], error=NO_GROUP)
    await by.list()


@script(rows=ADMIN, versions=(0, 1, 3, 4, 6), kind="guarded")
async def coordinators_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = s.named(".mine"), s.named(".theirs")
    await allow(s, by, (GROUP, mine, [DELETE]), (TRANSACTIONAL_ID, mine, [WRITE]))
    await a.find(v=s.v, keys=[theirs], error=NO_GROUP)
    await a.find(v=s.v, keys=[mine])
    if s.v >= 1:
        await a.find(v=s.v, keys=[theirs], key_type=1, error=NO_ID)
        await a.find(v=s.v, keys=[mine], key_type=1)
    if s.v >= 4:
        await a.find(v=s.v, keys=[mine, theirs], error=NO_GROUP)


@script(rows=TRANSACTIONS, kind="guarded")
async def a_producer_that_is_a_stranger(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    t = await s.topic()
    body = {"transactional_id": None, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    for v in (0, 2, 4, 5):
        await a.ask("InitProducerId", v, body, error=NO_CLUSTER)
    await allow(s, by, (TOPIC, t.name, [READ, DESCRIBE]))
    await a.ask("InitProducerId", 4, body, error=NO_CLUSTER)
    await allow(s, by, (TOPIC, t.name, [WRITE]))
    await a.ask("InitProducerId", 4, body)
    await deny(s, by, (TOPIC, t.name, [WRITE]))
    await a.ask("InitProducerId", 4, body, error=NO_CLUSTER)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [IDEMPOTENT_WRITE]))
    await a.ask("InitProducerId", 4, body)


@script(rows=TRANSACTIONS, kind="guarded")
async def where_some_topic_may_be_written_to(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    name = s.named(".p")
    body = {"transactional_id": None, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    await make(by, entry(TOPIC, name + "-a", WRITE, host=s.away, pattern=PREFIXED))
    await s.settle()
    await a.ask("InitProducerId", 4, body)
    await make(by, entry(TOPIC, name, WRITE, host=s.away, pattern=PREFIXED, permission=2))
    await s.settle()
    await a.ask("InitProducerId", 4, body, error=NO_CLUSTER)
    await make(by, entry(TOPIC, name + "-b", WRITE, host=s.away))
    await s.settle()
    await a.ask("InitProducerId", 4, body, error=NO_CLUSTER)
    await make(by, entry(TOPIC, s.named(".other"), WRITE, host=s.away, principal="User:*"))
    await s.settle()
    await a.ask("InitProducerId", 4, body)
    await make(by, entry(TOPIC, "*", WRITE, host=s.away, permission=2))
    await s.settle()
    await a.ask("InitProducerId", 4, body, error=NO_CLUSTER)


@script(rows=TRANSACTIONS, versions=(0, 2, 4), kind="guarded")
async def a_transactional_id_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    t = await s.topic()
    theirs = Producer(s, by, s.named(".x"))
    await theirs.init()
    stolen = Producer(s, a, s.named(".x"), theirs.pid, theirs.epoch)
    for allowed in ((), (DESCRIBE,)):
        await allow(s, by, (TRANSACTIONAL_ID, stolen.name, allowed))
        await stolen.add_offsets(v=min(s.v, 4), error=NO_ID)
        await add(stolen, min(s.v, 3), {t: [0]})
        await stolen.commit(s.v, {t: {0: 1}}, error=NO_ID)
        await stolen.end(v=s.v, error=NO_ID)
    await theirs.add_offsets()


async def add(producer: Producer, v: int, partitions: dict[Topic, list[int]], error: str = "NONE") -> None:
    """AddPartitionsToTxn as clients send it."""
    topics = [{"name": topic.name, "partitions": numbers} for topic, numbers in partitions.items()]
    who = {"transactional_id": producer.name, "producer_id": producer.pid, "producer_epoch": producer.epoch}
    body = {f"v3_and_below_{name}": value for name, value in (who | {"topics": topics}).items()}
    await producer.actor.ask("AddPartitionsToTxn", v, body, error=error)


@script(rows=TRANSACTIONS, versions=(0, 3, 4), kind="guarded")
async def a_transaction_with_topics_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    producer = Producer(s, a, s.named(".x"))
    await allow(s, by, (TRANSACTIONAL_ID, producer.name, [WRITE]), (TOPIC, mine.name, [WRITE]))
    await producer.init()
    await add(producer, min(s.v, 3), {mine: [0], theirs: [0]})
    await add(producer, min(s.v, 3), {mine: [0, 7], theirs: [0]})
    await add(producer, min(s.v, 3), {mine: [0]})
    await producer.add_offsets(v=s.v, error=NO_GROUP)
    await producer.commit(s.v, {mine: {0: 1}}, error=NO_GROUP)
    await allow(s, by, (GROUP, s.group, [READ]), (TOPIC, mine.name, [READ]))
    await producer.add_offsets(v=s.v)
    await producer.commit(s.v, {mine: {0: 1, 7: 1}, theirs: {0: 1}}, error=f"{NO_TOPIC} UNKNOWN_TOPIC_OR_PARTITION")
    await producer.commit(s.v, {theirs: {0: 1}}, error=NO_TOPIC)
    await producer.end(v=s.v)


@script(rows=TRANSACTIONS, kind="guarded")
async def what_only_brokers_may(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    t = await s.topic()
    topics = [{"name": t.name, "partitions": [0]}]
    one = {"transactional_id": s.named(".x"), "producer_id": 77, "producer_epoch": 0, "verify_only": False}
    batched = {"transactions": [{**one, "topics": topics}]}
    marker = {"producer_id": 77, "producer_epoch": 0, "transaction_result": True, "coordinator_epoch": 0}
    named = [{"name": t.name, "partition_indexes": [0]}]
    markers = {"markers": [{**marker, "topics": named}]}
    await a.ask("AddPartitionsToTxn", 4, batched, error=NO_CLUSTER)
    await a.ask("WriteTxnMarkers", 1, markers, error=NO_CLUSTER)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [CLUSTER_ACTION]))
    await a.ask("WriteTxnMarkers", 1, {"markers": []})
