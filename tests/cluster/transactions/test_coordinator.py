"""The transaction coordinator: responses, records and markers, request by request."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.transactions.records import Txn, decode_value, encode_key, encode_value
from groupsim.cluster.transactions.shard import LARGEST_EPOCH
from groupsim.cluster.transactions.states import VALID_BEFORE, IllegalTransition, TxnState, check
from groupsim.protocol.batch.batch import LogRecord
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from tests.helpers.txn_fakes import NAME, SECOND, T0, T1, FakeCall, TxnBench

Story = Any


def test_a_transaction_is_committed(on_txn: Any) -> None:
    """Init, add, end: the decision is written, every partition gets its marker, the completion is written."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        assert who == InitProducerIdResponse(producer_id=4_001, producer_epoch=0)
        assert await bench.add(who) is ErrorCode.NONE
        assert await bench.end(who) is ErrorCode.NONE

    bench = on_txn(story)
    assert bench.states() == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
    assert sorted(bench.markers()) == [(T0, True, 0), (T1, True, 0)]
    stored = [decode_value(NAME, record.value or b"") for record in bench.log.records[bench.partition]]
    assert [txn.state for txn in stored] == [TxnState.EMPTY, TxnState.ONGOING, *sorted((TxnState(2), TxnState(4)))]
    assert stored[-1].partitions == ()
    assert stored[1].partitions == (T0, T1)


def test_a_transaction_is_aborted(on_txn: Any) -> None:
    """EndTxn with abort writes abort markers under the same epoch."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        await bench.add(who, T0)
        assert await bench.end(who, committed=False) is ErrorCode.NONE

    bench = on_txn(story)
    assert bench.states()[-1] == "CompleteAbort"
    assert bench.markers() == [(T0, False, 0)]


def test_offsets_add_the_groups_partition(on_txn: Any) -> None:
    """AddOffsetsToTxn adds the partition of `__consumer_offsets` that the group belongs to, and it gets a marker."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        assert await bench.add_offsets(who) is ErrorCode.NONE
        await bench.end(who)

    bench = on_txn(story)
    assert bench.markers() == [(TopicPartition("__consumer_offsets", ord("g") % 50), True, 0)]


def test_nothing_is_written_for_partitions_that_are_in_it(on_txn: Any) -> None:
    """AddPartitionsToTxn again with the same partitions is answered without a record."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        await bench.add(who)
        before = len(bench.log.records[bench.partition])
        assert await bench.add(who, T1) is ErrorCode.NONE
        assert len(bench.log.records[bench.partition]) == before
        assert await bench.add(who, T1, TopicPartition("t", 2)) is ErrorCode.NONE
        assert len(bench.log.records[bench.partition]) == before + 1

    on_txn(story)


def test_a_second_producer_fences_the_first(on_txn: Any) -> None:
    """InitProducerId of another producer raises the epoch; the first one's requests are refused."""

    async def story(bench: TxnBench) -> None:
        first = await bench.init()
        second = await bench.init()
        assert (second.producer_id, second.producer_epoch) == (first.producer_id, 1)
        assert await bench.add(first) is ErrorCode.PRODUCER_FENCED
        assert await bench.end(first) is ErrorCode.PRODUCER_FENCED
        assert await bench.add(second) is ErrorCode.NONE

    on_txn(story)


def test_a_second_producer_ends_what_the_first_left_open(on_txn: Any) -> None:
    """With an open transaction the new producer gets CONCURRENT_TRANSACTIONS until it is aborted."""

    async def story(bench: TxnBench) -> None:
        first = await bench.init()
        await bench.add(first)
        assert (await bench.init()).error is ErrorCode.CONCURRENT_TRANSACTIONS
        second = await bench.init()
        assert (second.error, second.producer_epoch) == (ErrorCode.NONE, 2)
        assert await bench.end(first) is ErrorCode.PRODUCER_FENCED

    bench = on_txn(story)
    assert bench.states() == ["Empty", "Ongoing", "PrepareAbort", "CompleteAbort", "Empty"]
    assert sorted(bench.markers()) == [(T0, False, 1), (T1, False, 1)]


def test_a_producer_that_names_its_epoch_bumps_it(on_txn: Any) -> None:
    """KIP-360: the current epoch is raised, a retry gets the same epoch again, an older epoch is fenced."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        bumped = await bench.init(who.producer_id, 0)
        assert bumped.producer_epoch == 1
        again = await bench.init(who.producer_id, 0)
        assert again.producer_epoch == 1
        assert (await bench.init(who.producer_id, 1)).producer_epoch == 2
        assert (await bench.init(who.producer_id, 0)).error is ErrorCode.PRODUCER_FENCED
        assert (await bench.init(9_999, 2)).error is ErrorCode.PRODUCER_FENCED

    on_txn(story)


def test_when_epochs_run_out_a_fresh_id_is_given(on_txn: Any) -> None:
    """The last epoch is kept for fencing: before it a new producer id starts at epoch 0."""

    async def story(bench: TxnBench) -> None:
        last = Txn(NAME, 77, LARGEST_EPOCH - 1, state=TxnState.COMPLETE_COMMIT, start_ms=1, update_ms=1)
        bench.log.records[bench.partition] = [LogRecord(0, encode_key(NAME), encode_value(last))]
        bench.coordinator.elect(bench.partition, 1)
        who = await bench.init()
        assert (who.producer_id, who.producer_epoch) == (4_001, 0)

    on_txn(story)


@pytest.mark.parametrize(
    ("committed", "again", "answer"),
    [
        (True, True, ErrorCode.NONE),
        (True, False, ErrorCode.INVALID_TXN_STATE),
        (False, False, ErrorCode.NONE),
        (False, True, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_ending_twice(on_txn: Any, committed: bool, again: bool, answer: ErrorCode) -> None:
    """A retry with the same outcome succeeds, another outcome is refused."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        await bench.add(who)
        await bench.end(who, committed)
        assert await bench.end(who, again) is answer

    on_txn(story)


def test_requests_wait_while_markers_are_being_written(on_txn: Any) -> None:
    """Between decision and completion: CONCURRENT_TRANSACTIONS for the next transaction, the next end, and init."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        await bench.add(who, T0)
        bench.marker_errors = ["hold"]
        assert await bench.end(who) is ErrorCode.NONE
        assert await bench.add(who) is ErrorCode.CONCURRENT_TRANSACTIONS
        assert await bench.end(who) is ErrorCode.CONCURRENT_TRANSACTIONS
        assert (await bench.init()).error is ErrorCode.CONCURRENT_TRANSACTIONS

    on_txn(story)


def test_an_end_without_a_transaction_is_refused(on_txn: Any) -> None:
    """EndTxn without a transaction: INVALID_TXN_STATE; of an unknown id: INVALID_PRODUCER_ID_MAPPING."""

    async def story(bench: TxnBench) -> None:
        assert await bench.end(InitProducerIdResponse(producer_id=1)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
        assert await bench.end(await bench.init()) is ErrorCode.INVALID_TXN_STATE

    on_txn(story)


def test_a_transaction_that_runs_too_long_is_aborted(on_txn: Any) -> None:
    """At the first check after transaction.timeout.ms it is aborted under a higher epoch, and its producer fenced."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init(timeout_ms=15_000)
        await bench.add(who)
        await bench.loop.sleep(19 * SECOND)
        assert bench.states()[-1] == "Ongoing"
        await bench.loop.sleep(2 * SECOND)
        assert bench.states()[-1] == "CompleteAbort"
        assert await bench.end(who) is ErrorCode.PRODUCER_FENCED

    bench = on_txn(story)
    assert {epoch for _, _, epoch in bench.markers()} == {1}
    assert bench.events[-1].reason == "markers written"


def test_a_timeout_above_the_maximum_is_refused(on_txn: Any) -> None:
    """INVALID_TRANSACTION_TIMEOUT above transaction.max.timeout.ms, and for 0."""

    async def story(bench: TxnBench) -> None:
        assert (await bench.init(timeout_ms=900_001)).error is ErrorCode.INVALID_TRANSACTION_TIMEOUT
        assert (await bench.init(timeout_ms=0)).error is ErrorCode.INVALID_TRANSACTION_TIMEOUT

    on_txn(story)


def test_an_id_nobody_uses_expires(on_txn: Any) -> None:
    """After transactional.id.expiration.ms at rest a tombstone is written and the id unknown."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        await bench.loop.sleep(7_300 * SECOND)
        assert await bench.add(who) is ErrorCode.INVALID_PRODUCER_ID_MAPPING

    bench = on_txn(story, id_expiration_ms=3_600_000)
    assert bench.log.records[bench.partition][-1].value is None
    assert bench.states() == ["Empty", "Dead"]


@pytest.mark.parametrize(
    ("failure", "answer"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_failed_append_changes_nothing(on_txn: Any, failure: ErrorCode, answer: ErrorCode) -> None:
    """The response has the error, the state is unchanged, and the request can be retried."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        bench.log.fails = [failure]
        assert await bench.add(who) is answer
        assert bench.states() == ["Empty"]
        assert await bench.add(who) is ErrorCode.NONE

    on_txn(story)


def test_a_failed_fencing_keeps_its_epoch(on_txn: Any) -> None:
    """When the abort of a fenced transaction cannot be written, the epoch is not raised a second time."""

    async def story(bench: TxnBench) -> None:
        await bench.add(await bench.init())
        bench.log.fails = [ErrorCode.NOT_ENOUGH_REPLICAS]
        assert (await bench.init()).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert (await bench.init()).error is ErrorCode.CONCURRENT_TRANSACTIONS
        assert (await bench.init()).producer_epoch == 2

    assert {epoch for _, _, epoch in on_txn(story).markers()} == {1}


def test_the_completion_is_written_until_it_is(on_txn: Any) -> None:
    """Too few replicas for the last record: it is written again."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        await bench.add(who, T0)
        bench.log.fails = [None, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS]
        await bench.end(who)
        await bench.loop.sleep(SECOND)

    bench = on_txn(story)
    assert bench.states()[-1] == "CompleteCommit"
    assert bench.log.fails == []
    assert len(bench.markers()) == 1


@pytest.mark.parametrize("trouble", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, "drop"])
def test_markers_are_sent_until_they_are_written(on_txn: Any, trouble: Any) -> None:
    """The markers are retried with the current leader if a leader refuses or is gone."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        await bench.add(who, T0)
        bench.marker_errors = [trouble]
        await bench.end(who)
        bench.topics.leaders[T0] = 2
        await bench.loop.sleep(SECOND)

    bench = on_txn(story)
    assert bench.states()[-1] == "CompleteCommit"
    assert [node for _, node, _ in bench.written] == [0, 2]


def test_a_deleted_partition_needs_no_marker(on_txn: Any) -> None:
    """A deleted partition counts as written; for a partition without a leader the coordinator waits."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        await bench.add(who)
        bench.topics.leaders |= {T0: None, T1: -1}
        await bench.end(who)
        await bench.loop.sleep(SECOND)
        assert bench.states()[-1] == "PrepareCommit"
        bench.topics.leaders[T1] = 1
        await bench.loop.sleep(SECOND)
        assert bench.states()[-1] == "CompleteCommit"

    assert on_txn(story).markers() == [(T1, True, 0)]


def test_another_coordinator_carries_on(on_txn: Any) -> None:
    """The next coordinator completes a decided transaction from the log alone."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        await bench.add(who)
        bench.marker_errors = ["hold", "hold"]
        await bench.end(who)
        bench.coordinator.resign(bench.partition, 1)
        other = bench.make("broker-1")
        other.elect(bench.partition, 1)
        await bench.loop.sleep(SECOND)
        assert bench.states()[-1] == "CompleteCommit"
        assert {marker.coordinator_epoch for _, _, r in bench.written[2:] for marker in r.markers} == {1}
        assert (await bench.init(coordinator=bench.coordinator)).error is ErrorCode.NOT_COORDINATOR
        assert (await bench.init(coordinator=other)).producer_epoch == 1

    on_txn(story)


def test_a_coordinator_that_resigns_answers_what_waits(on_txn: Any) -> None:
    """A request with a pending append gets NOT_COORDINATOR; while loading COORDINATOR_LOAD_IN_PROGRESS."""

    async def story(bench: TxnBench) -> None:
        who = await bench.init()
        bench.log.holds = True
        assert await bench.end(who) is ErrorCode.INVALID_TXN_STATE
        call = FakeCall(InitProducerIdRequest(NAME))
        bench.coordinator.handle(call)
        bench.coordinator.resign(bench.partition, 1)
        assert call.answers == [InitProducerIdResponse(ErrorCode.NOT_COORDINATOR)]
        bench.coordinator.elect(bench.partition, 2, load_us=SECOND)
        assert (await bench.init()).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    on_txn(story)


def test_a_quiet_coordinator_costs_no_events(on_txn: Any) -> None:
    """Without ids it schedules no check; after a finished transaction only the expiry a week later."""

    async def story(bench: TxnBench) -> None:
        assert bench.coordinator._check is None
        who = await bench.init()
        await bench.add(who)
        await bench.end(who)
        await bench.loop.sleep(SECOND)
        seen = len(bench.events)
        await bench.loop.sleep(100_000 * SECOND)
        assert len(bench.events) == seen

    on_txn(story)


def test_the_table_names_every_state() -> None:
    """Every state has its predecessors, and other transitions raise an error that names the states."""
    assert set(VALID_BEFORE) == set(TxnState)
    check(TxnState.ONGOING, TxnState.PREPARE_COMMIT)
    with pytest.raises(IllegalTransition, match="CompleteCommit cannot follow Ongoing"):
        check(TxnState.ONGOING, TxnState.COMPLETE_COMMIT)


def test_without_a_transactional_id_every_producer_gets_an_id(on_txn: Any) -> None:
    """InitProducerId of an idempotent producer: a fresh id, epoch 0, nothing written."""

    async def story(bench: TxnBench) -> None:
        answer = await bench.ask(InitProducerIdRequest(None))
        assert answer == InitProducerIdResponse(producer_id=4_001, producer_epoch=0)
        assert bench.log.records == {}

    on_txn(story)
