"""Commits and fetches in a consumer group: which epochs count, for which partitions (KIP-1251).

Source: `OffsetMetadataManager`, `ConsumerGroup.validateOffsetCommit`, `validateOffsetFetch`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import classic, rejoin
from tests.conformance.consumer.rounds import alone, joining, two
from tests.conformance.script import Script

STALE, UNKNOWN = "STALE_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID"


@claims("4.1-equal", versions=(9, 10))
async def a_member_commits(s: Script) -> None:
    a, t = await alone(s)
    u = await s.topic("u")
    await a.commit(v=s.v, offsets={t: {0: 5, 1: 6}}, generation=2)
    await a.commit(v=s.v, offsets={u: {0: 7}}, generation=2)
    await a.fetch(v=s.v, topics={t: [0, 1, 2], u: [0]}, member=("a", 2))
    await s.on_log()


@claims("4.1-version", versions=(2, 5, 8))
async def a_member_commits_by_an_old_version(s: Script) -> None:
    a, t = await alone(s)
    await a.commit(v=s.v, offsets={t: {0: 5}}, generation=2, error="UNSUPPORTED_VERSION")
    await a.commit(v=s.v, offsets={t: {0: 5}}, generation=7, error="UNSUPPORTED_VERSION")
    await a.commit(v=s.v, offsets={t: {0: 5}}, generation=2, member="z", error=UNKNOWN)


@claims("4.1-greater", versions=(9, 10))
async def a_commit_of_the_future(s: Script) -> None:
    a, t = await alone(s)
    await a.commit(v=s.v, offsets={t: {0: 5, 1: 6}}, generation=3, error=STALE)
    await a.commit(v=s.v, offsets={t: {0: 5}}, generation=2**31 - 1, error=STALE)
    await a.fetch(topics={t: [0]})


@claims("4.1-window", versions=(9, 10))
async def a_commit_of_the_past(s: Script) -> None:
    a, _, t = await two(s)
    await a.commit(v=s.v, offsets={t: {0: 5, 1: 6}}, generation=2)
    await a.commit(v=s.v, offsets={t: {0: 7}}, generation=1, error=STALE)
    await a.commit(v=s.v, offsets={t: {2: 7}}, generation=2, error=STALE)
    await a.commit(v=s.v, offsets={t: {0: 8, 2: 7}}, generation=2, error=STALE)
    await a.commit(v=s.v, offsets={t: {2: 7}}, generation=3)
    await a.fetch(topics={t: [0, 1, 2]})
    await s.on_log()


@claims("4.1-window")
async def a_commit_of_a_pending_partition(s: Script) -> None:
    a, t = await alone(s, 4)
    await joining(s, a, t)
    await a.commit(offsets={t: {0: 5, 3: 6}}, generation=2)
    await a.commit(offsets={t: {3: 6}}, generation=1, error=STALE)
    await a.acknowledge(now=3)
    await a.commit(offsets={t: {3: 7}}, generation=2, error=STALE)
    await a.commit(offsets={t: {0: 7}}, generation=2)
    await a.fetch(topics={t: [0, 3]})


@claims("4.1-window", "4.1-metadata-too-long")
async def too_long_metadata_beside_an_old_epoch(s: Script) -> None:
    a, _, t = await two(s)
    await a.commit(offsets={t: {0: 5, 2: 6}}, generation=2, metadata="x" * 5_000, error="OFFSET_METADATA_TOO_LARGE")
    await a.commit(offsets={t: {0: 5}}, generation=3, metadata="x" * 5_000, error="OFFSET_METADATA_TOO_LARGE")
    await a.commit(offsets={t: {0: 5}}, generation=1, metadata="x" * 5_000, error="OFFSET_METADATA_TOO_LARGE")


@claims("4.1-window", "4.1-unknown-topic", versions=(9, 10))
async def unknown_topics_beside_an_old_epoch(s: Script) -> None:
    a, _, t = await two(s)
    missing = "UNKNOWN_TOPIC_ID" if s.v >= 10 else "UNKNOWN_TOPIC_OR_PARTITION"
    await a.commit(v=s.v, offsets={s.no_topic(): {0: 1}, t: {0: 5}}, generation=2, error=missing)
    await a.commit(v=s.v, offsets={s.no_topic(): {0: 1}, t: {2: 5}}, generation=2, error=f"{missing} {STALE}")
    await a.commit(v=s.v, offsets={s.no_topic(): {0: 1}}, generation=99, error=missing)
    await a.commit(v=s.v, offsets={t: {77: 5}}, generation=99, error="UNKNOWN_TOPIC_OR_PARTITION")


@claims("4.1-outside", versions=(2, 9))
async def a_commit_from_outside(s: Script) -> None:
    _, t = await alone(s)
    out = await s.actor("out")
    await out.commit(v=s.v, offsets={t: {0: 5}}, error=UNKNOWN)
    await out.commit(v=s.v, offsets={t: {0: 5}}, generation=2, error=UNKNOWN)
    await out.commit(v=s.v, offsets={t: {0: 5}}, member="z", generation=2, error=UNKNOWN)


@claims("4.1-empty", versions=(2, 9))
async def a_commit_from_outside_to_an_empty_group(s: Script) -> None:
    a, t = await alone(s)
    await a.retire()
    out = await s.actor("out")
    await out.commit(v=s.v, offsets={t: {0: 5}})
    await out.commit(v=s.v, offsets={t: {0: 6}}, generation=2, error=UNKNOWN)
    await out.fetch(topics={t: [0]})
    await s.on_log()


@claims("4.1-absent", versions=(8, 9, 10))
async def a_commit_of_a_member_to_no_group(s: Script) -> None:
    a = await s.member()
    t = await s.topic()
    error = "ILLEGAL_GENERATION" if s.v < 9 else "GROUP_ID_NOT_FOUND"
    await a.commit(v=s.v, offsets={t: {0: 5}}, generation=2, error=error)
    await a.commit(v=s.v, offsets={t: {0: 5}}, generation=0, error=error)


@claims("4.1-absence", "0-minus-two")
async def commits_of_an_absent_instance(s: Script) -> None:
    a, t = await alone(s, instance="i")
    await a.retire(-2)
    await a.commit(offsets={t: {0: 5}}, generation=2, error=STALE)
    await a.commit(offsets={t: {0: 5}}, generation=-1, error=STALE)
    await a.commit(offsets={t: {0: 5}}, generation=-2)
    await a.fetch(topics={t: [0]}, member=("a", -2))
    await a.fetch(topics={t: [0]}, member=("a", 2), error=STALE)


@claims("4.1-instances")
async def commits_of_instances(s: Script) -> None:
    a, b, t = await two(s, instance="i")
    await a.commit(offsets={t: {0: 5}}, generation=3)
    await a.commit(offsets={t: {0: 5}}, generation=3, instance="j")
    await b.commit(offsets={t: {0: 6}}, generation=3, instance="i")
    await b.commit(offsets={t: {0: 6}}, generation=3, member="z", instance="i", error=UNKNOWN)


@claims("4.1-fetch", "0-fetch", versions=(9, 10))
async def fetches_of_members(s: Script) -> None:
    a, _, t = await two(s)
    await a.commit(offsets={t: {0: 5}}, generation=3)
    asked = {t: [0]}
    await a.fetch(v=s.v, topics=asked, member=("a", 3))
    await a.fetch(v=s.v, topics=asked, member=("a", 2), error=STALE)
    await a.fetch(v=s.v, topics=asked, member=("a", 4), error=STALE)
    await a.fetch(v=s.v, topics=asked, member=("a", -1), error=STALE)
    await a.fetch(v=s.v, topics=asked, member=("a", 0), error=STALE)
    await a.fetch(v=s.v, topics=asked, member=("z", 3), error=UNKNOWN)
    await a.fetch(v=s.v, topics=asked, member=("", -1), error=UNKNOWN)
    await a.fetch(v=s.v, topics=asked, member=("", 3), error=UNKNOWN)
    await a.fetch(v=s.v, topics=asked, member=(None, -1))
    await a.fetch(v=s.v, topics=asked, member=(None, 3), error="UNKNOWN_SERVER_ERROR")
    await a.fetch(v=s.v, topics=asked, stable=True, member=("a", 2), error=STALE)
    await a.fetch(v=s.v, topics=asked, stable=True, member=("a", 3))


@claims("4.1-fetch")
async def all_offsets_of_a_member(s: Script) -> None:
    a, t = await alone(s)
    await a.commit(offsets={t: {0: 5, 2: 6}}, generation=2)
    await a.fetch(member=("a", 2))
    await a.fetch(member=("a", 1), error=STALE)
    await a.fetch()


@claims("4.1-fetch")
async def a_fetch_of_no_group(s: Script) -> None:
    a = await s.member()
    t = await s.topic()
    await a.fetch(topics={t: [0]}, member=("a", 2))
    await a.fetch(topics={t: [0]}, stable=True, member=("a", 2))


@claims("4.1-fetch-empty")
async def a_fetch_of_an_empty_group(s: Script) -> None:
    a, t = await alone(s)
    await a.commit(offsets={t: {0: 5}}, generation=2)
    await a.retire()
    await a.fetch(topics={t: [0]}, member=("a", 2), error=UNKNOWN)
    await a.fetch(topics={t: [0]})


@claims("4.1-delete")
async def offsets_of_subscribed_topics_stay(s: Script) -> None:
    a, t = await alone(s)
    u = await s.topic("u")
    await a.commit(offsets={t: {0: 5}, u: {0: 6}}, generation=2)
    await a.delete_offsets({t: [0], u: [0]}, error="GROUP_SUBSCRIBED_TO_TOPIC")
    await a.fetch(topics={t: [0], u: [0]})
    await a.retire()
    await a.delete_offsets({t: [0]})
    await a.fetch(topics={t: [0], u: [0]})
    await s.on_log()


@claims("4.1-classic", "0-window-of-classic")
async def commits_of_a_classic_member(s: Script) -> None:
    n, t = await alone(s, 4)
    m = await classic(s, "m", t)
    await n.beat()
    await n.acknowledge()
    await m.sync()
    epoch = m.generation
    await m.commit(v=8, offsets={t: {0: 5}}, generation=epoch)
    await m.commit(offsets={t: {2: 5}}, generation=epoch)
    await m.commit(offsets={t: {2: 5}}, generation=epoch + 1, error="ILLEGAL_GENERATION")
    await m.commit(offsets={t: {2: 5}}, generation=epoch - 1, error="ILLEGAL_GENERATION")
    await m.commit(v=8, offsets={t: {2: 5}}, generation=epoch - 1, error="ILLEGAL_GENERATION")


@claims("4.1-classic", "0-window-of-classic")
async def a_classic_member_commits_what_it_kept(s: Script) -> None:
    n, t = await alone(s, 6)
    m = await classic(s, "m", t)
    await n.beat()
    await n.acknowledge()
    await rejoin(m, t)
    await m.sync()
    old = m.generation
    c = await s.member("c")
    await c.enroll(t)
    await m.heartbeat(error="REBALANCE_IN_PROGRESS")
    await rejoin(m, t)
    await m.sync()
    await m.look()
    await m.commit(offsets={t: {3: 5, 4: 6}}, generation=old)
    await m.commit(offsets={t: {5: 5}}, generation=old, error="ILLEGAL_GENERATION")
    await m.commit(offsets={t: {3: 5, 5: 5}}, generation=old, error="ILLEGAL_GENERATION")


@claims("4.1-window-moved")
async def a_partition_that_came_back_is_younger(s: Script) -> None:
    a, b, t = await two(s, 2)
    await b.retire()
    await a.beat(now=4, gives={t: [0, 1]})
    await a.commit(offsets={t: {0: 5}}, generation=2)
    await a.commit(offsets={t: {0: 5}}, generation=3)
    await a.commit(offsets={t: {1: 5}}, generation=3, error=STALE)
    await a.commit(offsets={t: {1: 5}}, generation=4)
    await a.commit(offsets={t: {0: 5, 1: 5}}, generation=3, error=STALE)
