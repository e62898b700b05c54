"""The results of appends, for producers and coordinators."""

from __future__ import annotations

from typing import Any

from groupsim.cluster.config.replica import ReplicaConfig
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import LeaderIs

P0 = TopicPartition("orders", 0)


def test_acks_1_is_answered_by_the_leader_alone(simulate: Any, a_batch: Any) -> None:
    """With acks=1 the response comes at once, before any replication."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1, 2))
        await rig.run(1_000_000)
        first = rig.produce(0, P0, a_batch(3), acks=1)
        second = rig.produce(0, P0, a_batch(2), acks=1)
        assert (first.answer.results[0].base_offset, second.answer.results[0].base_offset) == (0, 3)
        assert rig.ends(P0, 0, 1) == [(5, 0), (0, 0)]

    simulate(story)


def test_acks_0_is_never_answered(simulate: Any, a_batch: Any) -> None:
    """With acks=0 the batch is appended and replicated, without a response."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        asked = rig.produce(0, P0, a_batch(), acks=0)
        await rig.run(2_000_000)
        assert asked.answers == []
        assert rig.ends(P0, 0, 1) == [(1, 1), (1, 1)]

    simulate(story)


def test_acks_all_is_answered_when_every_in_sync_replica_has_it(simulate: Any, a_batch: Any) -> None:
    """The answer comes after one answer to the followers and their next fetches: two latencies of 500 µs."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1, 2))
        await rig.run(10_000_000)
        asked = rig.produce(0, P0, a_batch(3))
        assert asked.answers == []
        await rig.run(1_500)
        assert asked.answer.results[0].base_offset == 0
        assert asked.at_us == [10_001_000]
        assert rig.ends(P0, 0, 1, 2) == [(3, 3), (3, 0), (3, 0)]

    simulate(story)


def test_any_other_acks_is_refused(simulate: Any, a_batch: Any) -> None:
    """acks=2 is INVALID_REQUIRED_ACKS, and nothing is appended."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        assert rig.produce(0, P0, a_batch(), acks=2).answer.results[0].error is ErrorCode.INVALID_REQUIRED_ACKS
        assert rig.log(0, P0).end_offset == 0

    simulate(story)


def test_too_few_in_sync_replicas_refuse_acks_all_before_the_append(simulate: Any, a_batch: Any) -> None:
    """Below min.insync.replicas acks=all gets NOT_ENOUGH_REPLICAS; acks=1 is appended, but not committed."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1, 2), min_insync_replicas="2")
        rig.cut_off.update((1, 2))
        for node in (1, 2):
            rig.crash(node)
        rig.change(P0, isr=(0,))
        assert rig.produce(0, P0, a_batch()).answer.results[0].error is ErrorCode.NOT_ENOUGH_REPLICAS
        assert rig.log(0, P0).end_offset == 0
        assert rig.produce(0, P0, a_batch(), acks=1).answer.results[0].error is ErrorCode.NONE
        await rig.run(60_000_000)
        assert rig.ends(P0, 0) == [(1, 0)]

    simulate(story)


def test_min_insync_replicas_above_the_replication_factor_means_all(simulate: Any, a_batch: Any) -> None:
    """With one replica and min.insync.replicas=2 an append with acks=all succeeds at once."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,), min_insync_replicas="2")
        assert rig.produce(0, P0, a_batch()).answer.results[0].error is ErrorCode.NONE

    simulate(story)


def test_before_3_7_min_insync_replicas_binds_acks_all_alone(simulate: Any, a_batch: Any) -> None:
    """With one of two in sync what acks=1 appends is committed; where there is but one replica acks=all is refused."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1), min_insync_replicas="2")
        rig.topic("lone", (0,), min_insync_replicas="2")
        rig.crash(1)
        rig.change(P0, isr=(0,))
        assert rig.produce(0, P0, a_batch(), acks=1).answer.results[0].error is ErrorCode.NONE
        await rig.run(1_000_000)
        assert rig.ends(P0, 0) == [(1, 1)]
        alone = TopicPartition("lone", 0)
        for partition in (P0, alone):
            assert rig.produce(0, partition, a_batch()).answer.results[0].error is ErrorCode.NOT_ENOUGH_REPLICAS

    simulate(story, config=ReplicaConfig(min_isr_commits=False))


def test_a_timeout_takes_nothing_back(simulate: Any, a_batch: Any) -> None:
    """REQUEST_TIMED_OUT after the request's timeout; the records stay, and are committed after the fault."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(1_000_000)
        rig.stall(0, 1)
        asked = rig.produce(0, P0, a_batch(), timeout_ms=2_000)
        await rig.run(5_000_000)
        assert asked.answer.results[0].error is ErrorCode.REQUEST_TIMED_OUT
        assert asked.at_us == [3_000_000]
        assert rig.ends(P0, 0) == [(1, 0)]
        rig.heal(0, 1)
        await rig.run(2_000_000)
        assert rig.ends(P0, 0, 1) == [(1, 1), (1, 1)]

    simulate(story)


def test_a_lost_leadership_answers_parked_requests(simulate: Any, a_batch: Any) -> None:
    """A parked produce and a coordinator's append fail with NOT_LEADER_OR_FOLLOWER when the leader resigns."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(1_000_000)
        rig.stall(0, 1)
        asked = rig.produce(0, P0, a_batch())
        results: list[Any] = []
        rig.managers[0].append(P0, (a_batch(),), results.append)
        rig.elect(P0, 1)
        await rig.run(1)
        assert asked.answer.results[0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert results == [ErrorCode.NOT_LEADER_OR_FOLLOWER]

    simulate(story)


def test_the_wrong_broker_names_the_right_one(simulate: Any, a_batch: Any) -> None:
    """A follower answers NOT_LEADER_OR_FOLLOWER with leader and epoch; for an unknown topic there is no leader."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        for node in (1, 2):  # a follower, and a broker without a replica
            result = rig.produce(node, P0, a_batch(), acks=1).answer.results[0]
            assert result.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert result.current_leader == LeaderIs(0, 0)
        unknown = rig.produce(0, TopicPartition("nope", 0), a_batch()).answer.results[0]
        assert unknown.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    simulate(story)


def test_batches_that_the_log_refuses_are_refused_one_by_one(simulate: Any, a_batch: Any) -> None:
    """A batch above max.message.bytes is MESSAGE_TOO_LARGE; its neighbour in the same request is appended."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,), max_message_bytes="1000")
        results = rig.produce(0, P0, a_batch(20), a_batch(5)).answer.results
        assert [result.error for result in results] == [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.NONE]
        assert [result.base_offset for result in results] == [-1, 0]

    simulate(story)


def test_a_duplicate_is_answered_with_its_first_offset(simulate: Any, a_batch: Any) -> None:
    """An idempotent producer that sends a batch again gets the old offset; the log does not grow."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,))
        one = a_batch(2, producer_id=7, producer_epoch=0, base_sequence=0)
        two = a_batch(2, producer_id=7, producer_epoch=0, base_sequence=2)
        answers = [rig.produce(0, P0, sent).answer.results[0] for sent in (one, two, one)]
        assert [answer.base_offset for answer in answers] == [0, 2, 0]
        assert rig.ends(P0, 0) == [(4, 4)]
        assert [event.kind for event in rig.sink.events] == [Kind.RECORDS_APPENDED] * 2

    simulate(story)


def test_appends_of_producers_are_emitted(simulate: Any, a_batch: Any) -> None:
    """Each batch appended to a data topic is one event of its leader; coordinators' appends emit none here."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(3))
        rig.managers[0].append(P0, (a_batch(),), lambda error: None)
        await rig.run(1_000_000)
        (event,) = rig.sink.events
        assert (event.kind, event.host, event.topic, event.partition) == (
            Kind.RECORDS_APPENDED,
            "broker-0",
            "orders",
            0,
        )
        assert event.payload == {"base": 0, "count": 3, "epoch": 0, "producer": "producer-1"}

    simulate(story)


def test_clients_do_not_write_to_internal_topics(simulate: Any, a_batch: Any) -> None:
    """A Produce to an internal topic is INVALID_TOPIC_EXCEPTION; the broker's own coordinator may append."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,), internal=True)
        assert rig.produce(0, P0, a_batch()).answer.results[0].error is ErrorCode.INVALID_TOPIC_EXCEPTION
        results: list[Any] = []
        rig.managers[0].append(P0, (a_batch(),), results.append)
        await rig.run(1)
        assert results == [None]

    simulate(story)


def test_a_coordinator_hears_of_its_append_when_it_is_committed(simulate: Any, a_batch: Any) -> None:
    """`on_appended` is called at once with the base offset, `done` later, when the high watermark has passed it."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(1_000_000)
        results: list[Any] = []
        for number in range(2):
            rig.managers[0].append(
                P0,
                (a_batch(2),),
                lambda error, number=number: results.append((rig.loop.now_us, number, error)),
                on_appended=results.append,
            )
        assert results == [0, 2]
        await rig.run(5_000)
        assert [entry[1:] for entry in results[2:]] == [(0, None), (1, None)]
        assert results[2][0] == 1_001_000

    simulate(story)


def test_a_coordinators_append_with_one_replica_completes_later_too(simulate: Any, a_batch: Any) -> None:
    """Without followers `done` is still called by an event of its own."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,))
        results: list[Any] = []
        rig.managers[0].append(P0, (a_batch(),), results.append)
        assert results == []
        await rig.run(1)
        assert results == [None]

    simulate(story)


def test_a_coordinator_is_not_asked_for_min_insync_replicas(simulate: Any, a_batch: Any) -> None:
    """Its append is taken below min.insync.replicas, and waits until enough are in sync again."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1), min_insync_replicas="2")
        rig.crash(1)
        rig.change(P0, isr=(0,))
        results: list[Any] = []
        rig.managers[0].append(P0, (a_batch(),), results.append)
        await rig.run(60_000_000)
        assert (results, rig.ends(P0, 0)) == ([], [(1, 0)])
        rig.start(1)
        await rig.run(3_000_000)
        assert (results, rig.ends(P0, 0)) == ([None], [(1, 1)])

    simulate(story)


def test_a_refused_append_of_a_coordinator_is_an_append_result(simulate: Any, a_batch: Any) -> None:
    """A broker that does not lead answers NOT_LEADER_OR_FOLLOWER, later, and a batch too large MESSAGE_TOO_LARGE."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1), max_message_bytes="1000")
        results: list[Any] = []
        rig.managers[1].append(P0, (a_batch(),), results.append)
        rig.managers[0].append(P0, (a_batch(20),), results.append)
        assert results == []
        await rig.run(1)
        assert results == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.MESSAGE_TOO_LARGE]

    simulate(story, config=ReplicaConfig())


def test_a_coordinators_append_with_a_timeout_is_one_with_acks_all(simulate: Any, a_batch: Any) -> None:
    """Below min.insync.replicas it is refused before the append; one that nobody copies in time is given up, and stays.

    A transaction coordinator writes so (`TransactionLog.EnforcedRequiredAcks`).
    """

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1), min_insync_replicas="2")
        await rig.run(1_000_000)
        rig.crash(1)
        results: list[Any] = []
        rig.managers[0].append(P0, (a_batch(),), results.append, timeout_ms=3_000)
        await rig.run(2_990_000)
        assert results == []
        await rig.run(20_000)
        assert (results, rig.ends(P0, 0)) == ([ErrorCode.REQUEST_TIMED_OUT], [(1, 0)])
        rig.change(P0, isr=(0,))
        rig.managers[0].append(P0, (a_batch(),), results.append, timeout_ms=3_000)
        await rig.run(1)
        assert (results[1:], rig.ends(P0, 0)) == ([ErrorCode.NOT_ENOUGH_REPLICAS], [(1, 0)])

    simulate(story)
