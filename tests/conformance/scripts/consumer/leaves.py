"""Who leaves, for good or for a while.

Source: `GroupMetadataManager.consumerGroupLeave`, `consumerGroupFenceMembers`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.rounds import alone, joining, two
from tests.conformance.script import Script


@claims("2.6-dynamic", versions=(0, 1))
async def a_member_leaves(s: Script) -> None:
    a, b, t = await two(s)
    await a.retire(v=s.v, now=-1)
    await b.look()
    await b.beat(now=4, gives={t: [0, 1, 2, 3]})
    await b.look()
    await s.on_log()


@claims("2.6-last", "0-last-member")
async def the_last_consumer_leaves(s: Script) -> None:
    a, _t = await alone(s)
    await a.retire(now=-1)
    await a.look()
    await a.list()
    await s.on_log()


@claims("2.6-last")
async def the_last_member_leaves_and_others_come(s: Script) -> None:
    a, t = await alone(s)
    await a.retire(now=-1)
    b = await s.member("b")
    await b.enroll(t, now=4, gives={t: [0, 1, 2]})
    await b.look()
    await s.on_log()


@claims("2.6-no-epoch-check")
async def a_leave_says_nothing_of_an_epoch(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await joining(s, a, t)
    await b.retire(now=-1)
    await a.look()
    await a.acknowledge(now=4, gives={t: [0, 1, 2, 3]})
    await s.on_log()


@claims("2.6-twice")
async def a_member_leaves_twice(s: Script) -> None:
    a, b, _t = await two(s)
    await a.retire(now=-1)
    await a.retire(error="UNKNOWN_MEMBER_ID")
    await b.look()


@claims("2.6-static")
async def an_instance_leaves_for_good(s: Script) -> None:
    a, b, t = await two(s, instance="i")
    await a.retire(now=-1)
    await b.beat(now=4, gives={t: [0, 1, 2, 3]})
    again = await s.member("again", instance="i")
    await again.enroll(t, now=5, gives={})
    await again.look()
    await s.on_log()


@claims("2.6-static-without-instance")
async def an_instance_leaves_by_its_member_id(s: Script) -> None:
    a, b, t = await two(s, instance="i")
    await a.retire(instance=None, now=-1)
    await b.beat(now=4, gives={t: [0, 1, 2, 3]})
    await b.beat(instance="i", error="UNKNOWN_MEMBER_ID")
    await s.on_log()


@claims("2.6-absence")
async def an_instance_is_away(s: Script) -> None:
    a, b, _t = await two(s, instance="i")
    await a.retire(-2, now=-2)
    await b.look()
    await b.list()
    await b.beat(now=3)
    await s.on_log()


@claims("2.6-absence")
async def an_instance_is_away_with_partitions_to_revoke(s: Script) -> None:
    a, t = await alone(s, 4, instance="i")
    b = await joining(s, a, t)
    await a.retire(-2, now=-2)
    await b.look()
    await b.beat(now=3, gives={t: [2, 3]})
    await s.on_log()
    again = await s.member("again", instance="i")
    await again.enroll(t, now=3, gives={t: [0, 1]})
    await again.look()
    await s.on_log()


@claims("2.6-absence")
async def an_instance_is_away_twice(s: Script) -> None:
    a, _t = await alone(s, instance="i")
    await a.retire(-2, now=-2)
    await a.retire(-2, now=-2)
    await a.retire(now=-1)
    await a.look()
    await s.on_log()


@claims("2.6-absence")
async def a_dynamic_member_cannot_be_away(s: Script) -> None:
    a, _t = await alone(s)
    await a.beat(-2, error="INVALID_REQUEST")
    await a.beat(-2, instance="i", error="UNKNOWN_MEMBER_ID")
    await a.beat(now=2)


@claims("2.6-absence", "2.6-while-away")
async def others_come_while_an_instance_is_away(s: Script) -> None:
    a, t = await alone(s, 4, instance="i")
    await a.retire(-2, now=-2)
    b = await s.member("b")
    await b.enroll(t, now=3, gives={})
    await b.look()
    again = await s.member("again", instance="i")
    await again.enroll(t, now=3, gives={t: [0, 1]})
    await b.beat(now=3, gives={t: [2, 3]})
    await b.look()
    await s.on_log()


@claims("2.6-wrong-instance", "2.6-unknown")
async def leaves_of_others(s: Script) -> None:
    _a, b, _t = await two(s, instance="i")
    await b.beat(-1, instance="i", error="FENCED_INSTANCE_ID")
    await b.beat(-1, instance="j", error="UNKNOWN_MEMBER_ID")
    await b.beat(-1, member="z", error="UNKNOWN_MEMBER_ID")
    await b.beat(-2, instance="i", error="FENCED_INSTANCE_ID")
    await b.beat(-2, instance="j", error="UNKNOWN_MEMBER_ID")
    await b.look()


@claims("2.6-members", "3.2-LeaveGroup")
async def members_of_the_new_protocol_leave_by_a_classic_request(s: Script) -> None:
    a, b, t = await two(s, instance="i")
    c = await s.member("c")
    await c.enroll(t)
    out = await s.actor("out")
    await out.leave(members=[("c", None), ("nobody", None)], error="UNKNOWN_MEMBER_ID")
    await a.look()
    await out.leave(members=[("", "i")])
    await b.beat()
    await b.look()
    await s.on_log()


@claims("2.6-members", "3.2-LeaveGroup")
async def two_members_leave_at_once(s: Script) -> None:
    a, _b, _t = await two(s, instance="i")
    out = await s.actor("out")
    await out.leave(members=[("b", None), ("", "i")])
    await a.look()
    await s.on_log()


@claims("2.6-members", "3.2-LeaveGroup")
async def nobody_that_is_known_leaves(s: Script) -> None:
    a, _b, _t = await two(s, instance="i")
    out = await s.actor("out")
    await out.leave(members=[("x", None), ("", "j"), ("b", "i")], error="UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID")
    await out.leave(members=[])
    await a.look()
    await a.beat(now=3)
    await s.on_log()
