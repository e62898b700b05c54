"""How members come to their targets: revoked first, assigned when released.

Source: `CurrentAssignmentBuilder`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.rounds import alone, full, joining, swept, two
from tests.conformance.script import Script


@claims("2.7-stable")
async def nothing_to_do(s: Script) -> None:
    a, b, _t = await two(s)
    for _ in range(2):
        await a.acknowledge(now=3)
        await b.acknowledge(now=3)
    await s.on_log()


@claims("2.7-unrevoked", "2.7-unreleased")
async def a_partition_after_the_other(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await s.member("b")
    await b.enroll(t, now=3, gives={})
    await b.beat(now=3)
    await a.beat(now=2, gives={t: [0, 1]})
    await b.look()
    await a.beat(now=2)
    await a.beat(owned={t: [0, 1, 2, 3]}, now=2)
    await a.beat(owned={t: [0, 1, 2]}, now=2)
    await a.beat(owned={t: [0, 1, 3]}, now=2)
    await b.beat(now=3)
    await a.beat(owned={t: [0, 1]}, now=3)
    await b.beat(now=3, gives={t: [2, 3]})
    await b.look()
    await s.on_log()


@claims("2.7-unrevoked")
async def more_is_given_up_than_asked(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await joining(s, a, t)
    await a.beat(owned={}, now=3)
    await b.beat(now=3, gives={t: [2, 3]})
    await a.beat(owned={}, now=3)
    await a.look()
    await s.on_log()


@claims("2.7-unrevoked")
async def a_foreign_partition_is_named_in_an_acknowledgement(s: Script) -> None:
    a, t = await alone(s, 4)
    u = await s.topic("u")
    b = await joining(s, a, t)
    await a.beat(owned={t: [0, 1], u: [0]}, now=3)
    await b.beat(now=3, gives={t: [2, 3]})


@claims("2.7-unrevoked", "2.7-newer-target")
async def a_newer_target_while_revoking(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await joining(s, a, t)
    c = await s.member("c")
    await c.enroll(t, now=4)
    await a.beat(now=2)
    await a.look()
    await a.acknowledge()
    await a.acknowledge()
    await b.beat()
    await c.beat()
    await swept(s, a, b, c)
    await a.look()
    await s.on_log()


@claims("2.7-unreleased", "2.7-previous-epoch-record")
async def who_waits_writes_its_previous_epoch(s: Script) -> None:
    _a, t = await alone(s, 4)
    b = await s.member("b")
    await b.enroll(t, now=3, gives={})
    await b.beat(now=3)
    await b.beat(now=3)
    await b.beat(now=3)
    await s.on_log()


@claims("2.7-unreleased")
async def a_waiter_gets_what_is_free(s: Script) -> None:
    a, b, t = await two(s, 6)
    c = await s.member("c")
    await c.enroll(t, now=4, gives={})
    await a.beat(now=3)
    await a.acknowledge(now=4)
    await c.beat(now=4)
    await c.look()
    await b.beat(now=3)
    await b.acknowledge(now=4)
    await c.beat(now=4)
    await c.look()
    await s.on_log()


@claims("2.7-unreleased")
async def the_member_that_holds_leaves(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await s.member("b")
    await b.enroll(t, now=3, gives={})
    await a.retire(now=-1)
    await b.beat(now=4, gives={t: [0, 1, 2, 3]})
    await b.look()
    await s.on_log()


@claims("2.7-unreleased")
async def a_waiter_leaves(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await joining(s, a, t)
    await b.retire(now=-1)
    await a.look()
    await a.acknowledge(now=4, gives={t: [0, 1, 2, 3]})
    await a.look()
    await s.on_log()


@claims("2.7-own-pending")
async def what_is_pending_comes_back(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await joining(s, a, t)
    await b.retire(now=-1)
    await a.beat(now=2)
    await a.beat(owned={t: [0, 1, 2, 3]}, now=2)
    await a.look()
    await a.beat(owned={t: [0, 1]}, now=4, gives={t: [0, 1, 2, 3]})
    await s.on_log()


@claims("2.7-subscription")
async def a_topic_is_dropped_and_still_owned(s: Script) -> None:
    a = await s.member()
    t, u = await s.topic(), await s.topic("u")
    await a.enroll(t, u, now=2)
    await a.beat(names=[t], owned={t: [0], u: [0]}, now=2)
    await a.look()
    await a.beat(owned={t: [0], u: [0]}, now=2)
    await a.beat(owned={t: [0]}, now=3)
    await a.look()
    await s.on_log()


@claims("2.7-subscription")
async def a_topic_is_dropped_and_not_owned_any_more(s: Script) -> None:
    a = await s.member()
    t, u = await s.topic(), await s.topic("u")
    await a.enroll(t, u, now=2)
    await a.beat(names=[t], owned={t: [0]}, now=3)
    await a.look()
    await s.on_log()


@claims("2.7-subscription")
async def a_topic_is_dropped_and_nothing_said_of_it(s: Script) -> None:
    a = await s.member()
    t, u = await s.topic(), await s.topic("u")
    await a.enroll(t, u, now=2)
    await a.beat(names=[t], now=2, gives={t: [0]})
    await a.beat(now=2)
    await a.look()
    await a.acknowledge(now=3)
    await s.on_log()


@claims("2.7-subscription", "2.7-unrevoked")
async def a_topic_is_dropped_while_revoking(s: Script) -> None:
    a = await s.member()
    t, u = await s.topic("", 2), await s.topic("u", 2)
    await a.enroll(t, u, now=2)
    b = await s.member("b")
    await b.enroll(t, u, now=3)
    await a.beat(now=2)
    await a.beat(names=[t], now=2)
    await a.look()
    await a.acknowledge()
    await b.beat()
    await swept(s, a, b)
    await a.look()


@claims("2.7-subscription", "2.7-unreleased")
async def a_waiter_changes_its_mind(s: Script) -> None:
    a, t = await alone(s, 4)
    u = await s.topic("u", 2)
    b = await s.member("b")
    await b.enroll(t, now=3, gives={})
    await b.beat(names=[u])
    await b.look()
    await a.beat()
    await a.look()
    await s.on_log()


@claims("2.7-join-acknowledges")
async def a_join_acknowledges_everything(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await joining(s, a, t)
    await a.enroll(t, now=3, gives={t: [0, 1]})
    await b.beat(now=3, gives={t: [2, 3]})
    await s.on_log()


@claims("2.7-states")
async def the_states_of_a_group(s: Script) -> None:
    a = await s.member()
    t = await s.topic("", 4)
    watch = await s.member("watch")
    await a.enroll(t)
    await watch.look()
    b = await s.member("b")
    await b.enroll(t)
    await watch.look()
    await a.beat()
    await watch.look()
    await a.acknowledge()
    await watch.look()
    await b.beat()
    await watch.look()
    await a.retire()
    await watch.look()
    await b.beat()
    await watch.look()
    await b.retire()
    await watch.look()
    await a.delete()
    await watch.look(error="GROUP_ID_NOT_FOUND")


@claims("2.7-assignment-epochs")
async def partitions_keep_the_epoch_of_their_assignment(s: Script) -> None:
    a, b, t = await two(s, 6)
    c = await s.member("c")
    await c.enroll(t)
    await swept(s, a, b, c)
    await b.retire()
    await swept(s, a, c)
    await a.look()
    await s.on_log()


@claims("2.7-four-members")
async def four_members_come_and_go(s: Script) -> None:
    (a, b, c, d), _t = await full(s)
    await swept(s, a, b, c, d)
    await a.look()
    await b.retire()
    await swept(s, a, c, d)
    await d.retire()
    await swept(s, a, c)
    await a.retire()
    await swept(s, c)
    await c.look()
    await s.on_log()


@claims("2.7-more-members-than-partitions")
async def more_members_than_partitions(s: Script) -> None:
    a, t = await alone(s, 1)
    b = await s.member("b")
    await b.enroll(t, now=3, gives={})
    await a.beat(now=3)
    await b.beat(now=3)
    await a.look()
    await a.retire()
    await b.beat(now=4, gives={t: [0]})
    await s.on_log()


@claims("2.7-order", "7-range")
async def forty_partitions_are_shared_by_range(s: Script) -> None:
    a, b, c = [await s.member(name) for name in "abc"]
    t = await s.topic(partitions=40)
    await a.enroll(t, assignor="range", now=2, gives={t: range(40)})
    await b.enroll(t, assignor="range")
    await a.beat()
    await a.acknowledge()
    await b.beat()
    await c.enroll(t, assignor="range")
    for _ in range(3):
        for member in (a, b, c):
            await member.beat()
            await member.acknowledge()
    await a.look()
    await s.on_log()


@claims("2.7-order")
async def forty_partitions_are_shared_where_topics_differ(s: Script) -> None:
    a, b, c = [await s.member(name) for name in "abc"]
    t, u = await s.topic("t", partitions=40), await s.topic("u", partitions=7)
    await a.enroll(t, now=2, gives={t: range(40)})
    await b.enroll(t, u)
    await c.enroll(u)
    for _ in range(3):
        for member in (a, b, c):
            await member.beat()
            await member.acknowledge()
    await b.retire(now=-1)
    await a.acknowledge()
    await c.acknowledge()
    await a.look()
    await s.on_log()
