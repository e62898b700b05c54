"""The producer's side of transactions, with scripted coordinators."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.interfaces import GroupMetadata
from groupsim.members.producer.transactions import TxnState, WrongState
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, FindCoordinatorResponse, TopicPartition
from groupsim.protocol.messages.transactions import AddPartitionsToTxnResponse, OffsetInTxn, TxnOffsetCommitResponse
from tests.helpers.producer_fakes import DROP, SECOND, ProducerBench, steady

TXN = {"transactional.id": "tx", "linger.ms": 0}


async def begun(bench: ProducerBench) -> Any:
    """Start, wait for the id, begin; return the transaction."""
    bench.producer.start()
    await bench.run_for(0.1)
    transaction = bench.producer.transaction
    transaction.begin()
    return transaction


def apis(bench: ProducerBench) -> list[str]:
    """Return the requests to coordinators, in order."""
    others = {Api.METADATA, Api.FIND_COORDINATOR, Api.PRODUCE}
    return [request.API.name for _, request in bench.broker.asked if request.API not in others]


def test_a_transaction_names_its_partitions_first(on_producer: Any) -> None:
    """A batch waits for AddPartitionsToTxn; commit flushes, then sends EndTxn; batches are transactional."""

    async def body(bench: ProducerBench) -> None:
        transaction = await begun(bench)
        outcomes: list[Any] = []
        for partition in (0, 3):
            bench.producer.send("t", 50, partition=partition)
        transaction.commit(outcomes.append)
        await bench.run_for(1)
        assert outcomes == [None]
        assert transaction.state is TxnState.READY

    bench = on_producer(body, properties=TXN)
    assert apis(bench) == ["INIT_PRODUCER_ID", "ADD_PARTITIONS_TO_TXN", "END_TXN"]
    added = bench.broker.last(Api.ADD_PARTITIONS_TO_TXN)
    assert added.partitions == (TopicPartition("t", 0), TopicPartition("t", 3))
    assert bench.broker.last(Api.END_TXN).committed
    assert all(batch.is_transactional for _, batch in bench.batches())
    assert bench.broker.records() == 2
    first_produce = bench.broker.produced[0][0]
    assert first_produce > bench.broker.times(Api.ADD_PARTITIONS_TO_TXN)[0]
    assert bench.broker.times(Api.END_TXN)[0] > bench.broker.produced[-1][0]


def test_a_partition_wanted_while_others_are_being_added_is_added_next(on_producer: Any) -> None:
    """A batch that is due during AddPartitionsToTxn has a request of its own for its partition."""

    async def body(bench: ProducerBench) -> None:
        transaction = await begun(bench)
        outcomes: list[Any] = []
        bench.producer.send("t", 50, partition=1)  # after which the leaders are known
        await bench.run_for(0.1)
        bench.producer.send("t", 50, partition=0)
        await bench.run_for(0.0001)
        bench.producer.send("t", 50, partition=3)
        await bench.run_for(0.1)
        transaction.commit(outcomes.append)
        await bench.run_for(1)
        assert outcomes == [None]

    bench = on_producer(body, properties=TXN)
    assert apis(bench) == ["INIT_PRODUCER_ID", *["ADD_PARTITIONS_TO_TXN"] * 3, "END_TXN"]
    assert bench.broker.last(Api.ADD_PARTITIONS_TO_TXN).partitions == (TopicPartition("t", 3),)
    assert bench.broker.records() == 3


def test_an_empty_transaction_is_not_ended_at_the_coordinator(on_producer: Any) -> None:
    """A transaction without partitions sends nothing: the coordinator does not know it."""

    async def body(bench: ProducerBench) -> None:
        transaction = await begun(bench)
        transaction.commit(lambda error: None)
        await bench.run_for(0.1)
        transaction.begin()
        transaction.abort(lambda error: None)
        await bench.run_for(0.1)
        assert transaction.state is TxnState.READY

    assert apis(on_producer(body, properties=TXN)) == ["INIT_PRODUCER_ID"]


def test_offsets_go_with_member_and_generation(on_producer: Any) -> None:
    """sendOffsetsToTransaction names the group, then TxnOffsetCommit has the consumer's membership (KIP-447)."""

    async def body(bench: ProducerBench) -> None:
        transaction = await begun(bench)
        outcomes: list[Any] = []
        group = GroupMetadata("g", 4, "m-1", "i-1")
        transaction.send_offsets((OffsetInTxn(TopicPartition("in", 0), 7),), group, outcomes.append)
        await bench.run_for(0.1)
        transaction.commit(outcomes.append)
        await bench.run_for(0.1)
        assert outcomes == [None, None]

    bench = on_producer(body, properties=TXN)
    assert apis(bench) == ["INIT_PRODUCER_ID", "ADD_OFFSETS_TO_TXN", "TXN_OFFSET_COMMIT", "END_TXN"]
    sent = bench.broker.last(Api.TXN_OFFSET_COMMIT)
    assert (sent.generation_id, sent.member_id, sent.group_instance_id) == (4, "m-1", "i-1")
    keys = [(request.key, request.key_type) for request in bench.broker.all(Api.FIND_COORDINATOR)]
    assert keys == [("tx", 1), ("g", 0)]


def test_a_stale_generation_spoils_the_transaction(on_producer: Any) -> None:
    """After ILLEGAL_GENERATION for the offsets commit is refused, and abort returns to READY."""

    async def body(bench: ProducerBench) -> None:
        transaction = await begun(bench)
        stale = TxnOffsetCommitResponse(((TopicPartition("in", 0), ErrorCode.ILLEGAL_GENERATION),))
        bench.broker.reply(Api.TXN_OFFSET_COMMIT, stale)
        outcomes: list[Any] = []
        offsets = (OffsetInTxn(TopicPartition("in", 0), 7),)
        transaction.send_offsets(offsets, GroupMetadata("g", 1, "m"), outcomes.append)
        await bench.run_for(0.1)
        assert transaction.state is TxnState.ABORTABLE_ERROR
        transaction.commit(outcomes.append)
        transaction.abort(outcomes.append)
        await bench.run_for(0.1)
        assert outcomes == [ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION, None]
        assert transaction.state is TxnState.READY

    assert not on_producer(body, properties=TXN).broker.last(Api.END_TXN).committed


def test_a_failed_batch_spoils_the_transaction(on_producer: Any) -> None:
    """A failed batch makes the commit fail; after the abort a new epoch is requested."""

    async def body(bench: ProducerBench) -> None:
        transaction = await begun(bench)
        bench.broker.reply(Api.PRODUCE, ErrorCode.MESSAGE_TOO_LARGE)
        outcomes: list[Any] = []
        bench.producer.send("t", 50, partition=0)
        transaction.commit(outcomes.append)
        await bench.run_for(0.1)
        assert outcomes == [ErrorCode.MESSAGE_TOO_LARGE]
        transaction.abort(outcomes.append)
        await bench.run_for(0.1)
        assert outcomes[1:] == [None]
        assert transaction.epoch == 1

    bench = on_producer(body, properties=TXN)
    assert apis(bench)[-2:] == ["END_TXN", "INIT_PRODUCER_ID"]
    assert bench.broker.last(Api.INIT_PRODUCER_ID).producer_epoch == 0


def test_a_spoiled_transaction_gives_up_at_once_what_was_never_sent(on_producer: Any) -> None:
    """A commit that waits for a failed batch gets the error at once, not after delivery.timeout.ms."""

    async def body(bench: ProducerBench) -> None:
        transaction = await begun(bench)
        bench.producer.send("t", 50, partition=0)
        await bench.run_for(0.1)
        bench.broker.reply(Api.PRODUCE, ErrorCode.INVALID_PRODUCER_EPOCH)
        settled: list[Any] = []
        for _ in range(3):  # a batch each; one request may be in flight
            bench.producer.send("t", 60, partition=0, on_settled=lambda error, _: settled.append(error))
        transaction.commit(settled.append)
        await bench.run_for(0.5)
        assert settled == [
            ErrorCode.INVALID_PRODUCER_EPOCH,
            ErrorCode.TRANSACTION_ABORTABLE,
            ErrorCode.TRANSACTION_ABORTABLE,
            ErrorCode.INVALID_PRODUCER_EPOCH,
        ]
        assert transaction.state is TxnState.ABORTABLE_ERROR

    one = {**TXN, "batch.size": 1, "max.in.flight.requests.per.connection": 1}
    assert on_producer(body, properties=one).broker.records() == 1


def test_an_abort_waits_for_what_has_to_be_sent_again(on_producer: Any) -> None:
    """A batch with a sequence is settled before the end, so the next transaction continues without a gap."""

    async def body(bench: ProducerBench) -> None:
        transaction = await begun(bench)
        bench.broker.reply(Api.PRODUCE, ErrorCode.NOT_ENOUGH_REPLICAS)
        settled: list[Any] = []
        bench.producer.send("t", 50, partition=0, on_settled=lambda error, _: settled.append(error))
        await bench.run_for(0.05)  # refused, and waiting for retry.backoff.ms
        transaction.abort(settled.append)
        await bench.run_for(1)
        transaction.begin()
        bench.producer.send("t", 50, partition=0, on_settled=lambda error, _: settled.append(error))
        transaction.commit(settled.append)
        await bench.run_for(1)
        assert settled == [None] * 4

    bench = on_producer(body, properties=TXN)
    assert [batch.base_sequence for _, batch in bench.batches()][-2:] == [0, 1]


@pytest.mark.parametrize(
    "error", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_ID_MAPPING]
)
def test_a_fenced_producer_ends(on_producer: Any, error: ErrorCode) -> None:
    """The coordinator of a newer producer with this id ends the older one, as FAILED."""

    async def body(bench: ProducerBench) -> None:
        await begun(bench)
        bench.broker.reply(Api.ADD_PARTITIONS_TO_TXN, AddPartitionsToTxnResponse(((TopicPartition("t", 0), error),)))
        bench.producer.send("t", 50, partition=0)
        await bench.run_for(1)
        assert bench.producer.state == "FAILED"
        assert bench.producer.failed is ErrorCode.PRODUCER_FENCED

    bench = on_producer(body, properties=TXN)
    assert [event.error for event in bench.emitted(Kind.PROCESS_FAILED)] == ["PRODUCER_FENCED"]
    assert bench.broker.records() == 0


def test_coordinators_are_waited_for_and_found_again(on_producer: Any) -> None:
    """A request is repeated while the coordinator loads, ends the last transaction, has moved or is gone."""

    async def body(bench: ProducerBench) -> None:
        busy = AddPartitionsToTxnResponse(((TopicPartition("t", 0), ErrorCode.CONCURRENT_TRANSACTIONS),))
        moved = AddPartitionsToTxnResponse(((TopicPartition("t", 0), ErrorCode.NOT_COORDINATOR),))
        loading = AddPartitionsToTxnResponse(((TopicPartition("t", 0), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),))
        transaction = await begun(bench)
        bench.broker.reply(Api.ADD_PARTITIONS_TO_TXN, busy, moved, loading, DROP)
        bench.broker.reply(Api.FIND_COORDINATOR, FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        outcomes: list[Any] = []
        bench.producer.send("t", 50, partition=0)
        transaction.commit(outcomes.append)
        await bench.run_for(3)
        assert outcomes == [None]

    bench = on_producer(body, properties=TXN)
    times = bench.broker.times(Api.ADD_PARTITIONS_TO_TXN)
    assert len(times) == 5
    assert times[1] - times[0] == 21_000  # 20 ms and a round trip: the quick retry of a transaction's first partitions
    assert len(bench.broker.all(Api.FIND_COORDINATOR)) == 4


def test_the_application_keeps_to_the_order(on_producer: Any) -> None:
    """Beginning twice, or ending nothing, is refused with the producer's state."""

    async def body(bench: ProducerBench) -> None:
        transaction = await begun(bench)
        with pytest.raises(WrongState, match="cannot begin in state IN_TRANSACTION; needs READY"):
            transaction.begin()
        transaction.commit(lambda error: None)
        with pytest.raises(WrongState, match="cannot abort in state COMMITTING_TRANSACTION"):
            transaction.abort(lambda error: None)

    on_producer(body, properties=TXN)


def test_a_load_in_transactions(on_producer: Any) -> None:
    """An application that commits every second loses no record, and has all in transactions."""

    async def body(bench: ProducerBench) -> None:
        bench.producer.start()
        await bench.run_for(5.5)
        await bench.producer.close()

    load = steady(100, weights=(1, 1, 1, 1))
    bench = on_producer(body, loads=[load], properties=TXN, commit_every_us=SECOND)
    ends = bench.broker.all(Api.END_TXN)
    assert [request.committed for request in ends] == [True] * 5 + [False]
    assert bench.broker.records() == 550
    assert bench.emitted(Kind.PRODUCE_FAILED) == []


def test_an_abort_gives_up_what_is_not_sent(on_producer: Any) -> None:
    """Waiting batches fail with the abort; those in flight are awaited."""

    async def body(bench: ProducerBench) -> None:
        transaction = await begun(bench)
        settled: list[Any] = []
        for _ in range(3):
            bench.producer.send("t", 50, partition=1, on_settled=lambda *what: settled.append(what))
        transaction.abort(settled.append)
        await bench.run_for(0.1)
        assert settled == [(ErrorCode.TRANSACTION_ABORTABLE, -1)] * 3 + [None]

    bench = on_producer(body, properties={"transactional.id": "tx", "linger.ms": 1_000})
    assert bench.broker.records() == 0
