"""What a stranger is told of topics, and of what is in them (`KafkaApis`)."""

from __future__ import annotations

from typing import Any

from tests.conformance.acls import (
    CLUSTER,
    CLUSTER_ACTION,
    CREATE,
    DELETE,
    DESCRIBE,
    KAFKA_CLUSTER,
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
from tests.conformance.bodies import Body
from tests.conformance.script import Actor, Script, Topic, script

RECORDS = ["1.2-authorization-records"]
METADATA = ["1.2-authorization-metadata"]

PLAIN = bytes.fromhex(
    "00000000000000000000003a0000000002e99b8dd80000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffff"
    "ffff0000000110000000026b027600"
)
"""One record, as kafka-python's builder writes it."""
TRANSACTIONAL = bytes.fromhex(
    "00000000000000000000003a000000000251c76e700010000000000000018bcfe568000000018bcfe5680000000000000013880000000000"
    "000000000110000000026b027600"
)
"""The same of producer 5000, in a transaction."""
_MIB = 1 << 20


def named(topic: Topic, name: str = "name") -> Body:
    """A topic as requests name it; what its version does not have is left out."""
    return {name: topic.name, "topic_id": topic.topic_id}


async def produce(
    a: Actor,
    v: int,
    topics: list[tuple[Topic, list[int]]],
    *,
    error: str = "NONE",
    data: bytes = PLAIN,
    acks: int = -1,
    transactional_id: str | None = None,
) -> None:
    """Produce one batch to each partition."""
    parts = [
        {**named(topic), "partition_data": [{"index": number, "records": data} for number in numbers]}
        for topic, numbers in topics
    ]
    body = {"transactional_id": transactional_id, "acks": acks, "timeout": 10_000, "topic_data": parts}
    if acks:
        await a.ask("Produce", v, body, error=error)
    else:
        await a.post("Produce", v, body)


async def consume(a: Actor, v: int, topics: list[tuple[Topic, list[int]]], *, error: str = "NONE") -> None:
    """Fetch from the beginning, without waiting."""
    parts = [
        {
            **named(topic, "topic"),
            "partitions": [{"partition": number, "fetch_offset": 0, "partition_max_bytes": _MIB} for number in numbers],
        }
        for topic, numbers in topics
    ]
    body: dict[str, Any] = {"max_wait": 0, "min_bytes": 0, "max_bytes": _MIB, "topics": parts}
    body |= {"replica_id": -1, "isolation_level": 0, "session_id": 0, "session_epoch": -1}
    body |= {"forgotten_topics_data": [], "rack_id": ""}
    await a.ask("Fetch", v, body, error=error)


@script(rows=RECORDS, versions=(3, 7, 9, 12, 13), kind="guarded")
async def records_for_topics_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    await produce(a, s.v, [(mine, [0]), (theirs, [0])], error=NO_TOPIC)
    await allow(s, by, (TOPIC, mine.name, [WRITE]), (TOPIC, theirs.name, [READ, DESCRIBE]))
    await produce(a, s.v, [(mine, [0]), (theirs, [0])], error=NO_TOPIC)
    await produce(a, s.v, [(mine, [7]), (theirs, [7])], error=f"UNKNOWN_TOPIC_OR_PARTITION {NO_TOPIC}")
    await produce(a, s.v, [(mine, [0])])


@script(rows=RECORDS, versions=(7, 12), kind="guarded")
async def records_in_a_transaction_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine = await s.topic()
    await allow(s, by, (TOPIC, mine.name, [WRITE]))
    name = s.named(".x")
    await produce(a, s.v, [(mine, [0, 7])], data=TRANSACTIONAL, transactional_id=name, error=NO_ID)
    await produce(a, s.v, [(mine, [0])], data=TRANSACTIONAL, transactional_id=None, error=NO_ID)
    await produce(a, s.v, [(mine, [0])], transactional_id=name)
    await allow(s, by, (TRANSACTIONAL_ID, name, [DESCRIBE]))
    await produce(a, s.v, [(mine, [0])], data=TRANSACTIONAL, transactional_id=name, error=NO_ID)


@script(rows=RECORDS, versions=(7, 12), kind="guarded")
async def records_without_an_answer(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    b = await stranger(s, "b")
    mine, theirs = await s.topic(), await s.topic("theirs")
    await allow(s, by, (TOPIC, mine.name, [WRITE]))
    await produce(a, s.v, [(theirs, [0])], acks=0)
    await a.closed()
    await produce(b, s.v, [(mine, [0]), (theirs, [0])], acks=0)
    await b.closed()
    await consume(by, 12, [(mine, [0]), (theirs, [0])])


@script(rows=RECORDS, versions=(4, 7, 11, 12, 13, 17), kind="guarded")
async def records_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    await produce(by, 12, [(mine, [0]), (theirs, [0])])
    await consume(a, s.v, [(mine, [0]), (theirs, [0, 7])], error=NO_TOPIC)
    await allow(s, by, (TOPIC, mine.name, [READ]), (TOPIC, theirs.name, [WRITE]))
    await consume(a, s.v, [(mine, [0]), (theirs, [0, 7])], error=NO_TOPIC)
    unknown = "UNKNOWN_TOPIC_ID" if s.v >= 13 else NO_TOPIC
    await consume(a, s.v, [(s.no_topic(), [0])], error=unknown)
    await consume(a, s.v, [(mine, [0])])


@script(rows=RECORDS, versions=(1, 4, 7, 10), kind="guarded")
async def ends_of_logs_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    topics = [
        {"name": topic.name, "partitions": [{"partition_index": number, "timestamp": -1} for number in (0, 7)]}
        for topic in (mine, theirs)
    ]
    body = {"replica_id": -1, "isolation_level": 0, "topics": topics, "timeout": 1_000}
    if s.v < 10:
        body.pop("timeout")
    await a.ask("ListOffsets", s.v, body, error=NO_TOPIC)
    await allow(s, by, (TOPIC, mine.name, [READ]))
    await a.ask("ListOffsets", s.v, body, error=f"UNKNOWN_TOPIC_OR_PARTITION {NO_TOPIC}")


@script(rows=RECORDS, versions=(2, 4), kind="guarded")
async def epochs_of_logs_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    topics = [
        {"topic": topic.name, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}
        for topic in (mine, theirs)
    ]
    body = {"replica_id": -1, "topics": topics}
    await a.ask("OffsetForLeaderEpoch", s.v, body, error=NO_TOPIC)
    await allow(s, by, (TOPIC, mine.name, [DELETE]))
    await a.ask("OffsetForLeaderEpoch", s.v, body, error=NO_TOPIC)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [CLUSTER_ACTION]))
    await a.ask("OffsetForLeaderEpoch", s.v, body)


async def look(
    a: Actor,
    v: int,
    topics: list[Topic] | None,
    *,
    error: str = "NONE",
    by_id: bool = False,
    operations: bool = False,
    create: bool = False,
) -> None:
    """Metadata of these topics, of all of them with None."""
    nobody = "00000000-0000-0000-0000-000000000000"
    asked = None
    if topics is not None:
        asked = [
            {"name": None, "topic_id": one.topic_id} if by_id else {"name": one.name, "topic_id": nobody}
            for one in topics
        ]
    body: Body = {"topics": asked, "allow_auto_topic_creation": create}
    body |= {"include_topic_authorized_operations": operations, "include_cluster_authorized_operations": operations}
    await a.ask("Metadata", v, body, error=error)


@script(rows=METADATA, versions=(1, 4, 8, 10, 12, 13), kind="guarded")
async def topics_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs, none = await s.topic(), await s.topic("theirs"), s.no_topic()
    if s.v >= 4:  # before, whatever is asked for is made
        await look(a, s.v, [mine, theirs, none], error=NO_TOPIC)
    else:
        await look(a, s.v, [mine, theirs], error=NO_TOPIC)
    await look(a, s.v, None)
    await allow(s, by, (TOPIC, mine.name, [READ]))
    await look(a, s.v, [mine, theirs], error=NO_TOPIC)
    await look(a, s.v, None)
    await allow(s, by, (TOPIC, none.name, [DESCRIBE]))
    if s.v >= 4:
        await look(a, s.v, [none], error="UNKNOWN_TOPIC_OR_PARTITION")


@script(rows=METADATA, versions=(12, 13), kind="guarded")
async def topics_of_others_by_id(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    await look(a, s.v, [mine, theirs, s.no_topic()], by_id=True, error=f"UNKNOWN_TOPIC_ID {NO_TOPIC}")
    await allow(s, by, (TOPIC, mine.name, [DESCRIBE]))
    await look(a, s.v, [mine, theirs], by_id=True, error=NO_TOPIC)


@script(rows=METADATA, versions=(8, 9, 10, 11, 13), kind="guarded")
async def what_may_be_done_with_topics(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs = await s.topic(), await s.topic("theirs")
    await look(a, s.v, [mine, theirs], operations=True, error=NO_TOPIC)
    await allow(s, by, (TOPIC, mine.name, [READ, DELETE]))
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [CREATE]))
    await look(a, s.v, [mine, theirs], operations=True, error=NO_TOPIC)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [DESCRIBE]))
    await look(a, s.v, [mine], operations=True)
    await look(by, s.v, [mine], operations=True)
    await look(by, s.v, [mine])


@script(rows=METADATA, versions=(4, 13), kind="guarded")
async def topics_to_be_made_by_asking(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    one, two, three = (Topic(s.named(f".t{name}")) for name in ("one", "two", "three"))
    await look(a, s.v, [one, two], create=True, error=NO_TOPIC)
    await allow(s, by, (TOPIC, one.name, [DESCRIBE]), (TOPIC, two.name, [DESCRIBE, CREATE]))
    await look(a, s.v, [one, two, three], create=True, error=f"UNKNOWN_TOPIC_OR_PARTITION {NO_TOPIC}")
    await s.sleep(1_000)
    await look(by, s.v, [one, three], error="UNKNOWN_TOPIC_OR_PARTITION")
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [CREATE]))
    await look(a, s.v, [one], create=True, error="UNKNOWN_TOPIC_OR_PARTITION")
