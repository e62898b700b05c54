"""What the fields of an accepted heartbeat change, what bumps the group epoch, and what an answer carries.

Source: `GroupMetadataManager.consumerGroupHeartbeat`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.rounds import alone, full, swept, two
from tests.conformance.consumer.verbs import deleted, grow, made
from tests.conformance.script import Script

ONE_CLIENT = "here a connection has one client id, which the first request says, and one host"


@claims("2.5-order-of-records")
async def the_records_of_a_first_join(s: Script) -> None:
    a = await s.member(instance="i")
    t, u = await s.topic(partitions=3), await s.topic("u", 2)
    await a.enroll(t, u, rack="r1", assignor="range", rebalance_ms=12_345, now=2)
    await a.look()
    await s.on_log()


@claims("2.5-fields")
async def fields_that_bump_nothing(s: Script) -> None:
    a, t = await alone(s)
    await a.beat(rack="r1", now=2)
    await a.beat(rebalance_ms=7_000, now=2)
    await a.beat(rebalance_ms=7_000, now=2)
    await a.beat(rack="r2", rebalance_ms=0, now=2)
    await a.beat(names=[t], now=2)
    await a.beat(assignor="uniform", now=2)
    await a.beat(regex="", now=2)
    await a.look()
    await s.on_log()


@claims("2.5-fields", only_real=ONE_CLIENT)
async def a_client_of_another_name(s: Script) -> None:
    a, _t = await alone(s)
    a.client_id = "other"
    await a.beat(now=2)
    await a.look()
    a.client_id = None
    await a.beat(now=2)
    a.client_id = ""
    await a.beat(now=2)
    await a.look()
    await s.on_log()


@claims("2.5-fields", only_real=ONE_CLIENT)
async def a_client_of_another_host(s: Script) -> None:
    a, _t = await alone(s)
    b = await s.actor("a2", host=s.away)
    b.client_id = "a"
    body = {"group_id": s.group, "member_id": "a", "member_epoch": 2, "topic_partitions": None}
    await b.ask("ConsumerGroupHeartbeat", 1, body)
    await a.look()
    await s.on_log()


@claims("2.5-fields")
async def a_rejoin_without_a_rack(s: Script) -> None:
    a = await s.member()
    t = await s.topic()
    await a.enroll(t, rack="r1", assignor="range")
    await a.enroll(t)
    await a.look()
    await s.on_log()


@claims("2.5-names", versions=(0, 1))
async def another_subscription(s: Script) -> None:
    a, t = await alone(s)
    u = await s.topic("u", 2)
    await a.beat(v=s.v, names=[t, u], now=3)
    await a.beat(v=s.v, names=[u, t], now=3)
    await a.beat(v=s.v, names=[u], now=3)
    await a.look()
    await a.acknowledge(now=4)
    await a.look()
    await s.on_log()


@claims("2.5-names")
async def an_empty_subscription(s: Script) -> None:
    a, t = await alone(s)
    await a.beat(names=[])
    await a.acknowledge()
    await a.look()
    await a.beat(names=[t])
    await a.look()
    await s.on_log()


@claims("2.5-names")
async def names_twice_and_in_another_order(s: Script) -> None:
    a = await s.member()
    t, u = await s.topic("b"), await s.topic("a")
    await a.enroll(t, u, t, now=2, gives={t: [0], u: [0]})
    await a.beat(names=[u, t], now=2)
    await a.beat(names=[u, u, t, t], now=2)
    await a.look()
    await s.on_log()


@claims("2.5-names")
async def topics_with_impossible_names(s: Script) -> None:
    a = await s.member()
    await a.enroll("no good", "", "x" * 300, now=2, gives={})
    await a.look()
    await s.on_log()


@claims("2.5-assignor", "0-default-assignor")
async def a_vote_for_an_assignor(s: Script) -> None:
    a, _t = await alone(s)
    await a.beat(assignor="uniform", now=2)
    await a.beat(assignor="range", now=3)
    await a.beat(assignor="range", now=3)
    await a.look()
    await a.beat(assignor="uniform", now=4)
    await a.look()
    await s.on_log()


@claims("0-one-against-one")
async def one_vote_for_each_assignor(s: Script) -> None:
    a, b, _t = await two(s)
    await a.beat(assignor="range")
    await swept(s, a, b)
    await b.beat(assignor="uniform")
    for _ in range(3):
        await a.beat()
        await b.beat()
        await a.look()
    await s.on_log()


@claims("0-two-against-two")
async def two_votes_for_each_assignor(s: Script) -> None:
    (a, b, c, d), _t = await full(s)
    await a.beat(assignor="range")
    await b.beat(assignor="uniform")
    await c.beat(assignor="range")
    await d.beat(assignor="uniform")
    for _ in range(3):
        for member in (a, b, c, d):
            await member.beat()
    await a.look()


@claims("0-two-against-two")
async def most_votes_decide(s: Script) -> None:
    (a, b, c, d), _t = await full(s)
    await swept(s, a, b, c, d)
    await a.beat(assignor="range")
    await a.look()
    await b.beat(assignor="range")
    await c.beat(assignor="uniform")
    await a.look()
    await swept(s, a, b, c, d)
    await c.beat(assignor="range")
    await a.look()


@claims("2.5-metadata")
async def a_subscribed_topic_grows(s: Script) -> None:
    a, b, t = await two(s)
    await grow(s, t, 6)
    await a.beat(now=4)
    await a.beat(now=4)
    await b.beat(now=4)
    await a.look()
    await s.on_log()


@claims("2.5-metadata")
async def a_topic_that_was_awaited_appears(s: Script) -> None:
    a = await s.member()
    t = await s.topic()
    await a.enroll(t, s.named(".tlater"), now=2)
    await a.beat(now=2)
    u = await made(s, "later", 2)
    await a.beat(now=3, gives={t: [0], u: [0, 1]})
    await a.look()
    await s.on_log()


@claims("2.5-metadata")
async def a_subscribed_topic_is_deleted(s: Script) -> None:
    a = await s.member()
    t, u = await s.topic(), await s.topic("u", 2)
    await a.enroll(t, u, now=2)
    await deleted(s, u)
    await a.beat(now=2, gives={t: [0]})
    await a.look()
    await a.acknowledge(now=3)
    await a.look()
    await s.on_log()


@claims("2.5-metadata")
async def a_subscribed_topic_is_made_again(s: Script) -> None:
    a, t = await alone(s, 2)
    await deleted(s, t)
    again = await made(s, "", 2)
    await a.beat()
    await a.look()
    await a.acknowledge()
    await a.beat()
    await a.look()
    assert again.topic_id != t.topic_id
    await s.on_log()


@claims("2.5-metadata")
async def a_topic_of_nobody_appears(s: Script) -> None:
    a, _t = await alone(s)
    await made(s, "other", 2)
    await a.beat(now=2)
    await a.look()
    await s.on_log()


@claims("2.5-metadata")
async def a_topic_grows_while_nobody_is_there(s: Script) -> None:
    a, t = await alone(s, 2)
    await a.retire()
    await grow(s, t, 3)
    await a.look()
    await a.enroll(t, now=4, gives={t: [0, 1, 2]})
    await s.on_log()


@claims("2.5-answer")
async def when_an_answer_has_the_assignment(s: Script) -> None:
    a, t = await alone(s)
    mine = {t: [0, 1, 2]}
    await a.beat()
    await a.beat(owned=mine)
    await a.beat(owned=mine, names=[t])
    await a.beat(names=[t], rebalance_ms=60_000)
    await a.beat(owned=mine, rebalance_ms=60_000)
    await a.beat(owned=mine, names=[t], rebalance_ms=60_000, gives=mine)
    await a.beat(owned=mine, regex="", rebalance_ms=60_000, gives=mine)
    await a.beat(owned={}, names=[t], rebalance_ms=60_000, gives=mine)
    await a.enroll(t, gives=mine)


@claims("2.5-answer", versions=(0,))
async def when_an_answer_of_the_first_version_has_it(s: Script) -> None:
    a, t = await alone(s)
    mine = {t: [0, 1, 2]}
    await a.beat(v=0)
    await a.beat(v=0, owned=mine, names=[t])
    await a.beat(v=0, owned=mine, names=[t], rebalance_ms=60_000, gives=mine)


@claims("2.5-owned")
async def owned_partitions_that_cannot_be(s: Script) -> None:
    a, t = await alone(s)
    u = await s.topic("u")
    await a.beat(owned={t: [0, 0, 1]}, now=2)
    await a.beat(owned={t: [7, -1]}, now=2)
    await a.beat(owned={u: [0]}, now=2)
    await a.beat(owned={s.no_topic(): [0]}, now=2)
    await a.beat(owned={t: []}, now=2)
    await a.look()
    await s.on_log()


@claims("2.5-several-at-once")
async def everything_changes_at_once(s: Script) -> None:
    a, t = await alone(s)
    u = await s.topic("u", 2)
    await a.beat(owned={t: [0, 1, 2]}, names=[u], rack="r", rebalance_ms=9_000, assignor="range", regex="", now=2)
    await a.look()
    await a.acknowledge()
    await a.look()
    await s.on_log()


@claims("2.5-static-replacement-fields")
async def a_replacement_with_other_fields(s: Script) -> None:
    a = await s.member("a", instance="i")
    t = await s.topic(partitions=2)
    await a.enroll(t, rack="r1", assignor="range", rebalance_ms=9_000)
    await a.retire(-2)
    b = await s.member("b", instance="i")
    await b.enroll(t, rack="r2", rebalance_ms=8_000)
    await b.look()
    await s.on_log()


@claims("2.5-static-replacement-fields")
async def a_replacement_of_another_assignor(s: Script) -> None:
    a = await s.member("a", instance="i")
    t = await s.topic(partitions=2)
    await a.enroll(t, assignor="range")
    await a.retire(-2)
    b = await s.member("b", instance="i")
    await b.enroll(t, assignor="uniform")
    await b.look()
    await s.on_log()
