"""AlterConfigs, the settings of groups, and ListConfigResources."""

from __future__ import annotations

from tests.conformance.bodies import Body
from tests.conformance.script import Actor, Script, script
from tests.conformance.scripts.odd_settings import (
    A_BROKER,
    A_TOPIC,
    APPEND,
    DELETE,
    INVALID,
    NODE,
    SET,
    SUBTRACT,
    alter,
)

A_GROUP = 32
SESSION = "consumer.session.timeout.ms"
TAGS = "streams.rack.aware.assignment.tags"
OUT_OF_BOUNDS = (
    ("nothing.of.this.name", "1"),
    (SESSION, "x"),
    (SESSION, "0"),
    (SESSION, "1"),
    (SESSION, "60001"),
    (SESSION, ""),
    ("consumer.heartbeat.interval.ms", "4999"),
    ("consumer.assignment.interval.ms", "-1"),
    ("consumer.assignment.interval.ms", "15001"),
    ("consumer.assignor.offload.enable", "x"),
    ("errors.deadletterqueue.copy.record.enable", "x"),
    ("share.auto.offset.reset", "none"),
    ("share.auto.offset.reset", "by_duration:x"),
    ("share.auto.offset.reset", ""),
    ("share.delivery.count.limit", "1"),
    ("share.delivery.count.limit", "11"),
    ("share.isolation.level", "READ_COMMITTED"),
    ("share.partition.max.record.locks", "99"),
    ("share.partition.max.record.locks", "4001"),
    ("share.record.lock.duration.ms", "999"),
    ("share.record.lock.duration.ms", "14999"),
    ("share.renew.acknowledge.enable", "x"),
    ("streams.acceptable.recovery.lag", "-1"),
    ("streams.assignor.name", "x"),
    ("streams.heartbeat.interval.ms", "15001"),
    ("streams.initial.rebalance.delay.ms", "-1"),
    ("streams.num.standby.replicas", "3"),
    ("streams.num.warmup.replicas", "21"),
    ("streams.session.timeout.ms", "60001"),
    ("streams.task.offset.interval.ms", "14999"),
)
WITHIN_BOUNDS = (
    (SESSION, " 50000 "),
    ("consumer.heartbeat.interval.ms", "6000"),
    ("consumer.assignor.offload.enable", "FALSE"),
    ("errors.deadletterqueue.topic.name", "a b"),
    ("share.auto.offset.reset", "by_duration:PT1H"),
    ("share.isolation.level", "read_committed"),
    ("streams.acceptable.recovery.lag", "99999999999"),
    ("streams.assignor.name", "sticky"),
    ("streams.num.warmup.replicas", "20"),
    ("streams.task.offset.interval.ms", "15000"),
    (TAGS, "zone, rack"),
)


async def replace(
    a: Actor,
    v: int,
    *settings: tuple[str, str | None],
    of: tuple[int, str],
    error: str = "NONE",
    validate: bool = False,
) -> None:
    """Replace the settings of one resource."""
    configs = [{"name": name, "value": value} for name, value in settings]
    resource = {"resource_type": of[0], "resource_name": of[1], "configs": configs}
    await a.ask("AlterConfigs", v, {"resources": [resource], "validate_only": validate}, error=error)


async def note(s: Script, a: Actor, what: str, kind: int, name: str, *names: str) -> None:
    """Note the settings that a resource has of its own, or those of `names`, by name."""
    await s.sleep(100)
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": list(names) or None}
    body = {"resources": [resource], "include_synonyms": True, "include_documentation": False}
    told = await a.ask("DescribeConfigs", 4, body)
    configs: list[Body] = told["results"][0]["configs"]
    own = [one for one in configs if names or one["config_source"] in (1, 2, 8)]
    s.note(what, sorted(own, key=lambda one: str(one["name"])))


@script(rows=["admin-replace-configs"], versions=(0, 1, 2))
async def settings_of_a_topic_that_are_replaced(s: Script) -> None:
    a, t = await s.actor(), await s.topic()
    here = (A_TOPIC, t.name)
    both = (("retention.ms", "1000"), ("segment.bytes", "2000000"))
    await replace(a, s.v, *both, of=here, validate=True)
    await note(s, a, "only looked at", *here)
    await replace(a, s.v, *both, of=here)
    await note(s, a, "two", *here)
    await replace(a, s.v, ("retention.ms", "2000"), of=here)
    await note(s, a, "one", *here)
    await replace(a, s.v, of=here)
    await note(s, a, "none", *here)
    await replace(a, s.v, ("retention.ms", None), of=here, error="INVALID_REQUEST")
    await replace(a, s.v, ("retention.ms", "x"), of=here, error=INVALID)
    await replace(a, s.v, ("nothing.of.this.name", "x"), of=here, error=INVALID)
    await replace(a, s.v, ("retention.ms", "1"), ("retention.ms", "2"), of=here, error="INVALID_REQUEST")


@script(rows=["admin-replace-configs"], versions=(0, 2))
async def settings_that_cannot_be_replaced(s: Script) -> None:
    a = await s.actor()
    one = ("retention.ms", "1")
    await replace(a, s.v, one, of=(A_TOPIC, s.no_topic().name), error="UNKNOWN_TOPIC_OR_PARTITION")
    await replace(a, s.v, one, of=(A_TOPIC, "a b"), error="INVALID_TOPIC_EXCEPTION")
    await replace(a, s.v, one, of=(A_TOPIC, ""), error="INVALID_REQUEST")
    for kind in (0, 1, 3, 8, 64, -1):
        await replace(a, s.v, one, of=(kind, "x"), error="INVALID_REQUEST")
    for node in ("99", "x", "-1", " 0"):
        await replace(a, s.v, ("log.retention.ms", "1"), of=(A_BROKER, node), error="INVALID_REQUEST")
    for name, value in (("broker.id", "1"), ("log.retention.ms", "x"), ("num.io.threads", "x")):
        await replace(a, s.v, (name, value), of=(A_BROKER, NODE), error="INVALID_REQUEST")
    await replace(a, s.v, of=(A_BROKER, ""), error=INVALID)  # min.insync.replicas cannot be removed
    await replace(a, s.v, (SESSION, "50000"), of=(A_GROUP, ""), error="INVALID_REQUEST")
    await a.ask("AlterConfigs", s.v, {"resources": [], "validate_only": False})


@script(rows=["admin-group-configs"], versions=(0, 1))
async def settings_of_a_group(s: Script) -> None:
    a, g = await s.actor(), (A_GROUP, s.named(".g"))
    await note(s, a, "before", *g)
    await alter(a, s.v, (SESSION, SET, "50000"), of=g, validate_only=True)
    await note(s, a, "only looked at", *g)
    for name, value in WITHIN_BOUNDS:
        await alter(a, s.v, (name, SET, value), of=g)
    await note(s, a, "set", *g)
    await alter(a, s.v, *((name, DELETE, None) for name, _ in WITHIN_BOUNDS[2:]), of=g)
    await note(s, a, "deleted", *g)
    await replace(a, 2, ("share.auto.offset.reset", "earliest"), of=g)
    await note(s, a, "replaced", *g)
    await replace(a, 2, of=g)
    await note(s, a, "none", *g)


@script(rows=["admin-group-configs"], versions=(0, 1))
async def settings_of_a_group_that_cannot_be(s: Script) -> None:
    a, g = await s.actor(), (A_GROUP, s.named(".g"))
    for name, value in OUT_OF_BOUNDS:
        await alter(a, s.v, (name, SET, value), of=g, error=INVALID)
    for operation in (APPEND, SUBTRACT):
        await alter(a, s.v, (SESSION, operation, "1"), of=g, error=INVALID)
        await alter(a, s.v, (TAGS, operation, "zone"), of=g, error=INVALID)
    await alter(a, s.v, ("nothing.of.this.name", DELETE, None), of=g)
    await alter(a, s.v, (SESSION, SET, None), of=g, error="INVALID_REQUEST")
    await alter(a, s.v, (SESSION, SET, "50000"), (SESSION, DELETE, None), of=g, error="INVALID_REQUEST")
    await alter(a, s.v, (SESSION, SET, "50000"), of=(A_GROUP, ""), error="INVALID_REQUEST")
    await note(s, a, "after", *g)


@script(rows=["admin-describe-configs", "admin-group-configs"], versions=(1, 2, 4))
async def settings_of_groups_and_others(s: Script) -> None:
    a = await s.actor()

    async def describe(kind: int, name: str, *names: str, error: str = "NONE") -> None:
        resource = {"resource_type": kind, "resource_name": name, "configuration_keys": list(names) or None}
        body = {"resources": [resource], "include_synonyms": True, "include_documentation": True}
        await a.ask("DescribeConfigs", s.v, body, error=error)

    await describe(A_GROUP, s.named(".g"))
    await describe(A_GROUP, "a b", SESSION, "nothing.of.this.name")
    await describe(A_GROUP, "", error="INVALID_REQUEST")


@script(rows=["admin-describe-configs"])
async def settings_of_a_broker_without_effect_in_groups(s: Script) -> None:
    a = await s.actor()
    names = ("compression.type", "num.replica.fetchers", "ssl.key.password", "sasl.enabled.mechanisms", "broker.id")
    await note(s, a, "some", A_BROKER, NODE, *names, "log.flush.interval.ms", "log.roll.jitter.ms", "max.connections")
    body: Body = {"resources": [], "include_synonyms": False, "include_documentation": True}
    body["resources"] = [{"resource_type": A_BROKER, "resource_name": NODE, "configuration_keys": None}]
    told = (await a.ask("DescribeConfigs", 4, body))["results"][0]["configs"]
    kept = [one for one in told if one["config_type"]]  # other plays set what no broker knows
    s.note("all", sorted(f"{one['name']} {one['config_type']} {one['read_only']}" for one in kept))
    null = sorted(one["name"] for one in kept if one["value"] is None)
    s.note("without a value", [name for name in null if name != "log.dirs"])
    s.note("without a text", sorted(one["name"] for one in kept if not one["documentation"]))


@script(rows=["admin-list-config-resources"])
async def resources_that_have_settings(s: Script) -> None:
    a, t, g = await s.actor(), await s.topic(), (A_GROUP, s.named(".g"))
    await a.ask("ListConfigResources", 0, {})
    await a.ask("ListConfigResources", 1, {"resource_types": [A_GROUP]})
    await alter(a, 1, (SESSION, SET, "50000"), of=g)
    await s.sleep(100)
    for kinds in ([], [A_GROUP], [A_TOPIC], [A_BROKER], [8], [16], [A_GROUP, A_TOPIC, A_GROUP]):
        await a.ask("ListConfigResources", 1, {"resource_types": kinds})
    for kind in (0, 1, 64, -1):
        await a.ask("ListConfigResources", 1, {"resource_types": [A_TOPIC, kind]}, error="UNSUPPORTED_VERSION")
    await alter(a, 1, (SESSION, DELETE, None), of=g)
    await s.sleep(100)
    await a.ask("ListConfigResources", 1, {"resource_types": [A_GROUP]})
    assert t.name
