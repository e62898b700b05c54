"""What the requests of producers, consumers and administrators become, in every version that is served."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.admin import DeletedTopic, DeleteTopicsRequest, DeleteTopicsResponse
from groupsim.protocol.messages.data import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    OffsetAsked,
    PartitionData,
    Produced,
    ProduceRequest,
    ProduceResponse,
    Unfit,
)
from groupsim.protocol.messages.transactions import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from groupsim.protocol.messages.versions import normalise_request
from tests.helpers.data_samples import CASES, EVERY, O0, O3, fetch, list_offsets, produce, records, title
from tests.helpers.wire_samples import GONE_UUID, ORDERS_UUID, frame, part, told, understood


def only(data: bytes) -> Any:
    """The one request that a frame becomes."""
    (request,) = understood(data).exchange.requests
    return request


@pytest.mark.parametrize(("api", "version"), EVERY, ids=title)
def test_a_request_says_what_its_version_can(api: Api, version: int) -> None:
    """Every version of every request is read as the newest one, less what the version cannot carry."""
    write, newest = CASES[api]
    found = understood(write(version))
    assert (found.api, found.version, found.correlation, found.client_id) == (api, version, 7, "tests")
    (request,) = found.exchange.requests
    assert normalise_request(request) == normalise_request(evolve(newest, version=version))
    assert found.exchange.answered


# --- Produce -----------------------------------------------------------------------------------------------------


def test_a_produce_with_acks_0_is_not_answered() -> None:
    """And one with records that nobody would append closes the connection, the only way to say so."""
    found = understood(produce(12, acks=0))
    assert len(found.exchange.requests) == 1
    assert not found.exchange.answered
    bad = understood(produce(12, records()[:-1] + b"?", acks=0)).exchange
    assert not bad.answered
    (request,) = bad.requests
    assert isinstance(request, ProduceRequest)
    assert {one.error for one in request.unfit} == {ErrorCode.CORRUPT_MESSAGE}


def test_acks_that_nobody_knows_are_the_brokers_to_refuse() -> None:
    """The request passes as it is: each of its partitions is refused by whoever leads it."""
    assert only(produce(12, acks=2)).acks == 2


def one_produce(*parts: Any, version: int = 13, transactional_id: str | None = None) -> bytes:
    """A Produce of (topic id or name, partition, records)."""
    topics = [
        part(
            "Produce",
            "TopicProduceData",
            topic_id=name if version >= 13 else None,
            name=None if version >= 13 else name,
            partition_data=[part("Produce", "PartitionProduceData", index=index, records=data)],
        )
        for name, index, data in parts
    ]
    return frame("Produce", version, transactional_id=transactional_id, acks=-1, timeout_ms=1, topic_data=topics)


def produced_errors(response: bytes, version: int = 13) -> list[tuple[int, int]]:
    """(partition, error) as kafka-python reads them."""
    found = told("Produce", version, response)
    return [(one.index, one.error_code) for topic in found.responses for one in topic.partition_responses]


def test_bad_records_are_answered_beside_good_ones() -> None:
    """The broker gets what it can append; the response has every partition in its place."""
    exchange = understood(
        one_produce((ORDERS_UUID, 3, records()), (ORDERS_UUID, 0, records()[:-1] + b"?"), (GONE_UUID, 1, records()))
    ).exchange
    (request,) = exchange.requests
    assert isinstance(request, ProduceRequest)
    assert [name for name, _ in request.batches] == [O3]
    response = exchange.response([ProduceResponse((Produced(O3, base_offset=5),))])
    assert produced_errors(response) == [(3, 0), (0, ErrorCode.CORRUPT_MESSAGE), (1, ErrorCode.UNKNOWN_TOPIC_ID)]


def test_what_is_no_batch_goes_along_with_its_error() -> None:
    """The broker has the last word, for it looks for the partition and its leader first; `early` errors come before."""
    data = one_produce(("orders", 0, b""), ("gone", 0, records()[:-1] + b"?"), version=12)
    exchange = understood(data).exchange
    (request,) = exchange.requests
    assert isinstance(request, ProduceRequest)
    gone = TopicPartition("gone", 0)
    assert request.batches == ()
    assert request.unfit == (
        Unfit(TopicPartition("orders", 0), ErrorCode.INVALID_RECORD, early=True),
        Unfit(gone, ErrorCode.CORRUPT_MESSAGE),
    )
    told = ProduceResponse((Produced(gone, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),))
    expected = [(0, ErrorCode.INVALID_RECORD), (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert produced_errors(exchange.response([told]), 12) == expected


def test_a_partition_named_twice_gets_what_was_said_last() -> None:
    """Kafka keeps the records of a Produce in a map."""
    exchange = understood(one_produce((ORDERS_UUID, 0, records(1)), (ORDERS_UUID, 0, records(2)))).exchange
    (request,) = exchange.requests
    assert isinstance(request, ProduceRequest)
    assert [batch.count for _, batch in request.batches] == [2]


@pytest.mark.parametrize(
    ("transactional_id", "producers", "error"),
    [
        (None, (1, -1), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ("tx", (1, 2), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("tx", (1, 1), None),
        ("tx", (1, -1), None),
    ],
)
def test_transactional_records_need_one_producer_with_a_name(
    transactional_id: str | None, producers: tuple[int, int], error: ErrorCode | None
) -> None:
    """Otherwise all partitions are refused; records outside of the transaction may stand beside."""
    made = [
        records(transactional=producer >= 0, producer_id=producer, base_sequence=0 if producer >= 0 else -1)
        for producer in producers
    ]
    parts = [(ORDERS_UUID, index, data) for index, data in enumerate(made)]
    exchange = understood(one_produce(*parts, transactional_id=transactional_id)).exchange
    if error is None:
        assert len(exchange.requests) == 1
    else:
        assert exchange.requests == ()
        assert produced_errors(exchange.response([])) == [(0, error), (1, error)]


# --- Fetch -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("session_id", "epoch", "lost"), [(0, 0, False), (5, 0, False), (5, -1, False), (5, 3, True)])
def test_no_session_is_ever_begun(session_id: int, epoch: int, lost: bool) -> None:
    """Who begins one gets session 0; who goes on with one hears that there is none and begins anew."""
    exchange = understood(fetch(17, session_id=session_id, session_epoch=epoch)).exchange
    assert len(exchange.requests) == (0 if lost else 1)
    answers = [] if lost else [FetchResponse(partitions=(PartitionData(O0), PartitionData(O3)))]
    found = told("Fetch", 17, exchange.response(answers))
    assert found.session_id == 0
    assert found.error_code == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND if lost else 0)
    assert len(found.responses) == (0 if lost else 1)


def test_limits_of_a_fetch_are_the_brokers() -> None:
    """No more than fetch.max.bytes, no wait below zero."""
    request = only(fetch(17, max_bytes=2**31 - 1, min_bytes=2**31 - 1, max_wait_ms=-1))
    assert (request.max_bytes, request.min_bytes, request.max_wait_ms) == (57_671_680, 57_671_680, 0)


@pytest.mark.parametrize(
    ("version", "replica", "error"),
    [
        (14, {"replica_id": 1}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (8, {"replica_id": 1}, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (14, {"replica_id": -3}, None),
        (14, {"replica_id": -2}, None),
    ],
)
def test_a_stranger_that_fetches_as_a_replica_is_told_so(
    version: int, replica: dict[str, int], error: ErrorCode | None
) -> None:
    """As a leader tells a broker that is no replica of the partition; other numbers below 0 are no brokers."""
    exchange = understood(fetch(version, **replica)).exchange
    if error is None:
        assert len(exchange.requests) == 1
        return
    assert exchange.requests == ()
    found = told("Fetch", version, exchange.response([]))
    assert [one.error_code for topic in found.responses for one in topic.partitions] == [error, error]


def test_a_topic_whose_id_is_nobodys_comes_last() -> None:
    """The broker is asked for the others alone."""
    parts = [part("Fetch", "FetchPartition", partition=1, fetch_offset=5, partition_max_bytes=9)]
    topics = [part("Fetch", "FetchTopic", topic_id=name, partitions=parts) for name in (GONE_UUID, ORDERS_UUID)]
    exchange = understood(fetch(15, topics=topics)).exchange
    (request,) = exchange.requests
    assert isinstance(request, FetchRequest)
    assert request.partitions == (FetchPartition(TopicPartition("orders", 1), 5, 9),)
    response = exchange.response([FetchResponse(partitions=(PartitionData(TopicPartition("orders", 1)),))])
    found = told("Fetch", 15, response)
    assert [(topic.topic_id, topic.partitions[0].error_code) for topic in found.responses] == [
        (ORDERS_UUID, 0),
        (GONE_UUID, ErrorCode.UNKNOWN_TOPIC_ID),
    ]


# --- the others --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timestamp", "since"), [(-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12), (0, 1)]
)
def test_a_timestamp_that_means_an_end_is_known_since_a_version(timestamp: int, since: int) -> None:
    """Older versions are told UNSUPPORTED_VERSION for each partition that asks for it."""
    for version in range(1, 12):
        exchange = understood(list_offsets(version, timestamp)).exchange
        if version >= since:
            assert len(exchange.requests) == 1
            continue
        assert exchange.requests == ()
        found = told("ListOffsets", version, exchange.response([]))
        errors = [(one.error_code, one.offset) for topic in found.topics for one in topic.partitions]
        assert errors == [(ErrorCode.UNSUPPORTED_VERSION, -1)] * 2


def test_a_partition_asked_twice_for_offsets_is_refused_once() -> None:
    """The others are asked for."""
    parts = [part("ListOffsets", "ListOffsetsPartition", partition_index=n, timestamp=-1) for n in (0, 0, 3)]
    topics = [part("ListOffsets", "ListOffsetsTopic", name="orders", partitions=parts)]
    exchange = understood(frame("ListOffsets", 7, replica_id=-1, topics=topics)).exchange
    (request,) = exchange.requests
    assert request.partitions == (OffsetAsked(O3, -1),)  # type: ignore[union-attr]
    found = told("ListOffsets", 7, exchange.refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert [(one.partition_index, one.error_code) for one in found.topics[0].partitions] == [
        (0, ErrorCode.INVALID_REQUEST),
        (3, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ]


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, 0), (5, -1)])
def test_half_a_producer_is_refused(producer_id: int, epoch: int) -> None:
    """An id without an epoch, or the other way round, never reaches the coordinator."""
    data = frame(
        "InitProducerId",
        4,
        transactional_id="tx",
        transaction_timeout_ms=1,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
    exchange = understood(data).exchange
    assert exchange.requests == ()
    assert told("InitProducerId", 4, exchange.response([])).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", [4, 5])
def test_several_transactions_in_one_message_are_one_request_each(version: int) -> None:
    """One that is only to be verified is not for our coordinator; a refusal of all stands at the top."""
    topics = [part("AddPartitionsToTxn", "AddPartitionsToTxnTopic", name="orders", partitions=[3])]
    transactions = [
        part(
            "AddPartitionsToTxn",
            "AddPartitionsToTxnTransaction",
            transactional_id=name,
            producer_id=1,
            producer_epoch=0,
            verify_only=verify,
            topics=topics,
        )
        for name, verify in (("a", False), ("v", True), ("b", False))
    ]
    exchange = understood(frame("AddPartitionsToTxn", version, transactions=transactions)).exchange
    assert exchange.requests == tuple(AddPartitionsToTxnRequest(name, 1, 0, (O3,), version) for name in "ab")
    answers = [AddPartitionsToTxnResponse(((O3, ErrorCode(code)),)) for code in (0, 51)]
    found = told("AddPartitionsToTxn", version, exchange.response(answers))
    assert [
        (one.transactional_id, one.topic_results[0].results_by_partition[0].partition_error_code)
        for one in found.results_by_transaction
    ] == [("a", 0), ("v", ErrorCode.UNSUPPORTED_VERSION), ("b", 51)]
    refused = told("AddPartitionsToTxn", version, exchange.refusal(ErrorCode.NOT_COORDINATOR))
    assert (refused.error_code, refused.results_by_transaction) == (ErrorCode.NOT_COORDINATOR, [])


def test_topics_are_deleted_by_id_or_by_name_but_not_both() -> None:
    """What cannot be told from the request is answered; the controller gets names."""
    states = [
        (None, ORDERS_UUID),
        ("one", None),
        ("one", None),
        (None, GONE_UUID),
        ("both", ORDERS_UUID),
        (None, None),
    ]
    topics = [part("DeleteTopics", "DeleteTopicState", name=name, topic_id=topic_id) for name, topic_id in states]
    exchange = understood(frame("DeleteTopics", 6, topics=topics, timeout_ms=1)).exchange
    assert exchange.requests == (DeleteTopicsRequest(("orders", "one", "one"), 1, 6),)
    found = told("DeleteTopics", 6, exchange.response([DeleteTopicsResponse((DeletedTopic("orders"),))]))
    assert [(one.name, one.error_code) for one in found.responses] == [
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
        ("both", ErrorCode.INVALID_REQUEST),
        (None, ErrorCode.INVALID_REQUEST),
        ("orders", 0),
    ]


def test_an_id_given_twice_deletes_nothing() -> None:
    """Kafka takes it for a mistake."""
    topics = [part("DeleteTopics", "DeleteTopicState", name=None, topic_id=ORDERS_UUID)] * 2
    exchange = understood(frame("DeleteTopics", 6, topics=topics, timeout_ms=1)).exchange
    assert exchange.requests == ()
    found = told("DeleteTopics", 6, exchange.response([]))
    assert [(one.topic_id, one.error_code) for one in found.responses] == [(ORDERS_UUID, ErrorCode.INVALID_REQUEST)]


@pytest.mark.parametrize(
    ("kind", "error"), [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)]
)
def test_who_wants_the_controllers_has_come_to_the_wrong_door(kind: int, error: ErrorCode) -> None:
    """A broker tells of brokers only (KIP-919)."""
    data = frame("DescribeCluster", 1, include_cluster_authorized_operations=False, endpoint_type=kind)
    exchange = understood(data).exchange
    assert exchange.requests == ()
    found = told("DescribeCluster", 1, exchange.response([]))
    assert (found.error_code, found.brokers) == (error, [])
