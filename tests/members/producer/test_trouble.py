"""A producer when brokers refuse, disappear or are slow."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.producer.load import Sizes
from groupsim.members.producer.reactions import REACTIONS, ProduceReaction, reaction
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import LeaderIs, Produced, ProduceResponse
from groupsim.protocol.messages.group import Api, TopicPartition
from tests.helpers.producer_fakes import DROP, HOLD, SECOND, ProducerBench, steady

ONE = TopicPartition("t", 0)


async def three_seconds(bench: ProducerBench) -> None:
    """Produce for three seconds and close."""
    bench.producer.start()
    await bench.run_for(3)
    await bench.producer.close()


def whole(bench: ProducerBench) -> None:
    """Assert that every record is in the log once, in order."""
    for log in bench.broker.logs.values():
        assert [batch.base_sequence for batch in log] == [batch.base_offset for batch in log]


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_a_retriable_error_is_retried_in_order(on_producer: Any, error: ErrorCode) -> None:
    """After a retriable error the batch is sent again before later ones, and nothing is lost."""

    async def body(bench: ProducerBench) -> None:
        bench.broker.reply(Api.PRODUCE, error, error)
        await three_seconds(bench)

    bench = on_producer(body, loads=[steady(100, weights=(1, 1, 1, 1))])
    assert bench.broker.records() == 300
    whole(bench)
    assert bench.emitted(Kind.PRODUCE_FAILED) == []


def test_errors_about_leaders_ask_for_metadata(on_producer: Any) -> None:
    """NOT_LEADER_OR_FOLLOWER leads to a Metadata request; NOT_ENOUGH_REPLICAS does not."""

    def asked(error: ErrorCode) -> int:
        async def body(bench: ProducerBench) -> None:
            bench.broker.reply(Api.PRODUCE, error)
            await three_seconds(bench)

        return len(on_producer(body, loads=[steady(20)]).broker.all(Api.METADATA))

    assert asked(ErrorCode.NOT_LEADER_OR_FOLLOWER) == asked(ErrorCode.NOT_ENOUGH_REPLICAS) + 1


def test_the_leader_named_in_the_answer_is_used_at_once(on_producer: Any) -> None:
    """A refusal that names the leader is followed by a retry there, without the backoff (KIP-951)."""

    def refuse(request: Any) -> ProduceResponse:
        refused = Produced(ONE, ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=LeaderIs(2, 1))
        return ProduceResponse((refused,))

    async def body(bench: ProducerBench) -> None:
        bench.broker.reply(Api.PRODUCE, refuse)
        bench.broker.leaders[ONE] = 0
        await three_seconds(bench)

    bench = on_producer(body, loads=[steady(2)], topics={"t": 1})
    (first_us, first, _), (second_us, second, _) = bench.broker.produced[:2]
    assert (first, second) == (0, 2)
    assert second_us - first_us < 3_000


def test_a_new_leader_in_the_metadata_ends_the_backoff(on_producer: Any) -> None:
    """A retry is sent at once to a new leader (`hasLeaderChangedForTheOngoingRetry`)."""

    def refuse(request: Any) -> ProduceResponse:
        bench.broker.leaders[ONE] = 2
        return ProduceResponse((Produced(ONE, ErrorCode.NOT_LEADER_OR_FOLLOWER),))

    async def body(started: ProducerBench) -> None:
        nonlocal bench
        bench = started
        bench.broker.leaders[ONE] = 0
        bench.broker.reply(Api.PRODUCE, refuse)
        await three_seconds(bench)

    bench: Any = None
    slow = {"retry.backoff.ms": 900, "retry.backoff.max.ms": 900}
    on_producer(body, loads=[steady(2)], topics={"t": 1}, properties=slow)
    (first_us, first, _), (second_us, second, _) = bench.broker.produced[:2]
    assert (first, second) == (0, 2)
    assert second_us - first_us < 600_000


def test_a_broken_connection_loses_nothing_with_idempotence(on_producer: Any) -> None:
    """Batches written before the connection broke are sent again, and dropped as duplicates."""

    async def body(bench: ProducerBench) -> None:
        def write_and_drop(request: Any) -> str:
            bench.broker.append(request)
            return DROP

        bench.broker.reply(Api.PRODUCE, write_and_drop, write_and_drop)
        await three_seconds(bench)

    bench = on_producer(body, loads=[steady(100, weights=(1, 1, 1, 1))])
    assert bench.broker.records() == 300
    whole(bench)
    assert len(bench.emitted(Kind.REQUEST_FAILED)) == 2


def test_without_idempotence_a_broken_connection_duplicates(on_producer: Any) -> None:
    """With acks=1 such batches are written twice."""

    async def body(bench: ProducerBench) -> None:
        def write_and_drop(request: Any) -> str:
            bench.broker.append(request)
            return DROP

        bench.broker.reply(Api.PRODUCE, write_and_drop)
        await three_seconds(bench)

    bench = on_producer(body, loads=[steady(100, weights=(1,))], topics={"t": 1}, properties={"acks": "1"})
    lost = bench.broker.produced[0][2].batches[0][1].count
    assert bench.broker.records() == 300 + lost


def test_a_batch_too_large_is_split(on_producer: Any) -> None:
    """MESSAGE_TOO_LARGE halves the batch; the halves keep order and records."""

    async def body(bench: ProducerBench) -> None:
        def too_large(request: Any) -> ProduceResponse:
            big = request.batches[0][1].size > 600
            if not big:
                return bench.broker.append(request)
            return ProduceResponse(tuple(Produced(tp, ErrorCode.MESSAGE_TOO_LARGE) for tp, _ in request.batches))

        bench.broker.reply(Api.PRODUCE, *[too_large] * 2_000)
        await three_seconds(bench)

    bench = on_producer(body, loads=[steady(100, weights=(1,))], topics={"t": 1}, properties={"linger.ms": 100})
    assert bench.broker.records() == 300
    whole(bench)


def test_a_single_record_too_large_fails(on_producer: Any) -> None:
    """A single record that is too large fails, with an event."""

    async def body(bench: ProducerBench) -> None:
        bench.broker.reply(Api.PRODUCE, ErrorCode.MESSAGE_TOO_LARGE)
        await three_seconds(bench)

    bench = on_producer(body, loads=[steady(1)])
    (failed,) = bench.emitted(Kind.PRODUCE_FAILED)
    assert (failed.error, failed.payload) == ("MESSAGE_TOO_LARGE", {"count": 1})
    assert bench.broker.records() == 2


@pytest.mark.parametrize("more", [{}, {"weights": (1, 1, 1, 1)}, {"content": True}])
@pytest.mark.parametrize("setting", ["max.request.size", "buffer.memory"])
def test_what_is_larger_than_a_request_is_never_sent(on_producer: Any, setting: str, more: dict[str, Any]) -> None:
    """`send` throws for a record with a batch of more than 1,000 bytes: 61 + 21 + 1 + (2 + 915) + 1."""

    def bench(size: int) -> ProducerBench:
        load = steady(2, sizes=Sizes(size, size), **more)
        made: ProducerBench = on_producer(three_seconds, loads=[load], properties={setting: 1_000, "batch.size": 100})
        return made

    refused = bench(915)
    failed = refused.emitted(Kind.PRODUCE_FAILED)
    reason = f"1001 bytes when serialized, more than {setting} (1000)"
    assert {(event.error, event.reason) for event in failed} == {("RecordTooLargeException", reason)}
    assert refused.requests() == []
    assert refused.counted(Kind.PRODUCE_FAILED) == refused.producer.counts["failed"] == 6
    assert bench(914).broker.records() == 6


def test_who_sends_a_record_too_large_hears_of_it(on_producer: Any) -> None:
    """The callback of `send` gets the error, and the next record is sent."""
    settled: list[tuple[ErrorCode | None, int]] = []

    async def body(bench: ProducerBench) -> None:
        bench.producer.start()
        for size in (2_000, 10):
            bench.producer.send("t", size, on_settled=lambda error, offset: settled.append((error, offset)))
        await bench.run_for(1)
        await bench.producer.close()

    bench = on_producer(body, properties={"max.request.size": 1_000})
    assert settled == [(ErrorCode.MESSAGE_TOO_LARGE, -1), (None, 0)]
    assert bench.broker.records() == 1


def test_delivery_timeout_gives_a_batch_up(on_producer: Any) -> None:
    """Records not delivered within delivery.timeout.ms fail, and later ones have a new epoch."""

    async def body(bench: ProducerBench) -> None:
        bench.broker.reply(Api.PRODUCE, *[ErrorCode.NOT_ENOUGH_REPLICAS] * 12)
        bench.producer.start()
        await bench.run_for(6)
        await bench.producer.close()

    properties = {"delivery.timeout.ms": 2_000, "request.timeout.ms": 1_000, "linger.ms": 0}
    bench = on_producer(body, loads=[steady(5, weights=(1,))], topics={"t": 1}, properties=properties)
    failed = bench.emitted(Kind.PRODUCE_FAILED)
    assert {event.error for event in failed} <= {"REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS"}
    assert bench.counted(Kind.PRODUCE_FAILED) + bench.broker.records() == 30
    assert failed[0].t_us >= 2 * SECOND
    assert bench.broker.logs[ONE][-1].producer_epoch >= 1
    assert bench.counted(Kind.RECORDS_ACKNOWLEDGED) == bench.broker.records()


def test_an_unanswered_request_times_out_and_is_repeated(on_producer: Any) -> None:
    """After request.timeout.ms without an answer the connection is closed and the batch sent again."""

    async def body(bench: ProducerBench) -> None:
        bench.broker.reply(Api.PRODUCE, HOLD)
        await three_seconds(bench)

    bench = on_producer(body, loads=[steady(50)], properties={"request.timeout.ms": 1_000})
    assert [event.error for event in bench.emitted(Kind.REQUEST_FAILED)] == ["TIMED_OUT"]
    assert bench.broker.records() == 150
    sequences = sorted(batch.base_sequence for batch in bench.broker.logs[bench.batches()[0][0]])
    assert sequences[0] == 0
    assert len(set(sequences)) == len(sequences)


def test_a_sequence_gap_raises_the_epoch(on_producer: Any) -> None:
    """OUT_OF_ORDER_SEQUENCE_NUMBER for the very next batch: epoch + 1, sequences from 0."""

    async def body(bench: ProducerBench) -> None:
        bench.producer.start()
        await bench.run_for(1)
        bench.broker.reply(Api.PRODUCE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        await bench.run_for(1)
        await bench.producer.close()

    bench = on_producer(body, loads=[steady(20, weights=(1,))], topics={"t": 1})
    epochs = [batch.producer_epoch for batch in bench.broker.logs[ONE]]
    assert epochs == sorted(epochs)
    assert set(epochs) == {0, 1}
    assert next(batch for batch in bench.broker.logs[ONE] if batch.producer_epoch == 1).base_sequence == 0
    assert bench.broker.records() == 40


def test_the_order_holds_with_five_requests_in_flight(on_producer: Any) -> None:
    """When the first of several requests in flight fails, the later ones are refused, and all are repeated in order."""

    async def body(bench: ProducerBench) -> None:
        state = {"next": 0, "refuse": 1}

        def leader(request: Any) -> ProduceResponse:
            batch = request.batches[0][1]
            if state["refuse"] and batch.base_sequence == 5:
                state["refuse"] = 0
                return ProduceResponse((Produced(ONE, ErrorCode.NOT_ENOUGH_REPLICAS),))
            if batch.base_sequence != state["next"]:
                return ProduceResponse((Produced(ONE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),))
            state["next"] += batch.count
            return bench.broker.append(request)

        bench.broker.reply(Api.PRODUCE, *[leader] * 5_000)
        await three_seconds(bench)

    properties = {"linger.ms": 0}
    bench = on_producer(body, loads=[steady(1_500, weights=(1,))], topics={"t": 1}, properties=properties)
    assert bench.broker.records() == 4_500
    whole(bench)
    assert {batch.producer_epoch for batch in bench.broker.logs[ONE]} == {0}


def test_buffer_memory_holds_the_application_up(on_producer: Any) -> None:
    """With all memory in unsent batches records fail after max.block.ms one by one; the rest is sent afterwards."""

    async def body(bench: ProducerBench) -> None:
        bench.producer.start()
        await bench.run_for(0.5)
        bench.net.unreachable = True
        await bench.run_for(3)
        assert bench.emitted(Kind.PRODUCE_FAILED)
        bench.net.unreachable = False
        await bench.run_for(4)
        await bench.producer.close()

    properties = {
        "buffer.memory": 10_000,
        "batch.size": 1_000,
        "max.block.ms": 500,
        "request.timeout.ms": 1_000,
        "delivery.timeout.ms": 20_000,
    }
    bench = on_producer(body, loads=[steady(100, weights=(1,))], topics={"t": 1}, properties=properties)
    failed = bench.emitted(Kind.PRODUCE_FAILED)
    assert all(event.reason == "max.block.ms ran out" and event.payload == {"count": 1} for event in failed)
    assert 3 <= len(failed) <= 7
    assert bench.broker.records() + len(failed) == 750
    whole(bench)


def test_an_unknown_topic_fails_records_after_max_block(on_producer: Any) -> None:
    """send() waits for metadata for max.block.ms, then its record fails."""

    async def body(bench: ProducerBench) -> None:
        bench.producer.start()
        outcomes: list[Any] = []
        bench.producer.send("nowhere", 10, on_settled=lambda error, offset: outcomes.append((error, offset)))
        await bench.run_for(3)
        assert outcomes == [(ErrorCode.REQUEST_TIMED_OUT, -1)]

    on_producer(body, properties={"max.block.ms": 2_000})


def test_a_single_record_reports_its_offset(on_producer: Any) -> None:
    """The callback of `send` gets error and offset; the key decides the partition."""

    async def body(bench: ProducerBench) -> None:
        bench.producer.start()
        outcomes: list[Any] = []
        for number in range(3):
            bench.producer.send(
                "t", 0, key=b"foobar", value=b"%d" % number, on_settled=lambda *what: outcomes.append(what)
            )
        bench.producer.flush(lambda: outcomes.append("flushed"))
        await bench.run_for(1)
        assert outcomes == [(None, 0)] * 3 + ["flushed"]
        (log,) = bench.broker.logs.values()
        assert [record.value for record in log[0].records or ()] == [b"0", b"1", b"2"]

    on_producer(body)


def test_every_broker_away_and_back(on_producer: Any) -> None:
    """Without a reachable broker nothing fails within the delivery timeout; afterwards all records arrive."""

    async def body(bench: ProducerBench) -> None:
        bench.producer.start()
        await bench.run_for(1)
        bench.net.unreachable = bench.net.refuses = True
        for link in bench.net.connections:
            if link.open:
                link.break_()
        await bench.run_for(5)
        bench.net.unreachable = bench.net.refuses = False
        await bench.run_for(4)
        await bench.producer.close()

    bench = on_producer(body, loads=[steady(100, weights=(1, 1, 1, 1))])
    assert bench.broker.records() == 1_000
    whole(bench)


def test_close_with_a_timeout_gives_up_the_rest(on_producer: Any) -> None:
    """close(timeout) ends the process even with undeliverable records, and emits those."""

    async def body(bench: ProducerBench) -> None:
        bench.broker.reply(Api.PRODUCE, *[ErrorCode.NOT_ENOUGH_REPLICAS] * 1_000)
        bench.producer.start()
        await bench.run_for(1)
        await bench.producer.close(timeout_us=SECOND)
        assert bench.loop.now_us == 2 * SECOND

    bench = on_producer(body, loads=[steady(10)])
    assert bench.counted(Kind.PRODUCE_FAILED) == 10


def test_every_error_has_one_reaction() -> None:
    """An error without a row fails the batch; retriable errors of a broker are all repeated."""
    assert reaction(ErrorCode.TOPIC_AUTHORIZATION_FAILED) is ProduceReaction.FAIL
    repeated = {error for error, todo in REACTIONS.items() if todo in (ProduceReaction.RETRY, ProduceReaction.REFRESH)}
    not_for_batches = {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    }
    assert {error for error in ErrorCode if error.retriable} - not_for_batches <= repeated
