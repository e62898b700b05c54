"""The coordinator of a consumer group moves from one node to the next: what is kept, what the old one answers.

Source: `GroupMetadataManager.replay`, `onLoaded`, `CoordinatorRuntime`.
"""

from __future__ import annotations

from tests.conformance.consumer import rounds
from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import classic, rejoin, subscription
from tests.conformance.consumer.verbs import grow, until
from tests.conformance.script import Script
from tests.conformance.scripts.consumer.conversions import classic_group, replaced

NOT_HERE = "NOT_COORDINATOR"
KIND, NODES = "consumer", 3


@claims("2.1-not-leader", "4.1-not-leader", kind=KIND, nodes=NODES)
async def the_old_coordinator_of_a_consumer_group(s: Script) -> None:
    a, t = await rounds.alone(s, instance="i")
    await s.move()
    await a.beat(2, error=NOT_HERE)
    await a.enroll(t, error=NOT_HERE)
    await a.retire(error=NOT_HERE)
    await a.retire(-2, error=NOT_HERE)
    await a.look(error=NOT_HERE)
    await a.look(v=0, error=NOT_HERE)
    await a.commit(offsets={t: {0: 1}}, generation=2, error=NOT_HERE)
    await a.fetch(topics={t: [0]}, member=("a", 2), error=NOT_HERE)
    await a.enroll(t, rebalance_ms=-1, error="INVALID_REQUEST")
    await a.enroll(t, assignor="x", error="UNSUPPORTED_ASSIGNOR")
    await a.enroll(t, group="", error="INVALID_REQUEST")
    await a.find()


@claims("load-stable", kind=KIND, nodes=NODES)
async def a_stable_consumer_group_moves(s: Script) -> None:
    a, b, t = await rounds.two(s)
    await a.commit(offsets={t: {0: 5}}, generation=3)
    await s.move()
    await s.follow(a, b)
    await a.look()
    await a.beat(now=3)
    await b.beat(now=3)
    await a.fetch(topics={t: [0]}, member=("a", 3))
    await s.on_log()


@claims("load-stable", "2.4-previous", kind=KIND, nodes=NODES)
async def the_previous_epoch_after_a_move(s: Script) -> None:
    a, b, t = await rounds.two(s)
    await s.move()
    await s.follow(a, b)
    await a.beat(2, error="FENCED_MEMBER_EPOCH")
    await a.beat(2, owned={t: [0, 1]}, now=3)
    await a.commit(offsets={t: {0: 5}}, generation=2)
    await a.commit(offsets={t: {0: 5}}, generation=1, error="STALE_MEMBER_EPOCH")
    await b.commit(offsets={t: {2: 5}}, generation=2, error="STALE_MEMBER_EPOCH")


@claims("load-unrevoked", kind=KIND, nodes=NODES)
async def who_has_to_revoke_moves(s: Script) -> None:
    a, t = await rounds.alone(s, 4)
    b = await rounds.joining(s, a, t)
    await s.move()
    await s.follow(a, b)
    await a.look()
    await a.beat(now=2)
    await a.beat(owned={t: [0, 1]}, now=3)
    await b.beat(now=3, gives={t: [2, 3]})
    await s.on_log()


@claims("load-unrevoked", kind=KIND, nodes=NODES)
async def who_has_revoked_meanwhile_moves(s: Script) -> None:
    a, t = await rounds.alone(s, 4)
    b = await rounds.joining(s, a, t)
    await s.move()
    await s.follow(a, b)
    await a.beat(2, owned={t: [0, 1]}, now=3)
    await b.beat(3, owned={}, now=3, gives={t: [2, 3]})


@claims("load-unreleased", kind=KIND, nodes=NODES)
async def who_waits_moves(s: Script) -> None:
    a, t = await rounds.alone(s, 4)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await s.move()
    await s.follow(a, b)
    await b.beat(now=3)
    await a.beat(now=2, gives={t: [0, 1]})
    await a.acknowledge(now=3)
    await b.beat(now=3, gives={t: [2, 3]})
    await s.on_log()


@claims("load-absence", kind=KIND, nodes=NODES)
async def an_absent_instance_moves(s: Script) -> None:
    a, b, t = await rounds.two(s, instance="i")
    await a.retire(-2)
    await s.move()
    await s.follow(a, b)
    await b.look()
    await a.enroll(t, now=3, gives={t: [0, 1]})
    await b.beat(now=3)


@claims("load-absence", "2.3-unreleased", kind=KIND, nodes=NODES)
async def an_instance_moves(s: Script) -> None:
    a, b, t = await rounds.two(s, instance="i")
    await s.move()
    await s.follow(a, b)
    c = await s.member("c", instance="i")
    await c.enroll(t, error="UNRELEASED_INSTANCE_ID")
    await c.beat(3, error="FENCED_INSTANCE_ID")
    await a.retire(-2)
    await c.enroll(t, now=3)
    await c.look()


@claims("load-empty", kind=KIND, nodes=NODES)
async def an_empty_consumer_group_moves(s: Script) -> None:
    a, t = await rounds.alone(s)
    await a.retire()
    await s.move()
    await s.follow(a)
    await a.look()
    await a.list()
    await a.beat(2, error="UNKNOWN_MEMBER_ID")
    await a.enroll(t, now=4)
    await s.on_log()


@claims("load-deleted", kind=KIND, nodes=NODES)
async def a_deleted_consumer_group_moves(s: Script) -> None:
    a, t = await rounds.alone(s)
    await a.retire()
    await a.delete()
    await s.move()
    await s.follow(a)
    await a.look(error="GROUP_ID_NOT_FOUND")
    await a.beat(2, error="GROUP_ID_NOT_FOUND")
    await a.enroll(t, now=2)


@claims("load-group-of-epoch-one", kind=KIND, nodes=NODES)
async def a_consumer_group_without_topics_moves(s: Script) -> None:
    a = await s.member()
    await a.enroll(now=1)
    await s.move()
    await s.follow(a)
    await a.look()
    await a.beat(now=1)
    t = await s.topic()
    await a.beat(names=[t], now=2)
    await s.on_log()


@claims("load-metadata", "2.5-metadata", kind=KIND, nodes=NODES)
async def a_topic_grows_while_the_group_moves(s: Script) -> None:
    a, t = await rounds.alone(s, 2)
    await s.move()
    await grow(s, t, 4)
    await s.follow(a)
    await a.look()
    await a.beat(now=3, gives={t: range(4)})
    await s.on_log()


@claims("load-regex", kind=KIND, nodes=NODES)
async def a_pattern_moves(s: Script) -> None:
    t = await s.topic("a")
    a = await s.member("a")
    await a.enroll(names=None, regex=f"{s.id}\\.t[a-z]*{s.nonce}")
    await until(s, epoch=2)
    await a.beat(now=2, gives={t: [0]})
    await s.move()
    await s.follow(a)
    await a.beat(now=2)
    await a.look()
    b = await s.member("b")
    await b.enroll(names=None, regex=f"{s.id}\\.t[a-z]*{s.nonce}", now=3)
    await s.on_log()


@claims("load-vote", kind=KIND, nodes=NODES)
async def votes_move(s: Script) -> None:
    a, b, _t = await rounds.two(s)
    await a.beat(assignor="range", rack="r")
    await rounds.swept(s, a, b)
    await s.move()
    await s.follow(a, b)
    await a.look()
    await b.beat(assignor="range")
    await rounds.swept(s, a, b)
    await a.look()
    await s.on_log()


@claims("load-classic", "2.9-classic-after-load", kind=KIND, nodes=NODES)
async def classic_members_of_a_consumer_group_move(s: Script) -> None:
    n, t = await rounds.alone(s, 4)
    m = await classic(s, "m", t)
    await n.beat()
    await n.acknowledge()
    await s.move()
    await s.follow(n, m)
    await n.look()
    await m.heartbeat(error="REBALANCE_IN_PROGRESS")
    await rejoin(m, t)
    await m.sync()
    await m.heartbeat()
    await s.on_log()


@claims("load-conversion", "6.1-stable", kind=KIND, nodes=NODES)
async def an_upgraded_group_moves(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=4)
    await classic_group(s, {m: {t: range(4)}}, t)
    a = await s.member()
    await a.enroll(t)
    await s.move()
    await s.follow(m, a)
    await a.look()
    await m.heartbeat(error="REBALANCE_IN_PROGRESS")
    await m.join(protocols={"range": subscription(t)})
    await m.sync()
    await a.beat()
    await a.look()
    await s.on_log()


@claims("load-conversion", "6.2-fence", kind=KIND, nodes=NODES)
async def a_downgraded_group_moves(s: Script) -> None:
    n, t = await rounds.alone(s, 4)
    m = await classic(s, "m", t)
    await n.beat()
    await n.acknowledge()
    await rejoin(m, t)
    await m.sync()
    await n.retire()
    await s.move()
    await s.follow(m, n)
    await m.describe()
    await m.heartbeat()
    await n.beat(3, error="GROUP_ID_NOT_FOUND")
    await n.enroll(t)
    await n.look()


@claims("load-conversion", "2.2-classic-empty-join", kind=KIND, nodes=NODES)
async def a_group_that_was_classic_moves(s: Script) -> None:
    m = await s.actor("m")
    await s.emptied(m)
    a = await s.member()
    t = await s.topic()
    await a.enroll(t, now=2)
    await s.move()
    await s.follow(a, m)
    await a.look()
    await a.beat(now=2)
    await m.describe(error="GROUP_ID_NOT_FOUND")


@claims("load-conversion", "3.1-empty", kind=KIND, nodes=NODES)
async def a_group_that_was_of_the_new_protocol_moves(s: Script) -> None:
    a, t = await rounds.alone(s)
    await a.retire()
    m = await s.member("m", known_as="")
    await m.join(protocols={"range": subscription(t)}, error="MEMBER_ID_REQUIRED")
    await s.move()
    await s.follow(a, m)
    await m.describe()
    await s.on_log()
    await a.enroll(t)
    await a.look()


@claims("load-twice", kind=KIND, nodes=NODES)
async def there_and_further(s: Script) -> None:
    a, t = await rounds.alone(s, 4)
    await s.move()
    await s.follow(a)
    b = await s.member("b")
    await b.enroll(t, now=3)
    await s.move()
    await s.follow(a, b)
    await a.beat(now=2)
    await s.move()
    await s.follow(a, b)
    await a.acknowledge(now=3)
    await b.beat(now=3, gives={t: [2, 3]})
    await b.look()
    await s.on_log()


@claims("load-four", kind=KIND, nodes=NODES)
async def a_full_group_moves(s: Script) -> None:
    members, t = await rounds.full(s)
    await rounds.swept(s, *members)
    await s.move()
    await s.follow(*members)
    e = await s.member("e")
    await e.enroll(t, error="GROUP_MAX_SIZE_REACHED")
    await members[2].retire()
    await rounds.swept(s, members[0], members[1], members[3])
    await members[0].look()
    await s.on_log()


@claims("load-stable", "2.3-static-takes-dynamic-id", kind=KIND, nodes=NODES)
async def a_member_with_another_instance_id_moves(s: Script) -> None:
    a, t = await rounds.alone(s, instance="i")
    await a.enroll(t, instance="j")
    await s.move()
    await s.follow(a)
    await a.look()
    await a.beat(instance="i", error="UNKNOWN_MEMBER_ID")
    await a.beat(instance="j")
    b = await s.member("b", instance="i")
    await b.enroll(t, now=3)
    await a.retire(-2, instance="j")
    await b.look()
    await s.on_log()


@claims("load-unrevoked", kind=KIND, nodes=NODES)
async def commits_before_a_revocation_move(s: Script) -> None:
    a, t = await rounds.alone(s, 4)
    b = await rounds.joining(s, a, t)
    await s.move()
    await s.follow(a, b)
    await a.commit(offsets={t: {0: 5, 3: 7}}, generation=2)
    await b.commit(offsets={t: {3: 1}}, generation=3)
    await a.fetch(topics={t: [0, 3]}, member=("a", 2))
    await a.beat(owned={t: [0, 1]}, now=3)
    await a.commit(offsets={t: {0: 6}}, generation=2)
    await a.commit(offsets={t: {3: 8}}, generation=2, error="STALE_MEMBER_EPOCH")
    await a.retire()
    await b.beat(now=4, gives={t: range(4)})
    await b.look()
    await s.on_log()


@claims("load-conversion", kind=KIND, nodes=NODES)
async def a_member_that_waits_moves_with_a_downgraded_group(s: Script) -> None:
    m, n = await replaced(s)
    await s.move()
    await s.follow(m, n)
    await m.describe()
    await m.heartbeat()
    await m.sync()
    await n.heartbeat()
    await s.on_log()


@claims("load-twice", "load-absence", kind=KIND, nodes=NODES)
async def an_instance_returns_after_two_moves(s: Script) -> None:
    a, b, t = await rounds.two(s, instance="i")
    await s.move()
    await s.follow(a, b)
    await a.retire(-2)
    await s.move()
    await s.follow(a, b)
    c = await s.member("c", instance="i")
    await c.enroll(t, now=3, gives={t: [0, 1]})
    await a.beat(3, error="FENCED_INSTANCE_ID")
    await b.beat(now=3)
    await b.look()
    await s.on_log()
