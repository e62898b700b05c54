"""Settings of groups: which there are, which values they take, what heartbeats make of them.

Source: `GroupConfig`, `GroupConfigManager`, `ConfigurationControlManager`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.conformance.actor import Actor
from tests.conformance.bodies import Body
from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.rounds import alone
from tests.conformance.consumer.verbs import HEARD_MS
from tests.conformance.script import Script

GROUP = 32
SET, DELETE, APPEND = 0, 1, 2
SESSION = "consumer.session.timeout.ms"
HEARTBEAT = "consumer.heartbeat.interval.ms"
INTERVAL = "consumer.assignment.interval.ms"


async def altered(
    s: Script, a: Actor, *configs: tuple[str, str | None], operation: int = SET, error: str = "NONE", group: str = "own"
) -> Body:
    """An IncrementalAlterConfigs of these, which stands in the transcript."""
    each = [{"name": name, "config_operation": operation, "value": value} for name, value in configs]
    named = s.group if group == "own" else group
    resource = {"resource_type": GROUP, "resource_name": named, "configs": each}
    answer = await a.ask("IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False}, error=error)
    await s.sleep(HEARD_MS)
    return answer


async def described(s: Script, a: Actor, keys: Sequence[str] | None = None, error: str = "NONE") -> Body:
    """A DescribeConfigs of the group."""
    resource = {"resource_type": GROUP, "resource_name": s.group, "configuration_keys": keys}
    body = {"resources": [resource], "include_synonyms": True, "include_documentation": False}
    answer = await a.ask("DescribeConfigs", 4, body, error=error)
    mine = [
        [one["name"], one["value"], one["config_source"], one["read_only"], [dict(each) for each in one["synonyms"]]]
        for one in answer["results"][0]["configs"]
        if one["name"].startswith("consumer.")
    ]
    s.note("configs", sorted(mine))
    return answer


@claims("config-values")
async def values_that_a_group_takes(s: Script) -> None:
    a = await s.actor("a")
    for name, value in (
        (HEARTBEAT, "100"),
        (SESSION, "101"),
        (SESSION, "60000"),
        (HEARTBEAT, "15000"),
        (INTERVAL, "0"),
        (INTERVAL, "15000"),
    ):
        await altered(s, a, (name, value))
    await described(s, a)


@claims("config-values")
async def values_that_a_group_does_not_take(s: Script) -> None:
    a = await s.actor("a")
    for name, value in (
        (SESSION, "99"),
        (SESSION, "60001"),
        (SESSION, "0"),
        (SESSION, "-1"),
        (SESSION, "nonsense"),
        (SESSION, ""),
        (SESSION, "1.5"),
        (SESSION, "99999999999"),
        (SESSION, "5000"),
        (HEARTBEAT, "99"),
        (HEARTBEAT, "15001"),
        (HEARTBEAT, "45000"),
        (INTERVAL, "-1"),
        (INTERVAL, "15001"),
        ("consumer.nonsense", "1"),
        ("group.consumer.session.timeout.ms", "1"),
        ("retention.ms", "1"),
    ):
        await altered(s, a, (name, value), error="INVALID_CONFIG")


@claims("config-values")
async def settings_of_a_group_that_is_none(s: Script) -> None:
    a = await s.actor("a")
    await altered(s, a, (SESSION, "5001"), group="", error="INVALID_REQUEST")
    await altered(s, a, (SESSION, "5001"))
    await described(s, a)
    await altered(s, a, (SESSION, None), operation=DELETE)
    await described(s, a)
    await a.list()


@claims("config-values")
async def settings_in_odd_ways(s: Script) -> None:
    a = await s.actor("a")
    await altered(s, a, (SESSION, "6000"), (HEARTBEAT, "1000"))
    await altered(s, a, (SESSION, "6000"), (SESSION, "7000"), error="INVALID_REQUEST")
    await altered(s, a, (SESSION, "1"), operation=APPEND, error="INVALID_CONFIG")
    await altered(s, a, (SESSION, None), error="INVALID_REQUEST")
    await altered(s, a, ("consumer.nonsense", None), operation=DELETE)
    await altered(s, a)
    await described(s, a, [SESSION])
    await described(s, a, ["consumer.nonsense"])


@claims("config-heartbeat", "config-session")
async def a_heartbeat_knows_new_settings(s: Script) -> None:
    a, _ = await alone(s)
    await altered(s, a, (HEARTBEAT, "1234"))
    await a.beat()
    await a.enroll()
    await altered(s, a, (HEARTBEAT, None), operation=DELETE)
    await a.beat()


@claims("config-survives-the-group")
async def settings_outlive_their_group(s: Script) -> None:
    a, t = await alone(s)
    await altered(s, a, (HEARTBEAT, "1234"))
    await a.retire()
    await a.delete()
    await described(s, a, [HEARTBEAT])
    await a.enroll(t)
    await a.ask("ListConfigResources", 1, {"resource_types": [GROUP]})
