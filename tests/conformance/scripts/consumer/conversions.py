"""A classic group becomes a consumer group, and a consumer group a classic one (policy `bidirectional`).

Source: `GroupMetadataManager.convertToConsumerGroup`, `convertToClassicGroup`, `ConsumerGroup.fromClassicGroup`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.actor import Actor
from tests.conformance.basics import Topic
from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import Owned, assignment, classic, rejoin, subscription
from tests.conformance.consumer.member import Member
from tests.conformance.consumer.rounds import alone
from tests.conformance.script import Script

NOT_FOUND = "GROUP_ID_NOT_FOUND"
AGAIN = "REBALANCE_IN_PROGRESS"


async def classic_group(
    s: Script, gives: Mapping[Actor, Owned], *topics: Topic, version: int = 3, protocol: str = "range"
) -> None:
    """A Stable classic group of these members with these topics; the first leads."""
    members = list(gives)
    offer = {protocol: subscription(*topics, version=version)}
    await s.gather(*members, protocols=offer)
    await s.joined(*members)
    leader = next(member for member in members if member.leads)
    for member in members:
        if member is not leader:
            await member.park_sync()
    await s.settle()
    await leader.sync(give={member: assignment(owned, version=version) for member, owned in gives.items()})
    for member in members:
        if member is not leader:
            await member.answer()


@claims("6.1-stable", "6.1-records")
async def a_stable_classic_group_is_upgraded(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=4)
    await classic_group(s, {m: {t: range(4)}}, t)
    a = await s.member()
    await a.enroll(t, gives={})
    await a.look()
    await a.list()
    await a.describe(error=NOT_FOUND)
    await m.heartbeat(error=AGAIN)
    await s.on_log()


@claims("6.1-stable", "6.1-members-live-on")
async def members_live_on_after_an_upgrade(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=4)
    await classic_group(s, {m: {t: range(4)}}, t)
    a = await s.member()
    await a.enroll(t, gives={})
    await m.heartbeat(error=AGAIN)
    offer = {"range": subscription(t, owned={t: range(4)}, generation=1)}
    await m.join(protocols=offer)
    await m.sync()
    await m.heartbeat(error=AGAIN)
    await m.join(protocols={"range": subscription(t, owned={t: [0, 1]}, generation=1)})
    await m.sync()
    await m.heartbeat()
    await a.beat()
    await a.look()
    await s.on_log()


@claims("6.1-stable", "6.1-two-members")
async def a_classic_group_of_two_is_upgraded(s: Script) -> None:
    m, n = await s.pair()
    t = await s.topic(partitions=4)
    await classic_group(s, {m: {t: [0, 1]}, n: {t: [2, 3]}}, t)
    c = await s.member("c")
    await c.enroll(t)
    await c.look()
    await m.heartbeat(error=AGAIN)
    await n.heartbeat(error=AGAIN)
    await s.on_log()


@claims("6.1-order", "6.1-two-members")
async def members_of_two_topics_are_upgraded(s: Script) -> None:
    m, n = await s.pair()
    t, u = await s.topic("t", partitions=4), await s.topic("u", partitions=2)
    await classic_group(s, {m: {t: [0, 1], u: [0]}, n: {t: [2, 3], u: [1]}}, t, u)
    c = await s.member("c")
    await c.enroll(t, u)
    await c.look()
    await s.on_log()


@claims("6.1-generation-0")
async def a_group_that_all_left_in_the_initial_delay_is_upgraded(s: Script) -> None:
    m = await s.actor("m")
    await m.enter()
    await s.until("PreparingRebalance", 1)
    watch = await s.actor("watch")
    await watch.leave(members=[(m.member_id, None)])
    await m.answer(error="UNKNOWN_MEMBER_ID")
    a = await s.member("a")
    await a.enroll(now=0, gives={})
    await a.look()
    await a.beat(0, owned={}, names=[], rebalance_ms=5_000, now=0)
    t = await s.topic()
    await a.enroll(t, now=1, gives={t: [0]})
    await a.look()
    await s.on_log()


@claims("6.1-preparing", "0-refused-upgrade")
async def a_group_that_prepares_a_round_is_upgraded(s: Script) -> None:
    m, n = await s.pair()
    t = await s.topic(partitions=4)
    await classic_group(s, {m: {t: range(4)}}, t)
    await s.gather(n, before=1, protocols={"range": subscription(t)})
    c = await s.member("c")
    await c.enroll(t)
    await n.answer(error=AGAIN)
    await c.look()
    await s.on_log()


@claims("6.1-completing", "6.1-never-synced")
async def a_group_that_never_synced_is_upgraded(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=4)
    await s.complete(m, protocols={"range": subscription(t)})
    a = await s.member("a")
    await a.enroll(t)
    await a.look()
    await m.sync(give={m: assignment({t: range(4)})}, error=AGAIN)
    await s.on_log()


@claims("6.1-completing")
async def who_waits_for_its_leader_is_upgraded(s: Script) -> None:
    m, n = await s.pair()
    t = await s.topic(partitions=4)
    await s.complete(m, n, protocols={"range": subscription(t)})
    follower = n if m.leads else m
    await follower.park_sync()
    await s.settle()
    c = await s.member("c")
    await c.enroll(t)
    await follower.answer(error=AGAIN)
    await c.look()


@claims("6.1-protocol-type")
async def a_group_of_connect_is_not_upgraded(s: Script) -> None:
    m = await s.actor("m")
    await s.gather(m, protocol_type="connect", protocols={"default": "x"})
    await m.answer()
    await m.sync(give={m: "all"}, protocol_type="connect")
    a = await s.member()
    await a.enroll("t", error=NOT_FOUND)
    await m.heartbeat()
    await a.describe()


@claims("6.1-malformed")
async def a_group_with_a_malformed_subscription_is_not_upgraded(s: Script) -> None:
    m = await s.actor("m")
    await s.form(m)
    a = await s.member()
    await a.enroll("t", error=NOT_FOUND)
    await m.heartbeat()


@claims("6.1-malformed")
async def a_group_with_a_malformed_assignment_is_not_upgraded(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic()
    await s.complete(m, protocols={"range": subscription(t)})
    await m.sync(give={m: b"\0\3no"})
    a = await s.member()
    await a.enroll(t, error=NOT_FOUND)
    await m.heartbeat()


@claims("6.1-user-data")
async def a_group_with_user_data_is_not_upgraded(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic()
    await s.complete(m, protocols={"range": subscription(t)})
    await m.sync(give={m: assignment({t: [0]}, user_data=b"mine")})
    a = await s.member()
    await a.enroll(t, error=NOT_FOUND)
    await m.heartbeat()


@claims("6.1-user-data")
async def user_data_in_a_subscription_does_not_matter(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=2)
    await s.complete(m, protocols={"sticky": subscription(t, user_data=b"mine", version=1)})
    await m.sync(give={m: assignment({t: [0, 1]}, version=1)})
    a = await s.member()
    await a.enroll(t)
    await a.look()
    await s.on_log()


@claims("6.1-size", "0-refused-upgrade")
async def an_upgrade_that_would_be_too_large(s: Script) -> None:
    members = [await s.actor(name) for name in "abcd"]
    t = await s.topic(partitions=4)
    await classic_group(s, {member: {t: [number]} for number, member in enumerate(members)}, t)
    e = await s.member("e")
    await e.enroll(t, error="GROUP_MAX_SIZE_REACHED")
    for member in members:
        await member.heartbeat()
    await e.describe()


@claims("0-refused-upgrade", "2.5-invalid-regex")
async def a_refused_upgrade_answers_parked_joins(s: Script) -> None:
    m, n = await s.pair()
    t = await s.topic(partitions=4)
    await classic_group(s, {m: {t: range(4)}}, t)
    await s.gather(n, before=1, protocols={"range": subscription(t)})
    c = await s.member("c")
    await c.enroll(names=None, regex="(", error="INVALID_REGULAR_EXPRESSION")
    await n.answer(error=AGAIN)
    await c.describe()
    await c.look(error=NOT_FOUND)


@claims("6.1-static", "0-upgrade-without-a-bump")
async def a_static_member_upgrades_itself(s: Script) -> None:
    m = await s.actor("m", instance="i")
    t = await s.topic(partitions=4)
    await classic_group(s, {m: {t: range(4)}}, t)
    a = await s.member("a", instance="i")
    await a.enroll(t, gives={t: range(4)})
    await a.look()
    await m.heartbeat(error="FENCED_INSTANCE_ID")
    await s.on_log()


@claims("6.1-static")
async def a_static_member_upgrades_itself_and_changes_its_topics(s: Script) -> None:
    m = await s.actor("m", instance="i")
    t, u = await s.topic(partitions=2), await s.topic("u", 2)
    await classic_group(s, {m: {t: range(2)}}, t)
    a = await s.member("a", instance="i")
    await a.enroll(u)
    await a.look()
    await s.on_log()


@claims("6.1-static")
async def one_static_member_of_two_upgrades(s: Script) -> None:
    m = await s.actor("m", instance="i")
    n = await s.actor("n", instance="j")
    t = await s.topic(partitions=4)
    await classic_group(s, {m: {t: [0, 1]}, n: {t: [2, 3]}}, t)
    a = await s.member("a", instance="i")
    await a.enroll(t)
    await a.look()
    await n.heartbeat()
    await n.sync()
    b = await s.member("b", instance="j")
    await b.enroll(t)
    await b.look()
    await s.on_log()


@claims("6.1-empty-subscription")
async def a_classic_group_without_topics_is_upgraded(s: Script) -> None:
    m = await s.actor("m")
    await s.complete(m, protocols={"range": subscription()})
    await m.sync()
    a = await s.member()
    t = await s.topic(partitions=2)
    await a.enroll(t)
    await a.look()
    await s.on_log()


@claims("6.1-deleted-topic")
async def an_assignment_of_an_unknown_topic_is_upgraded(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=2)
    await classic_group(s, {m: {t: [0, 1], s.no_topic(): [0]}}, t, s.no_topic())
    a = await s.member()
    await a.enroll(t)
    await a.look()
    await s.on_log()


@claims("6.1-offsets", "4.1-classic")
async def commits_after_an_upgrade(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=4)
    await classic_group(s, {m: {t: range(4)}}, t)
    await m.commit(offsets={t: {0: 5}})
    a = await s.member()
    await a.enroll(t)
    await m.commit(offsets={t: {0: 6, 3: 6}})
    await a.commit(offsets={t: {3: 7}}, generation=2)
    await a.fetch(topics={t: [0, 3]})


async def mixed(s: Script, partitions: int = 4) -> tuple[Member, Member, Topic]:
    """A member of the new protocol, and a classic one that has synced."""
    n, t = await alone(s, partitions)
    m = await classic(s, "m", t)
    await n.beat()
    await n.acknowledge()
    await rejoin(m, t)
    await m.sync()
    await m.heartbeat()
    return n, m, t


@claims("6.2-fence", "6.2-records")
async def the_last_member_of_the_new_protocol_leaves(s: Script) -> None:
    n, m, t = await mixed(s)
    await n.retire(now=-1)
    await m.describe()
    await m.look(error=NOT_FOUND)
    await m.list()
    await m.heartbeat(error=AGAIN)
    await n.beat(3, error=NOT_FOUND)
    await m.park_join(protocols={"range": subscription(t)})
    await m.answer()
    await m.describe()
    await s.on_log()


@claims("6.2-fence", "6.2-generation")
async def a_downgrade_with_a_member_behind(s: Script) -> None:
    n, t = await alone(s, 4)
    m = await classic(s, "m", t)
    o = await classic(s, "o", t)
    await n.retire(now=-1)
    await m.describe()
    await m.heartbeat(error="ILLEGAL_GENERATION")
    await o.heartbeat(error=AGAIN)
    await s.on_log()


@claims("6.2-fence", "3.2-leave")
async def the_last_member_of_the_new_protocol_is_removed(s: Script) -> None:
    _n, m, _t = await mixed(s)
    out = await s.actor("out")
    await out.leave(members=[("a", None)])
    await m.describe()
    await m.heartbeat(error=AGAIN)
    await s.on_log()


@claims("6.2-replacement")
async def the_last_member_of_the_new_protocol_is_replaced(s: Script) -> None:
    a, t = await alone(s, 4, instance="i")
    m = await s.member("m", instance="i", known_as="")
    await m.join(protocols={"range": subscription(t)})
    await m.describe()
    await m.sync()
    await m.heartbeat()
    await a.beat(2, error=NOT_FOUND)
    await s.on_log()


@claims("6.1-first-round")
async def a_group_in_its_first_round_is_not_upgraded(s: Script) -> None:
    m = await s.actor("m", instance="i")
    t = await s.topic(partitions=2)
    await m.park_join(protocols={"range": subscription(t)})
    await s.settle()
    a = await s.member()
    await a.enroll(t, error="UNKNOWN_SERVER_ERROR")
    await m.answer(error=AGAIN)
    await a.describe()


@claims("6.2-replacement")
async def a_replacement_with_other_topics_makes_it_classic(s: Script) -> None:
    _, t = await alone(s, 2, instance="i")
    u = await s.topic("u", 2)
    m = await s.member("m", instance="i", known_as="")
    await m.park_join(protocols={"range": subscription(t, u)})
    await s.settle()
    await m.answer()
    await m.describe()
    await s.on_log()


@claims("6.2-absence")
async def an_absent_instance_is_the_last_of_the_new_protocol(s: Script) -> None:
    a, t = await alone(s, 4, instance="i")
    m = await classic(s, "m", t)
    await a.retire(-2)
    await m.look()
    n = await s.member("n", instance="i", known_as="")
    await n.park_join(protocols={"range": subscription(t)})
    await n.answer()
    await m.describe()
    await s.on_log()


async def replaced(s: Script) -> tuple[Member, Member]:
    """A classic member took the place of the last one of the consumer protocol, while another waited for partitions.

    Returns the one that waited, and the replacement.
    """
    a, t = await alone(s, 4, instance="i")
    m = await classic(s, "m", t)
    await m.sync()
    await a.beat(now=2)
    await a.retire(-2)
    n = await s.member("n", instance="i", known_as="")
    await n.join(protocols={"range": subscription(t)})
    await n.sync()
    return m, n


@claims("6.2-replacement")
async def a_replacement_leaves_a_member_waiting(s: Script) -> None:
    """The classic group is Stable, and a member that waited for partitions does not hear that they are its own."""
    m, _ = await replaced(s)
    for _ in range(2):
        await m.heartbeat()
    await m.describe()
    await m.sync()
    await s.on_log()


@claims("6.2-takes-over")
async def the_last_dynamic_member_becomes_classic(s: Script) -> None:
    a, t = await alone(s, 4)
    m = await s.member("m", known_as="a")
    await m.join(protocols={"range": subscription(t)})
    await m.look()
    await m.sync()
    await m.heartbeat()
    await m.leave()
    await m.look()
    await s.on_log()
    assert a.member_id == m.member_id


@claims("6.2-and-back")
async def there_and_back_again(s: Script) -> None:
    n, m, t = await mixed(s)
    await n.retire(now=-1)
    await m.heartbeat(error=AGAIN)
    await n.enroll(t)
    await n.look()
    await m.heartbeat(error=AGAIN)
    await rejoin(m, t)
    await m.sync()
    await n.beat()
    await n.look()
    await s.on_log()


@claims("6.2-empty")
async def only_classic_members_leave(s: Script) -> None:
    n, m, t = await mixed(s)
    await m.leave()
    await n.beat(gives={t: range(4)})
    await n.look()
    await n.retire()
    await n.look()
    await s.on_log()


@claims("6.2-protocols")
async def the_protocol_of_a_downgraded_group(s: Script) -> None:
    n, t = await alone(s, 4)
    m, o = await s.member("m"), await s.member("o")
    offer = subscription(t)
    await m.join(protocols=[("range", offer), ("roundrobin", offer)])
    await o.join(protocols=[("roundrobin", offer), ("range", offer)])
    await n.retire(now=-1)
    await m.describe()
    await s.on_log()
