"""What operators ask, on the wire: leaders, replicas, records, disks, producers; kafka-python is the client."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.operator import (
    ActiveProducer,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DescribedPartition,
    DescribedTopic,
    DescribedTransaction,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    LogDir,
    ProducersOf,
    UnderWay,
)
from groupsim.protocol.wire.apis import served
from tests.helpers.wire_samples import ORDERS_UUID, frame, message, part, told, understood

A0, A2, B1 = TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)
WHY = ErrorCode.INVALID_REQUEST


def _said(name: str, version: int, exchange: Any, answer: Any) -> Any:
    return told(name, version, exchange.response([answer]))


def _versions(api: Api) -> list[int]:
    known = range(served()[api].oldest, served()[api].newest + 1)
    return [v for v in known if v <= message(f"{api.title}Request").max_version]


@pytest.mark.parametrize("version", _versions(Api.ELECT_LEADERS))
def test_elections(version: int) -> None:
    """The first version knows the preferred election only, and no error of the whole."""
    topics = [part("ElectLeaders", "TopicPartitions", topic="a", partitions=[0, 2])]
    exchange = understood(
        frame("ElectLeaders", version, election_type=1, topic_partitions=topics, timeout_ms=5)
    ).exchange
    assert exchange.requests == (ElectLeadersRequest((A0, A2), 1 if version else 0, 5, version),)
    answer = ElectLeadersResponse(WHY, (("a", ((0, ErrorCode.NONE, None), (2, WHY, "ü"))),))
    said = _said("ElectLeaders", version, exchange, answer)
    (result,) = said.replica_election_results
    assert (
        result.topic,
        [(one.partition_id, one.error_code, one.error_message) for one in result.partition_result],
    ) == (
        "a",
        [(0, 0, None), (2, 42, "ü")],
    )
    assert version == 0 or said.error_code == 42
    everything = understood(frame("ElectLeaders", version, topic_partitions=None, timeout_ms=5)).exchange.requests
    assert everything[0].partitions is None  # type: ignore[union-attr]


@pytest.mark.parametrize("version", _versions(Api.ALTER_PARTITION_REASSIGNMENTS))
def test_reassignments_are_altered(version: int) -> None:
    """No replicas call one off."""
    name = "AlterPartitionReassignments"
    parts = [
        part(name, "ReassignablePartition", partition_index=0, replicas=[2, 1]),
        part(name, "ReassignablePartition", partition_index=2, replicas=None),
    ]
    topics = [part(name, "ReassignableTopic", name="a", partitions=parts)]
    exchange = understood(frame(name, version, timeout_ms=7, topics=topics)).exchange
    assert exchange.requests == (AlterPartitionReassignmentsRequest(((A0, (2, 1)), (A2, None)), 7, True, version),)
    answer = AlterPartitionReassignmentsResponse(results=((A0, ErrorCode.NONE, None), (A2, WHY, "why")))
    (topic,) = _said(name, version, exchange, answer).responses
    assert [(one.partition_index, one.error_code, one.error_message) for one in topic.partitions] == [
        (0, 0, None),
        (2, 42, "why"),
    ]


def test_reassignments_are_listed() -> None:
    """Of some partitions or, with null, of all."""
    name = "ListPartitionReassignments"
    topics = [part(name, "ListPartitionReassignmentsTopics", name="a", partition_indexes=[0, 2])]
    exchange = understood(frame(name, 0, timeout_ms=7, topics=topics)).exchange
    assert exchange.requests == (ListPartitionReassignmentsRequest((A0, A2), 7, 0),)
    answer = ListPartitionReassignmentsResponse(moves=(UnderWay(A2, (1, 2, 3), (3,), (1,)),))
    ((one,),) = [topic.partitions for topic in _said(name, 0, exchange, answer).topics]
    assert (one.partition_index, one.replicas, one.adding_replicas, one.removing_replicas) == (2, [1, 2, 3], [3], [1])
    everything = understood(frame(name, 0, timeout_ms=7, topics=None)).exchange.requests
    assert everything == (ListPartitionReassignmentsRequest(None, 7, 0),)


def test_topics_in_pages() -> None:
    """The cursor goes there and back; topics have their ids."""
    name = "DescribeTopicPartitions"
    topics = [part(name, "TopicRequest", name=one) for one in ("orders", "x")]
    cursor = part(name, "Cursor", topic_name="orders", partition_index=4)
    data = frame(name, 0, topics=topics, response_partition_limit=9, cursor=cursor)
    exchange = understood(data).exchange
    assert exchange.requests == (DescribeTopicPartitionsRequest(("orders", "x"), 9, ("orders", 4), 0),)
    partition = DescribedPartition(4, 1, 6, (1, 2, 3), (1,), (2,), (3,), (2, 3))
    answer = DescribeTopicPartitionsResponse(
        (DescribedTopic("orders", internal=True, partitions=(partition,), operations=8), DescribedTopic("x", WHY)),
        ("x", 0),
    )
    said = _said(name, 0, exchange, answer)
    first, second = said.topics
    assert (first.name, first.topic_id, first.is_internal, first.topic_authorized_operations) == (
        *("orders", ORDERS_UUID, True),
        8,
    )
    (one,) = first.partitions
    assert (one.partition_index, one.leader_id, one.leader_epoch, one.replica_nodes) == (4, 1, 6, [1, 2, 3])
    assert (one.isr_nodes, one.eligible_leader_replicas, one.last_known_elr, one.offline_replicas) == (
        *([1], [2], [3]),
        [2, 3],
    )
    assert (second.name, second.error_code) == ("x", 42)
    assert (said.next_cursor.topic_name, said.next_cursor.partition_index) == ("x", 0)
    assert _said(name, 0, exchange, DescribeTopicPartitionsResponse()).next_cursor is None


@pytest.mark.parametrize("version", _versions(Api.DELETE_RECORDS))
def test_records_are_deleted(version: int) -> None:
    """Each partition with its offset, and its low watermark back."""
    parts = [part("DeleteRecords", "DeleteRecordsPartition", partition_index=n, offset=o) for n, o in ((0, -1), (2, 7))]
    topics = [part("DeleteRecords", "DeleteRecordsTopic", name="a", partitions=parts)]
    exchange = understood(frame("DeleteRecords", version, topics=topics, timeout_ms=3)).exchange
    assert exchange.requests == (DeleteRecordsRequest(((A0, -1), (A2, 7)), 3, version),)
    answer = DeleteRecordsResponse(((A0, ErrorCode.NONE, 9), (A2, WHY, -1), (B1, ErrorCode.NONE, 0)))
    first, second = _said("DeleteRecords", version, exchange, answer).topics
    assert [(one.partition_index, one.error_code, one.low_watermark) for one in first.partitions] == [
        (0, 0, 9),
        (2, 42, -1),
    ]
    assert second.name == "b"


@pytest.mark.parametrize("version", _versions(Api.DESCRIBE_LOG_DIRS))
def test_log_dirs(version: int) -> None:
    """Folders with their logs; the size of the disk where the version has it."""
    topics = [part("DescribeLogDirs", "DescribableLogDirTopic", topic="a", partitions=[0, 2])]
    exchange = understood(frame("DescribeLogDirs", version, topics=topics)).exchange
    assert exchange.requests == (DescribeLogDirsRequest((A0, A2), version),)
    answer = DescribeLogDirsResponse(dirs=(LogDir("/x", ((A0, 100, 0), (A2, 7, 3)), 1_000, 900),))
    (found,) = _said("DescribeLogDirs", version, exchange, answer).results
    (topic,) = found.topics
    assert [(one.partition_index, one.partition_size, one.offset_lag) for one in topic.partitions] == [
        (0, 100, 0),
        (2, 7, 3),
    ]
    assert (found.log_dir, found.error_code) == ("/x", 0)
    assert version < 4 or (found.total_bytes, found.usable_bytes) == (1_000, 900)
    everything = understood(frame("DescribeLogDirs", version, topics=None)).exchange.requests
    assert everything == (DescribeLogDirsRequest(None, version),)


def test_producers() -> None:
    """Every field of every producer."""
    topics = [part("DescribeProducers", "TopicRequest", name="a", partition_indexes=[0, 2])]
    exchange = understood(frame("DescribeProducers", 0, topics=topics)).exchange
    assert exchange.requests == (DescribeProducersRequest((A0, A2), 0),)
    answer = DescribeProducersResponse(
        (ProducersOf(A0, producers=(ActiveProducer(2**40, 3, 9, 1_700, -1, 5),)), ProducersOf(A2, WHY, "why"))
    )
    (topic,) = _said("DescribeProducers", 0, exchange, answer).topics
    first, second = topic.partitions
    (one,) = first.active_producers
    assert (one.producer_id, one.producer_epoch, one.last_sequence, one.last_timestamp) == (2**40, 3, 9, 1_700)
    assert (one.coordinator_epoch, one.current_txn_start_offset) == (-1, 5)
    assert (second.error_code, second.error_message) == (42, "why")


@pytest.mark.parametrize("version", _versions(Api.LIST_TRANSACTIONS))
def test_transactions_are_listed(version: int) -> None:
    """Filters as far as the version has them."""
    filters = {"state_filters": ["Ongoing"], "producer_id_filters": [5], "duration_filter": 7}
    data = frame("ListTransactions", version, **filters, **({"transactional_id_pattern": "t.*"} if version > 1 else {}))
    exchange = understood(data).exchange
    expected = ListTransactionsRequest(
        ("Ongoing",), (5,), 7 if version else -1, "t.*" if version > 1 else None, version
    )
    assert exchange.requests == (expected,)
    said = _said("ListTransactions", version, exchange, ListTransactionsResponse(WHY, ("Odd",), (("tx", 5, "Empty"),)))
    (one,) = said.transaction_states
    assert (one.transactional_id, one.producer_id, one.transaction_state) == ("tx", 5, "Empty")
    assert (said.error_code, said.unknown_state_filters) == (42, ["Odd"])


def test_transactions_are_described() -> None:
    """Partitions under their topics; no transaction is open at -1."""
    exchange = understood(frame("DescribeTransactions", 0, transactional_ids=["tx", "ty"])).exchange
    assert exchange.requests == (DescribeTransactionsRequest(("tx", "ty"), 0),)
    answer = DescribeTransactionsResponse(
        (
            DescribedTransaction("tx", WHY, "Ongoing", 60_000, 1_767_225_600_123, 5, 2, (A0, A2, B1)),
            DescribedTransaction("ty", state="Empty", start_ms=-1),
        )
    )
    first, second = _said("DescribeTransactions", 0, exchange, answer).transaction_states
    assert (first.error_code, first.transaction_state, first.transaction_timeout_ms) == (42, "Ongoing", 60_000)
    assert (first.transaction_start_time_ms, first.producer_id, first.producer_epoch) == (1_767_225_600_123, 5, 2)
    assert [(topic.topic, topic.partitions) for topic in first.topics] == [("a", [0, 2]), ("b", [1])]
    assert second.transaction_start_time_ms == -1


def test_a_refusal_of_each_can_be_written() -> None:
    """What a broker says of all that was asked when it can do nothing."""
    for api in (
        Api.ELECT_LEADERS,
        Api.ALTER_PARTITION_REASSIGNMENTS,
        Api.LIST_PARTITION_REASSIGNMENTS,
        Api.DESCRIBE_TOPIC_PARTITIONS,
        Api.DELETE_RECORDS,
        Api.DESCRIBE_LOG_DIRS,
        Api.DESCRIBE_PRODUCERS,
        Api.LIST_TRANSACTIONS,
        Api.DESCRIBE_TRANSACTIONS,
    ):
        version = _versions(api)[-1]
        data = frame(api.title, version, **({"transactional_ids": ["tx"]} if api is Api.DESCRIBE_TRANSACTIONS else {}))
        said = told(api.title, version, understood(data).exchange.refusal(WHY))
        assert getattr(said, "error_code", 42) == 42
