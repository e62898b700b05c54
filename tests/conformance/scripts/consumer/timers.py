"""Sessions of a second, and members that do not revoke in time.

Source: `GroupMetadataManager.scheduleConsumerGroupSessionTimeout`, `scheduleConsumerGroupRebalanceTimeout`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.rounds import alone, two
from tests.conformance.consumer.verbs import configure, until
from tests.conformance.script import Script

KIND = "expiring"
SESSION_MS = 1_000


@claims("2.9-session", kind=KIND)
async def the_session_of_a_consumer_ends(s: Script) -> None:
    a, _t = await alone(s)
    await until(s, "Empty", 0, due=(SESSION_MS, a.mark))
    await a.look()
    await a.beat(error="UNKNOWN_MEMBER_ID")
    await s.on_log()


@claims("2.9-session", kind=KIND)
async def a_heartbeat_prolongs_the_session_of_a_consumer(s: Script) -> None:
    a, _t = await alone(s)
    await s.sleep(600)
    await a.beat(now=2)
    await s.sleep(600)
    await a.beat(now=2)
    await until(s, "Empty", 0, due=(SESSION_MS, a.mark))


@claims("2.9-session", "2.4-fenced-changes-nothing", kind=KIND)
async def a_fenced_heartbeat_prolongs_no_session(s: Script) -> None:
    a, _t = await alone(s)
    joined = a.mark
    await s.sleep(500)
    await a.beat(1, error="FENCED_MEMBER_EPOCH")
    await until(s, "Empty", 0, due=(SESSION_MS, joined))


@claims("2.9-session", kind=KIND)
async def a_commit_prolongs_no_session(s: Script) -> None:
    a, t = await alone(s)
    joined = a.mark
    await s.sleep(500)
    await a.commit(offsets={t: {0: 5}}, generation=2)
    await until(s, "Empty", 0, due=(SESSION_MS, joined))


@claims("2.9-session", kind=KIND)
async def another_gets_what_an_expired_one_had(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await s.sleep(500)
    await b.beat(now=3)
    await until(s, "Assigning", 1, due=(SESSION_MS, a.mark))
    await b.beat(now=4, gives={t: range(4)})
    await s.on_log()


@claims("2.9-session-static", "2.6-absence", kind=KIND)
async def the_session_of_an_absent_instance_goes_on(s: Script) -> None:
    a, t = await alone(s, instance="i")
    joined = a.mark
    await s.sleep(400)
    await a.retire(-2, now=-2)
    await until(s, "Empty", 0, due=(SESSION_MS, joined))
    await a.enroll(t, now=4)
    await s.on_log()


@claims("2.9-session-static", "2.5-replacement", kind=KIND)
async def the_session_of_a_replacement(s: Script) -> None:
    a, t = await alone(s, instance="i")
    await s.sleep(400)
    await a.retire(-2, now=-2)
    again = await s.member("again", instance="i")
    await again.enroll(t, now=2)
    await until(s, "Empty", 0, due=(SESSION_MS, again.mark))
    await s.on_log()


@claims("config-session", "2.9-session", kind=KIND)
async def the_session_of_a_group_is_prolonged(s: Script) -> None:
    a, _t = await alone(s)
    await configure(s, "consumer.session.timeout.ms", 1_900)
    await a.beat(now=2)
    await until(s, "Empty", 0, due=(1_900, a.mark))


@claims("2.9-both-timers", kind=KIND)
async def a_session_ends_before_a_revocation(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await a.beat(now=2)
    seen = a.mark
    await s.sleep(500)
    await b.beat(now=3)
    await until(s, members=1, due=(SESSION_MS, seen))
    await b.beat(now=4, gives={t: range(4)})
    await s.on_log()


@claims("2.9-unused", kind=KIND)
async def a_joiner_and_a_holder_expire_together(s: Script) -> None:
    _a, b, _t = await two(s)
    await until(s, "Empty", 0, due=(SESSION_MS, b.mark))
    await b.look()
