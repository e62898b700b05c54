"""What a stranger is told who asks what operators ask: leaders, replicas, records, disks, producers, transactions."""

from __future__ import annotations

from tests.conformance.acls import (
    ALTER,
    CLUSTER,
    DELETE,
    DESCRIBE,
    KAFKA_CLUSTER,
    NO_CLUSTER,
    NO_ID,
    NO_TOPIC,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    admin,
    allow,
    stranger,
)
from tests.conformance.script import Script, script
from tests.conformance.scripts.acl_data import produce
from tests.conformance.scripts.acl_groups import add
from tests.conformance.scripts.transactions import Producer

ROWS = ["1.2-authorization-operators"]
UNKNOWN = "UNKNOWN_TOPIC_OR_PARTITION"


@script(rows=ROWS, versions=(0, 1, 2), kind="guarded")
async def leaders_that_a_stranger_elects(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    t = await s.topic()
    body = {"topic_partitions": [{"topic": t.name, "partitions": [0]}], "timeout": 10_000, "election_type": 0}
    await a.ask("ElectLeaders", s.v, body, error=NO_CLUSTER)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [ALTER]))
    await a.ask("ElectLeaders", s.v, body, error="ELECTION_NOT_NEEDED")


@script(rows=ROWS, kind="guarded")
async def replicas_that_a_stranger_moves(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    t = await s.topic()
    topics = [{"name": t.name, "partitions": [{"partition_index": 0, "replicas": None}]}]
    moving = {"timeout": 10_000, "topics": topics}
    asked = {"timeout": 10_000, "topics": [{"name": t.name, "partition_indexes": [0]}]}
    await a.ask("AlterPartitionReassignments", 0, moving, error=NO_CLUSTER)
    await a.ask("ListPartitionReassignments", 0, asked, error=NO_CLUSTER)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [DESCRIBE]))
    await a.ask("AlterPartitionReassignments", 0, moving, error=NO_CLUSTER)
    await a.ask("ListPartitionReassignments", 0, asked)


@script(rows=ROWS, kind="guarded")
async def topics_in_pages_for_a_stranger(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic("1"), await s.topic("2")

    async def look(*names: str, error: str = "NONE") -> None:
        body = {"topics": [{"name": name} for name in names], "response_partition_limit": 100, "cursor": None}
        await a.ask("DescribeTopicPartitions", 0, body, error=error)

    await look(mine.name, theirs.name, s.no_topic().name, error=NO_TOPIC)
    await allow(s, by, (TOPIC, mine.name, [READ]))
    await look(mine.name, theirs.name, s.no_topic().name, error=NO_TOPIC)
    await look(mine.name)


@script(rows=ROWS, versions=(0, 2), kind="guarded")
async def records_that_a_stranger_deletes(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    await produce(by, 9, [(mine, [0]), (theirs, [0])])
    parts = [{"partition_index": 0, "offset": 1}]
    topics = [{"name": topic.name, "partitions": parts} for topic in (mine, theirs, s.no_topic())]
    body = {"topics": topics, "timeout": 10_000}
    await a.ask("DeleteRecords", s.v, body, error=NO_TOPIC)
    await allow(s, by, (TOPIC, mine.name, [DELETE]), (TOPIC, theirs.name, [WRITE, READ]))
    await a.ask("DeleteRecords", s.v, body, error=NO_TOPIC)


@script(rows=ROWS, versions=(1, 4), kind="guarded")
async def disks_that_a_stranger_looks_at(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    t = await s.topic()
    body = {"topics": [{"topic": t.name, "partitions": [0]}]}
    await a.ask("DescribeLogDirs", s.v, body, error=NO_CLUSTER if s.v >= 3 else "NONE")
    await allow(s, by, (TOPIC, t.name, [DESCRIBE]))
    await a.ask("DescribeLogDirs", s.v, body, error=NO_CLUSTER if s.v >= 3 else "NONE")


@script(rows=ROWS, kind="guarded")
async def producers_that_a_stranger_looks_at(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    body = {"topics": [{"name": one.name, "partition_indexes": [0, 7]} for one in (mine, theirs)]}
    await a.ask("DescribeProducers", 0, body, error=NO_TOPIC)
    await allow(s, by, (TOPIC, mine.name, [READ]), (TOPIC, theirs.name, [DESCRIBE]))
    await a.ask("DescribeProducers", 0, body, error=f"{UNKNOWN} {NO_TOPIC}")


@script(rows=ROWS, kind="guarded")
async def transactions_that_a_stranger_looks_at(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    producer = Producer(s, by, s.named(".x"))
    await producer.init()
    await add(producer, 3, {mine: [0], theirs: [0]})
    body = {"transactional_ids": [producer.name]}
    await a.ask("DescribeTransactions", 0, body, error=NO_ID)
    await allow(s, by, (TRANSACTIONAL_ID, producer.name, [WRITE]), (TOPIC, mine.name, [DESCRIBE]))
    await a.ask("DescribeTransactions", 0, body)
    await producer.end()
