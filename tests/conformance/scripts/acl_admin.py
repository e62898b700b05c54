"""What a stranger is told who asks for topics, settings and the cluster (`ControllerApis`, `ConfigHelper`)."""

from __future__ import annotations

from tests.conformance.acls import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    KAFKA_CLUSTER,
    NO_CLUSTER,
    NO_GROUP,
    NO_TOPIC,
    READ,
    TOPIC,
    admin,
    allow,
    deny,
    stranger,
)
from tests.conformance.bodies import Body
from tests.conformance.script import Actor, Script, Topic, script

TOPICS = ["1.2-authorization-topics"]
CONFIGS = ["1.2-authorization-configs"]
A_TOPIC, A_BROKER, A_GROUP = 2, 4, 32
NOBODY = "00000000-0000-0000-0000-000000000000"


def new(name: str) -> Body:
    """A topic to make."""
    return {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}


@script(rows=TOPICS, versions=(2, 5, 7), kind="guarded")
async def topics_to_create(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    names = [s.named(f".t{name}") for name in ("one", "two", "three")]
    for name in ("one", "two", "three"):
        s.topics[name] = Topic(s.named(f".t{name}"))
    body = {"timeout": 10_000, "validate_only": False}

    async def create(*wanted: str, error: str = "NONE") -> None:
        await a.ask("CreateTopics", s.v, {"topics": [new(name) for name in wanted], **body}, error=error)

    await create(*names[:2], error=NO_TOPIC)
    await create(names[0], names[0], names[1], error=f"INVALID_REQUEST {NO_TOPIC}")
    await allow(s, by, (TOPIC, names[0], [CREATE]))
    await create("__cluster_metadata", *names[:2], error=f"INVALID_REQUEST {NO_TOPIC}")
    await create(names[0], error="TOPIC_ALREADY_EXISTS")
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [CREATE]))
    await create(names[1])
    await allow(s, by, (TOPIC, names[2], [DESCRIBE_CONFIGS]))
    await create(names[2])
    await deny(s, by, (CLUSTER, KAFKA_CLUSTER, [CREATE]))


@script(rows=TOPICS, versions=(1, 5), kind="guarded")
async def topics_to_delete(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, seen, theirs, none = await s.topic(), await s.topic("seen"), await s.topic("theirs"), s.no_topic()

    async def delete(*topics: Topic, error: str = "NONE") -> None:
        names = [topic.name for topic in topics]
        await a.ask("DeleteTopics", s.v, {"topic_names": names, "timeout": 10_000}, error=error)

    await delete(mine, theirs, none, error=NO_TOPIC)
    await allow(s, by, (TOPIC, mine.name, [DELETE]), (TOPIC, seen.name, [READ]), (TOPIC, none.name, [DESCRIBE]))
    await delete(seen, theirs, none, error=f"{NO_TOPIC} UNKNOWN_TOPIC_OR_PARTITION")
    await delete(theirs, theirs, error="INVALID_REQUEST")
    await delete(mine, seen, error=NO_TOPIC)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [DELETE]))
    await delete(theirs, none, error="UNKNOWN_TOPIC_OR_PARTITION")


@script(rows=TOPICS, kind="guarded")
async def topics_to_delete_by_id(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, seen, theirs = await s.topic(), await s.topic("seen"), await s.topic("theirs")

    async def delete(*topics: Topic, by_id: bool = True, error: str = "NONE") -> None:
        said = [
            {"name": None, "topic_id": topic.topic_id} if by_id else {"name": topic.name, "topic_id": NOBODY}
            for topic in topics
        ]
        await a.ask("DeleteTopics", 6, {"topics": said, "timeout": 10_000}, error=error)

    await allow(s, by, (TOPIC, mine.name, [DELETE]), (TOPIC, seen.name, [READ]))
    await delete(seen, error=NO_TOPIC)
    await delete(theirs, error=NO_TOPIC)
    await delete(seen, by_id=False, error=NO_TOPIC)
    await delete(theirs, by_id=False, error=NO_TOPIC)
    await delete(s.no_topic(), error="UNKNOWN_TOPIC_ID")
    await delete(mine)


@script(rows=TOPICS, versions=(0, 1, 3), kind="guarded")
async def topics_to_grow(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs, none = await s.topic(), await s.topic("theirs"), s.no_topic()

    async def grow(*topics: Topic, error: str = "NONE") -> None:
        more = [{"name": topic.name, "count": 2, "assignments": None} for topic in topics]
        await a.ask("CreatePartitions", s.v, {"topics": more, "timeout": 10_000, "validate_only": False}, error=error)

    await grow(mine, theirs, none, error=NO_TOPIC)
    await allow(s, by, (TOPIC, mine.name, [ALTER]), (TOPIC, theirs.name, [DESCRIBE, DELETE]))
    await grow(mine, theirs, none, error=NO_TOPIC)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [ALTER]))
    await grow(theirs, error=NO_TOPIC)
    await deny(s, by, (CLUSTER, KAFKA_CLUSTER, [ALTER]))


@script(rows=CONFIGS, versions=(1, 2, 4), kind="guarded")
async def settings_of_others(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs, none = await s.topic(), await s.topic("theirs"), s.no_topic()

    async def tell(*what: tuple[int, str], error: str = "NONE") -> None:
        asked = [
            {"resource_type": kind, "resource_name": name, "configuration_keys": ["retention.ms", "num.partitions"]}
            for kind, name in what
        ]
        body = {"resources": asked, "include_synonyms": False, "include_documentation": False}
        await a.ask("DescribeConfigs", s.v, body, error=error)

    topics = [(A_TOPIC, topic.name) for topic in (mine, theirs, none)]
    await tell(*topics, (A_BROKER, ""), error=f"{NO_TOPIC} {NO_CLUSTER}")
    await allow(s, by, (TOPIC, mine.name, [ALTER_CONFIGS]), (TOPIC, theirs.name, [DESCRIBE]))
    await tell(*topics, (A_BROKER, ""), error=f"{NO_TOPIC} {NO_CLUSTER}")
    if s.v >= 4:
        await tell((A_GROUP, s.group), error=NO_GROUP)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [DESCRIBE_CONFIGS]), (TOPIC, none.name, [DESCRIBE_CONFIGS]))
    await tell((A_BROKER, ""), topics[2], error="UNKNOWN_TOPIC_OR_PARTITION")


@script(rows=CONFIGS, versions=(0, 1), kind="guarded")
async def settings_of_others_to_change(s: Script) -> None:
    by, a = await admin(s), await stranger(s)
    mine, theirs, none = await s.topic(), await s.topic("theirs"), s.no_topic()

    async def alter(*what: tuple[int, str], error: str = "NONE", value: str = "9999999") -> None:
        change = [{"name": "retention.ms", "config_operation": 0, "value": value}]
        log = [{"name": "log.retention.ms", "config_operation": 0, "value": value}]
        said = [
            {"resource_type": kind, "resource_name": name, "configs": change if kind == A_TOPIC else log}
            for kind, name in what
        ]
        body = {"resources": said, "validate_only": True}
        await a.ask("IncrementalAlterConfigs", s.v, body, error=error)

    topics = [(A_TOPIC, topic.name) for topic in (mine, theirs, none)]
    await alter(*topics, (A_BROKER, ""), error=f"{NO_TOPIC} {NO_CLUSTER}")
    await alter(topics[0], topics[0], topics[1], error=f"INVALID_REQUEST {NO_TOPIC}")
    await allow(s, by, (TOPIC, mine.name, [ALTER_CONFIGS]), (TOPIC, theirs.name, [DESCRIBE_CONFIGS, ALTER]))
    await alter(*topics[:2], (A_BROKER, ""), error=f"{NO_TOPIC} {NO_CLUSTER}")
    await alter(topics[1], value="much", error=NO_TOPIC)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [ALTER_CONFIGS]))
    await alter(topics[0], (A_BROKER, ""))


@script(rows=["1.2-authorization-cluster"], versions=(0, 1, 2), kind="guarded")
async def what_may_be_done_with_the_cluster(s: Script) -> None:
    by, a = await admin(s), await stranger(s)

    async def tell(actor: Actor, operations: bool = True) -> None:
        await actor.ask(
            "DescribeCluster",
            s.v,
            {"include_cluster_authorized_operations": operations, "include_fenced_brokers": False},
        )

    await tell(a)
    await tell(a, operations=False)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [CREATE, ALTER_CONFIGS]))
    await tell(a)
    await allow(s, by, (CLUSTER, KAFKA_CLUSTER, [ALTER]))
    await tell(a)
    await tell(by)
    await deny(s, by, (CLUSTER, KAFKA_CLUSTER, [DESCRIBE]), (GROUP, s.group, [READ]))
    await tell(a)
