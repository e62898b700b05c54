"""Requests of producers, consumers and administrators as kafka-python writes them, and what they are to become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.record.default_records import DefaultRecordBatchBuilder

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.batch.codec import read_batch
from groupsim.protocol.messages.admin import (
    ConfigsAsked,
    ConfigsToAlter,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    MorePartitions,
    NewTopic,
)
from groupsim.protocol.messages.data import (
    EpochAsked,
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
    OffsetAsked,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from groupsim.protocol.messages.group import Request
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    OffsetInTxn,
    TxnMarker,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)
from groupsim.protocol.wire.apis import taken
from groupsim.protocol.wire.schema import NEWER
from tests.helpers.wire_samples import ORDERS_UUID, frame, part

O0, O3 = TopicPartition("orders", 0), TopicPartition("orders", 3)
NONE, GZIP, ZSTD = 0, 1, 4


def records(
    count: int = 3,
    *,
    compression: int = NONE,
    transactional: bool = False,
    producer_id: int = -1,
    base_sequence: int = -1,
    value_bytes: int = 20,
) -> bytes:
    """A batch as kafka-python's producer makes it."""
    epoch = 0 if producer_id >= 0 else -1
    builder = DefaultRecordBatchBuilder(2, compression, transactional, producer_id, epoch, base_sequence, 1 << 21)
    for index in range(count):
        value = bytes([97 + index % 26]) * value_bytes
        builder.append(index, 1_700_000_000_000 + index, b"key-%d" % index, value, [("trace", b"1")])
    return bytes(builder.build())


def topic(name: str, kind: str, version: int, since: int, called: str = "name", **fields: Any) -> Any:
    """The topic `orders` as a version names it: by name, or from version `since` on by id."""
    return part(name, kind, **({"topic_id": ORDERS_UUID} if version >= since else {called: "orders"}), **fields)


def produce(version: int, data: bytes | None = None, *, acks: int = -1, transactional_id: str | None = "tx") -> bytes:
    """A Produce of the same records for two partitions."""
    parts = [
        part("Produce", "PartitionProduceData", index=number, records=records() if data is None else data)
        for number in (0, 3)
    ]
    topics = [topic("Produce", "TopicProduceData", version, 13, partition_data=parts)]
    return frame("Produce", version, transactional_id=transactional_id, acks=acks, timeout_ms=30_000, topic_data=topics)


def fetch(version: int, **fields: Any) -> bytes:
    """A consumer's Fetch of two partitions."""
    parts = [
        part(
            "Fetch",
            "FetchPartition",
            partition=number,
            current_leader_epoch=4,
            fetch_offset=2**40,
            last_fetched_epoch=3,
            log_start_offset=-1,
            partition_max_bytes=1 << 20,
        )
        for number in (0, 3)
    ]
    asked: dict[str, Any] = {
        "max_wait_ms": 500,
        "min_bytes": 1,
        "max_bytes": 50 << 20,
        "isolation_level": 1,
        "topics": [topic("Fetch", "FetchTopic", version, 13, "topic", partitions=parts)],
        "rack_id": "a",
    }
    return frame("Fetch", version, **{**asked, **fields})


def list_offsets(version: int, timestamp: int = -2) -> bytes:
    """A consumer asks for two ends of logs."""
    parts = [
        part("ListOffsets", "ListOffsetsPartition", partition_index=n, current_leader_epoch=4, timestamp=timestamp)
        for n in (0, 3)
    ]
    topics = [part("ListOffsets", "ListOffsetsTopic", name="orders", partitions=parts)]
    return frame("ListOffsets", version, replica_id=-1, isolation_level=1, topics=topics, timeout_ms=1_000)


def epoch_ends(version: int) -> bytes:
    """A consumer asks where an epoch ends."""
    name = "OffsetForLeaderEpoch"
    parts = [part(name, "OffsetForLeaderPartition", partition=3, current_leader_epoch=4, leader_epoch=2)]
    topics = [part(name, "OffsetForLeaderTopic", topic="orders", partitions=parts)]
    return frame(name, version, replica_id=-1, topics=topics)


def init_producer_id(version: int) -> bytes:
    """A producer that has been there before."""
    return frame(
        "InitProducerId", version, transactional_id="tx", transaction_timeout_ms=60_000, producer_id=9, producer_epoch=2
    )


def add_partitions(version: int) -> bytes:
    """One transaction, as old versions and new ones write it."""
    name = "AddPartitionsToTxn"
    topics = [part(name, "AddPartitionsToTxnTopic", name="orders", partitions=[0, 3])]
    if version < 4:
        old = {"transactional_id": "tx", "producer_id": 9, "producer_epoch": 2, "topics": topics}
        return frame(name, version, **{f"v3_and_below_{field}": value for field, value in old.items()})
    txn = part(
        name, "AddPartitionsToTxnTransaction", transactional_id="tx", producer_id=9, producer_epoch=2, topics=topics
    )
    return frame(name, version, transactions=[txn])


def add_offsets(version: int) -> bytes:
    """Offsets of a group go into the transaction."""
    return frame("AddOffsetsToTxn", version, transactional_id="tx", producer_id=9, producer_epoch=2, group_id="g")


def end(version: int) -> bytes:
    """A commit."""
    return frame("EndTxn", version, transactional_id="tx", producer_id=9, producer_epoch=2, committed=True)


def commit_offsets(version: int) -> bytes:
    """Offsets of two partitions, one with a note."""
    name = "TxnOffsetCommit"
    parts = [
        part(
            name,
            "TxnOffsetCommitRequestPartition",
            partition_index=number,
            committed_offset=2**40 + number,
            committed_leader_epoch=5,
            committed_metadata=text,
        )
        for number, text in ((0, "note"), (3, None))
    ]
    topics = [part(name, "TxnOffsetCommitRequestTopic", name="orders", partitions=parts)]
    who = {"generation_id": 7, "member_id": "m-1", "group_instance_id": "i"} if version >= 3 else {}
    return frame(
        name, version, transactional_id="tx", group_id="g", producer_id=9, producer_epoch=2, topics=topics, **who
    )


def write_markers(version: int) -> bytes:
    """A commit marker for two partitions."""
    name = "WriteTxnMarkers"
    topics = [part(name, "WritableTxnMarkerTopic", name="orders", partition_indexes=[0, 3])]
    marker = part(
        name,
        "WritableTxnMarker",
        producer_id=9,
        producer_epoch=2,
        transaction_result=True,
        topics=topics,
        coordinator_epoch=6,
    )
    return frame(name, version, markers=[marker])


def create_topics(version: int) -> bytes:
    """A topic placed by hand, and one with settings."""
    name = "CreateTopics"
    placed = [part(name, "CreatableReplicaAssignment", partition_index=0, broker_ids=[1, 2])]
    settings = [part(name, "CreatableTopicConfig", name=key, value=value) for key, value in (("a", "1"), ("b", None))]
    topics = [
        part(name, "CreatableTopic", name="new", num_partitions=-1, replication_factor=-1, assignments=placed),
        part(name, "CreatableTopic", name="two", num_partitions=6, replication_factor=3, configs=settings),
    ]
    return frame(name, version, topics=topics, timeout_ms=30_000, validate_only=True)


def delete_topics(version: int) -> bytes:
    """Two topics by name."""
    topics = [part("DeleteTopics", "DeleteTopicState", name=name) for name in ("orders", "gone")]
    return frame("DeleteTopics", version, topics=topics, topic_names=["orders", "gone"], timeout_ms=30_000)


def create_partitions(version: int) -> bytes:
    """Partitions placed by the controller, and by hand."""
    name = "CreatePartitions"
    placed = [part(name, "CreatePartitionsAssignment", broker_ids=[2, 0])]
    topics = [
        part(name, "CreatePartitionsTopic", name="orders", count=4, assignments=None),
        part(name, "CreatePartitionsTopic", name="two", count=7, assignments=placed),
    ]
    return frame(name, version, topics=topics, timeout_ms=30_000, validate_only=False)


def describe_configs(version: int) -> bytes:
    """All settings of a topic, two of a broker."""
    name = "DescribeConfigs"
    resources = [
        part(name, "DescribeConfigsResource", resource_type=2, resource_name="orders", configuration_keys=None),
        part(name, "DescribeConfigsResource", resource_type=4, resource_name="0", configuration_keys=["a", "b"]),
    ]
    return frame(name, version, resources=resources, include_synonyms=True, include_documentation=version >= 3)


def alter_configs(version: int) -> bytes:
    """A setting set, another deleted."""
    name = "IncrementalAlterConfigs"
    changes = [
        part(name, "AlterableConfig", name="a", config_operation=0, value="1"),
        part(name, "AlterableConfig", name="b", config_operation=1, value=None),
    ]
    resources = [part(name, "AlterConfigsResource", resource_type=2, resource_name="orders", configs=changes)]
    return frame(name, version, resources=resources, validate_only=True)


def describe_cluster(version: int) -> bytes:
    """All there is to know of the brokers."""
    fenced = {"include_fenced_brokers": True} if version >= 2 else {}
    return frame("DescribeCluster", version, include_cluster_authorized_operations=True, **fenced)


BATCH = read_batch(records())

# API → how kafka-python says it in a version, and what it is to become, said with all that the newest version has.
CASES: dict[Api, tuple[Callable[[int], bytes], Request]] = {
    Api.PRODUCE: (produce, ProduceRequest(-1, 30_000, ((O0, BATCH), (O3, BATCH)), "tx")),
    Api.FETCH: (
        fetch,
        FetchRequest(
            500,
            1,
            (FetchPartition(O0, 2**40, 1 << 20, 4, 3), FetchPartition(O3, 2**40, 1 << 20, 4, 3)),
            50 << 20,
            isolation_level=1,
            rack_id="a",
        ),
    ),
    Api.LIST_OFFSETS: (
        list_offsets,
        ListOffsetsRequest((OffsetAsked(O0, -2, 4), OffsetAsked(O3, -2, 4)), isolation_level=1),
    ),
    Api.OFFSET_FOR_LEADER_EPOCH: (epoch_ends, OffsetForLeaderEpochRequest((EpochAsked(O3, 2, 4),))),
    Api.INIT_PRODUCER_ID: (init_producer_id, InitProducerIdRequest("tx", 60_000, 9, 2)),
    Api.ADD_PARTITIONS_TO_TXN: (add_partitions, AddPartitionsToTxnRequest("tx", 9, 2, (O0, O3))),
    Api.ADD_OFFSETS_TO_TXN: (add_offsets, AddOffsetsToTxnRequest("tx", 9, 2, "g")),
    Api.END_TXN: (end, EndTxnRequest("tx", 9, 2, True)),
    Api.TXN_OFFSET_COMMIT: (
        commit_offsets,
        TxnOffsetCommitRequest(
            "tx", "g", 9, 2, (OffsetInTxn(O0, 2**40, 5, "note"), OffsetInTxn(O3, 2**40 + 3, 5)), 7, "m-1", "i"
        ),
    ),
    Api.WRITE_TXN_MARKERS: (write_markers, WriteTxnMarkersRequest((TxnMarker(9, 2, True, (O0, O3), 6),))),
    Api.CREATE_TOPICS: (
        create_topics,
        CreateTopicsRequest(
            (NewTopic("new", assignment=((0, (1, 2)),)), NewTopic("two", 6, 3, config=(("a", "1"), ("b", None)))),
            30_000,
            True,
        ),
    ),
    Api.DELETE_TOPICS: (delete_topics, DeleteTopicsRequest(("orders", "gone"), 30_000)),
    Api.CREATE_PARTITIONS: (
        create_partitions,
        CreatePartitionsRequest((MorePartitions("orders", 4), MorePartitions("two", 7, ((2, 0),))), 30_000),
    ),
    Api.DESCRIBE_CONFIGS: (
        describe_configs,
        DescribeConfigsRequest((ConfigsAsked(2, "orders"), ConfigsAsked(4, "0", ("a", "b"))), True, True),
    ),
    Api.INCREMENTAL_ALTER_CONFIGS: (
        alter_configs,
        IncrementalAlterConfigsRequest((ConfigsToAlter(2, "orders", (("a", 0, "1"), ("b", 1, None))),), True),
    ),
    Api.DESCRIBE_CLUSTER: (describe_cluster, DescribeClusterRequest(True, True)),
}
TAKEN = taken("4.x")
EVERY = [
    (api, v)
    for api in CASES
    for v in range(TAKEN[api].oldest, TAKEN[api].newest + 1)
    if v not in NEWER.get(api, {})  # kafka-python lacks those, too
]


def title(value: object) -> str:
    """How a test is called after its parameter."""
    return str(getattr(value, "title", value))
