"""What a stranger is answered who sends requests of the consumer protocol (`KafkaApis`)."""

from __future__ import annotations

from tests.conformance.acls import (
    DELETE,
    DESCRIBE,
    GROUP,
    NO_GROUP,
    NO_TOPIC,
    READ,
    TOPIC,
    admin,
    allow,
)
from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.member import Member
from tests.conformance.consumer.verbs import until
from tests.conformance.script import Script

KIND = "consumer-guarded"


async def strange(s: Script, name: str = "a", instance: str | None = None) -> Member:
    """A member from elsewhere."""
    member = Member(s, name, await s.peer.connect(name, s.node, s.away), instance)
    member.member_id = name
    s.actors[name] = member
    return member


@claims("2.1-group-read", "4.2-group-describe", kind=KIND)
async def a_stranger_to_a_consumer_group(s: Script) -> None:
    by, a = await admin(s), await strange(s)
    t = await s.topic()
    await a.enroll(t, error=NO_GROUP)
    await a.beat(1, error=NO_GROUP)
    await a.retire(error=NO_GROUP)
    await a.look(error=NO_GROUP)
    await a.enroll(t, member="", error=NO_GROUP)
    await a.enroll(t, group="", error=NO_GROUP)
    await allow(s, by, (GROUP, s.group, [DESCRIBE]))
    await a.enroll(t, error=NO_GROUP)
    await a.look(error="GROUP_ID_NOT_FOUND")
    await a.list()


@claims("2.1-topic-describe", kind=KIND)
async def a_stranger_to_topics(s: Script) -> None:
    by, a = await admin(s), await strange(s)
    t, u = await s.topic("t"), await s.topic("u")
    await allow(s, by, (GROUP, s.group, [READ]), (TOPIC, t.name, [DESCRIBE]))
    await a.enroll(t, u, error=NO_TOPIC)
    await a.enroll(u, error=NO_TOPIC)
    await a.enroll(s.no_topic(), error=NO_TOPIC)
    await a.enroll(t)
    await a.beat()
    await a.beat(names=[u], error=NO_TOPIC)
    await a.beat(names=[], owned={})
    await a.enroll(t, u, rebalance_ms=-1, error=NO_TOPIC)
    await a.retire(names=[u], error=NO_TOPIC)
    await a.retire()


@claims("regex-authorization", kind=KIND)
async def a_pattern_sees_what_may_be_described(s: Script) -> None:
    by, a = await admin(s), await strange(s)
    t, u = await s.topic("t"), await s.topic("u")
    await allow(s, by, (GROUP, s.group, [READ, DESCRIBE]), (TOPIC, t.name, [DESCRIBE]))
    await a.enroll(names=None, regex=f"{s.id}\\.t[a-z]+{s.nonce}")
    await s.sleep(600)
    await a.beat(gives={t: [0]})
    await a.look()
    home = await s.member("home")
    await home.look()
    assert u.name != t.name


@claims("4.2-topic-describe", kind=KIND, versions=(0, 1))
async def a_group_with_topics_that_may_not_be_described(s: Script) -> None:
    by, a = await admin(s), await strange(s)
    t, u = await s.topic("t"), await s.topic("u")
    home = await s.member("home")
    await home.enroll(t, u)
    await allow(s, by, (GROUP, s.group, [DESCRIBE]), (TOPIC, t.name, [DESCRIBE]))
    await a.look(v=s.v, error=NO_TOPIC)
    await a.look(v=s.v, operations=True, error=NO_TOPIC)
    await home.beat(names=[t])
    await a.look(v=s.v, error=NO_TOPIC)
    await home.acknowledge()
    await a.look(v=s.v)


@claims("4.2-operations", kind=KIND)
async def operations_on_a_consumer_group(s: Script) -> None:
    by, a = await admin(s), await strange(s)
    home = await s.member("home")
    await home.enroll()
    await allow(s, by, (GROUP, s.group, [DESCRIBE, READ]))
    await a.look(operations=True)
    await allow(s, by, (GROUP, s.group, [DELETE]))
    await a.look(operations=True)
    await home.look(operations=True)
    await until(s, "Stable", 1)
