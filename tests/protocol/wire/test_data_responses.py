"""What kafka-python reads of answers to producers, consumers and administrators, in every version that is served."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.admin import (
    ConfigEntry,
    ConfigsDescribed,
    CreatedTopic,
    CreatePartitionsResponse,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsResponse,
    DescribeClusterResponse,
    DescribeConfigsResponse,
    IncrementalAlterConfigsResponse,
)
from groupsim.protocol.messages.data import (
    EpochEnd,
    EpochEndOffset,
    FetchResponse,
    LeaderIs,
    ListOffsetsResponse,
    OffsetForLeaderEpochResponse,
    OffsetListed,
    PartitionData,
    Produced,
    ProduceResponse,
)
from groupsim.protocol.messages.group import Response
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
    TxnOffsetCommitResponse,
    WriteTxnMarkersResponse,
)
from tests.helpers.counted_batches import counted_batch
from tests.helpers.data_samples import BATCH, CASES, EVERY, O0, O3, fetch, records, title
from tests.helpers.wire_samples import ORDERS_ID, ORDERS_UUID, FakeDirectory, told, understood

MOVED, FENCED = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.PRODUCER_FENCED
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
ENTRY = ConfigEntry("retention.ms", "5", False, 1, False, 5, "How long", (("log.retention.ms", "5", 4),))

# API → an answer with all that the newest version has.
ANSWERS: dict[Api, Response] = {
    Api.PRODUCE: ProduceResponse(
        (Produced(O0, base_offset=5, log_append_time_ms=8, log_start_offset=2), Produced(O3, MOVED, message="moved"))
    ),
    Api.FETCH: FetchResponse(
        partitions=(
            PartitionData(O0, ErrorCode.NONE, 9, 8, 2, (BATCH,), ((7, 3),)),
            PartitionData(O3, ErrorCode.NONE, 4, 4, 0, diverging=EpochEnd(3, 4)),
        )
    ),
    Api.LIST_OFFSETS: ListOffsetsResponse((OffsetListed(O0, ErrorCode.NONE, 2**40, 9, 4), OffsetListed(O3, MOVED))),
    Api.OFFSET_FOR_LEADER_EPOCH: OffsetForLeaderEpochResponse((EpochEndOffset(O3, ErrorCode.NONE, 2, 2**40),)),
    Api.INIT_PRODUCER_ID: InitProducerIdResponse(ErrorCode.NONE, 2**40, 5),
    Api.ADD_PARTITIONS_TO_TXN: AddPartitionsToTxnResponse(((O0, FENCED), (O3, FENCED))),
    Api.ADD_OFFSETS_TO_TXN: AddOffsetsToTxnResponse(FENCED),
    Api.END_TXN: EndTxnResponse(FENCED, -1, -1),
    Api.TXN_OFFSET_COMMIT: TxnOffsetCommitResponse(
        ((O0, ErrorCode.NONE), (O3, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    ),
    Api.WRITE_TXN_MARKERS: WriteTxnMarkersResponse(((9, ((O0, ErrorCode.NONE), (O3, MOVED))),)),
    Api.CREATE_TOPICS: CreateTopicsResponse(
        (
            CreatedTopic("new", topic_id=ORDERS_ID, partitions=1, replication=2, config=(ENTRY,)),
            CreatedTopic("two", ErrorCode.TOPIC_ALREADY_EXISTS, "there"),
        )
    ),
    Api.DELETE_TOPICS: DeleteTopicsResponse(
        (DeletedTopic("orders", topic_id=ORDERS_ID), DeletedTopic("gone", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no"))
    ),
    Api.CREATE_PARTITIONS: CreatePartitionsResponse(
        (("orders", ErrorCode.NONE, None), ("two", ErrorCode.INVALID_PARTITIONS, "fewer"))
    ),
    Api.DESCRIBE_CONFIGS: DescribeConfigsResponse(
        (ConfigsDescribed(2, "orders", entries=(ENTRY,)), ConfigsDescribed(4, "0", ErrorCode.INVALID_REQUEST, "no"))
    ),
    Api.INCREMENTAL_ALTER_CONFIGS: IncrementalAlterConfigsResponse(((2, "orders", ErrorCode.INVALID_CONFIG, "no"),)),
    Api.DESCRIBE_CLUSTER: DescribeClusterResponse(brokers=((0, False), (1, True)), operations=8_096),
}


def named(version: int, since: int, called: str = "name") -> dict[str, Any]:
    """How a version names `orders`."""
    return {"topic_id": str(ORDERS_UUID)} if version >= since else {called: "orders"}


def produced(v: int) -> dict[str, Any]:
    """One batch appended, one refused."""

    def one(index: int, error: int, base: int, time: int, start: int, message: str | None) -> dict[str, Any]:
        newer = {"record_errors": [], "error_message": message} if v >= 8 else {}
        leader = {"current_leader": None} if v >= 10 else {}
        begin = {"log_start_offset": start} if v >= 5 else {}
        base_fields = {"index": index, "error_code": error, "base_offset": base, "log_append_time_ms": time}
        return {**base_fields, **begin, **newer, **leader}

    parts = [one(0, 0, 5, 8, 2, None), one(3, 6, -1, -1, -1, "moved")]
    topics = [{**named(v, 13), "partition_responses": parts}]
    return {"responses": topics, **({"node_endpoints": []} if v >= 10 else {})}


def fetched(v: int) -> dict[str, Any]:
    """Records and an aborted transaction; a log that has parted."""

    def one(index: int, ends: tuple[int, int, int], aborted: Any, content: bytes, parted: Any) -> dict[str, Any]:
        fields: dict[str, Any] = {"partition_index": index, "error_code": 0}
        fields.update(high_watermark=ends[0], last_stable_offset=ends[1], aborted_transactions=aborted)
        if v >= 5:
            fields["log_start_offset"] = ends[2]
        if v >= 11:
            fields["preferred_read_replica"] = -1
        if v >= 12:
            fields.update(diverging_epoch=parted, current_leader=None, snapshot_id=None)
        return {**fields, "records": content}

    parts = [
        one(0, (9, 8, 2), [{"producer_id": 7, "first_offset": 3}], records(), None),
        one(3, (4, 4, 0), None, b"", {"epoch": 3, "end_offset": 4}),
    ]
    top = {"error_code": 0, "session_id": 0} if v >= 7 else {}
    ends = {"node_endpoints": []} if v >= 16 else {}
    return {**top, "responses": [{**named(v, 13, "topic"), "partitions": parts}], **ends}


def listed(v: int) -> dict[str, Any]:
    """An offset, and an error."""
    parts = [
        {"partition_index": 0, "error_code": 0, "timestamp": 9, "offset": 2**40},
        {"partition_index": 3, "error_code": 6, "timestamp": -1, "offset": -1},
    ]
    epochs = [{"leader_epoch": 4}, {"leader_epoch": -1}] if v >= 4 else [{}, {}]
    return {"topics": [{"name": "orders", "partitions": [{**a, **b} for a, b in zip(parts, epochs, strict=True)]}]}


def epoch_ended(v: int) -> dict[str, Any]:
    """The end of one epoch."""
    part = {"error_code": 0, "partition": 3, "leader_epoch": 2, "end_offset": 2**40}
    return {"topics": [{"topic": "orders", "partitions": [part]}]}


def fenced(v: int) -> int:
    """PRODUCER_FENCED under the name that a version knows."""
    return FENCED if v >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH


def added(v: int) -> dict[str, Any]:
    """One error for both partitions."""
    parts = [{"partition_index": number, "partition_error_code": fenced(v)} for number in (0, 3)]
    topics = [{"name": "orders", "results_by_partition": parts}]
    if v < 4:
        return {"results_by_topic_v3_and_below": topics}
    return {"error_code": 0, "results_by_transaction": [{"transactional_id": "tx", "topic_results": topics}]}


def error_parts(second: int) -> list[dict[str, Any]]:
    """Two partitions, the second with an error."""
    parts = [{"partition_index": 0, "error_code": 0}, {"partition_index": 3, "error_code": second}]
    return [{"name": "orders", "partitions": parts}]


def committed(v: int) -> dict[str, Any]:
    """One offset stored, the other not yet."""
    loading = LOADING if v >= 2 else ErrorCode.COORDINATOR_NOT_AVAILABLE
    return {"topics": error_parts(loading)}


def created(v: int) -> dict[str, Any]:
    """A topic made, and one that is there already."""
    told_entry = {"name": "retention.ms", "value": "5", "read_only": False, "config_source": 1, "is_sensitive": False}

    def one(name: str, error: int, why: str | None, counts: tuple[int, int], config: Any) -> dict[str, Any]:
        fields: dict[str, Any] = {"name": name, "error_code": error, "error_message": why}
        if v >= 5:
            fields.update(topic_config_error_code=0, configs=config)
            fields.update(num_partitions=counts[0], replication_factor=counts[1])
        return fields

    found = [
        one("new", 0, None, (1, 2), [told_entry]),
        one("two", ErrorCode.TOPIC_ALREADY_EXISTS, "there", (-1, -1), []),
    ]
    for fields, known in zip(found, (True, False), strict=True):
        if v >= 7:
            fields["topic_id"] = str(ORDERS_UUID) if known else None
    return {"topics": found}


def deleted(v: int) -> dict[str, Any]:
    """A topic deleted, and one that is not there."""
    found: list[dict[str, Any]] = [{"name": "orders", "error_code": 0}, {"name": "gone", "error_code": 3}]
    for fields, why, known in zip(found, (None, "no"), (True, False), strict=True):
        if v >= 5:
            fields["error_message"] = why
        if v >= 6:
            fields["topic_id"] = str(ORDERS_UUID) if known else None
    return {"responses": found}


def partitions_made(v: int) -> dict[str, Any]:
    """Partitions added, and refused."""
    return {
        "results": [
            {"name": "orders", "error_code": 0, "error_message": None},
            {"name": "two", "error_code": ErrorCode.INVALID_PARTITIONS, "error_message": "fewer"},
        ]
    }


def described(v: int) -> dict[str, Any]:
    """A setting of a topic, and a broker that is another."""
    synonyms = [{"name": "log.retention.ms", "value": "5", "source": 4}]
    entry = {"name": "retention.ms", "value": "5", "read_only": False, "config_source": 1, "is_sensitive": False}
    entry["synonyms"] = synonyms
    if v >= 3:
        entry.update(config_type=5, documentation="How long")
    orders = {"error_code": 0, "error_message": None, "resource_type": 2, "resource_name": "orders", "configs": [entry]}
    broker = {"error_code": 42, "error_message": "no", "resource_type": 4, "resource_name": "0", "configs": []}
    return {"results": [orders, broker]}


def altered(v: int) -> dict[str, Any]:
    """A change refused."""
    result = {"error_code": ErrorCode.INVALID_CONFIG, "error_message": "no"}
    return {"responses": [{**result, "resource_type": 2, "resource_name": "orders"}]}


def cluster(v: int) -> dict[str, Any]:
    """Two brokers, one of them fenced."""
    brokers: list[dict[str, Any]] = [
        {"broker_id": 0, "host": "127.0.0.1", "port": 9092, "rack": "a"},
        {"broker_id": 1, "host": "127.0.0.1", "port": 9093, "rack": None},
    ]
    for fields, is_fenced in zip(brokers, (False, True), strict=True):
        if v >= 2:
            fields["is_fenced"] = is_fenced
    kind = {"endpoint_type": 1} if v >= 1 else {}
    top = {"error_code": 0, "error_message": None, "cluster_id": "cluster-of-22-letters-", "controller_id": 1}
    return {**top, **kind, "brokers": brokers, "authorized_operations": [5, 7, 8, 9, 10, 11, 12]}


EXPECTED: dict[Api, Callable[[int], dict[str, Any]]] = {
    Api.PRODUCE: produced,
    Api.FETCH: fetched,
    Api.LIST_OFFSETS: listed,
    Api.OFFSET_FOR_LEADER_EPOCH: epoch_ended,
    Api.INIT_PRODUCER_ID: lambda v: {"error_code": 0, "producer_id": 2**40, "producer_epoch": 5},
    Api.ADD_PARTITIONS_TO_TXN: added,
    Api.ADD_OFFSETS_TO_TXN: lambda v: {"error_code": fenced(v)},
    Api.END_TXN: lambda v: {"error_code": fenced(v), **({"producer_id": -1, "producer_epoch": -1} if v >= 5 else {})},
    Api.TXN_OFFSET_COMMIT: committed,
    Api.WRITE_TXN_MARKERS: lambda v: {"markers": [{"producer_id": 9, "topics": error_parts(MOVED)}]},
    Api.CREATE_TOPICS: created,
    Api.DELETE_TOPICS: deleted,
    Api.CREATE_PARTITIONS: partitions_made,
    Api.DESCRIBE_CONFIGS: described,
    Api.INCREMENTAL_ALTER_CONFIGS: altered,
    Api.DESCRIBE_CLUSTER: cluster,
}


def read(api: Api, version: int, data: bytes) -> dict[str, Any]:
    """A response without its throttling; the records of a Fetch as bytes."""
    response = told(api.title, version, data)
    assert response.header.correlation_id == 7
    fields: dict[str, Any] = response.to_dict()
    assert fields.pop("throttle_time_ms", 0) == 0
    if api is Api.FETCH:
        for topic, raw in zip(fields["responses"], response.responses, strict=True):
            for part, raw_part in zip(topic["partitions"], raw.partitions, strict=True):
                part["records"] = bytes(raw_part.records)
    return fields


@pytest.mark.parametrize(("api", "version"), EVERY, ids=title)
def test_a_response_says_what_its_version_can(api: Api, version: int) -> None:
    """kafka-python reads of each version what the newest one says, less what the version lacks."""
    data = understood(CASES[api][0](version)).exchange.response([ANSWERS[api]])
    assert read(api, version, data) == EXPECTED[api](version)


def errors(value: Any) -> list[int]:
    """All error codes at whatever depth, but for "none"."""
    if isinstance(value, list):
        return [code for part in value for code in errors(part)]
    if not isinstance(value, dict):
        return []
    own = [code for name, code in value.items() if name.endswith("error_code") and code]
    return own + [code for part in value.values() for code in errors(part)]


@pytest.mark.parametrize(("api", "version"), EVERY, ids=title)
def test_a_refusal_says_its_error_to_all_that_was_asked(api: Api, version: int) -> None:
    """As Kafka's `getErrorResponse`: Fetch since 13 and batched transactions at the top, others part by part."""
    error = ErrorCode.REQUEST_TIMED_OUT
    said = errors(read(api, version, understood(CASES[api][0](version)).exchange.refusal(error)))
    parts = {
        Api.PRODUCE: 2,
        Api.FETCH: 1 if version >= 13 else 2 if version < 7 else 3,
        Api.LIST_OFFSETS: 2,
        Api.ADD_PARTITIONS_TO_TXN: 1 if version >= 4 else 2,
        Api.TXN_OFFSET_COMMIT: 2,
        Api.WRITE_TXN_MARKERS: 2,
        Api.CREATE_TOPICS: 2,
        Api.DELETE_TOPICS: 2,
        Api.CREATE_PARTITIONS: 2,
        Api.DESCRIBE_CONFIGS: 2,
    }
    assert said == [error] * parts.get(api, 1)


@pytest.mark.parametrize("version", range(9, 14))
def test_a_producer_is_told_where_the_leader_is(version: int) -> None:
    """With NOT_LEADER_OR_FOLLOWER, from version 10 on, with its address (KIP-951); a leader of -1 has none."""
    data = CASES[Api.PRODUCE][0](version)
    results = (Produced(O0, MOVED, current_leader=LeaderIs(2, 7)), Produced(O3, MOVED, current_leader=LeaderIs(-1, 7)))
    found = read(Api.PRODUCE, version, understood(data).exchange.response([ProduceResponse(results)]))
    leaders = [part.get("current_leader") for part in found["responses"][0]["partition_responses"]]
    if version < 10:
        assert leaders == [None, None]
        return
    assert leaders == [{"leader_id": 2, "leader_epoch": 7}, {"leader_id": -1, "leader_epoch": 7}]
    assert found["node_endpoints"] == [{"node_id": 2, "host": "127.0.0.1", "port": 9094, "rack": None}]


@pytest.mark.parametrize("version", range(12, 19))
def test_a_consumer_is_told_where_the_leader_is(version: int) -> None:
    """From version 16 on, with the two errors that mean another one leads; other errors tell of none."""
    parts = (
        PartitionData(O0, ErrorCode.FENCED_LEADER_EPOCH, current_leader=LeaderIs(0, 7)),
        PartitionData(O3, ErrorCode.OFFSET_OUT_OF_RANGE, current_leader=LeaderIs(2, 7)),
    )
    found = read(Api.FETCH, version, understood(fetch(version)).exchange.response([FetchResponse(partitions=parts)]))
    leaders = [part["current_leader"] for part in found["responses"][0]["partitions"]]
    assert leaders == [{"leader_id": 0, "leader_epoch": 7} if version >= 16 else None, None]
    if version >= 16:
        assert found["node_endpoints"] == [{"node_id": 0, "host": "127.0.0.1", "port": 9092, "rack": "a"}]


@pytest.mark.parametrize(
    ("isolation_level", "data", "aborted"),
    [
        (0, PartitionData(O3), b"\x00"),
        (1, PartitionData(O3), b"\x01"),
        (1, PartitionData(O3, MOVED), b"\x00"),
        (1, PartitionData(O3, preferred_read_replica=2), b"\x00"),
        (1, PartitionData(O3, diverging=EpochEnd(1, 2)), b"\x00"),
        (0, PartitionData(O3, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), b"\x01"),
    ],
)
def test_null_and_empty_lists_of_aborted_transactions_are_as_kafkas(
    isolation_level: int, data: PartitionData, aborted: bytes
) -> None:
    """Null for who reads uncommitted and where nothing was read; records are empty, never null."""
    exchange = understood(fetch(11, isolation_level=isolation_level)).exchange
    old = exchange.response([FetchResponse(partitions=(PartitionData(O0), data))])
    count = {b"\x00": b"\xff\xff\xff\xff", b"\x01": bytes(4)}[aborted]
    assert old.endswith(count + data.preferred_read_replica.to_bytes(4, "big", signed=True) + bytes(4))


def test_a_partition_that_is_not_there_comes_last() -> None:
    """As Kafka, who reads what there is first; a topic whose partitions are parted stays one topic."""
    parts = (PartitionData(O0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), PartitionData(O3, high_watermark=4))
    found = read(Api.FETCH, 17, understood(fetch(17)).exchange.response([FetchResponse(partitions=parts)]))
    assert [part["partition_index"] for part in found["responses"][0]["partitions"]] == [3, 0]


def test_old_consumers_hear_of_no_storage_error() -> None:
    """Before version 6 it is told as a change of leader, so that they look for another one."""
    for version, error in ((5, MOVED), (6, ErrorCode.KAFKA_STORAGE_ERROR)):
        parts = (PartitionData(O0, ErrorCode.KAFKA_STORAGE_ERROR), PartitionData(O3))
        found = read(
            Api.FETCH, version, understood(fetch(version)).exchange.response([FetchResponse(partitions=parts)])
        )
        assert found["responses"][0]["partitions"][0]["error_code"] == error


def test_simulated_traffic_is_read_by_real_consumers() -> None:
    """A counted batch, whose content nobody wrote, goes out as as many records of as many bytes."""
    from kafka.record import MemoryRecords

    batch = counted_batch(5, 100, 1_700_000_000_000).placed(40, 2)
    parts = (PartitionData(O0, batches=(batch, BATCH.placed(45, 2))), PartitionData(O3))
    found = read(Api.FETCH, 12, understood(fetch(12)).exchange.response([FetchResponse(partitions=parts)]))
    content = MemoryRecords(found["responses"][0]["partitions"][0]["records"])
    first, second = content.next_batch(), content.next_batch()
    assert [(record.offset, len(record.value)) for record in first] == [(40 + n, 100) for n in range(5)]
    assert [record.offset for record in second] == [45, 46, 47]


def test_synonyms_and_words_are_told_to_who_asks() -> None:
    """What the broker knows beyond that stays with it."""
    from tests.helpers.wire_samples import frame, part

    resources = [part("DescribeConfigs", "DescribeConfigsResource", resource_type=2, resource_name="orders")]
    exchange = understood(frame("DescribeConfigs", 4, resources=resources)).exchange
    answer = DescribeConfigsResponse((ConfigsDescribed(2, "orders", entries=(ENTRY,)),))
    (entry,) = read(Api.DESCRIBE_CONFIGS, 4, exchange.response([answer]))["results"][0]["configs"]
    assert (entry["synonyms"], entry["documentation"], entry["config_type"]) == ([], None, 5)


def test_a_broker_describes_the_address_that_clients_are_told() -> None:
    """The listener's address is the value of `listeners` and `advertised.listeners` of that broker."""
    from tests.helpers.wire_samples import frame, part

    resources = [part("DescribeConfigs", "DescribeConfigsResource", resource_type=4, resource_name="1")]
    exchange = understood(frame("DescribeConfigs", 4, resources=resources, include_synonyms=True)).exchange
    entries = tuple(
        evolve(ENTRY, name=name, synonyms=((name, "", 4),)) for name in ("advertised.listeners", "listeners")
    )
    answer = DescribeConfigsResponse((ConfigsDescribed(4, "1", entries=entries),))
    told = read(Api.DESCRIBE_CONFIGS, 4, exchange.response([answer]))["results"][0]["configs"]
    host, port = FakeDirectory().address(1)
    assert [(one["value"], one["synonyms"][0]["value"]) for one in told] == [(f"PLAINTEXT://{host}:{port}",) * 2] * 2
