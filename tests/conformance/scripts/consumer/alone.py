"""A broker that is started again on its data: what a loaded consumer group knows, and other settings.

The one node of these scripts is theirs alone, with fifty partitions. Source: `GroupMetadataManager.replay`, `onLoaded`.
"""

from __future__ import annotations

import struct

from tests.conformance.consumer import rounds
from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import classic, rejoin, subscription
from tests.conformance.consumer.verbs import configure, until
from tests.conformance.script import Script

KIND = "consumer-alone"
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"


@claims("load-stable", kind=KIND)
async def a_stable_consumer_group_is_loaded(s: Script) -> None:
    a, b, t = await rounds.two(s, instance="i")
    await a.commit(offsets={t: {0: 5}}, generation=3)
    await s.restart()
    await s.follow(a, b)
    await a.look()
    await a.beat(now=3)
    await b.beat(now=3)
    await a.beat(2, owned={t: [0, 1]}, now=3)
    await b.enroll(t, instance="i", error="UNRELEASED_INSTANCE_ID")
    await a.fetch(topics={t: [0]}, member=("a", 3))
    await a.commit(offsets={t: {0: 6}}, generation=2)
    await a.list()
    await s.on_log()


@claims("load-unrevoked", "load-unreleased", kind=KIND)
async def members_on_their_way_are_loaded(s: Script) -> None:
    a, t = await rounds.alone(s, 4)
    b = await rounds.joining(s, a, t)
    await s.restart()
    await s.follow(a, b)
    await a.look()
    await b.beat(now=3)
    await a.beat(now=2)
    await a.beat(owned={t: [0, 1]}, now=3)
    await b.beat(now=3, gives={t: [2, 3]})
    await s.on_log()


@claims("load-unrevoked", "2.9-rebalance", kind=KIND)
async def a_revocation_begins_again_after_a_load(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic(partitions=4)
    await a.enroll(t, rebalance_ms=3_000)
    b = await s.member("b")
    await b.enroll(t)
    await a.beat(now=2)
    loaded = await s.restart()
    await s.follow(a, b)
    await until(s, members=1, due=(3_000, loaded))
    await b.look()


@claims("load-session", "2.9-session", kind=KIND)
async def a_session_begins_again_after_a_load(s: Script) -> None:
    a, _ = await rounds.alone(s)
    loaded = await s.restart(group_consumer_session_timeout_ms=3_000, group_consumer_heartbeat_interval_ms=500)
    await s.follow(a)
    await until(s, "Empty", 0, due=(3_000, loaded))
    await a.look()


@claims("load-absence", kind=KIND)
async def an_absent_instance_is_loaded(s: Script) -> None:
    a, _, t = await rounds.two(s, instance="i")
    await a.retire(-2)
    await s.restart()
    await s.follow(a)
    await a.look()
    again = await s.member("again", instance="i")
    await again.enroll(t, now=3, gives={t: [0, 1]})
    await again.look()


@claims("load-empty", "0-last-member", kind=KIND)
async def an_empty_consumer_group_is_loaded(s: Script) -> None:
    a, t = await rounds.alone(s)
    await a.retire()
    await s.restart(group_consumer_assignment_interval_ms=10_000)
    await s.follow(a)
    await a.look()
    await a.enroll(t, now=4)


@claims("load-interval", kind=KIND)
async def the_time_of_a_target_is_loaded(s: Script) -> None:
    a, t = await rounds.alone(s)
    await s.restart(group_consumer_assignment_interval_ms=200_000, group_consumer_max_assignment_interval_ms=300_000)
    await s.follow(a)
    b = await s.member("b")
    await b.enroll(t, now=2)
    await b.look()


@claims("load-regex", kind=KIND)
async def a_pattern_is_loaded(s: Script) -> None:
    t = await s.topic("a")
    a = await s.member("a")
    await a.enroll(names=None, regex=f"{s.id}\\.t[a-z]*{s.nonce}")
    await until(s, epoch=2)
    await a.beat(now=2)
    await s.restart(group_consumer_regex_refresh_interval_ms=600_000)
    await s.follow(a)
    await a.look()
    await s.sleep(10_500)  # a younger result is not looked at
    await a.beat(now=2)
    await s.sleep(500)
    b = await s.member("b")
    await b.enroll(names=None, regex=f"{s.id}\\.t[a-z]*{s.nonce}", now=3)
    await b.look()
    assert t.name
    await s.on_log()


@claims("load-classic", "2.9-classic-after-load", kind=KIND)
async def a_classic_member_of_a_consumer_group_is_loaded(s: Script) -> None:
    n, t = await rounds.alone(s, 4)
    m = await classic(s, "m", t)
    await n.beat()
    await n.acknowledge()
    await rejoin(m, t)
    await m.sync()
    await s.restart()
    await s.follow(n, m)
    await n.look()
    await m.heartbeat()
    await m.sync()
    await n.beat()


@claims("6.2-replaced-classic", kind=KIND)
async def a_classic_member_replaces_a_classic_one_where_all_are(s: Script) -> None:
    await s.restart(group_consumer_migration_policy="upgrade")
    n, t = await rounds.alone(s, 4)
    await classic(s, "m", t)
    await n.retire()
    i = await s.member("i", instance="i", known_as="")
    await i.join(protocols={"range": subscription(t)})
    await s.restart(group_consumer_migration_policy="bidirectional")
    await s.follow(n)
    j = await s.member("j", instance="i", known_as="")
    await j.join(protocols={"range": subscription(t)})
    await n.look()


@claims("load-deleted", kind=KIND)
async def a_deleted_consumer_group_is_not_loaded(s: Script) -> None:
    a, _ = await rounds.alone(s)
    await a.retire()
    await a.delete()
    await s.restart()
    await s.follow(a)
    await a.look(error="GROUP_ID_NOT_FOUND")
    await a.list()


@claims("load-conversion", "6.2-fence", kind=KIND)
async def a_downgraded_group_is_loaded(s: Script) -> None:
    n, t = await rounds.alone(s, 4)
    m = await classic(s, "m", t)
    await n.beat()
    await n.acknowledge()
    await rejoin(m, t)
    await m.sync()
    await n.retire()
    await m.describe()
    await s.restart()
    await s.follow(m)
    await m.describe()
    await m.look(error="GROUP_ID_NOT_FOUND")
    await m.heartbeat(error="NONE")


@claims("load-vote", "0-one-against-one", kind=KIND)
async def votes_are_loaded(s: Script) -> None:
    a = await s.member("a")
    t = await s.topic(partitions=2)
    await a.enroll(t, assignor="range", rack="r", rebalance_ms=9_999)
    await s.restart()
    await s.follow(a)
    await a.look()
    await a.beat(now=2)
    await a.look()


@claims("load-metadata", "2.5-metadata", kind=KIND)
async def a_topic_grew_before_a_load(s: Script) -> None:
    a, t = await rounds.alone(s, 2)
    one = {"name": t.name, "count": 3, "assignments": None}
    await s.awaited(
        "CreatePartitions", 3, {"topics": [one], "timeout": 20_000, "validate_only": False}, lambda answer: True
    )
    await s.restart()
    await s.follow(a)
    await s.sleep(400)
    await a.look()
    await a.beat(now=3, gives={t: [0, 1, 2]})


@claims("load-config", "config-session", kind=KIND)
async def settings_of_a_group_are_loaded(s: Script) -> None:
    a, _ = await rounds.alone(s)
    await configure(s, "consumer.heartbeat.interval.ms", 777)
    await s.restart()
    await s.follow(a)
    await a.beat()
    await configure(s, "consumer.heartbeat.interval.ms", None)
    await a.beat()


@claims("load-full", "2.2-full", kind=KIND)
async def a_loaded_consumer_group_is_too_large(s: Script) -> None:
    members, t = await rounds.full(s)
    await s.restart(group_consumer_max_size=2)
    await s.follow(*members)
    await members[0].beat()
    await members[3].beat()
    e = await s.member("e")
    await e.enroll(t, error="GROUP_MAX_SIZE_REACHED")
    await members[0].look()


@claims("load-policy", "6.1-policy", kind=KIND)
async def a_mixed_group_is_loaded_where_policy_is_disabled(s: Script) -> None:
    n, t = await rounds.alone(s, 4)
    m = await classic(s, "m", t)
    await m.sync()
    await s.restart(group_consumer_migration_policy="disabled")
    await s.follow(n, m)
    await n.look()
    await m.heartbeat()
    await m.join(protocols={"range": b""}, error="INCONSISTENT_GROUP_PROTOCOL")


@claims("load-answers", "2.1-loading", kind=KIND)
async def heartbeats_during_a_load(s: Script) -> None:
    a, t = await rounds.alone(s)
    await s.cluster.lengthen(s.partition)
    await s.restart_into_load()
    await s.follow(a)
    await a.beat(error=LOADING)
    await a.enroll(t, error=LOADING)
    await a.retire(error=LOADING)
    await a.look(error=LOADING)
    await a.enroll(t, rebalance_ms=-1, error="INVALID_REQUEST")
    await s.settle_at_coordinator()
    await a.beat(2, now=2)


@claims("3.1-empty", "load-not-tombstoned", kind=KIND)
async def a_group_that_a_refused_join_took_away_is_loaded(s: Script) -> None:
    a, t = await rounds.alone(s)
    await a.retire()
    m = await s.member("m")
    await m.join(protocols={"range": subscription(t)}, error="UNKNOWN_MEMBER_ID")
    await m.look()
    await rounds.written_beside(s, t)
    await m.look(error="GROUP_ID_NOT_FOUND")
    await s.on_log()
    await s.restart()
    await s.follow(a)
    await a.look()
    await a.enroll(t)


@claims("2.7-unknown-state", kind=KIND)
async def a_member_of_a_state_of_the_future(s: Script) -> None:
    a, t = await rounds.alone(s)
    key = struct.pack(">h", 8) + _short(s.group) + _short("a")
    value = struct.pack(">hiib", 0, 2, 1, 77) + b"\1\1\0"
    await s.write(s.partition, (key, value))
    await s.restart()
    await s.follow(a)
    await a.look()
    await a.beat(2, error="FENCED_MEMBER_EPOCH")
    await a.beat(2, owned={t: [0]}, error="FENCED_MEMBER_EPOCH")
    await a.beat(2, owned={}, gives={t: [0, 1, 2]})
    await a.look()


def _short(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
