"""Topics and settings that cannot be, or can only just be."""

from __future__ import annotations

from typing import Any

from tests.conformance.bodies import Body
from tests.conformance.script import Actor, Script, Topic, script

INVALID = "INVALID_CONFIG"
SET, DELETE, APPEND, SUBTRACT = range(4)
A_TOPIC, A_BROKER = 2, 4
NODE = "0"
THROTTLED = "leader.replication.throttled.replicas"
IMPOSSIBLE = (
    ("nothing.of.this.name", "1"),
    ("", "1"),
    ("retention.ms", "x"),
    ("retention.ms", "-2"),
    ("retention.ms", "9223372036854775808"),
    ("retention.ms", "1e6"),
    ("retention.ms", ""),
    ("cleanup.policy", "foo"),
    ("cleanup.policy", "compact,foo"),
    ("max.message.bytes", "-1"),
    ("compression.type", "GZIP"),
    ("compression.gzip.level", "0"),
    ("compression.lz4.level", "0"),
    ("compression.lz4.level", "18"),
    ("compression.zstd.level", "23"),
    ("compression.zstd.level", "-131073"),
    ("min.insync.replicas", "0"),
    ("segment.bytes", "13"),
    ("segment.bytes", "2147483648"),
    ("segment.ms", "0"),
    ("min.cleanable.dirty.ratio", "1.5"),
    ("min.cleanable.dirty.ratio", "-0.1"),
    ("unclean.leader.election.enable", "maybe"),
    ("message.timestamp.type", "logappendtime"),
    (THROTTLED, "x"),
    (THROTTLED, "0:"),
    (THROTTLED, "*,0:0"),
    ("remote.storage.enable", "true"),
    ("flush.messages", "0"),
    ("segment.index.bytes", "3"),
)
POSSIBLE = (
    ("retention.ms", " 5 "),
    ("flush.ms", "+5"),
    ("cleanup.policy", " compact , delete"),
    ("cleanup.policy", ""),
    ("preallocate", " TRUE "),
    ("compression.lz4.level", "17"),
    ("compression.zstd.level", "-131072"),
    (THROTTLED, "*"),
    (THROTTLED, " 0:0, 1:0"),
    (THROTTLED, ""),
    ("min.insync.replicas", "9"),
)


async def create(a: Actor, v: int, *topics: Body, error: str = "NONE", validate: bool = True) -> None:
    """Ask whether these topics could be made; of each what it says differs from one partition on one node."""
    plain: Body = {"num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
    wanted = [{**plain, **topic} for topic in topics]
    await a.ask("CreateTopics", v, {"topics": wanted, "timeout": 10_000, "validate_only": validate}, error=error)


@script(rows=["admin-create"], versions=(2, 4, 5, 7))
async def topics_of_impossible_sizes(s: Script) -> None:
    a = await s.actor()
    name = s.named(".new")
    for count, error in ((0, "INVALID_PARTITIONS"), (-2, "INVALID_PARTITIONS"), (20_000, "POLICY_VIOLATION")):
        await create(a, s.v, {"name": name, "num_partitions": count}, error=error)
    for count in (0, -2, 2):
        await create(a, s.v, {"name": name, "replication_factor": count}, error="INVALID_REPLICATION_FACTOR")
    if s.v >= 4:
        await create(a, s.v, {"name": name, "num_partitions": -1, "replication_factor": -1})
    await create(a, s.v)


@script(rows=["admin-create"], versions=(2, 5, 7))
async def topics_of_impossible_names(s: Script) -> None:
    a = await s.actor()
    wrong = "INVALID_TOPIC_EXCEPTION"
    for name in ("", ".", "..", "a b", "ü", "a/b", "a\n", "x" * 250):
        await create(a, s.v, {"name": name}, error=wrong)
    await create(a, s.v, {"name": "__cluster_metadata"}, error="INVALID_REQUEST")
    name = s.named(".new")
    await create(a, s.v, {"name": name}, {"name": name}, {"name": name + "2"}, error="INVALID_REQUEST")
    await create(a, s.v, {"name": name + ".x"}, {"name": name + "_x"})  # they would collide, were one there
    await create(a, s.v, {"name": "x" * 249})


@script(rows=["admin-create"], versions=(4, 7))
async def topics_placed_in_impossible_ways(s: Script) -> None:
    a = await s.actor()
    name = s.named(".new")

    async def place(*assigned: tuple[int, list[int]], error: str = "NONE", **more: Any) -> None:
        by_hand = [{"partition_index": number, "broker_ids": nodes} for number, nodes in assigned]
        new = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": by_hand, **more}
        await create(a, s.v, new, error=error)

    bad = "INVALID_REPLICA_ASSIGNMENT"
    for number, nodes in ((1, [0]), (0, list[int]()), (0, [0, 0]), (0, [7]), (-1, [0]), (0, [-1])):
        await place((number, nodes), error=bad)
    await place((0, [0]), (0, [0]), error=bad)
    await place((0, [0]), (2, [0]), error=bad)
    await place((1, [0]), (0, [0]))
    await place((0, [0]), num_partitions=1, error="INVALID_REQUEST")
    await place((0, [0]), replication_factor=1, error="INVALID_REQUEST")


@script(rows=["admin-create"], versions=(5, 7))
async def topics_with_impossible_settings(s: Script) -> None:
    a = await s.actor()
    for name, value in IMPOSSIBLE:
        settings = ({"name": name, "value": value},)
        await create(a, s.v, {"name": s.named(".new"), "configs": settings}, error=INVALID)
    bounds = ({"name": "max.compaction.lag.ms", "value": "5"}, {"name": "min.compaction.lag.ms", "value": "10"})
    await create(a, s.v, {"name": s.named(".new"), "configs": bounds}, error=INVALID)
    none = ({"name": "retention.ms", "value": None},)
    await create(a, s.v, {"name": s.named(".new"), "configs": none}, error=INVALID)


@script(rows=["admin-describe-configs"], versions=(5, 7))
async def topics_with_settings_that_just_can_be(s: Script) -> None:
    a = await s.actor()
    for number, (name, value) in enumerate(POSSIBLE):
        topic = s.topics[str(number)] = Topic(s.named(f".t{number}"))
        settings = ({"name": name, "value": value},)
        await create(a, s.v, {"name": topic.name, "configs": settings}, validate=False)
        await s.sleep(100)
        s.note(f"{name}={value}", await settings_of(a, topic.name, name))


async def settings_of(a: Actor, topic: str, *names: str) -> list[Body]:
    """What DescribeConfigs tells of these settings; it is in the transcript only where it is noted."""
    resource = {"resource_type": A_TOPIC, "resource_name": topic, "configuration_keys": list(names)}
    body = {"resources": [resource], "include_synonyms": True, "include_documentation": False}
    told = await a.ask("DescribeConfigs", 4, body)
    configs: list[Body] = told["results"][0]["configs"]
    return configs


async def alter(
    a: Actor, v: int, *changes: tuple[str, int, str | None], of: tuple[int, str], error: str = "NONE", **more: Any
) -> None:
    """Change settings of one resource."""
    configs = [{"name": name, "config_operation": operation, "value": value} for name, operation, value in changes]
    resource = {"resource_type": of[0], "resource_name": of[1], "configs": configs}
    await a.ask("IncrementalAlterConfigs", v, {"resources": [resource], "validate_only": False, **more}, error=error)


@script(rows=["admin-alter-configs"], versions=(0, 1))
async def changes_of_a_topic_that_cannot_be(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    here = (A_TOPIC, t.name)
    for name, value in IMPOSSIBLE:
        await alter(a, s.v, (name, SET, value), of=here, error=INVALID)
    for operation in (APPEND, SUBTRACT):
        await alter(a, s.v, ("retention.ms", operation, "7"), of=here, error=INVALID)
        await alter(a, s.v, ("cleanup.policy", operation, None), of=here, error="INVALID_REQUEST")
    for operation in (4, -1):
        await alter(a, s.v, ("retention.ms", operation, "7"), of=here, error="UNKNOWN_SERVER_ERROR")
    await alter(a, s.v, ("retention.ms", SET, "1"), ("retention.ms", DELETE, None), of=here, error="INVALID_REQUEST")
    await alter(a, s.v, ("nothing.of.this.name", DELETE, None), of=here)
    await alter(a, s.v, of=here)


@script(rows=["admin-alter-configs"], versions=(0, 1))
async def changes_of_what_is_not_there(s: Script) -> None:
    a = await s.actor()
    one = ("retention.ms", SET, "1")
    await alter(a, s.v, one, of=(A_TOPIC, s.no_topic().name), error="UNKNOWN_TOPIC_OR_PARTITION")
    await alter(a, s.v, one, of=(A_TOPIC, "a b"), error="INVALID_TOPIC_EXCEPTION")
    await alter(a, s.v, one, of=(A_TOPIC, ""), error="INVALID_REQUEST")
    await alter(a, s.v, ("retention.ms", APPEND, "1"), of=(A_TOPIC, ""), error=INVALID)
    for kind in (0, 1, 3, 64, -1):
        await alter(a, s.v, one, of=(kind, "x"), error="INVALID_REQUEST")
    for node in ("99", "x", "-1", " 0"):
        await alter(a, s.v, ("log.retention.ms", SET, "1"), of=(A_BROKER, node), error="INVALID_REQUEST")
    for node in (NODE, "00"):
        for name, value in (("broker.id", "1"), ("log.retention.ms", "x"), ("group.initial.rebalance.delay.ms", "5")):
            await alter(a, s.v, (name, SET, value), of=(A_BROKER, node), error="INVALID_REQUEST")
        await alter(a, s.v, ("log.flush.interval.ms", SET, "1000000"), of=(A_BROKER, node), validate_only=True)
    await a.ask("IncrementalAlterConfigs", s.v, {"resources": [], "validate_only": False})


@script(rows=["admin-alter-configs"], versions=(0, 1))
async def lists_that_grow_and_shrink(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    steps = (
        ("cleanup.policy", APPEND, "compact"),
        ("cleanup.policy", APPEND, "compact"),
        ("cleanup.policy", SUBTRACT, "delete"),
        ("cleanup.policy", SET, "delete,delete"),
        ("cleanup.policy", SUBTRACT, "delete,compact"),
        (THROTTLED, APPEND, "0:0,1:0"),
        (THROTTLED, SUBTRACT, "0:0"),
        (THROTTLED, APPEND, "2:0,1:0"),
    )
    for name, operation, value in steps:
        await alter(a, s.v, (name, operation, value), of=(A_TOPIC, t.name))
        await s.sleep(100)
        s.note(f"{name} {operation} {value}", await settings_of(a, t.name, name))


@script(rows=["admin-describe-configs"], versions=(1, 2, 4))
async def settings_of_what_is_not_there(s: Script) -> None:
    a, t = await s.actor(), await s.topic()

    async def describe(*of: tuple[int, str, list[str] | None], error: str = "NONE") -> None:
        asked = [{"resource_type": k, "resource_name": n, "configuration_keys": keys} for k, n, keys in of]
        body = {"resources": asked, "include_synonyms": True, "include_documentation": False}
        await a.ask("DescribeConfigs", s.v, body, error=error)

    name = ["retention.ms"]
    await describe((A_TOPIC, t.name, ["retention.ms", "retention.ms", "nothing.of.this.name"]))
    await describe((A_TOPIC, t.name, name), (A_TOPIC, t.name, ["segment.bytes"]))
    await describe((A_TOPIC, s.no_topic().name, name), error="UNKNOWN_TOPIC_OR_PARTITION")
    for wrong in ("", "a b"):
        await describe((A_TOPIC, wrong, name), error="INVALID_TOPIC_EXCEPTION")
    for node in ("99", "x", "-1", " 0"):
        await describe((A_BROKER, node, ["log.retention.ms"]), error="INVALID_REQUEST")
    await describe((A_BROKER, "00", ["log.retention.ms"]))
    for kind in (0, 1, 3, 64, -1):
        await describe((kind, NODE, None), error="INVALID_REQUEST")
    await describe()
