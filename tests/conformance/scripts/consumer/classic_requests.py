"""Classic requests to a consumer group: its classic members join, sync, heartbeat and leave.

Source: `GroupMetadataManager.classicGroupJoinToConsumerGroup`, `classicGroupSyncToConsumerGroup`,
`classicGroupHeartbeatToConsumerGroup`, `consumerGroupLeaveGroup`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import classic, rejoin, subscription
from tests.conformance.consumer.rounds import alone, full, two, written_beside
from tests.conformance.script import Script

UNKNOWN = "UNKNOWN_MEMBER_ID"
INCONSISTENT = "INCONSISTENT_GROUP_PROTOCOL"
ILLEGAL = "ILLEGAL_GENERATION"
AGAIN = "REBALANCE_IN_PROGRESS"


@claims("3.1-empty", versions=(4, 9))
async def a_handshake_with_an_empty_consumer_group(s: Script) -> None:
    a, t = await alone(s)
    await a.retire()
    m = await s.member("m", known_as="")
    await m.join(v=s.v, protocols={"range": subscription(t)}, error="MEMBER_ID_REQUIRED")
    await m.describe()
    await m.look(error="GROUP_ID_NOT_FOUND")
    await m.list()
    await s.on_log()


@claims("3.1-empty", versions=(0, 3))
async def a_classic_member_joins_an_empty_consumer_group(s: Script) -> None:
    a, t = await alone(s)
    await a.commit(offsets={t: {0: 3}}, generation=2)
    await a.retire()
    m = await s.actor("m")
    await m.park_join(v=s.v, protocols={"range": subscription(t)}, member="")
    await m.answer()
    await m.describe()
    await m.fetch(topics={t: [0]})
    await s.on_log()


@claims("3.1-empty")
async def an_unknown_member_joins_an_empty_consumer_group(s: Script) -> None:
    a, t = await alone(s)
    await a.retire()
    m = await s.member("m")
    await m.join(protocols={"range": subscription(t)}, error=UNKNOWN)
    await written_beside(s, t)
    await m.describe(error="GROUP_ID_NOT_FOUND")
    await m.look(error="GROUP_ID_NOT_FOUND")
    await s.on_log()


@claims("3.1-size")
async def a_classic_member_of_a_full_group(s: Script) -> None:
    _, t = await full(s)
    m = await s.member("m", known_as="")
    offer = {"range": subscription(t)}
    await m.join(protocols=offer, error="GROUP_MAX_SIZE_REACHED")
    await m.join(v=3, protocols=offer, error="GROUP_MAX_SIZE_REACHED")
    await m.join(protocols=offer, instance="i", error="GROUP_MAX_SIZE_REACHED")
    await m.join(protocols=offer, member="m", error="GROUP_MAX_SIZE_REACHED")
    await m.join(protocols=offer, member="a")


@claims("3.1-size", "3.1-order")
async def which_fault_of_a_join_is_told(s: Script) -> None:
    _, t = await full(s)
    m = await s.member("m", known_as="")
    offer = {"range": subscription(t)}
    await m.join(protocols=offer, session=1, error="INVALID_SESSION_TIMEOUT")
    await m.join(protocols=offer, group="", error="INVALID_GROUP_ID")
    await m.join(protocols=offer, protocol_type="connect", error="GROUP_MAX_SIZE_REACHED")
    await m.join(protocols={}, error="GROUP_MAX_SIZE_REACHED")
    await m.join(protocols={}, member="a", error=INCONSISTENT)


@claims("3.1-protocols", versions=(4, 9))
async def protocols_that_do_not_fit(s: Script) -> None:
    _, t = await alone(s)
    m = await s.member("m")
    offer = subscription(t)
    await m.join(v=s.v, protocols={"range": offer}, protocol_type="connect", error=INCONSISTENT)
    await m.join(v=s.v, protocols={}, error=INCONSISTENT)
    await m.join(v=s.v, protocols={"range": offer}, protocol_type="", error=INCONSISTENT)
    await m.join(v=s.v, protocols={"anything": offer})
    n = await s.member("n")
    await n.join(v=s.v, protocols={"range": offer}, error=INCONSISTENT)
    await n.join(v=s.v, protocols={"range": offer, "anything": offer})
    await m.look()
    await s.on_log()


@claims("3.1-protocols", "3.1-embedded")
async def only_the_first_protocol_counts(s: Script) -> None:
    _, t = await alone(s, 4)
    u = await s.topic("u", 2)
    m = await s.member("m")
    await m.join(protocols=[("range", subscription(u)), ("roundrobin", subscription(t))])
    await m.sync()
    await m.look()
    await s.on_log()


@claims("3.1-handshake", versions=(4, 9))
async def a_handshake_with_a_consumer_group(s: Script) -> None:
    a, t = await alone(s)
    m = await s.member("m", known_as="")
    offer = {"range": subscription(t)}
    await m.join(v=s.v, protocols=offer, error="MEMBER_ID_REQUIRED")
    await a.look()
    await m.join(v=s.v, protocols=offer)
    await a.look()


@claims("3.1-handshake", versions=(0, 1, 2, 3))
async def a_classic_member_without_a_handshake(s: Script) -> None:
    a, t = await alone(s, 4)
    m = await s.member("m", known_as="")
    await m.join(v=s.v, protocols={"range": subscription(t)})
    await a.beat()
    await a.acknowledge()
    await m.sync(v=min(s.v, 3))
    await a.look()
    await s.on_log()


@claims("3.1-dynamic", "3.1-answer", versions=(0, 5, 7, 9))
async def a_classic_member_joins_a_consumer_group(s: Script) -> None:
    a, t = await alone(s, 4)
    m = await s.member("m")
    await m.join(v=s.v, protocols={"range": subscription(t)}, session=7_000, rebalance=8_000)
    await m.sync()
    await m.heartbeat()
    await a.beat()
    await a.acknowledge()
    await m.heartbeat(error=AGAIN)
    await a.look()
    await s.on_log()


@claims("3.1-takes-over")
async def a_member_of_the_new_protocol_becomes_classic(s: Script) -> None:
    a, b, t = await two(s)
    m = await s.member("m", known_as="b")
    await m.join(protocols={"range": subscription(t)})
    await m.sync()
    await a.look()
    await b.beat(3, error="NONE")
    await a.look()
    await s.on_log()


@claims("3.1-takes-over")
async def a_member_that_revokes_becomes_classic(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await s.member("b")
    await b.enroll(t, now=3, gives={})
    await a.beat(now=2)
    m = await s.member("m", known_as="a")
    await m.join(protocols={"range": subscription(t)})
    await m.sync()
    await b.beat()
    await b.look()
    await a.beat(2, error="FENCED_MEMBER_EPOCH")
    await s.on_log()


@claims("3.1-static-new", versions=(5, 9))
async def a_classic_instance_joins_a_consumer_group(s: Script) -> None:
    a, t = await alone(s, 4)
    m = await s.member("m", instance="i", known_as="")
    await m.join(v=s.v, protocols={"range": subscription(t)})
    await m.sync()
    await a.look()


@claims("3.1-static-replaces")
async def a_classic_instance_replaces_one_of_the_new_protocol(s: Script) -> None:
    a, b, t = await two(s, instance="i")
    m = await s.member("m", instance="i", known_as="")
    await m.join(protocols={"range": subscription(t)})
    await m.sync()
    await b.look()
    await a.beat(3, error="FENCED_INSTANCE_ID")
    await s.on_log()


@claims("3.1-static-replaces")
async def a_classic_instance_replaces_a_classic_one(s: Script) -> None:
    a, t = await alone(s, 4)
    m = await classic(s, "m", t, instance="i")
    n = await s.member("n", instance="i", known_as="")
    await n.join(protocols={"range": subscription(t)})
    await n.sync()
    await m.heartbeat(error="FENCED_INSTANCE_ID")
    await a.look()


@claims("3.1-static-ids")
async def ids_of_classic_instances(s: Script) -> None:
    _, _, t = await two(s, instance="i")
    m = await s.member("m")
    offer = {"range": subscription(t)}
    await m.join(protocols=offer, instance="j", error=UNKNOWN)
    await m.join(protocols=offer, instance="i", error="FENCED_INSTANCE_ID")
    await m.join(protocols=offer, instance="i", member="a")
    await m.look()


@claims("3.1-malformed")
async def subscriptions_that_cannot_be_read(s: Script) -> None:
    a, t = await alone(s)
    m = await s.member("m")
    for broken in (b"", b"\0", b"\0\3", subscription(t)[:9], b"\0\1\0\0\0\7", b"\xff\xff\0\0\0\0\0\0\0\0"):
        await m.join(protocols={"range": broken}, error=INCONSISTENT)
    await a.look()
    await s.on_log()


@claims("3.1-malformed", "3.1-embedded", versions=(0, 1, 2, 3))
async def subscriptions_of_every_version(s: Script) -> None:
    a, t = await alone(s, 4)
    m = await s.member("m")
    await m.join(protocols={"range": subscription(t, version=s.v, user_data=b"mine", rack="r")})
    await m.sync()
    await a.beat()
    await a.acknowledge()
    await m.heartbeat(error=AGAIN)
    await m.sync()
    await rejoin(m, t)
    await m.sync()
    await a.look()
    await s.on_log()


@claims("3.1-malformed")
async def a_subscription_of_the_future(s: Script) -> None:
    a, t = await alone(s)
    m = await s.member("m")
    offer = subscription(t, rack="r")
    await m.join(protocols={"range": b"\0\x09" + offer[2:] + b"more of it"})
    await m.sync()
    await a.look()


@claims("3.1-bump", "2.5-names")
async def a_classic_member_changes_its_topics(s: Script) -> None:
    a, t = await alone(s, 2)
    u = await s.topic("u", 2)
    m = await classic(s, "m", t)
    await m.sync()
    await rejoin(m, u, t)
    await m.sync()
    await rejoin(m, u, t)
    await a.look()
    await rejoin(m, u)
    await m.sync()
    await a.look()
    await s.on_log()


@claims("3.2-sync", versions=(0, 3, 5))
async def syncs_that_do_not_fit(s: Script) -> None:
    a, t = await alone(s)
    m = await classic(s, "m", t)
    await m.sync(v=s.v, member="nobody", error=UNKNOWN)
    await m.sync(v=s.v, member="a", error=UNKNOWN)
    await m.sync(v=s.v, generation=1, error=ILLEGAL)
    await m.sync(v=s.v, generation=9, error=ILLEGAL)
    await m.sync(v=s.v, generation=-1, error=ILLEGAL)
    if s.v >= 3:
        await m.sync(v=s.v, instance="i", error=UNKNOWN)
    await m.sync(v=s.v)
    await a.look()


@claims("3.2-sync-protocol")
async def syncs_of_other_protocols(s: Script) -> None:
    _, t = await alone(s)
    m = await classic(s, "m", t)
    await m.sync(protocol_type=None, error=INCONSISTENT)
    await m.sync(protocol=None, error=INCONSISTENT)
    await m.sync(protocol_type="connect", error=INCONSISTENT)
    await m.sync(protocol="roundrobin", error=INCONSISTENT)
    await m.sync()


@claims("3.2-sync-ignored")
async def assignments_of_a_sync_are_ignored(s: Script) -> None:
    a, t = await alone(s, 2)
    m = await classic(s, "m", t)
    await m.sync(give={m: b"all of it", a: b"none"})
    await a.look()


@claims("3.2-sync", "3.2-instances")
async def classic_requests_of_instances(s: Script) -> None:
    _, t = await alone(s)
    m = await classic(s, "m", t, instance="i")
    n = await classic(s, "n", t)
    await n.heartbeat(instance="i", error="FENCED_INSTANCE_ID")
    await n.sync(instance="i", error="FENCED_INSTANCE_ID")
    await n.heartbeat(instance="j", error=UNKNOWN)
    await m.heartbeat(instance="i", error=AGAIN)
    await m.sync(instance=None, error=AGAIN)


@claims("3.2-heartbeat", versions=(0, 4))
async def heartbeats_that_do_not_fit(s: Script) -> None:
    _, t = await alone(s)
    m = await classic(s, "m", t)
    await m.heartbeat(v=s.v, member="nobody", error=UNKNOWN)
    await m.heartbeat(v=s.v, member="a", error=UNKNOWN)
    await m.heartbeat(v=s.v, generation=1, error=ILLEGAL)
    await m.heartbeat(v=s.v, generation=9, error=ILLEGAL)
    await m.heartbeat(v=s.v, group=s.named(".none"), error=UNKNOWN)
    await m.heartbeat(v=s.v)


@claims("3.2-worked-trace", "3.2-sync-behind", "3.2-heartbeat-unrevoked")
async def a_cooperative_classic_member_gives_half_away(s: Script) -> None:
    n, t = await alone(s, 6)
    m = await classic(s, "m", t, protocol="cooperative-sticky")
    await n.beat()
    await n.acknowledge()
    await m.sync()
    await m.heartbeat(error=AGAIN)
    await rejoin(m, t, protocol="cooperative-sticky")
    await m.sync()
    await m.heartbeat()
    c = await s.member("c")
    await c.enroll(t)
    await m.heartbeat(error=AGAIN)
    await m.sync(error=AGAIN)
    await rejoin(m, t, owned={t: [3, 4, 5]}, protocol="cooperative-sticky")
    await m.sync()
    await m.heartbeat(error=AGAIN)
    await rejoin(m, t, owned={t: [3, 4]}, protocol="cooperative-sticky")
    await m.heartbeat()
    await m.sync()
    await c.beat()
    await n.beat()
    await c.look()
    await s.on_log()


@claims("3.2-worked-trace")
async def an_eager_classic_member_gives_half_away(s: Script) -> None:
    n, t = await alone(s, 6)
    m = await classic(s, "m", t)
    await n.beat()
    await n.acknowledge()
    await m.heartbeat(error=AGAIN)
    await rejoin(m, t)
    await m.sync()
    await m.heartbeat()
    c = await s.member("c")
    await c.enroll(t)
    await m.heartbeat(error=AGAIN)
    await rejoin(m, t)
    await m.sync()
    await m.heartbeat()
    await c.beat()
    await n.beat()
    await c.look()
    await s.on_log()


@claims("3.2-heartbeat-unreleased")
async def a_classic_member_waits_for_partitions(s: Script) -> None:
    n, t = await alone(s, 4)
    m = await classic(s, "m", t)
    await m.sync()
    await m.heartbeat()
    await n.beat()
    await m.heartbeat()
    await n.acknowledge()
    await m.heartbeat(error=AGAIN)
    await m.sync()
    await rejoin(m, t)
    await m.sync()
    await m.heartbeat()
    await n.look()
    await s.on_log()


@claims("3.2-leave", "6.2-fence", versions=(0, 3, 5))
async def a_classic_member_leaves_a_consumer_group(s: Script) -> None:
    n, t = await alone(s, 4)
    m = await classic(s, "m", t)
    await m.sync()
    await m.leave(v=s.v)
    await n.look()
    await n.beat()
    await m.heartbeat(error=UNKNOWN)
    await s.on_log()


@claims("3.2-leave")
async def who_leaves_a_mixed_group(s: Script) -> None:
    n, t = await alone(s, 4)
    m = await classic(s, "m", t, instance="i")
    await m.leave(
        members=[(m.member_id, "i"), ("x", None), ("x", "i"), ("", "j")],
        error="UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID",
    )
    await n.look()
    await m.leave(members=[("", "i")], error=UNKNOWN)
    await s.on_log()


@claims("3.2-heartbeat-of-new")
async def a_classic_member_sends_a_heartbeat_of_the_new_protocol(s: Script) -> None:
    a, t = await alone(s, 4)
    m = await classic(s, "m", t)
    await m.sync()
    await m.beat(m.generation)
    await a.look()
    await m.heartbeat(error=UNKNOWN)
    await s.on_log()


@claims("3.2-heartbeat-of-new")
async def a_classic_member_goes_over_to_the_new_protocol(s: Script) -> None:
    a, t = await alone(s, 4)
    m = await classic(s, "m", t)
    await m.sync()
    await m.enroll(t)
    await a.look()
    await a.beat()
    await a.acknowledge()
    await m.beat()
    await s.on_log()
