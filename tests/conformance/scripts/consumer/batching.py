"""Assignments that are computed at most every two seconds (`group.consumer.assignment.interval.ms`).

Source: `GroupMetadataManager.maybeUpdateTargetAssignment`.
"""

from __future__ import annotations

from tests.conformance.basics import Topic
from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.member import Member
from tests.conformance.consumer.verbs import configure, grow
from tests.conformance.script import Script

INTERVAL_MS = 2_000
EARLIER_MS = 1_600
"""What has to happen within an interval has to be over so long after its begin."""
KIND = "batched"


async def begun(s: Script, partitions: int = 4) -> tuple[Member, Topic]:
    """A member that owns all: the interval has begun with its join."""
    a = await s.member("a")
    t = await s.topic(partitions=partitions)
    await a.enroll(t, now=2, gives={t: range(partitions)})
    return a, t


@claims("2.8-first", "2.8-within", "2.8-after", kind=KIND)
async def a_join_within_the_interval_waits(s: Script) -> None:
    a, t = await begun(s)
    computed = a.mark
    b = await s.member("b")
    await b.enroll(t, now=2, gives={})
    await b.look()
    await a.beat(now=2)
    await b.beat(now=2)
    s.within(EARLIER_MS, computed)
    await s.after(INTERVAL_MS + 100, computed)
    await a.beat(now=2, gives={t: [0, 1]})
    await b.beat(now=3)
    await a.acknowledge(now=3)
    await b.beat(now=3, gives={t: [2, 3]})
    await b.look()
    await s.on_log()


@claims("2.8-within", "2.8-leave", kind=KIND)
async def members_come_and_go_within_the_interval(s: Script) -> None:
    a, t = await begun(s)
    computed = a.mark
    b = await s.member("b")
    await b.enroll(t, now=2, gives={})
    await b.look()
    await b.retire(now=-1)
    await b.look()
    await b.enroll(t, now=2, gives={})
    await b.look()
    s.within(EARLIER_MS, computed)
    await s.after(INTERVAL_MS + 100, computed)
    await b.beat(now=5)
    await b.look()
    await s.on_log()


@claims("2.8-trim", kind=KIND)
async def a_dropped_topic_is_taken_within_the_interval(s: Script) -> None:
    a, _t = await begun(s)
    u = await s.topic("u", 2)
    a2 = a.mark
    await a.beat(names=[u], now=2, gives={})
    await a.look()
    await a.beat(owned={}, now=2)
    await a.look()
    s.within(EARLIER_MS, a2)
    await s.after(INTERVAL_MS + 100, a2)
    await a.beat(now=3, gives={u: [0, 1]})
    await a.look()
    await s.on_log()


@claims("2.8-no-timer", kind=KIND)
async def nothing_is_computed_without_a_heartbeat(s: Script) -> None:
    a, t = await begun(s)
    computed = a.mark
    b = await s.member("b")
    await b.enroll(t, now=2)
    s.within(EARLIER_MS, computed)
    await s.after(INTERVAL_MS + 500, computed)
    await b.look()
    await b.beat(now=3)
    await b.look()


@claims("2.8-empty", "0-last-member", kind=KIND)
async def an_empty_group_computes_at_once(s: Script) -> None:
    a, t = await begun(s)
    computed = a.mark
    await a.retire(now=-1)
    b = await s.member("b")
    await b.enroll(t, now=4, gives={t: range(4)})
    s.within(EARLIER_MS, computed)
    await b.look()
    await s.on_log()


@claims("2.8-metadata", kind=KIND)
async def a_topic_grows_within_the_interval(s: Script) -> None:
    a, t = await begun(s, 2)
    computed = a.mark
    await grow(s, t, 3)
    await a.beat(now=2)
    await a.look()
    s.within(EARLIER_MS, computed)
    await s.after(INTERVAL_MS + 100, computed)
    await a.beat(now=3, gives={t: [0, 1, 2]})
    await s.on_log()


@claims("2.8-group-config", "config-interval", kind=KIND)
async def the_interval_of_a_group_is_taken_away(s: Script) -> None:
    _a, t = await begun(s)
    await configure(s, "consumer.assignment.interval.ms", 0)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await b.look()


@claims("2.8-static-replacement", kind=KIND)
async def a_replacement_within_the_interval(s: Script) -> None:
    a = await s.member("a", instance="i")
    t = await s.topic(partitions=4)
    await a.enroll(t, now=2)
    computed = a.mark
    b = await s.member("b")
    await b.enroll(t, now=2)
    await a.retire(-2, now=-2)
    again = await s.member("again", instance="i")
    await again.enroll(t, now=2, gives={t: range(4)})
    await again.look()
    s.within(EARLIER_MS, computed)
    await s.on_log()


@claims("2.8-first", "2.8-within", kind=KIND)
async def the_first_join_without_topics_begins_no_interval(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic(partitions=2)
    await a.enroll(now=1, gives={})
    await a.beat(names=[t], now=2, gives={t: [0, 1]})
    await a.look()
    await s.on_log()


@claims("2.7-no-topics", kind=KIND)
async def topics_that_are_not_there_are_given_up_within_the_interval(s: Script) -> None:
    a = await s.member("a")
    await a.enroll("no-such-topic", now=2, gives={})
    computed = a.mark
    await a.beat(names=[], now=2)
    await a.beat(names=["nor-this-one"], now=2)
    await a.beat(names=[], now=2)
    s.within(EARLIER_MS, computed)
    await s.on_log()
    await s.after(INTERVAL_MS + 100, computed)
    await a.beat(now=5)
    await a.beat(names=[])
    await s.on_log()


@claims("2.7-no-topics", "2.7-subscription", kind=KIND)
async def all_topics_are_given_up_within_the_interval(s: Script) -> None:
    a, t = await begun(s)
    computed = a.mark
    await a.beat(names=[], now=2, gives={})
    await a.beat(names=["no-such-topic"], now=2)
    await a.beat(names=[], now=2)
    await a.beat(owned={t: [0]}, now=2)
    s.within(EARLIER_MS, computed)
    await a.look()
    await s.on_log()
