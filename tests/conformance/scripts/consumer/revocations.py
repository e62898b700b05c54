"""Members that do not revoke in time, and settings of groups.

Source: `GroupMetadataManager.scheduleConsumerGroupRebalanceTimeout`, `GroupConfig`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.rounds import alone
from tests.conformance.consumer.verbs import configure, until
from tests.conformance.script import Script


@claims("2.9-rebalance")
async def a_member_does_not_revoke_in_time(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic(partitions=4)
    await a.enroll(t, rebalance_ms=700)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await a.beat(now=2)
    await until(s, members=1, due=(700, a.mark))
    await a.look()
    await a.beat(error="UNKNOWN_MEMBER_ID")
    await b.beat(now=4, gives={t: range(4)})
    await s.on_log()


@claims("2.9-rebalance")
async def a_member_revokes_in_time(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic(partitions=4)
    await a.enroll(t, rebalance_ms=900)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await a.beat(now=2)
    seen = a.mark
    await s.sleep(300)
    await a.acknowledge(now=3)
    s.within(800, seen)
    await s.after(1_300, seen)
    await a.beat(now=3)
    await a.look()


@claims("2.9-rebalance")
async def heartbeats_do_not_prolong_a_revocation(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic(partitions=4)
    await a.enroll(t, rebalance_ms=900)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await a.beat(now=2)
    seen = a.mark
    await s.sleep(400)
    await a.beat(now=2)
    await a.beat(owned={t: range(4)}, now=2)
    await until(s, members=1, due=(900, seen))
    await a.look()


@claims("2.9-rebalance", "2.9-rebalance-restarts")
async def a_further_change_begins_a_revocation_again(s: Script) -> None:
    a = await s.member("a")
    t, u = await s.topic(partitions=4), await s.topic("u", 2)
    await a.enroll(t, u, rebalance_ms=1_000)
    b = await s.member("b")
    await b.enroll(t, u)
    await a.beat(now=2)
    await s.sleep(500)
    await a.beat(names=[u], now=2)
    await until(s, members=1, due=(1_000, a.mark))
    await a.look()
    await s.on_log()


@claims("2.9-rebalance")
async def a_new_timeout_holds_from_the_next_revocation(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic(partitions=4)
    await a.enroll(t, rebalance_ms=60_000)
    await a.beat(rebalance_ms=600)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await a.beat(now=2)
    seen = a.mark
    await a.beat(rebalance_ms=60_000, now=2)
    await until(s, members=1, due=(600, seen))


@claims("2.9-rebalance")
async def an_absent_instance_has_nothing_to_revoke(s: Script) -> None:
    a = await s.member("a", instance="i")
    t = await s.topic(partitions=4)
    await a.enroll(t, rebalance_ms=600)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await a.beat(now=2)
    seen = a.mark
    await a.retire(-2, now=-2)
    await s.after(900, seen)
    await b.look()


@claims("2.9-rebalance")
async def a_timeout_of_nothing(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic(partitions=4)
    await a.enroll(t, rebalance_ms=0)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await a.beat(now=2)
    await until(s, members=1, due=(0, a.mark))
    await a.look()


@claims("config-session", "2.9-session")
async def the_session_of_a_group_is_shortened(s: Script) -> None:
    a, _t = await alone(s)
    await configure(s, "consumer.heartbeat.interval.ms", 200)
    await configure(s, "consumer.session.timeout.ms", 700)
    await a.beat(now=2)
    await until(s, "Empty", 0, due=(700, a.mark))
    await a.look()


@claims("config-heartbeat")
async def the_interval_of_heartbeats_is_told(s: Script) -> None:
    a, _t = await alone(s)
    await configure(s, "consumer.heartbeat.interval.ms", 777)
    await a.beat()
    await configure(s, "consumer.heartbeat.interval.ms", None)
    await a.beat()


@claims("2.9-unused")
async def a_holder_comes_back_after_its_revocation_ran_out(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic(partitions=4)
    await a.enroll(t, rebalance_ms=500)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await a.beat(now=2)
    await until(s, members=1)
    await a.enroll(t)
    await b.beat()
    await b.look()
    await s.on_log()
