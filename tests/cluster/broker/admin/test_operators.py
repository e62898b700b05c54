"""What operators ask: elections, reassignments, topics in pages, records deleted, disks, producers, transactions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode as E
from groupsim.protocol.messages.data import EARLIEST_TIMESTAMP, ListOffsetsRequest, OffsetAsked, ProduceRequest
from groupsim.protocol.messages.group import FindCoordinatorRequest
from groupsim.protocol.messages.operator import (
    HIGH_WATERMARK,
    UNCLEAN_ELECTION,
    AlterPartitionReassignmentsRequest,
    DeleteRecordsRequest,
    DescribeLogDirsRequest,
    DescribeProducersRequest,
    DescribeTopicPartitionsRequest,
    DescribeTransactionsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    ListTransactionsRequest,
    UnderWay,
)
from groupsim.protocol.messages.transactions import AddPartitionsToTxnRequest, InitProducerIdRequest
from tests.helpers.kept_writer import batch
from tests.helpers.replicated_stage import SECOND, Stage, run

MOVED, FEW = TopicPartition("moved", 0), TopicPartition("few", 0)
NOWHERE = TopicPartition("nowhere", 0)


def _topics(stage: Stage) -> None:
    stage.cluster.create_topic("moved", 1, assignment=[[1, 2, 3]])
    stage.cluster.create_topic("few", 1, assignment=[[0]], config={"cleanup.policy": "compact"})


def _on_topics(story: Callable[[Stage], Awaitable[None]]) -> None:
    """The story, a second after its two topics were made."""

    async def whole(stage: Stage) -> None:
        _topics(stage)
        await stage.loop.sleep(SECOND)
        await story(stage)

    run(whole)


async def _produced(stage: Stage, partition: TopicPartition, records: int) -> None:
    for number in range(records):
        request = ProduceRequest(-1, 10_000, ((partition, batch(str(number))),))
        (made,) = (await stage.ask(stage.leader(partition), request)).results
        assert not made.error


# --- leaders and replicas ------------------------------------------------------------------------------------------


def test_a_preferred_leader_is_elected_and_what_needs_none_says_so() -> None:
    """By name each partition has its outcome in Kafka's words; of all, those that needed none are left out."""

    async def story(stage: Stage) -> None:
        stage.cluster.controller.reassign(MOVED, [2, 1, 3])
        asked = (MOVED, FEW, NOWHERE, TopicPartition("few", 9))
        answer = await stage.ask(3, ElectLeadersRequest(asked))
        assert answer.topics == (
            ("moved", ((0, E.NONE, None),)),
            (
                "few",
                (
                    (0, E.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."),
                    (9, E.UNKNOWN_TOPIC_OR_PARTITION, "No such partition as few-9"),
                ),
            ),
            ("nowhere", ((0, E.UNKNOWN_TOPIC_OR_PARTITION, "No such topic as nowhere"),)),
        )
        assert stage.leader(MOVED) == 2
        stage.cluster.controller.reassign(MOVED, [3, 1, 2])
        everything = dict((await stage.ask(3, ElectLeadersRequest(None))).topics)
        assert {topic: results for topic, results in everything.items() if results} == {"moved": ((0, E.NONE, None),)}
        assert (await stage.ask(0, ElectLeadersRequest(None, 7))).error is E.INVALID_REQUEST
        ((_, (result,)),) = (await stage.ask(3, ElectLeadersRequest((MOVED,), version=0))).topics
        assert result[:2] == (0, E.ELECTION_NOT_NEEDED)

    _on_topics(story)


def test_an_election_that_nobody_can_win_says_why() -> None:
    """The preferred replica is down, or no replica is up."""

    async def story(stage: Stage) -> None:
        stage.cluster.crash_broker(1)
        stage.cluster.crash_broker(0)
        await stage.loop.sleep(20 * SECOND)
        ((_, (result,)),) = (await stage.ask(3, ElectLeadersRequest((MOVED,)))).topics
        assert result == (0, E.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
        ((_, (result,)),) = (await stage.ask(3, ElectLeadersRequest((FEW,), UNCLEAN_ELECTION))).topics
        assert result == (0, E.ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available.")

    _on_topics(story)


def test_a_reassignment_is_begun_listed_and_called_off() -> None:
    """While the replica that comes is down it is under way; called off, all is as it was, and there is nothing left."""

    async def story(stage: Stage) -> None:
        stage.cluster.crash_broker(0)

        async def alter(*targets: Any) -> Any:
            return (await stage.ask(3, AlterPartitionReassignmentsRequest(targets))).results

        assert await alter((MOVED, (1, 2, 0))) == ((MOVED, E.NONE, None),)
        under_way = UnderWay(MOVED, (1, 2, 0, 3), (0,), (3,))
        for asked in (None, (MOVED, FEW, NOWHERE)):
            assert (await stage.ask(2, ListPartitionReassignmentsRequest(asked))).moves == (under_way,)
        assert await alter((MOVED, None), (FEW, None)) == (
            (MOVED, E.NONE, None),
            (FEW, E.NO_REASSIGNMENT_IN_PROGRESS, None),
        )
        state = stage.cluster.controller.image.partition(MOVED)
        assert state is not None
        assert (state.replicas, sorted(state.isr)) == ((1, 2, 3), [1, 2, 3])
        assert not (await stage.ask(2, ListPartitionReassignmentsRequest())).moves

    _on_topics(story)


def test_a_reassignment_that_is_taken_back_by_another_is_over_when_it_is_called_off() -> None:
    """The new reassignment adds no replica, so the added one stays and is to be removed as well: it never ends."""

    async def story(stage: Stage) -> None:
        stage.cluster.crash_broker(0)
        for replicas in ((1, 2, 0), (1, 2, 3)):
            await stage.ask(3, AlterPartitionReassignmentsRequest(((MOVED, replicas),)))
        listed = (await stage.ask(2, ListPartitionReassignmentsRequest())).moves
        assert listed == (UnderWay(MOVED, (1, 2, 3, 0), (0,), (0,)),)
        stage.cluster.restart_broker(0)
        await stage.loop.sleep(30 * SECOND)
        assert (await stage.ask(2, ListPartitionReassignmentsRequest())).moves == listed
        await stage.ask(3, AlterPartitionReassignmentsRequest(((MOVED, None),)))
        state = stage.cluster.controller.image.partition(MOVED)
        assert state is not None
        assert (state.replicas, sorted(state.isr)) == ((1, 2, 3), [1, 2, 3])
        assert not (await stage.ask(2, ListPartitionReassignmentsRequest())).moves

    _on_topics(story)


def test_a_reassignment_that_cannot_be_is_refused_in_kafkas_words() -> None:
    """Unknown topics and brokers, empty lists, another number of replicas where that is not wanted."""

    async def story(stage: Stage) -> None:
        _topics(stage)
        targets = ((NOWHERE, (1,)), (TopicPartition("few", 4), (1,)), (FEW, (9,)), (FEW, ()), (FEW, (1, 1)))
        found = (await stage.ask(3, AlterPartitionReassignmentsRequest(targets))).results
        prefix = "The manual partition assignment includes"
        assert [(error, words) for _, error, words in found] == [
            (E.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named nowhere."),
            (E.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition few:4."),
            (E.INVALID_REPLICA_ASSIGNMENT, f"{prefix} broker 9, but no such broker is registered."),
            (E.INVALID_REPLICA_ASSIGNMENT, f"{prefix} an empty replica list."),
            (E.INVALID_REPLICA_ASSIGNMENT, f"{prefix} the broker 1 more than once."),
        ]
        strict = AlterPartitionReassignmentsRequest(((FEW, (1, 2)),), other_factor=False)
        ((_, error, words),) = (await stage.ask(3, strict)).results
        assert (error, words) == (E.INVALID_REPLICATION_FACTOR, "The replication factor is changed from 1 to 2")
        assert not stage.cluster.controller.reassignments

    run(story)


def test_topics_are_described_in_pages() -> None:
    """A page has a maximum of partitions; the cursor is the start of the next page, and all pages are complete."""

    async def story(stage: Stage) -> None:
        _topics(stage)
        stage.cluster.create_topic("wide", 5, replication=2)
        await stage.loop.sleep(SECOND)
        found: list[tuple[str, int]] = []
        request, pages = DescribeTopicPartitionsRequest(("wide", "few", "a b", "nowhere", "moved"), 2), 0
        while True:
            answer = await stage.ask(2, request)
            pages += 1
            found += [(topic.name, partition.number) for topic in answer.topics for partition in topic.partitions]
            errors = {topic.name: topic.error for topic in answer.topics if topic.error}
            assert errors == ({"a b": E.INVALID_TOPIC_EXCEPTION} if pages == 1 else {}) | (
                {"nowhere": E.UNKNOWN_TOPIC_OR_PARTITION} if pages == 2 else {}
            )
            if answer.next is None:
                break
            request = DescribeTopicPartitionsRequest(request.topics, 2, answer.next)
        assert found == [("few", 0), ("moved", 0), *(("wide", number) for number in range(5))]
        assert pages == 4
        all_of_them = await stage.ask(2, DescribeTopicPartitionsRequest())
        assert [topic.name for topic in all_of_them.topics] == ["__consumer_offsets", "few", "moved", "t", "wide"]
        assert all_of_them.topics[0].internal
        (moved,) = all_of_them.topics[2].partitions
        assert (moved.leader, moved.replicas, moved.isr, moved.offline) == (1, (1, 2, 3), (1, 2, 3), ())

    run(story)


@pytest.mark.parametrize("cursor", [("moved", -1), ("else", 0)])
def test_a_cursor_that_is_none_is_refused(cursor: tuple[str, int]) -> None:
    """A cursor with a partition below 0, or with a topic that is not requested, is refused."""

    async def story(stage: Stage) -> None:
        _topics(stage)
        answer = await stage.ask(2, DescribeTopicPartitionsRequest(("moved",), 10, cursor))
        assert [topic.error for topic in answer.topics] == [E.INVALID_REQUEST]

    run(story)


# --- records and disks ---------------------------------------------------------------------------------------------


def test_records_are_deleted_on_every_replica_before_that_is_told() -> None:
    """The low watermark is the log start offset of every replica; readers no longer get records below it."""

    async def story(stage: Stage) -> None:
        await _produced(stage, MOVED, 5)
        answer = await stage.ask(1, DeleteRecordsRequest(((MOVED, 3),)))
        assert answer.results == ((MOVED, E.NONE, 3),)
        assert [stage.cluster.log("moved", 0, node).start_offset for node in (1, 2, 3)] == [3, 3, 3]
        asked = ListOffsetsRequest((OffsetAsked(MOVED, EARLIEST_TIMESTAMP),))
        assert (await stage.ask(1, asked)).partitions[0].offset == 3
        answer = await stage.ask(1, DeleteRecordsRequest(((MOVED, 1),)))
        assert answer.results == ((MOVED, E.NONE, 3),)
        answer = await stage.ask(1, DeleteRecordsRequest(((MOVED, HIGH_WATERMARK),)))
        assert answer.results == ((MOVED, E.NONE, 5),)
        state = stage.cluster.controller.image.partition(MOVED)
        assert state is not None
        assert sorted(state.isr) == [1, 2, 3]

    _on_topics(story)


def test_records_that_cannot_be_deleted_are_refused() -> None:
    """Unknown, internal, led elsewhere, compacted only, beyond what is committed, below zero."""

    async def story(stage: Stage) -> None:
        _topics(stage)
        stage.cluster.create_topic("plain", 1, assignment=[[0]])
        plain = TopicPartition("plain", 0)
        await stage.loop.sleep(SECOND)
        await _produced(stage, plain, 2)
        internal = TopicPartition("__consumer_offsets", 0)
        for partition, offset, error in (
            (NOWHERE, 0, E.UNKNOWN_TOPIC_OR_PARTITION),
            (internal, 0, E.INVALID_TOPIC_EXCEPTION),
            (MOVED, 0, E.NOT_LEADER_OR_FOLLOWER),
            (FEW, 0, E.POLICY_VIOLATION),
            (plain, 3, E.OFFSET_OUT_OF_RANGE),
            (plain, -2, E.OFFSET_OUT_OF_RANGE),
        ):
            answer = await stage.ask(0, DeleteRecordsRequest(((partition, offset),)))
            assert answer.results == ((partition, error, -1),)
        answer = await stage.ask(2, DeleteRecordsRequest(((MOVED, 0),)))  # a follower
        assert answer.results == ((MOVED, E.NOT_LEADER_OR_FOLLOWER, -1),)

    run(story)


def test_a_follower_that_stands_still_makes_a_deletion_time_out() -> None:
    """The follower is not fenced and has not sent its log start offset; the leader has deleted its records anyway."""

    async def story(stage: Stage) -> None:
        await _produced(stage, MOVED, 4)
        await stage.loop.sleep(SECOND)
        stage.cluster.pause_broker(3)
        began = stage.loop.now_us
        answer = await stage.ask(1, DeleteRecordsRequest(((MOVED, 2),), timeout_ms=3_000))
        assert answer.results == ((MOVED, E.REQUEST_TIMED_OUT, 0),)
        assert 3 * SECOND <= stage.loop.now_us - began < 4 * SECOND
        stage.cluster.resume_broker(3)
        await stage.loop.sleep(2 * SECOND)
        assert stage.cluster.log("moved", 0, 3).start_offset == 2

    _on_topics(story)


async def _deletion_that_waits(stage: Stage) -> list[Any]:
    """Request a deletion that waits for broker 3, which is paused; answers are appended to the list."""
    stage.cluster.pause_broker(3)
    got: list[Any] = []
    connection = stage.cluster.network.connect("somebody", "somebody", 1, "admin")
    connection.send(DeleteRecordsRequest(((MOVED, 2),)), got.append, 60 * SECOND)
    await stage.loop.sleep(SECOND)
    assert not got
    return got


def test_a_leader_that_is_deposed_answers_who_waits_for_a_deletion() -> None:
    """It cannot know any more how far the others are."""

    async def story(stage: Stage) -> None:
        await _produced(stage, MOVED, 4)
        await stage.loop.sleep(SECOND)
        got = await _deletion_that_waits(stage)
        stage.cluster.controller.move_leader(MOVED, 2)
        await stage.loop.sleep(SECOND)
        assert got[0].results == ((MOVED, E.NOT_LEADER_OR_FOLLOWER, -1),)

    _on_topics(story)


def test_a_deletion_whose_log_has_moved_away_is_of_no_partition_any_more() -> None:
    """The old leader has no replica now, so the partition is unknown to it."""

    async def story(stage: Stage) -> None:
        await _produced(stage, MOVED, 4)
        got = await _deletion_that_waits(stage)
        stage.cluster.controller.reassign(MOVED, [2, 3])
        await stage.loop.sleep(SECOND)
        assert got[0].results == ((MOVED, E.UNKNOWN_TOPIC_OR_PARTITION, -1),)

    _on_topics(story)


def test_a_deletion_times_out_though_who_was_waited_for_has_gone_meanwhile() -> None:
    """A follower that is fenced is waited for no longer, but only another's fetch makes anybody look."""

    async def story(stage: Stage) -> None:
        pair = TopicPartition("pair", 0)
        stage.cluster.create_topic("pair", 1, assignment=[[1, 3]])
        await stage.loop.sleep(SECOND)
        await _produced(stage, pair, 4)
        stage.cluster.crash_broker(3)
        got: list[Any] = []
        connection = stage.cluster.network.connect("somebody", "somebody", 1, "admin")
        connection.send(DeleteRecordsRequest(((pair, 2),), timeout_ms=25_000), got.append, 60 * SECOND)
        await stage.loop.sleep(26 * SECOND)
        assert not stage.cluster.controller.image.is_up(3)
        assert got[0].results == ((pair, E.REQUEST_TIMED_OUT, 0),)
        answer = await stage.ask(1, DeleteRecordsRequest(((pair, 2),)))
        assert answer.results == ((pair, E.NONE, 2),)

    run(story)


def test_a_broker_tells_how_large_its_logs_are() -> None:
    """Bytes of each log, of all or of those asked for, leader or not."""

    async def story(stage: Stage) -> None:
        await _produced(stage, MOVED, 3)
        size = sum(segment.size for segment in stage.cluster.log("moved", 0).store.segments)
        assert size > 150
        asked = DescribeLogDirsRequest((MOVED, FEW, NOWHERE))
        (here,), (there,) = (await stage.ask(2, asked)).dirs, (await stage.ask(0, asked)).dirs
        assert (here.path, here.logs) == ("memory:/broker-2", ((MOVED, size, 0),))
        assert there.logs == ((FEW, 0, 0),)
        (everything,) = (await stage.ask(2, DescribeLogDirsRequest())).dirs
        assert {partition.topic for partition, _, _ in everything.logs} >= {"__consumer_offsets", "moved"}

    _on_topics(story)


# --- who writes ----------------------------------------------------------------------------------------------------


async def _open_transaction(stage: Stage) -> tuple[int, int, int]:
    """A transaction with one partition: the coordinator's node, the producer's id and epoch."""
    while (found := await stage.ask(0, FindCoordinatorRequest("tx", key_type=1))).error:
        await stage.loop.sleep(SECOND)
    while (made := await stage.ask(found.node, InitProducerIdRequest("tx", 30_000))).error:
        await stage.loop.sleep(SECOND)
    added = AddPartitionsToTxnRequest("tx", made.producer_id, made.producer_epoch, (MOVED,))
    assert not (await stage.ask(found.node, added)).results[0][1]
    return found.node, made.producer_id, made.producer_epoch


def test_transactions_are_listed_and_described() -> None:
    """State, producer, since when, with which partitions; filters by state, producer, age and pattern."""

    async def story(stage: Stage) -> None:
        _topics(stage)
        node, producer, epoch = await _open_transaction(stage)
        await stage.loop.sleep(5 * SECOND)

        async def listed(**filters: Any) -> Any:
            answer = await stage.ask(node, ListTransactionsRequest(**filters))
            return answer.transactions, answer.unknown_states, answer.error

        here = (("tx", producer, "Ongoing"),)
        assert await listed() == (here, (), E.NONE)
        assert await listed(states=("Ongoing", "Odd"), producer_ids=(producer,)) == (here, ("Odd",), E.NONE)
        assert await listed(pattern="t.", longer_than_ms=4_000) == (here, (), E.NONE)
        for nothing in ({"states": ("Empty",)}, {"producer_ids": (99,)}, {"pattern": "t"}, {"longer_than_ms": 9_000}):
            assert await listed(**nothing) == ((), (), E.NONE)
        for pattern in ("t(", "t{99999999999}", "(" * 9_999 + ")" * 9_999):
            assert await listed(pattern=pattern) == ((), (), E.INVALID_REGULAR_EXPRESSION)
        found, unknown, empty = (await stage.ask(node, DescribeTransactionsRequest(("tx", "ty", "")))).transactions
        assert (found.state, found.timeout_ms, found.partitions) == ("Ongoing", 30_000, (MOVED,))
        assert (found.producer_id, found.producer_epoch, found.error) == (producer, epoch, E.NONE)
        assert unknown.error in (E.TRANSACTIONAL_ID_NOT_FOUND, E.NOT_COORDINATOR)
        assert empty.error is E.INVALID_REQUEST

    run(story)


def test_producers_of_a_log_are_told_by_every_replica() -> None:
    """Sequence, epoch and time of each; nothing of producers without an id, and errors for what is not here."""
    from attrs import evolve

    async def story(stage: Stage) -> None:
        await _produced(stage, MOVED, 1)
        made = await stage.ask(1, InitProducerIdRequest(None))
        numbered = evolve(batch("x"), producer_id=made.producer_id, producer_epoch=0, base_sequence=0)
        (produced,) = (await stage.ask(1, ProduceRequest(-1, 10_000, ((MOVED, numbered),)))).results
        assert not produced.error
        for node in (1, 2):
            await stage.loop.sleep(SECOND)
            (found,) = (await stage.ask(node, DescribeProducersRequest((MOVED,)))).results
            (one,) = found.producers
            assert (one.producer_id, one.epoch, one.last_sequence) == (made.producer_id, 0, 0)
            assert (one.coordinator_epoch, one.transaction_start) == (-1, -1)
        bad = DescribeProducersRequest((NOWHERE, FEW, TopicPartition("a b", 0)))
        assert [one.error for one in (await stage.ask(1, bad)).results] == [
            E.UNKNOWN_TOPIC_OR_PARTITION,
            E.NOT_LEADER_OR_FOLLOWER,
            E.INVALID_TOPIC_EXCEPTION,
        ]

    _on_topics(story)
