"""Transactions under faults: coordinators that crash, zombies, transactions that are not ended."""

from __future__ import annotations

import pytest

from groupsim.cluster.config.transactions import TRANSACTION_TOPIC
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.members.interfaces import GroupMetadata
from groupsim.members.producer.load import Load
from groupsim.members.producer.traffic import as_rate
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import OffsetFetchRequest
from groupsim.protocol.messages.transactions import InitProducerIdRequest, OffsetInTxn
from tests.helpers.txn_rig import SECOND, Rig, delivered, play, states

IN_0 = TopicPartition("in", 0)


def entered(events: list[TraceEvent], state: str) -> list[str | None]:
    """The coordinators on which transactions entered a state."""
    return [event.host for event in events if event.kind is Kind.TRANSACTION_STATE and event.to == state]


def test_the_topic_is_made_when_it_is_first_asked_for() -> None:
    """Without transactions there is no __transaction_state; the first producer's request creates it."""

    async def story(rig: Rig) -> None:
        controller = rig.cluster.controller
        assert TRANSACTION_TOPIC not in controller.image.topics
        await rig.ready(rig.producer())
        topic = controller.image.topics[TRANSACTION_TOPIC]
        assert len(topic.partitions) == 5
        assert topic.internal
        assert {len(state.replicas) for state in topic.partitions} == {3}
        assert topic.config["cleanup.policy"] == "compact"
        assert topic.config["min.insync.replicas"] == "2"

    play(story)


def test_a_coordinator_dies_between_the_decision_and_the_markers() -> None:
    """PrepareCommit is written, but no marker: the next coordinator writes each marker once, and nothing is lost."""

    async def story(rig: Rig) -> None:
        producer = rig.producer()
        await rig.ready(producer)
        died: list[int] = []

        def kill(event: TraceEvent) -> None:
            if event.kind is Kind.TRANSACTION_STATE and event.to == "PrepareCommit" and not died:
                died.append(rig.coordinator())
                rig.loop.call_at(rig.loop.now_us, rig.cluster.crash_broker, died[0])

        rig.loop.trace.subscribe(kill)
        producer.transaction.begin()
        for number in range(30):
            producer.send("t", 10, partition=number % 3)
        producer.transaction.commit(lambda error: None)
        await rig.loop.sleep(2 * SECOND)
        assert died
        living = next(node for node in rig.cluster.brokers if node != died[0])
        for number in range(3):  # the crash is not noticed yet
            log = rig.cluster.log("t", number, living)
            assert not any(batch.is_control for batch in log.read(0, 1 << 40))
        await rig.loop.sleep(20 * SECOND)
        assert rig.markers() == 3
        assert rig.committed_records() == 30
        assert producer.running
        assert await rig.transact(producer, 1, commit=True) is None
        await rig.loop.sleep(SECOND)

    events = play(story)
    first, *_ = entered(events, "PrepareCommit")
    assert first not in entered(events, "CompleteCommit")
    assert len(entered(events, "CompleteCommit")) == 2


def test_pending_offsets_outlive_the_group_s_coordinator() -> None:
    """After its crash the next coordinator reports pending offsets as unstable until the marker has come."""

    async def story(rig: Rig) -> None:
        producer = rig.producer()
        transaction = await rig.ready(producer)
        group = rig.group_elsewhere()
        transaction.begin()
        assert (
            await rig.done(lambda tell: transaction.send_offsets([OffsetInTxn(IN_0, 7)], GroupMetadata(group), tell))
            is None
        )
        before = rig.leader_of_group(group)
        rig.cluster.crash_broker(before)
        await rig.loop.sleep(5 * SECOND)
        after = rig.leader_of_group(group)
        assert after != before
        pending = await rig.ask(after, OffsetFetchRequest(group, (IN_0,)))
        assert [one.error for one in pending.offsets] == [ErrorCode.UNSTABLE_OFFSET_COMMIT]
        assert await rig.done(transaction.commit) is None
        await rig.loop.sleep(SECOND)
        stable = await rig.ask(after, OffsetFetchRequest(group, (IN_0,)))
        assert [(one.error, one.offset) for one in stable.offsets] == [(ErrorCode.NONE, 7)]

    play(story, broker_session_timeout_ms=3_000)


@pytest.mark.parametrize(("processing", "pause_s", "knows"), [("20ms", 15, False), ("300ms", 8, True)])
def test_a_zombie_is_fenced_by_its_generation(processing: str, pause_s: int, knows: bool) -> None:
    """A member that slept through its eviction cannot commit what it had read (KIP-447): each input counts once.

    So it is when its heartbeat has heard of the eviction before the application comes to commit.
    """

    async def story(rig: Rig) -> None:
        rig.cluster.set_rate("in", 60)
        feed = rig.cluster.replicated.feed.producers["in"]
        await rig.loop.sleep(SECOND)
        members = [rig.member(1, processing=parse_distribution(processing)), rig.member(2)]
        await rig.loop.sleep(7 * SECOND)
        members[0].pause(pause_s * SECOND)
        await rig.loop.sleep(20 * SECOND)
        await feed.close()
        await rig.loop.sleep(2 * SECOND)
        members[0].change_behaviour(processing=None)
        await rig.loop.sleep(120 * SECOND)
        assert all(producer.running for producer in rig.producers)
        inputs = sum(end for _, end in rig.ends("in"))
        assert inputs > 1_000
        assert rig.committed_records() == inputs

    events = play(story)
    reset = next(e for e in events if e.kind is Kind.GENERATION_RESET and e.host == "app-1")
    aborted = [e for e in events if e.kind is Kind.TRANSACTION_STATE and e.to == "PrepareAbort"]
    assert [event.payload["transactional_id"] for event in aborted] == ["tx1"]  # type: ignore[index]
    asked = (e for e in events if e.kind is Kind.REQUEST_SENT and e.host == "app-1-producer")
    begun_us = [e.t_us for e in asked if e.api == "AddOffsetsToTxn" and e.t_us < aborted[0].t_us][-1]
    assert (reset.t_us < begun_us) is knows


def test_a_transaction_that_takes_too_long_is_aborted() -> None:
    """It is aborted transaction.timeout.ms after its begin; its live producer is fenced at the commit."""

    async def story(rig: Rig) -> None:
        load = Load("t", as_rate(100), weights=(1, 1, 1))
        producer = rig.producer(loads=[load], commit_every_us=25 * SECOND)
        producer.start()
        await rig.loop.sleep(9 * SECOND)
        assert all(stable == 0 < end for stable, end in rig.ends())
        await rig.loop.sleep(20 * SECOND)
        assert producer.state == "FAILED"
        assert all(stable == end for stable, end in rig.ends())
        assert rig.committed_records() == 0

    events = play(story)
    assert states(events)[-2:] == ["PrepareAbort", "CompleteAbort"]


def test_read_committed_sees_nothing_of_an_aborted_transaction() -> None:
    """Of committed, aborted and open transactions it gets the committed ones; read_uncommitted gets all."""

    async def story(rig: Rig) -> None:
        rig.reader("read_committed")
        rig.reader("read_uncommitted")
        producer = rig.producer()
        await rig.ready(producer)
        for records, commit in ((4, True), (7, False), (5, True)):
            assert await rig.transact(producer, records, commit=commit) is None
        producer.transaction.begin()
        for number in range(3):
            producer.send("t", 10, partition=number)
        await rig.loop.sleep(5 * SECOND)

    events = play(story)
    assert delivered(events, "read_committed") == 3 * (4 + 5)
    assert delivered(events, "read_uncommitted") == 3 * (4 + 7 + 5 + 1)


def test_a_rolling_restart_costs_no_transaction() -> None:
    """Each broker stops cleanly and restarts: no transaction fails."""

    async def story(rig: Rig) -> None:
        producer = rig.producer(loads=[Load("t", as_rate(30), weights=(1, 1, 1))], commit_every_us=SECOND)
        producer.start()
        await rig.loop.sleep(3 * SECOND)
        for node in rig.cluster.brokers:
            rig.cluster.stop_broker(node)
            await rig.loop.sleep(8 * SECOND)
            rig.cluster.restart_broker(node)
            await rig.loop.sleep(8 * SECOND)
        assert producer.running
        assert producer.counts["failed"] == 0
        await producer.close()
        await rig.loop.sleep(3 * SECOND)
        assert all(stable == end for stable, end in rig.ends())

    events = play(story)
    assert states(events).count("CompleteCommit") > 40
    assert len(set(entered(events, "CompleteCommit"))) > 1


def test_loading_takes_as_long_as_the_log_is() -> None:
    """The next coordinator answers COORDINATOR_LOAD_IN_PROGRESS while it reads its partition."""

    async def story(rig: Rig) -> None:
        producer = rig.producer(loads=[Load("t", as_rate(30), weights=(1, 1, 1))], commit_every_us=200_000)
        producer.start()
        await rig.loop.sleep(20 * SECOND)
        node, _ = rig.cluster.replicated.transaction_coordinator_of("tx")
        rig.cluster.crash_broker(node)
        await rig.loop.until(lambda: rig.coordinator() != node, 20 * SECOND)
        after, coordinator = rig.cluster.replicated.transaction_coordinator_of("tx")
        number = coordinator.partition_for("tx")
        await rig.loop.until(lambda: number in coordinator.led_partitions, SECOND)
        request = InitProducerIdRequest("tx", 10_000)
        assert (await rig.ask(after, request)).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await rig.loop.sleep(SECOND)
        assert (await rig.ask(after, request)).error is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    play(story, broker_session_timeout_ms=3_000, transaction_state_log_load_buffer_size=1_000)
