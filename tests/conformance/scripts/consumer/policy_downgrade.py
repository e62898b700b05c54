"""`group.consumer.migration.policy=downgrade`: back, and not there."""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import subscription
from tests.conformance.consumer.rounds import alone
from tests.conformance.script import Script
from tests.conformance.scripts.consumer.conversions import classic_group, mixed

KIND = "policy-downgrade"


@claims("6.1-policy", kind=KIND)
async def no_upgrade_where_policy_is_downgrade(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=2)
    await classic_group(s, {m: {t: [0, 1]}}, t)
    a = await s.member()
    await a.enroll(t, error="GROUP_ID_NOT_FOUND")
    await m.heartbeat()


@claims("6.2-policy", "6.2-fence", kind=KIND)
async def a_downgrade_where_policy_is_downgrade(s: Script) -> None:
    n, m, _ = await mixed(s)
    await n.retire(now=-1)
    await m.describe()
    await m.heartbeat(error="REBALANCE_IN_PROGRESS")
    await n.beat(3, error="GROUP_ID_NOT_FOUND")
    await s.on_log()


@claims("6.2-policy", "6.2-replacement", kind=KIND)
async def a_replacement_where_policy_is_downgrade(s: Script) -> None:
    _, t = await alone(s, 2, instance="i")
    m = await s.member("m", instance="i", known_as="")
    await m.join(protocols={"range": subscription(t)})
    await m.describe()


@claims("6.2-policy", kind=KIND)
async def a_classic_group_stays_so_where_policy_is_downgrade(s: Script) -> None:
    n, m, t = await mixed(s)
    await n.retire(now=-1)
    await m.heartbeat(error="REBALANCE_IN_PROGRESS")
    await n.enroll(t, error="GROUP_ID_NOT_FOUND")
