"""What Kafka's tools ask beside topics and settings: leaders, replicas, records, disks, producers, transactions."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from groupsim.protocol.batch.batch import Batch, LogRecord
from groupsim.protocol.batch.codec import encode
from groupsim.protocol.batch.sizes import batch_of
from tests.conformance.bodies import Body
from tests.conformance.script import Actor, Script, Topic, script
from tests.conformance.scripts.transactions import Producer

NO_TOPIC = "UNKNOWN_TOPIC_OR_PARTITION"
NOT_NEEDED = "ELECTION_NOT_NEEDED"
BAD_REPLICAS = "INVALID_REPLICA_ASSIGNMENT"
HIGH_WATERMARK = -1


def _batch(records: int, **numbered: Any) -> Batch:
    """A batch of so many records."""
    made = batch_of([LogRecord(number, None, b"value") for number in range(records)], 1_767_225_600_000)
    return evolve(made, **numbered)


async def produce(a: Actor, topic: Topic, records: int, **numbered: int) -> None:
    """Write a batch of so many records."""
    part = {"index": 0, "records": encode(_batch(records, **numbered))}
    data = [{"name": topic.name, "partition_data": [part]}]
    await a.ask("Produce", 9, {"transactional_id": None, "acks": -1, "timeout": 10_000, "topic_data": data})


# --- leaders and replicas ------------------------------------------------------------------------------------------


@script(rows=["operator-elect"], versions=(0, 1, 2))
async def leaders_to_elect(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=2)

    async def elect(topics: list[Body], error: str, **more: Any) -> None:
        await a.ask(
            "ElectLeaders",
            s.v,
            {"election_type": 0, "topic_partitions": topics, "timeout": 10_000, **more},
            error=error,
        )

    mine = {"topic": t.name, "partitions": [0, 1]}
    await elect([mine], NOT_NEEDED)
    await elect(
        [{**mine, "partitions": [0, 9]}, {"topic": s.no_topic().name, "partitions": [0]}], f"{NOT_NEEDED} {NO_TOPIC}"
    )
    await elect([], "NONE")
    if s.v:
        await elect([mine], NOT_NEEDED, election_type=1)


@script(rows=["operator-reassign"], versions=(0, 1))
async def replicas_to_reassign(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()

    async def alter(targets: dict[str, dict[int, list[int] | None]], error: str, **more: Any) -> None:
        topics = [
            {"name": name, "partitions": [{"partition_index": n, "replicas": nodes} for n, nodes in parts.items()]}
            for name, parts in targets.items()
        ]
        body = {"timeout": 10_000, "topics": topics, **more}
        await a.ask("AlterPartitionReassignments", s.v, body, error=error)

    await alter({t.name: {0: None, 7: [99]}, s.no_topic().name: {0: [99]}}, f"NO_REASSIGNMENT_IN_PROGRESS {NO_TOPIC}")
    await alter({t.name: {0: [99]}}, BAD_REPLICAS)
    await alter({t.name: {0: []}}, BAD_REPLICAS)
    await alter({t.name: {0: [99, 99]}}, BAD_REPLICAS)
    await alter({t.name: {0: [-1]}}, BAD_REPLICAS)
    await alter({}, "NONE")
    if s.v:
        await alter({t.name: {0: [99, 98]}}, BAD_REPLICAS, allow_replication_factor_change=False)


@script(rows=["operator-reassign"])
async def reassignments_under_way(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    for topics in (
        [{"name": t.name, "partition_indexes": [0, 3]}],
        [{"name": s.no_topic().name, "partition_indexes": [0]}],
    ):
        await a.ask("ListPartitionReassignments", 0, {"timeout": 10_000, "topics": topics})


@script(rows=["operator-describe-topics"])
async def topics_in_pages(s: Script) -> None:
    a = await s.actor()
    t, u = await s.topic("1", partitions=3), await s.topic("2", partitions=2)

    async def describe(
        names: list[str], limit: int = 2_000, at: tuple[str, int] | None = None, error: str = "NONE"
    ) -> None:
        cursor = None if at is None else {"topic_name": at[0], "partition_index": at[1]}
        body = {"topics": [{"name": name} for name in names], "response_partition_limit": limit, "cursor": cursor}
        await a.ask("DescribeTopicPartitions", 0, body, error=error)

    both = [u.name, t.name]
    await describe(both)
    await describe(both, 2)
    await describe(both, 2, (t.name, 2))
    await describe(both, 3)
    await describe(both, 0, (u.name, 1))
    await describe([t.name], 2, (t.name, 3))
    await describe([s.no_topic().name, "a b", t.name], error=f"{NO_TOPIC} INVALID_TOPIC_EXCEPTION")
    await describe([t.name], 2, (t.name, -1), "INVALID_REQUEST")
    await describe([t.name], 2, (u.name, 0), "INVALID_REQUEST")


# --- records and disks ---------------------------------------------------------------------------------------------


@script(rows=["operator-delete-records"], versions=(0, 1, 2))
async def records_to_delete(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await produce(a, t, 5)

    async def delete(offset: int, error: str = "NONE", name: str | None = None, number: int = 0) -> None:
        parts = [{"partition_index": number, "offset": offset}]
        topics = [{"name": t.name if name is None else name, "partitions": parts}]
        await a.ask("DeleteRecords", s.v, {"topics": topics, "timeout": 10_000}, error=error)

    await delete(2)
    await delete(1)
    await delete(6, "OFFSET_OUT_OF_RANGE")
    await delete(-2, "OFFSET_OUT_OF_RANGE")
    await delete(0, NO_TOPIC, number=4)
    await delete(0, NO_TOPIC, s.no_topic().name)
    await delete(0, "INVALID_TOPIC_EXCEPTION", "__consumer_offsets")
    await delete(HIGH_WATERMARK)
    await a.ask("DeleteRecords", s.v, {"topics": [], "timeout": 10_000})


@script(rows=["operator-delete-records"])
async def records_of_a_compacted_topic(s: Script) -> None:
    a = await s.actor()
    name = s.named(".tcompact")
    s.topics["compact"] = Topic(name)
    new = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": ()}
    new["configs"] = ({"name": "cleanup.policy", "value": "compact"},)
    await a.ask("CreateTopics", 5, {"topics": [new], "timeout": 10_000, "validate_only": False})
    await s.sleep(300)
    topics = [{"name": name, "partitions": [{"partition_index": 0, "offset": 0}]}]
    await a.ask("DeleteRecords", 2, {"topics": topics, "timeout": 10_000}, error="POLICY_VIOLATION")
    await s.delete_topic(s.topics["compact"])


@script(rows=["operator-log-dirs"], versions=(1, 2, 4, 5))
async def sizes_of_logs(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=2)
    await produce(a, t, 5)
    for topics in ([{"topic": t.name, "partitions": [0, 1, 9]}], [{"topic": s.no_topic().name, "partitions": [0]}], []):
        await a.ask("DescribeLogDirs", s.v, {"topics": topics})


# --- who writes ----------------------------------------------------------------------------------------------------


@script(rows=["operator-producers"])
async def producers_of_a_partition(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()

    async def describe(name: str, *numbers: int, error: str = "NONE") -> None:
        topics = [{"name": name, "partition_indexes": list(numbers)}]
        await a.ask("DescribeProducers", 0, {"topics": topics}, error=error)

    await produce(a, t, 2)
    await describe(t.name, 0)
    body = {"transactional_id": None, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    pid = (await a.ask("InitProducerId", 4, body))["producer_id"]
    await produce(a, t, 3, producer_id=pid, producer_epoch=0, base_sequence=0)
    await describe(t.name, 0)
    await describe(t.name, 0, 5, error=NO_TOPIC)
    await describe(s.no_topic().name, 0, error=NO_TOPIC)
    await describe("a b", 0, error="INVALID_TOPIC_EXCEPTION")


@script(rows=["operator-transactions"], versions=(0, 1, 2))
async def transactions_of_a_coordinator(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    producer = Producer(s, a, s.named(".tx"))
    await producer.init()

    async def look(*states: str) -> None:
        filters: Body = {"state_filters": list(states), "producer_id_filters": [producer.pid]}
        filters |= {"duration_filter": -1} if s.v else {}
        filters |= {"transactional_id_pattern": None} if s.v > 1 else {}
        await a.ask("ListTransactions", s.v, filters)

    await look()
    who = {"transactional_id": producer.name, "producer_id": producer.pid, "producer_epoch": producer.epoch}
    added = {**who, "topics": [{"name": t.name, "partitions": [0]}]}
    await a.ask("AddPartitionsToTxn", 3, {f"v3_and_below_{name}": value for name, value in added.items()})
    await look("Ongoing", "Odd")
    await a.ask("DescribeTransactions", 0, {"transactional_ids": [producer.name]})
    await look("Empty")
    await a.ask(
        "DescribeTransactions", 0, {"transactional_ids": [s.named(".none")]}, error="TRANSACTIONAL_ID_NOT_FOUND"
    )
    await a.ask("DescribeTransactions", 0, {"transactional_ids": [""]}, error="INVALID_REQUEST")
    if s.v > 1:
        filters = {"state_filters": [], "producer_id_filters": [], "duration_filter": -1}
        await a.ask("ListTransactions", s.v, {**filters, "transactional_id_pattern": f"{s.named('')}.*"})
        await a.ask(
            "ListTransactions", s.v, {**filters, "transactional_id_pattern": "("}, error="INVALID_REGULAR_EXPRESSION"
        )
