"""Timers of classic members in a consumer group: their own sessions, and the time they have to join and to sync.

Source: `GroupMetadataManager.scheduleConsumerGroupJoinTimeoutIfNeeded`, `scheduleConsumerGroupSyncTimeout`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import assignment, classic, subscription
from tests.conformance.consumer.rounds import alone
from tests.conformance.consumer.verbs import until
from tests.conformance.script import Script

AGAIN, UNKNOWN = "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"


@claims("2.9-session-classic")
async def the_session_of_a_classic_member_ends(s: Script) -> None:
    n, t = await alone(s, 2)
    m = await classic(s, "m", t, session=700)
    await m.sync()
    await until(s, members=1, due=(700, m.mark))
    await m.heartbeat(error=UNKNOWN)
    await n.look()
    await s.on_log()


@claims("2.9-session-classic")
async def a_heartbeat_prolongs_the_session_of_a_classic_member(s: Script) -> None:
    _, t = await alone(s, 2)
    m = await classic(s, "m", t, session=800)
    await m.sync()
    await s.sleep(500)
    await m.heartbeat()
    await s.sleep(500)
    await m.heartbeat()
    await until(s, members=1, due=(800, m.mark))


@claims("2.9-session-classic", "2.9-join")
async def a_refused_heartbeat_prolongs_the_session_of_a_classic_member(s: Script) -> None:
    n, t = await alone(s, 2)
    m = await classic(s, "m", t, session=800)
    await n.beat()
    await n.acknowledge()
    await s.sleep(500)
    await m.heartbeat(error=AGAIN)
    await until(s, members=1, due=(800, m.mark))


@claims("2.9-session-classic")
async def another_generation_prolongs_no_session(s: Script) -> None:
    _, t = await alone(s, 2)
    m = await classic(s, "m", t, session=800)
    await m.sync()
    seen = m.mark
    await s.sleep(400)
    await m.heartbeat(generation=9, error="ILLEGAL_GENERATION")
    await m.commit(offsets={t: {1: 5}})
    await until(s, members=1, due=(800, seen))


@claims("2.9-sync")
async def a_classic_member_does_not_sync(s: Script) -> None:
    n, t = await alone(s, 2)
    m = await classic(s, "m", t, rebalance=600)
    await until(s, members=1, due=(600, m.mark))
    await m.sync(error=UNKNOWN)
    await n.look()


@claims("2.9-sync")
async def a_classic_member_syncs_in_time(s: Script) -> None:
    n, t = await alone(s, 2)
    m = await classic(s, "m", t, rebalance=600)
    joined = m.mark
    await m.sync()
    s.within(500, joined)
    await s.after(900, joined)
    await m.heartbeat()
    await n.look()


@claims("2.9-sync")
async def heartbeats_are_no_sync(s: Script) -> None:
    _, t = await alone(s, 2)
    m = await classic(s, "m", t, rebalance=800)
    joined = m.mark
    await s.sleep(400)
    await m.heartbeat()
    await until(s, members=1, due=(800, joined))


@claims("2.9-join")
async def a_classic_member_does_not_join_again(s: Script) -> None:
    n, t = await alone(s, 2)
    m = await classic(s, "m", t, rebalance=800)
    await m.sync()
    await n.beat()
    await n.acknowledge()
    await m.heartbeat(error=AGAIN)
    asked = m.mark
    await s.sleep(400)
    await m.heartbeat(error=AGAIN)
    await until(s, members=1, due=(800, asked))
    await n.look()
    await s.on_log()


@claims("2.9-join")
async def a_classic_member_joins_again_in_time(s: Script) -> None:
    n, t = await alone(s, 2)
    m = await classic(s, "m", t, rebalance=800)
    await m.sync()
    await n.beat()
    await n.acknowledge()
    await m.heartbeat(error=AGAIN)
    asked = m.mark
    await m.join(protocols={"range": subscription(t)}, rebalance=60_000)
    await m.sync()
    s.within(700, asked)
    await s.after(1_100, asked)
    await m.heartbeat()
    await n.look()


@claims("2.9-join")
async def who_hears_nothing_of_a_round_has_no_timer(s: Script) -> None:
    n, t = await alone(s, 2)
    m = await classic(s, "m", t, rebalance=500)
    await m.sync()
    await n.beat()
    await n.acknowledge()
    await s.sleep(800)
    await n.look()
    await m.heartbeat(error=AGAIN)


@claims("2.9-join", "3.2-sync-behind")
async def a_sync_that_comes_too_late_begins_the_timer(s: Script) -> None:
    n, t = await alone(s, 4)
    m = await classic(s, "m", t, rebalance=700)
    await m.sync()
    c = await s.member("c")
    await c.enroll(t)
    await m.sync(error=AGAIN)
    await until(s, members=2, due=(700, m.mark))
    await n.look()


@claims("2.9-session-classic", "6.1-sessions")
async def the_session_of_an_upgraded_member(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=2)
    offer = {"range": subscription(t)}
    await m.enter(protocols=offer, session=1_500)
    await m.answer()
    await m.sync(give={m: assignment({t: [0, 1]})})
    a = await s.member()
    await a.enroll(t)
    await until(s, members=1, due=(1_500, a.mark))
    await a.look()


@claims("2.9-no-rebalance-timer-of-classic")
async def a_classic_member_has_no_timer_of_its_revocation(s: Script) -> None:
    _, t = await alone(s, 6)
    m = await classic(s, "m", t, rebalance=700)
    await m.sync()
    c = await s.member("c")
    await c.enroll(t)
    await m.join(protocols={"range": subscription(t, owned={t: [0, 1, 2]})}, rebalance=700)
    await m.sync()
    await s.sleep(1_100)
    await c.look()
    await m.heartbeat()


@claims("6.2-sessions", "2.9-session-classic")
async def the_session_of_a_downgraded_member(s: Script) -> None:
    n, t = await alone(s, 4)
    m = await classic(s, "m", t, session=900)
    await m.sync()
    await n.retire()
    left = n.mark
    await s.until("Empty", 0, due=(900, left))
    await m.heartbeat(error=UNKNOWN)
    await s.on_log()


@claims("2.9-join", "6.1-stable")
async def an_upgraded_member_does_not_join_again(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=2)
    offer = {"range": subscription(t)}
    await m.enter(protocols=offer, rebalance=800)
    await m.answer()
    await m.sync(give={m: assignment({t: [0, 1]})})
    a = await s.member()
    await a.enroll(t)
    await m.heartbeat(error=AGAIN)
    await until(s, members=1, due=(800, m.mark))
    await a.look()


@claims("6.2-timers", "2.9-sync")
async def the_time_to_sync_goes_on_through_two_conversions(s: Script) -> None:
    n, t = await alone(s, 2)
    m = await classic(s, "m", t, rebalance=1_500)
    joined = m.mark
    await n.retire(now=-1)
    await m.describe()
    await n.enroll(t)
    s.within(1_300, joined)
    await until(s, members=1, due=(1_500, joined))
    await m.heartbeat(error=UNKNOWN)
    await n.look()


@claims("6.2-timers", "2.9-join")
async def the_time_to_join_goes_on_through_two_conversions(s: Script) -> None:
    n, t = await alone(s, 2)
    m = await classic(s, "m", t, rebalance=2_000)
    await m.sync()
    await n.beat()
    await n.acknowledge()
    await m.heartbeat(error=AGAIN)
    heard = m.mark
    await n.retire(now=-1)
    await m.park_join(protocols={"range": subscription(t)}, rebalance=2_000)
    await m.answer()
    await m.sync(give={m: assignment({t: range(2)})})
    await n.enroll(t)
    s.within(1_800, heard)
    await until(s, members=1, due=(2_000, heard))
    await m.heartbeat(error=UNKNOWN)
    await n.look()
