"""Which epochs a heartbeat may say.

Source: `GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.rounds import alone, joining, two
from tests.conformance.script import Script

FENCED = "FENCED_MEMBER_EPOCH"


@claims("2.4-equal", versions=(0, 1))
async def the_same_epoch(s: Script) -> None:
    a, t = await alone(s)
    for _ in range(3):
        await a.beat(v=s.v, now=2)
    await a.beat(v=s.v, owned={t: [0, 1, 2]}, now=2)
    await s.on_log()


@claims("2.4-greater", versions=(0, 1))
async def an_epoch_of_the_future(s: Script) -> None:
    a, t = await alone(s)
    for epoch in (3, 4, 2**31 - 1):
        await a.beat(epoch, v=s.v, error=FENCED)
        await a.beat(epoch, v=s.v, owned={t: [0, 1, 2]}, error=FENCED)
    await a.beat(2, v=s.v, now=2)
    await s.on_log()


@claims("2.4-smaller", versions=(0, 1))
async def an_epoch_of_the_past(s: Script) -> None:
    a, t = await alone(s)
    await a.beat(1, v=s.v, error=FENCED)
    await a.beat(1, v=s.v, owned={t: [0, 1, 2]}, error=FENCED)
    await a.beat(1, v=s.v, owned={}, error=FENCED)
    await a.beat(now=2)


@claims("2.4-previous")
async def the_answer_with_the_new_epoch_was_lost(s: Script) -> None:
    a, _b, t = await two(s)
    await a.beat(2, owned={t: [0, 1]}, now=3)
    await a.beat(2, owned={t: [0]}, now=3)
    await a.beat(2, owned={}, now=3)
    await a.beat(now=3)
    await s.on_log()


@claims("2.4-previous")
async def the_previous_epoch_in_a_full_request(s: Script) -> None:
    a, _b, t = await two(s)
    await a.beat(2, owned={t: [0, 1]}, names=[t], rebalance_ms=60_000, now=3, gives={t: [0, 1]})
    await s.on_log()


@claims("2.4-previous-not-owned")
async def the_previous_epoch_with_other_partitions(s: Script) -> None:
    a, _b, t = await two(s)
    u = await s.topic("u", 3)
    await a.beat(2, error=FENCED)
    await a.beat(2, owned={t: [0, 1, 2]}, error=FENCED)
    await a.beat(2, owned={t: [3]}, error=FENCED)
    await a.beat(2, owned={u: [0]}, error=FENCED)
    await a.beat(2, owned={s.no_topic(): [0]}, error=FENCED)
    await a.beat(3, now=3)
    await s.on_log()


@claims("2.4-previous-not-owned")
async def the_previous_epoch_of_a_joiner(s: Script) -> None:
    a, t = await alone(s)
    await a.beat(0, owned={}, names=[t], rebalance_ms=9_000, now=2)
    await a.beat(1, owned={}, error=FENCED)
    await a.look()


@claims("2.4-previous-pending")
async def the_previous_epoch_with_pending_partitions(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await joining(s, a, t)
    await a.beat(1, owned={t: [0, 1]}, error=FENCED)
    await a.beat(2, owned={t: [0, 1, 2, 3]}, now=2)
    await a.beat(2, owned={t: [0, 1]}, now=3)
    await a.beat(2, owned={t: [0, 1, 2]}, error=FENCED)
    await a.beat(2, owned={t: [0, 1]}, now=3)
    await b.beat(now=3, gives={t: [2, 3]})
    await s.on_log()


@claims("2.4-previous")
async def two_answers_were_lost(s: Script) -> None:
    a, b, t = await two(s)
    c = await s.member("c")
    await c.enroll(t)
    await a.acknowledge()
    await b.acknowledge()
    await a.acknowledge()
    await b.acknowledge()
    await a.beat(2, owned={t: [0]}, error=FENCED)
    await a.beat(3, owned={t: [0]})
    await a.look()


@claims("2.4-zero")
async def epoch_zero_is_always_good(s: Script) -> None:
    a, _b, t = await two(s)
    await a.enroll(t, now=3, gives={t: [0, 1]})
    await a.enroll(t, now=3, gives={t: [0, 1]})
    await a.beat(now=3)
    await s.on_log()


@claims("2.4-after-absence")
async def an_epoch_of_an_absent_instance(s: Script) -> None:
    a, t = await alone(s, instance="i")
    await a.retire(-2, now=-2)
    for epoch in (1, 2, 3):
        await a.beat(epoch, error=FENCED)
        await a.beat(epoch, owned={t: [0, 1, 2]}, error=FENCED)
    await a.retire(-2, now=-2)
    await a.look()
    await s.on_log()


@claims("2.4-fenced-changes-nothing")
async def a_fenced_heartbeat_changes_nothing(s: Script) -> None:
    a, _t = await alone(s)
    u = await s.topic("u")
    await a.beat(7, names=[u], rack="r", rebalance_ms=4, assignor="range", error=FENCED)
    await a.look()
    await a.beat(1, names=[u], owned={}, rebalance_ms=4, error=FENCED)
    await a.look()
    await s.on_log()
