"""Which member a heartbeat means: by member id, by instance id.

Source: `GroupMetadataManager.getOrMaybeSubscribe{Dynamic,Static}ConsumerGroupMember`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.rounds import alone, two
from tests.conformance.script import Script

UNKNOWN = "UNKNOWN_MEMBER_ID"


@claims("2.3-dynamic-unknown-join")
async def a_second_member_joins(s: Script) -> None:
    await two(s)
    await s.actors["a"].list()
    await s.on_log()


@claims("2.3-dynamic-known-join")
async def a_known_member_joins_again(s: Script) -> None:
    a, t = await alone(s)
    await a.enroll(t, now=2, gives={t: [0, 1, 2]})
    await s.on_log()


@claims("2.3-dynamic-known-join")
async def a_member_joins_again_while_it_has_to_revoke(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await s.member("b")
    await b.enroll(t, now=3, gives={})
    await a.beat(now=2, gives={t: [0, 1]})
    await a.enroll(t, now=3, gives={t: [0, 1]})
    await b.beat(now=3, gives={t: [2, 3]})
    await s.on_log()


@claims("2.3-dynamic-known-join")
async def a_member_joins_again_with_another_subscription(s: Script) -> None:
    a, _t = await alone(s)
    u = await s.topic("u")
    await a.enroll(u, now=3, gives={u: [0]})
    await a.look()
    await s.on_log()


@claims("2.3-dynamic-unknown-beat", versions=(0, 1))
async def a_heartbeat_of_an_unknown_member(s: Script) -> None:
    await alone(s)
    b = await s.member("b")
    await b.beat(1, v=s.v, error=UNKNOWN)
    await b.beat(2, v=s.v, owned={}, error=UNKNOWN)
    await b.beat(2**31 - 1, v=s.v, error=UNKNOWN)
    await b.retire(v=s.v, error=UNKNOWN)


@claims("2.3-static-without-instance")
async def a_static_member_leaves_its_instance_out(s: Script) -> None:
    a, t = await alone(s, instance="i")
    await a.beat(now=2, instance=None)
    await a.beat(now=2, instance=None, owned={t: [0, 1, 2]})
    await a.beat(1, instance=None, error="FENCED_MEMBER_EPOCH")
    await a.beat(0, instance=None, owned={}, rebalance_ms=5_000, names=[t], now=2)
    await a.look()
    await s.on_log()


@claims("2.3-static-unknown-join")
async def a_static_member_joins(s: Script) -> None:
    a, _t = await alone(s, instance="i")
    await a.look()
    await a.beat(now=2)
    await s.on_log()


@claims("2.3-static-takes-dynamic-id")
async def a_dynamic_member_becomes_static(s: Script) -> None:
    a, t = await alone(s)
    await a.enroll(t, instance="i", now=2, gives={t: [0, 1, 2]})
    await a.look()
    await a.beat(now=2, instance="i")
    await s.on_log()


@claims("2.3-static-takes-dynamic-id")
async def a_static_member_changes_its_instance(s: Script) -> None:
    a, t = await alone(s, instance="i")
    await a.enroll(t, instance="j", now=2, gives={t: [0, 1, 2]})
    await a.look()
    await a.beat(now=2, instance="j")
    await a.beat(2, instance="i", error=UNKNOWN)
    b = await s.member("b", instance="i")
    await b.enroll(t, now=3, gives={})
    await b.look()
    await s.on_log()


@claims("2.3-unreleased")
async def an_instance_that_is_in_use(s: Script) -> None:
    a, t = await alone(s, instance="i")
    b = await s.member("b", instance="i")
    await b.enroll(t, error="UNRELEASED_INSTANCE_ID")
    await a.enroll(t, error="UNRELEASED_INSTANCE_ID")
    await a.beat(now=2)
    await a.look()
    await s.on_log()


@claims("2.3-static-unknown-beat")
async def a_heartbeat_of_an_unknown_instance(s: Script) -> None:
    a, _t = await alone(s)
    await a.beat(2, instance="i", error=UNKNOWN)
    await a.beat(7, instance="i", member="b", error=UNKNOWN)
    await a.retire(instance="i", error=UNKNOWN)
    await a.retire(-2, instance="i", error=UNKNOWN)
    await a.beat(2, now=2)


@claims("2.3-static-fenced")
async def a_heartbeat_of_anothers_instance(s: Script) -> None:
    _a, b, _t = await two(s, instance="i")
    await b.beat(instance="i", error="FENCED_INSTANCE_ID")
    await b.beat(1, instance="i", error="FENCED_INSTANCE_ID")
    await b.beat(99, instance="i", error="FENCED_INSTANCE_ID")
    await b.beat(member="nobody", instance="i", error="FENCED_INSTANCE_ID")
    await b.beat(-1, instance="i", error="FENCED_INSTANCE_ID")
    await b.beat(-2, instance="i", error="FENCED_INSTANCE_ID")
    await b.beat(3, now=3)


@claims("2.3-static-replaces", "2.5-replacement", "2.6-absence")
async def an_absent_instance_comes_back(s: Script) -> None:
    a, b, t = await two(s, instance="i")
    await a.retire(-2, now=-2)
    await a.look()
    again = await s.member("again", instance="i")
    await again.enroll(t, now=3, gives={t: [0, 1]})
    await again.look()
    await b.beat(now=3)
    await a.beat(3, error="FENCED_INSTANCE_ID")
    await a.beat(3, instance=None, error=UNKNOWN)
    await s.on_log()


@claims("2.3-static-replaces", "2.5-replacement")
async def an_absent_instance_comes_back_under_its_own_id(s: Script) -> None:
    a, _b, t = await two(s, instance="i")
    await a.retire(-2, now=-2)
    await a.enroll(t, now=3, gives={t: [0, 1]})
    await a.look()
    await s.on_log()


@claims("2.3-static-replaces", "2.5-replacement", "2.5-names")
async def an_absent_instance_comes_back_for_another_topic(s: Script) -> None:
    a, b, _t = await two(s, instance="i")
    u = await s.topic("u")
    await a.retire(-2, now=-2)
    again = await s.member("again", instance="i")
    await again.enroll(u, now=4, gives={u: [0]})
    await again.look()
    await b.beat()
    await b.look()
    await s.on_log()


@claims("2.3-static-replaces", "2.5-replacement")
async def an_instance_comes_back_under_the_id_of_another_member(s: Script) -> None:
    a, b, t = await two(s, instance="i")
    await a.retire(-2, now=-2)
    await b.enroll(t, instance="i", now=3)
    await b.look()
    await s.on_log()


@claims("2.3-static-replaces", "2.5-replacement")
async def an_instance_comes_back_under_the_id_of_another_member_with_more_topics(s: Script) -> None:
    t, u = await s.topic(partitions=2), await s.topic(".u", partitions=3)
    a, b = await s.member("a", instance="i"), await s.member("b")
    await a.enroll(u)
    await b.enroll(t, u)
    await a.acknowledge()
    await b.acknowledge()
    await b.look()
    await a.retire(-2, now=-2)
    await b.enroll(t, u, instance="i")
    await b.look()
    await b.beat(names=[u])
    await b.look()
    await b.beat(names=[t, u])
    await b.look()
    await s.on_log()
