"""The answer to a request that contains an error only, shaped as Kafka's `getErrorResponse` shapes it.

Most answers have one field for an error, at the top. Others have none there and repeat it for each item of the request.
A few do one or the other by version, or both. Every refusal (by a broker, a fault, the wire) is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import CreateAclsResponse, DeleteAclsResponse, DeletedAcls, DescribeAclsResponse
from groupsim.protocol.messages.admin import (
    AlterConfigsResponse,
    ConfigsDescribed,
    CreatedTopic,
    CreatePartitionsResponse,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsResponse,
    DescribeClusterResponse,
    DescribeConfigsResponse,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesResponse,
)
from groupsim.protocol.messages.cluster import (
    AlterPartitionResponse,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    ClusterImage,
    MetadataLogResponse,
)
from groupsim.protocol.messages.consumer_group import (
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
)
from groupsim.protocol.messages.data import (
    EpochEndOffset,
    FetchRequest,
    FetchResponse,
    ListOffsetsResponse,
    OffsetForLeaderEpochResponse,
    OffsetListed,
    PartitionData,
    Produced,
    ProduceRequest,
    ProduceResponse,
    partitions_of,
)
from groupsim.protocol.messages.group import (
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsResponse,
    FetchedOffset,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    ListGroupsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Request,
    Response,
    SyncGroupResponse,
    TopicInfo,
)
from groupsim.protocol.messages.operator import (
    NO_WATERMARK,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    DeleteRecordsResponse,
    DescribedTopic,
    DescribedTransaction,
    DescribeLogDirsResponse,
    DescribeProducersResponse,
    DescribeTopicPartitionsResponse,
    DescribeTransactionsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsResponse,
    ListTransactionsResponse,
    ProducersOf,
)
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
    TxnMarker,
    TxnOffsetCommitResponse,
    WriteTxnMarkersResponse,
)
from groupsim.protocol.messages.zookeeper import ZkAnswer, ZkError
from groupsim.protocol.values import frozen

_FETCH_ERROR_ONCE = 13  # from this version on an error of the whole names no partitions
_OFFSETS_ERROR_ONCE = 2  # the same for OffsetFetch


def refusal(request: Request, error: ErrorCode) -> Any:
    """Return the answer to `request` with `error`: a response of the request's API, which no type can express.

    The refusal of a JoinGroup has no member id (classic-protocol reference, 1.2).
    """
    api = request.API
    top = _AT_THE_TOP.get(api)
    if top is not None:
        return top(error)
    each = _FOR_EACH.get(api)
    if each is not None:
        return each.response(tuple([each.refused(item, error) for item in getattr(request, each.items)]))
    return _SPECIAL[api](request, error)


_AT_THE_TOP: Mapping[Api, Callable[[ErrorCode], Response]] = {
    Api.FIND_COORDINATOR: FindCoordinatorResponse,
    Api.JOIN_GROUP: JoinGroupResponse,
    Api.SYNC_GROUP: SyncGroupResponse,
    Api.HEARTBEAT: HeartbeatResponse,
    Api.LEAVE_GROUP: LeaveGroupResponse,
    Api.CONSUMER_GROUP_HEARTBEAT: ConsumerGroupHeartbeatResponse,
    Api.OFFSET_DELETE: OffsetDeleteResponse,
    Api.LIST_GROUPS: ListGroupsResponse,
    Api.INIT_PRODUCER_ID: InitProducerIdResponse,
    Api.ADD_OFFSETS_TO_TXN: AddOffsetsToTxnResponse,
    Api.END_TXN: EndTxnResponse,
    Api.DESCRIBE_CLUSTER: DescribeClusterResponse,
    Api.LIST_CONFIG_RESOURCES: ListConfigResourcesResponse,
    Api.DESCRIBE_ACLS: DescribeAclsResponse,
    Api.LIST_PARTITION_REASSIGNMENTS: ListPartitionReassignmentsResponse,
    Api.DESCRIBE_LOG_DIRS: DescribeLogDirsResponse,
    Api.LIST_TRANSACTIONS: ListTransactionsResponse,
    Api.BROKER_REGISTRATION: BrokerRegistrationResponse,
    Api.BROKER_HEARTBEAT: BrokerHeartbeatResponse,
    Api.ALTER_PARTITION: AlterPartitionResponse,
    Api.METADATA_LOG: lambda error: MetadataLogResponse(ClusterImage(), error=error),
    Api.ZOOKEEPER: lambda _: ZkAnswer(ZkError.CONNECTION_LOSS),
}
"""API → the function that makes its answer with an error only."""


@frozen
class _Each:
    """An answer that repeats the error: the request's field with the items, and the result for one."""

    items: str
    refused: Callable[[Any, ErrorCode], Any]
    response: Callable[[Any], Response]


def _pair(item: object, error: ErrorCode) -> tuple[object, ErrorCode]:
    return item, error


def _pair_of_partition(asked: Any, error: ErrorCode) -> tuple[TopicPartition, ErrorCode]:
    return asked.partition, error


def _marker(marker: TxnMarker, error: ErrorCode) -> tuple[int, tuple[tuple[TopicPartition, ErrorCode], ...]]:
    return marker.producer_id, tuple([(partition, error) for partition in marker.partitions])


_FOR_EACH: Mapping[Api, _Each] = {
    Api.OFFSET_COMMIT: _Each("offsets", _pair_of_partition, OffsetCommitResponse),
    Api.DESCRIBE_GROUPS: _Each("groups", DescribedGroup, DescribeGroupsResponse),
    Api.CONSUMER_GROUP_DESCRIBE: _Each("group_ids", DescribedConsumerGroup, ConsumerGroupDescribeResponse),
    Api.DELETE_GROUPS: _Each("groups", _pair, DeleteGroupsResponse),
    Api.LIST_OFFSETS: _Each("partitions", lambda asked, e: OffsetListed(asked.partition, e), ListOffsetsResponse),
    Api.OFFSET_FOR_LEADER_EPOCH: _Each(
        "partitions", lambda asked, e: EpochEndOffset(asked.partition, e), OffsetForLeaderEpochResponse
    ),
    Api.ADD_PARTITIONS_TO_TXN: _Each("partitions", _pair, AddPartitionsToTxnResponse),
    Api.TXN_OFFSET_COMMIT: _Each("offsets", _pair_of_partition, TxnOffsetCommitResponse),
    Api.WRITE_TXN_MARKERS: _Each("markers", _marker, WriteTxnMarkersResponse),
    Api.CREATE_ACLS: _Each("acls", lambda _, e: (e, None), CreateAclsResponse),
    Api.DELETE_ACLS: _Each("filters", lambda _, e: DeletedAcls(e), DeleteAclsResponse),
    Api.CREATE_TOPICS: _Each("topics", lambda topic, e: CreatedTopic(topic.name, e), CreateTopicsResponse),
    Api.DELETE_TOPICS: _Each("topics", DeletedTopic, DeleteTopicsResponse),
    Api.CREATE_PARTITIONS: _Each("topics", lambda more, e: (more.name, e, None), CreatePartitionsResponse),
    Api.DESCRIBE_CONFIGS: _Each(
        "resources", lambda one, e: ConfigsDescribed(one.type, one.name, e), DescribeConfigsResponse
    ),
    Api.ALTER_CONFIGS: _Each("resources", lambda one, e: (one.type, one.name, e, None), AlterConfigsResponse),
    Api.DELETE_RECORDS: _Each("offsets", lambda one, e: (one[0], e, NO_WATERMARK), DeleteRecordsResponse),
    Api.DESCRIBE_TOPIC_PARTITIONS: _Each("topics", DescribedTopic, DescribeTopicPartitionsResponse),
    Api.DESCRIBE_PRODUCERS: _Each("partitions", ProducersOf, DescribeProducersResponse),
    Api.DESCRIBE_TRANSACTIONS: _Each("transactional_ids", DescribedTransaction, DescribeTransactionsResponse),
    Api.INCREMENTAL_ALTER_CONFIGS: _Each(
        "resources", lambda one, e: (one.type, one.name, e, None), IncrementalAlterConfigsResponse
    ),
}
"""API → the shape of an answer that repeats an error."""


def _metadata(request: MetadataRequest, error: ErrorCode) -> Response:
    return MetadataResponse(brokers=(), topics=tuple([TopicInfo(name, error) for name in request.topics or ()]))


def _offset_fetch(request: OffsetFetchRequest, error: ErrorCode) -> Response:
    if request.version >= _OFFSETS_ERROR_ONCE:
        return OffsetFetchResponse(error)
    return OffsetFetchResponse(error, tuple([FetchedOffset(tp, error=error) for tp in request.partitions or ()]))


def _produce(request: ProduceRequest, error: ErrorCode) -> Response:
    return ProduceResponse(tuple([Produced(partition, error) for partition in partitions_of(request)]))


def _fetch(request: FetchRequest, error: ErrorCode) -> Response:
    if request.version >= _FETCH_ERROR_ONCE:
        return FetchResponse(error)
    return FetchResponse(error, tuple([PartitionData(asked.partition, error) for asked in request.partitions]))


def _elect_leaders(request: ElectLeadersRequest, error: ErrorCode) -> Response:
    topics: dict[str, list[tuple[int, ErrorCode, str | None]]] = {}
    for topic, number in request.partitions or ():
        topics.setdefault(topic, []).append((number, error, None))
    return ElectLeadersResponse(error, tuple([(topic, tuple(results)) for topic, results in topics.items()]))


def _reassign(request: AlterPartitionReassignmentsRequest, error: ErrorCode) -> Response:
    results = tuple([(partition, error, None) for partition, _ in request.targets])
    return AlterPartitionReassignmentsResponse(error, None, results, request.other_factor)


_SPECIAL: Mapping[Api, Callable[[Any, ErrorCode], Response]] = {
    Api.METADATA: _metadata,
    Api.ELECT_LEADERS: _elect_leaders,
    Api.ALTER_PARTITION_REASSIGNMENTS: _reassign,
    Api.OFFSET_FETCH: _offset_fetch,
    Api.PRODUCE: _produce,
    Api.FETCH: _fetch,
}
"""API → the function that makes its answer, for APIs in neither table."""
