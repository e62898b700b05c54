"""Appends of a consumer group that fail, or are not committed: what is taken back, and what describe shows meanwhile.

A record that does not fit fails at once. While a follower stands still nothing is committed. Source:
`CoordinatorRuntime`, `SnapshottableCoordinator.revertLastWrittenOffset`.
"""

from __future__ import annotations

from tests.conformance.basics import COMMIT_MS
from tests.conformance.consumer import rounds
from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import classic, subscription
from tests.conformance.script import LATER, Script
from tests.conformance.scripts.consumer.conversions import classic_group
from tests.conformance.scripts.failed_appends import all_fits, nothing_fits
from tests.conformance.scripts.slow_replicas import follower

KIND, NODES = "consumer", 3
FAILED, LATE = "UNKNOWN_SERVER_ERROR", "COORDINATOR_NOT_AVAILABLE"


@claims("append-failed-join", kind=KIND, nodes=NODES)
async def a_new_consumer_group_cannot_be_written(s: Script) -> None:
    a = await s.member()
    t = await s.topic()
    await nothing_fits(s)
    await a.enroll(t, error=FAILED)
    await a.look(error="GROUP_ID_NOT_FOUND")
    await a.beat(2, error="GROUP_ID_NOT_FOUND")
    await all_fits(s)
    await a.enroll(t, now=2)
    await a.look()
    await s.on_log()


@claims("append-failed-join", kind=KIND, nodes=NODES)
async def a_second_member_cannot_be_written(s: Script) -> None:
    a, t = await rounds.alone(s, 4)
    b = await s.member("b")
    await nothing_fits(s)
    await b.enroll(t, error=FAILED)
    await a.look()
    await a.beat(now=2)
    await b.beat(3, error="UNKNOWN_MEMBER_ID")
    await all_fits(s)
    await b.enroll(t, now=3)
    await a.look()
    await s.on_log()


@claims("append-failed-leave", kind=KIND, nodes=NODES)
async def a_leave_cannot_be_written(s: Script) -> None:
    a, b, _ = await rounds.two(s)
    await nothing_fits(s)
    await a.retire(error=FAILED)
    await b.look()
    await all_fits(s)
    await a.beat(3, now=3)
    await a.retire(now=-1)
    await b.look()
    await s.on_log()


@claims("append-failed-leave", "2.6-absence", kind=KIND, nodes=NODES)
async def an_absence_cannot_be_written(s: Script) -> None:
    a, b, _ = await rounds.two(s, instance="i")
    await nothing_fits(s)
    await a.retire(-2, error=FAILED)
    await b.look()
    await all_fits(s)
    await a.beat(3, now=3)


@claims("append-failed-acknowledgement", kind=KIND, nodes=NODES)
async def an_acknowledgement_cannot_be_written(s: Script) -> None:
    a, t = await rounds.alone(s, 4)
    b = await rounds.joining(s, a, t)
    await nothing_fits(s)
    await a.acknowledge(error=FAILED)
    await b.look()
    await all_fits(s)
    await a.acknowledge(now=3)
    await b.beat(now=3, gives={t: [2, 3]})
    await s.on_log()


@claims("append-failed-quiet", kind=KIND, nodes=NODES)
async def quiet_heartbeats_need_no_log(s: Script) -> None:
    a, b, _ = await rounds.two(s)
    await a.beat()
    await b.beat()
    await nothing_fits(s)
    await a.beat(now=3)
    await b.acknowledge(now=3)
    await a.beat(rack="r", error=FAILED)
    await a.beat(now=3)
    await a.look()
    await all_fits(s)


@claims("append-failed-upgrade", "0-refused-upgrade", kind=KIND, nodes=NODES)
async def an_upgrade_cannot_be_written(s: Script) -> None:
    m = await s.actor("m")
    t = await s.topic(partitions=4)
    await classic_group(s, {m: {t: range(4)}}, t)
    a = await s.member()
    await nothing_fits(s)
    await a.enroll(t, error=FAILED)
    await a.describe()
    await m.heartbeat()
    await all_fits(s)
    await a.enroll(t)
    await a.look()
    await s.on_log()


@claims("append-failed-downgrade", kind=KIND, nodes=NODES)
async def a_downgrade_cannot_be_written(s: Script) -> None:
    n, t = await rounds.alone(s, 4)
    m = await classic(s, "m", t)
    await nothing_fits(s)
    await n.retire(error=FAILED)
    await n.look()
    await all_fits(s)
    await n.beat(2)
    await n.look()
    await m.heartbeat()


@claims("append-failed-classic-join", kind=KIND, nodes=NODES)
async def a_classic_member_cannot_be_written(s: Script) -> None:
    n, t = await rounds.alone(s, 4)
    m = await s.member("m")
    await nothing_fits(s)
    await m.join(protocols={"range": subscription(t)}, error=FAILED)
    await n.look()
    await all_fits(s)
    await m.join(protocols={"range": subscription(t)})
    await n.look()


@claims("append-failed-delete", kind=KIND, nodes=NODES)
async def a_deletion_of_a_consumer_group_cannot_be_written(s: Script) -> None:
    a, _ = await rounds.alone(s)
    await a.retire()
    await nothing_fits(s)
    await a.delete(error=FAILED)
    await a.look()
    await all_fits(s)
    await a.delete()
    await a.look(error="GROUP_ID_NOT_FOUND")


@claims("append-failed-commit", kind=KIND, nodes=NODES)
async def a_commit_of_a_member_cannot_be_written(s: Script) -> None:
    a, t = await rounds.alone(s)
    await nothing_fits(s)
    await a.commit(offsets={t: {0: 5}}, generation=2, error=FAILED)
    await all_fits(s)
    await a.fetch(topics={t: [0]}, member=("a", 2))


@claims("append-slow-join", "0-describe-committed", kind=KIND, nodes=NODES)
async def a_join_waits_for_the_log(s: Script) -> None:
    a, t = await rounds.alone(s, 4)
    b = await s.member("b")
    watch = await s.member("watch")
    await s.cluster.pause(follower(s))
    await b.enroll(t, error=LATER)
    await s.settle()
    await watch.look()
    await watch.list()
    await b.silence(20)
    await s.cluster.resume(follower(s))
    await b.answer()
    await watch.look()
    await a.beat(now=2)


@claims("append-slow-quiet", kind=KIND, nodes=NODES)
async def a_quiet_heartbeat_waits_for_what_was_written_before(s: Script) -> None:
    a, b, t = await rounds.two(s)
    await a.beat()
    await b.beat()
    c, watch = await s.member("c"), await s.member("watch")
    await s.cluster.pause(follower(s))
    await c.enroll(t, error=LATER)
    await s.settle()
    await a.beat(error=LATER)
    await a.silence(50)
    await watch.beat(7, member="nobody", error="UNKNOWN_MEMBER_ID")
    await watch.beat(7, member="a", error="FENCED_MEMBER_EPOCH")
    await watch.look()
    await s.cluster.resume(follower(s))
    await c.answer()
    await a.answer()


@claims("append-slow-timeout", kind=KIND, nodes=NODES)
async def a_join_is_not_committed_in_time(s: Script) -> None:
    a, t = await rounds.alone(s, 4)
    b = await s.member("b")
    await s.cluster.pause(follower(s))
    await b.enroll(t, error=LATER)
    await b.answer(error=LATE, due=(COMMIT_MS, b.mark))
    await s.cluster.resume(follower(s))
    await b.enroll(t, now=3)
    await a.look()
    await s.on_log()


@claims("append-slow-timeout", "0-describe-committed", kind=KIND, nodes=NODES)
async def a_leave_is_not_committed_in_time(s: Script) -> None:
    a, b, _ = await rounds.two(s)
    await s.cluster.pause(follower(s))
    await a.retire(error=LATER)
    await a.answer(error=LATE, due=(COMMIT_MS, a.mark))
    await b.look()
    await s.cluster.resume(follower(s))
    await a.beat(3, error="UNKNOWN_MEMBER_ID")
    await b.beat(now=4)
    await b.look()


@claims("append-slow-delete", "0-describe-committed", kind=KIND, nodes=NODES)
async def a_group_that_is_created_is_not_described_yet(s: Script) -> None:
    a, watch = await s.member("a"), await s.member("watch")
    t = await rounds.topic(s, 1)
    await s.cluster.pause(follower(s))
    await a.enroll(t, error=LATER)
    await s.settle()
    await watch.look(error="GROUP_ID_NOT_FOUND")
    await watch.list()
    await s.cluster.resume(follower(s))
    await a.answer()
    await watch.look()


@claims("append-slow-fetch", "4.1-fetch", kind=KIND, nodes=NODES)
async def fetches_of_members_before_a_commit(s: Script) -> None:
    a, t = await rounds.alone(s)
    b, watch = await s.member("b"), await s.member("watch")
    await s.cluster.pause(follower(s))
    await b.enroll(t, error=LATER)
    await s.settle()
    await watch.fetch(topics={t: [0]}, member=("b", 3), error="UNKNOWN_MEMBER_ID")
    await watch.fetch(topics={t: [0]}, member=("a", 2))
    await watch.fetch(topics={t: [0]}, member=("b", 3), stable=True, error=LATER)
    await watch.silence(50)
    await s.cluster.resume(follower(s))
    await b.answer()
    await watch.answer()
    await a.beat()
