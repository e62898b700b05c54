"""`group.consumer.migration.policy=disabled`: no upgrade, no classic members in a consumer group, no downgrade."""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import subscription
from tests.conformance.consumer.rounds import alone
from tests.conformance.script import Script
from tests.conformance.scripts.consumer.conversions import classic_group

KIND = "policy-disabled"


@claims("6.1-policy", kind=KIND)
async def no_upgrade_where_policy_is_disabled(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=2)
    await classic_group(s, {m: {t: [0, 1]}}, t)
    a = await s.member()
    await a.enroll(t, error="GROUP_ID_NOT_FOUND")
    await m.heartbeat()
    await a.describe()


@claims("3.1-policy", kind=KIND)
async def no_classic_member_where_policy_is_disabled(s: Script) -> None:
    a, t = await alone(s)
    m = await s.member("m", known_as="")
    offer = {"range": subscription(t)}
    await m.join(protocols=offer, error="INCONSISTENT_GROUP_PROTOCOL")
    await m.join(protocols=offer, member="m", error="INCONSISTENT_GROUP_PROTOCOL")
    await m.join(protocols=offer, member="a", error="INCONSISTENT_GROUP_PROTOCOL")
    await m.join(protocols=offer, instance="i", error="INCONSISTENT_GROUP_PROTOCOL")
    await a.beat(now=2)


@claims("2.2-classic-empty-join", kind=KIND)
async def an_empty_group_is_taken_where_policy_is_disabled(s: Script) -> None:
    m = await s.actor("m")
    await s.emptied(m)
    a = await s.member()
    t = await s.topic()
    await a.enroll(t, now=2)
    await a.look()


@claims("3.1-empty", kind=KIND)
async def an_empty_consumer_group_turns_classic_where_policy_is_disabled(s: Script) -> None:
    a, t = await alone(s)
    await a.retire()
    m = await s.member("m", known_as="")
    await m.join(protocols={"range": subscription(t)}, error="MEMBER_ID_REQUIRED")
    await m.describe()


@claims("6.1-policy", kind=KIND)
async def a_parked_join_where_policy_is_disabled(s: Script) -> None:
    m, n = await s.pair()
    t = await s.topic(partitions=2)
    await classic_group(s, {m: {t: [0, 1]}}, t)
    await s.gather(n, before=1, protocols={"range": subscription(t)})
    a = await s.member("c")
    await a.enroll(t, error="GROUP_ID_NOT_FOUND")
    await s.still("PreparingRebalance", 2)
    await n.silence(100)
