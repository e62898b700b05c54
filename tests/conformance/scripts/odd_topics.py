"""Topics, partitions and leaders asked for in ways that no tool of Kafka's does."""

from __future__ import annotations

from typing import Any

from tests.conformance.bodies import Body
from tests.conformance.script import Script, script

MISSING = "UNKNOWN_TOPIC_OR_PARTITION"
BAD_NAME = "INVALID_TOPIC_EXCEPTION"
NOBODY = "00000000-0000-0000-0000-000000000000"
STRANGE = ("", ".", "a b", "ü", "x" * 250, "__share_group_state")


@script(rows=["admin-partitions"], versions=(0, 2, 3))
async def partitions_that_cannot_be_added(s: Script) -> None:
    a, t = await s.actor(), await s.topic(partitions=2)

    async def grow(*of: tuple[str, int, list[list[int]] | None], error: str = "NONE", validate: bool = False) -> None:
        topics = [
            {"name": n, "count": c, "assignments": None if by is None else [{"broker_ids": x} for x in by]}
            for n, c, by in of
        ]
        body = {"topics": topics, "timeout": 10_000, "validate_only": validate}
        await a.ask("CreatePartitions", s.v, body, error=error)

    for count in (2, 1, 0, -1):
        await grow((t.name, count, None), error="INVALID_PARTITIONS")
    await grow((t.name, 100_000, None), error="POLICY_VIOLATION")
    bad: list[list[list[int]]] = [[], [[]], [[7]], [[0, 0]], [[-1]], [[0], [0]]]
    for assigned in bad:
        await grow((t.name, 3, assigned), error="INVALID_REPLICA_ASSIGNMENT")
    for name in (s.no_topic().name, "", "a b"):
        await grow((name, 4, None), error=MISSING)
    await grow((t.name, 3, None), (t.name, 4, None), error="INVALID_REQUEST")
    await grow((t.name, 3, [[0]]), validate=True)
    await grow((t.name, 3, [[0]]))
    await grow((t.name, 3, None), error="INVALID_PARTITIONS")
    await grow()


@script(rows=["admin-delete"], versions=(1, 4, 5))
async def topics_deleted_twice(s: Script) -> None:
    a, t = await s.actor(), await s.topic()

    async def delete(*names: str, error: str = "NONE") -> None:
        await a.ask("DeleteTopics", s.v, {"topic_names": list(names), "timeout": 10_000}, error=error)

    await delete(t.name, t.name, error="INVALID_REQUEST")
    for name in (s.no_topic().name, "", "a b", "x" * 300):
        await delete(name, error=MISSING)
    await delete(t.name)
    await delete(t.name, error=MISSING)
    await delete()


@script(rows=["admin-delete"])
async def topics_deleted_by_odd_ids(s: Script) -> None:
    a, t = await s.actor(), await s.topic()

    async def delete(*of: tuple[str | None, str], error: str = "NONE") -> None:
        topics = [{"name": name, "topic_id": topic_id} for name, topic_id in of]
        await a.ask("DeleteTopics", 6, {"topics": topics, "timeout": 10_000}, error=error)

    none = s.no_topic()
    await delete((None, none.topic_id), error="UNKNOWN_TOPIC_ID")
    await delete((None, NOBODY), error="INVALID_REQUEST")
    await delete((none.name, none.topic_id), error="INVALID_REQUEST")
    await delete((t.name, t.topic_id), error="INVALID_REQUEST")
    await delete((None, none.topic_id), (None, none.topic_id), error="INVALID_REQUEST")
    await delete((None, t.topic_id))
    await delete((None, t.topic_id), error="UNKNOWN_TOPIC_ID")


@script(rows=["wire-metadata"], versions=(1, 4, 8, 9, 12))
async def metadata_of_strange_topics(s: Script) -> None:
    a, t = await s.actor(), await s.topic()

    async def look(*names: str, error: str = "NONE", operations: bool = False) -> None:
        body: Body = {"topics": [{"name": name, "topic_id": None} for name in names]}
        body |= {"allow_auto_topic_creation": False, "include_cluster_authorized_operations": operations}
        body |= {"include_topic_authorized_operations": operations}
        told = await a.ask("Metadata", s.v, body, error=error)
        s.note("topics", sorted([one["name"], one["error_code"], one["is_internal"]] for one in told["topics"]))

    for operations in (False, True):
        await look(t.name, t.name, operations=operations)
        for name in STRANGE:
            await look(name, error=MISSING if name.startswith("_") else BAD_NAME, operations=operations)
        await look(s.no_topic().name, t.name, error=MISSING, operations=operations)
    await look()


@script(rows=["wire-metadata"], versions=(10, 12, 13))
async def metadata_by_odd_ids(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    none = s.no_topic()

    async def look(*of: tuple[str | None, str | None], error: str = "NONE") -> None:
        body: Body = {"topics": [{"name": name, "topic_id": topic_id} for name, topic_id in of]}
        body |= {"allow_auto_topic_creation": False, "include_cluster_authorized_operations": False}
        await a.ask("Metadata", s.v, {**body, "include_topic_authorized_operations": False}, error=error)

    by_id = s.v >= 12
    wrong = "NONE" if by_id else "INVALID_REQUEST"
    await look((None, t.topic_id), error=wrong)
    await look((None, t.topic_id), (None, t.topic_id), error=wrong)
    await look((t.name, t.topic_id), error=wrong)
    await look((None, none.topic_id), error="UNKNOWN_TOPIC_ID" if by_id else wrong)
    await look((None, t.topic_id), (None, none.topic_id), error="UNKNOWN_TOPIC_ID" if by_id else wrong)
    await look((None, None), error="UNKNOWN_SERVER_ERROR" if by_id else wrong)


@script(rows=["operator-elect"], versions=(1, 2))
async def elections_of_no_kind(s: Script) -> None:
    a, t = await s.actor(), await s.topic(partitions=2)

    async def elect(kind: int, *of: tuple[str, list[int]], error: str = "INVALID_REQUEST") -> None:
        topics = [{"topic": name, "partitions": numbers} for name, numbers in of]
        body = {"election_type": kind, "topic_partitions": topics, "timeout": 10_000}
        await a.ask("ElectLeaders", s.v, body, error=error)

    for kind in (2, -1):
        await elect(kind, (t.name, [0, 1]))
        await elect(kind, (t.name, [0, 0]), (s.no_topic().name, [3]))
        await elect(kind, error="NONE")
    await elect(0, (t.name, [0, 0]), error="ELECTION_NOT_NEEDED")
    await elect(1, (t.name, [-1]), ("", [0]), error=MISSING)


@script(rows=["operator-reassign"], versions=(0, 1))
async def reassignments_asked_for_twice(s: Script) -> None:
    a, t = await s.actor(), await s.topic(partitions=2)

    async def alter(*of: tuple[str, int, list[int] | None], error: str = "NONE", **more: Any) -> None:
        parts: dict[str, list[Body]] = {}
        for name, number, nodes in of:
            parts.setdefault(name, []).append({"partition_index": number, "replicas": nodes})
        topics = [{"name": name, "partitions": listed} for name, listed in parts.items()]
        await a.ask("AlterPartitionReassignments", s.v, {"timeout": 10_000, "topics": topics, **more}, error=error)

    await alter((t.name, 0, [0]))
    await alter((t.name, 0, [0]), (t.name, 0, [0]), (t.name, 1, [0]))
    await alter(("", 0, [0]), (t.name, -1, [0]), error=MISSING)
    await alter((t.name, 0, [0]), (t.name, 1, [0, 5]), error="INVALID_REPLICA_ASSIGNMENT")
    for topics in (None, [], [{"name": t.name, "partition_indexes": []}]):
        await a.ask("ListPartitionReassignments", 0, {"timeout": 10_000, "topics": topics})


@script(rows=["operator-delete-records"], versions=(0, 2))
async def records_deleted_in_odd_ways(s: Script) -> None:
    a, t = await s.actor(), await s.topic()

    async def delete(*of: tuple[int, int], error: str = "NONE", timeout: int = 10_000, name: str = t.name) -> None:
        parts = [{"partition_index": number, "offset": offset} for number, offset in of]
        body = {"topics": [{"name": name, "partitions": parts}], "timeout": timeout}
        await a.ask("DeleteRecords", s.v, body, error=error)

    await delete((0, 0), timeout=0)
    await delete((0, -1), timeout=-1)
    await delete((0, 0), (0, -1))
    await delete((-1, 0), error=MISSING)
    await delete((0, 0), name="", error=MISSING)
    await delete((0, 1), error="OFFSET_OUT_OF_RANGE")


@script(rows=["operator-describe-topics"])
async def pages_of_odd_sizes(s: Script) -> None:
    a, t = await s.actor(), await s.topic(partitions=3)

    async def describe(*names: str, limit: int = 2_000, at: tuple[str, int] | None = None, error: str = "NONE") -> None:
        cursor = None if at is None else {"topic_name": at[0], "partition_index": at[1]}
        body = {"topics": [{"name": name} for name in names], "response_partition_limit": limit, "cursor": cursor}
        await a.ask("DescribeTopicPartitions", 0, body, error=error)

    for limit in (0, -1, 1, 2**31 - 1):
        await describe(t.name, limit=limit)
    await describe(t.name, t.name)
    await describe(t.name, limit=2, at=(t.name, 99))
    await describe(t.name, at=("zzz", 0), error="INVALID_REQUEST")
    await describe("x" * 250, t.name, error=BAD_NAME)


@script(rows=["operator-producers"])
async def producers_of_odd_partitions(s: Script) -> None:
    a, t = await s.actor(), await s.topic(partitions=2)
    for name, numbers, error in (
        (t.name, [0, 0, 1], "NONE"),
        (t.name, [-1, 2], MISSING),
        ("", [0], BAD_NAME),
        ("x" * 250, [0], BAD_NAME),
    ):
        topics = [{"name": name, "partition_indexes": numbers}]
        await a.ask("DescribeProducers", 0, {"topics": topics}, error=error)
    await a.ask("DescribeProducers", 0, {"topics": []})


@script(rows=["admin-controller"], versions=(0, 1, 2))
async def a_cluster_of_odd_endpoints(s: Script) -> None:
    a = await s.actor()
    for kind in (1, 2, 3, 0, -1) if s.v else (1,):
        body: Body = {"include_cluster_authorized_operations": False, "endpoint_type": kind}
        error = {1: "NONE", 2: "MISMATCHED_ENDPOINT_TYPE"}.get(kind, "UNSUPPORTED_ENDPOINT_TYPE")
        await a.ask("DescribeCluster", s.v, {**body, "include_fenced_brokers": s.v >= 2}, error=error)


@script(rows=["wire-api-versions"], versions=(3, 4))
async def software_of_odd_names(s: Script) -> None:
    a = await s.actor()
    for name, version in (("", "1"), ("a", ""), ("-a", "1"), ("a-", "1"), ("a b", "1"), ("ü", "1"), ("a.b-c", "1.0")):
        body = {"client_software_name": name, "client_software_version": version}
        good = name == "a.b-c"
        told = await a.ask("ApiVersions", s.v, body, error="NONE" if good else "INVALID_REQUEST")
        s.note(name, [told["error_code"], bool(told["api_keys"])])
        s.steps[-2].response = None  # which versions there are is for other scripts
