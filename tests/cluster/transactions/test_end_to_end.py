"""Transactions on a replicated cluster: real logs, real group coordinators, brokers that die."""

from __future__ import annotations

from groupsim.members.interfaces import Fetched, GroupMetadata, Verdict
from groupsim.members.producer.eos import ExactlyOnce, Output
from groupsim.members.producer.load import Load
from groupsim.members.producer.traffic import as_rate
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.messages.transactions import InitProducerIdRequest
from tests.helpers.txn_rig import SECOND, Rig, play, states


def test_markers_end_transactions_in_the_logs() -> None:
    """A load that commits every second: at the end everything is stable, each partition with its markers."""

    async def story(rig: Rig) -> None:
        load = Load("t", as_rate(100), weights=(1, 1, 1))
        producer = rig.producer(loads=[load], commit_every_us=SECOND)
        producer.start()
        await rig.loop.sleep(4_500_000)
        assert any(stable < end for stable, end in rig.ends())
        await producer.close()
        await rig.loop.sleep(2 * SECOND)
        assert all(stable == end for stable, end in rig.ends())
        markers = [b for n in range(3) for b in rig.cluster.log("t", n).read(0, 1 << 40) if b.is_control]
        assert len(markers) == 15
        assert sum(end for _, end in rig.ends()) == producer.counts["acknowledged"] + 15

    assert states(play(story)).count("CompleteCommit") == 4


def test_exactly_once_commits_offsets_of_the_group() -> None:
    """Outputs and offsets become visible together; the group's offset is the one of the transaction."""

    async def story(rig: Rig) -> None:
        producer = rig.producer()
        app = ExactlyOnce(rig.loop, producer, Output("t", same_partition=True))
        producer.start()
        source = TopicPartition("in", 0)
        for base in (0, 7):
            assert await app([Fetched(source, base, 7)], GroupMetadata("g")) is Verdict.GO_ON
        await rig.loop.sleep(SECOND)
        assert rig.ends()[0] == (16, 16)  # 14 records and two markers

    events = play(story)
    assert states(events).count("CompleteCommit") == 2


def test_consumers_that_transform_exactly_once() -> None:
    """Two members, one killed during a transaction: every input has exactly one committed output."""

    async def story(rig: Rig) -> None:
        rig.cluster.set_rate("in", 60)
        feed = rig.cluster.replicated.feed.producers["in"]
        consumers = [rig.member(number) for number in (1, 2)]
        await rig.loop.sleep(8 * SECOND)
        consumers[0].crash()
        rig.producers[0].crash()
        await rig.loop.sleep(10 * SECOND)
        await feed.close()
        await rig.loop.sleep(40 * SECOND)
        inputs = sum(end for _, end in rig.ends("in"))
        assert inputs > 1_000
        assert rig.committed_records() == inputs

    play(story)


def test_a_coordinator_that_dies_is_followed_by_another() -> None:
    """The coordinator's broker crashes: the producer finds the next coordinator, and all transactions end."""

    async def story(rig: Rig) -> None:
        load = Load("t", as_rate(100), weights=(1, 1, 1))
        producer = rig.producer(loads=[load], commit_every_us=SECOND)
        producer.start()
        await rig.loop.sleep(2_300_000)
        rig.cluster.crash_broker(rig.coordinator())
        await rig.loop.sleep(20 * SECOND)
        assert producer.running
        assert producer.counts["failed"] == 0
        await producer.close()  # which aborts the transaction it is in
        await rig.loop.sleep(5 * SECOND)
        assert all(stable == end for stable, end in rig.ends())

    assert states(play(story)).count("CompleteCommit") > 8


def test_what_a_dead_producer_left_open_is_aborted() -> None:
    """The transaction of a killed producer is aborted after its timeout, and consumers go on."""

    async def story(rig: Rig) -> None:
        producer = rig.producer(loads=[Load("t", as_rate(100), weights=(1, 1, 1))])
        producer.start()
        await rig.loop.sleep(2 * SECOND)
        producer.crash()
        await rig.loop.sleep(SECOND)
        assert all(stable == 0 < end for stable, end in rig.ends())
        await rig.loop.sleep(20 * SECOND)
        assert all(stable == end for stable, end in rig.ends())

    assert states(play(story))[-1] == "CompleteAbort"


def test_the_next_producer_fences_the_last() -> None:
    """A second producer under the same id: the first one's transaction is aborted and it ends as FAILED."""

    async def story(rig: Rig) -> None:
        load = Load("t", as_rate(100), weights=(1, 1, 1))
        first = rig.producer("p1", loads=[load], commit_every_us=SECOND)
        second = rig.producer("p2", loads=[load], commit_every_us=SECOND)
        first.start()
        await rig.loop.sleep(2_500_000)
        second.start()
        await rig.loop.sleep(4 * SECOND)
        assert first.state == "FAILED"
        assert second.running
        await second.close()
        await rig.loop.sleep(SECOND)
        assert all(stable == end for stable, end in rig.ends())

    assert "CompleteAbort" in states(play(story))


def test_with_too_few_replicas_of_its_log_the_coordinator_is_not_available() -> None:
    """Below min.insync.replicas nothing is written, and the error comes at once; later requests succeed again."""

    async def story(rig: Rig) -> None:
        producer = rig.producer()
        await rig.ready(producer)
        await producer.close()
        node = rig.coordinator()
        others = [other for other in range(3) if other != node]
        for other in others:
            rig.cluster.crash_broker(other)
        await rig.loop.sleep(15 * SECOND)
        asked = InitProducerIdRequest("tx", 10_000)
        answer = await rig.ask(node, asked)
        assert answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        for other in others:
            rig.cluster.restart_broker(other)
        await rig.loop.sleep(15 * SECOND)
        assert (await rig.ask(rig.coordinator(), asked)).error is ErrorCode.NONE

    play(story)


def test_one_seed_one_trace() -> None:
    """Two runs with transactions and a crash have the same events."""

    async def story(rig: Rig) -> None:
        producer = rig.producer(loads=[Load("t", as_rate(50), weights=(1, 1, 1))], commit_every_us=SECOND)
        producer.start()
        await rig.loop.sleep(2_300_000)
        rig.cluster.crash_broker(rig.coordinator())
        await rig.loop.sleep(15 * SECOND)

    assert play(story, 4) == play(story, 4)
