"""`group.consumer.migration.policy=upgrade`: there, and not back."""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import subscription
from tests.conformance.consumer.rounds import alone
from tests.conformance.script import Script
from tests.conformance.scripts.consumer.conversions import classic_group, mixed

KIND = "policy-upgrade"


@claims("6.1-policy", kind=KIND)
async def an_upgrade_where_policy_is_upgrade(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=2)
    await classic_group(s, {m: {t: [0, 1]}}, t)
    a = await s.member()
    await a.enroll(t)
    await a.look()


@claims("6.2-policy", kind=KIND)
async def no_downgrade_where_policy_is_upgrade(s: Script) -> None:
    n, m, _ = await mixed(s)
    await n.retire(now=-1)
    await n.look()
    await m.heartbeat()
    await s.on_log()


@claims("6.2-policy", kind=KIND)
async def classic_members_alone_are_not_called(s: Script) -> None:
    """A member that goes has no successor: only a join, or a heartbeat of the new protocol, computes a target."""
    n, m, _ = await mixed(s)
    await n.retire(now=-1)
    for _ in range(4):
        await s.sleep(1_500)
        await m.heartbeat()
    await n.look()
    await s.on_log()


@claims("6.2-policy", kind=KIND)
async def a_replacement_where_policy_is_upgrade(s: Script) -> None:
    _, t = await alone(s, 2, instance="i")
    m = await s.member("m", instance="i", known_as="")
    await m.join(protocols={"range": subscription(t)})
    await m.look()
    await m.sync()
    await s.on_log()


@claims("3.1-policy", kind=KIND)
async def a_classic_member_where_policy_is_upgrade(s: Script) -> None:
    n, m, _ = await mixed(s)
    await m.leave()
    await n.beat()
    await n.look()
