"""What a broker can say about a request without looking into a group: its columns, and an answer that is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupsim.protocol.admin_messages import (
    ConfigsDescribed,
    CreatedTopic,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from groupsim.protocol.cluster_messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    ClusterImage,
    MetadataLogResponse,
)
from groupsim.protocol.data_messages import (
    EpochEndOffset,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetListed,
    PartitionData,
    Produced,
    ProduceRequest,
    ProduceResponse,
    partitions_of,
)
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    Api,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FetchedOffset,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Request,
    Response,
    SyncGroupResponse,
    TopicInfo,
)
from groupsim.protocol.txn_messages import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from groupsim.protocol.zookeeper_messages import ZkAnswer, ZkError

_FETCH_SAYS_IT_ONCE = 13  # from this version on an error of the whole names no partitions

TITLES: dict[Api, str] = {api: api.title for api in Api}
"""The api column of the trace."""


def group_of(request: Request) -> str | None:
    """The group a request is about; None when it is about no single one."""
    if isinstance(request, FindCoordinatorRequest):
        return request.key if request.key_type == 0 else None
    return getattr(request, "group_id", None)


def member_of(request: Request) -> str | None:
    """The member id a request carries; None when it carries none (a first join, a commit from outside)."""
    if isinstance(request, LeaveGroupRequest):
        ids = [leaving.member_id for leaving in request.members]
        return (ids[0] or None) if len(ids) == 1 else None
    return getattr(request, "member_id", None) or None


def generation_of(message: Request | Response) -> int | None:
    """The generation a message carries, None when it carries none."""
    generation: int | None = getattr(message, "generation_id", None)
    return generation if generation is not None and generation >= 0 else None


def error_of(response: Response) -> ErrorCode:
    """The error of a response; of those that answer item by item, the first there is."""
    error: ErrorCode = getattr(response, "error", ErrorCode.NONE)
    if not error and isinstance(response, ListOffsetsResponse | OffsetForLeaderEpochResponse):
        return next((part.error for part in response.partitions if part.error), error)
    if not error and isinstance(response, OffsetFetchResponse):
        return next((part.error for part in response.offsets if part.error), error)
    if isinstance(response, CreateTopicsResponse | DeleteTopicsResponse):
        return next((topic.error for topic in response.topics if topic.error), error)
    if isinstance(response, TxnOffsetCommitResponse):
        return next((found for _, found in response.results if found), error)
    return error


def error_response(request: Request, error: ErrorCode) -> Response:
    """The response to `request` that says `error` and nothing else, shaped as Kafka's `getErrorResponse` does.

    A JoinGroup that fails this way names no member (classic-protocol reference, 1.2).
    """
    return _ERRORS[request.API](request, error)


def _metadata(request: MetadataRequest, error: ErrorCode) -> Response:
    return MetadataResponse(brokers=(), topics=tuple(TopicInfo(name, error) for name in request.topics or ()))


def _commit(request: OffsetCommitRequest, error: ErrorCode) -> Response:
    return OffsetCommitResponse(tuple((item.partition, error) for item in request.offsets))


def _offset_fetch(request: OffsetFetchRequest, error: ErrorCode) -> Response:
    offsets = tuple(FetchedOffset(partition, error=error) for partition in request.partitions or ())
    return OffsetFetchResponse(error, offsets)


def _describe(request: DescribeGroupsRequest, error: ErrorCode) -> Response:
    return DescribeGroupsResponse(tuple(DescribedGroup(group, error) for group in request.groups))


def _delete(request: DeleteGroupsRequest, error: ErrorCode) -> Response:
    return DeleteGroupsResponse(tuple((group, error) for group in request.groups))


def _produce(request: ProduceRequest, error: ErrorCode) -> Response:
    return ProduceResponse(tuple(Produced(partition, error) for partition in partitions_of(request)))


def _fetch(request: FetchRequest, error: ErrorCode) -> Response:
    if request.version >= _FETCH_SAYS_IT_ONCE:
        return FetchResponse(error)
    return FetchResponse(error, tuple(PartitionData(asked.partition, error) for asked in request.partitions))


def _list_offsets(request: ListOffsetsRequest, error: ErrorCode) -> Response:
    return ListOffsetsResponse(tuple(OffsetListed(asked.partition, error) for asked in request.partitions))


def _epoch_ends(request: OffsetForLeaderEpochRequest, error: ErrorCode) -> Response:
    ends = (EpochEndOffset(asked.partition, error) for asked in request.partitions)
    return OffsetForLeaderEpochResponse(tuple(ends))


def _partitions_in_txn(request: AddPartitionsToTxnRequest, error: ErrorCode) -> Response:
    return AddPartitionsToTxnResponse(tuple((partition, error) for partition in request.partitions))


def _txn_commit(request: TxnOffsetCommitRequest, error: ErrorCode) -> Response:
    return TxnOffsetCommitResponse(tuple((item.partition, error) for item in request.offsets))


def _markers(request: WriteTxnMarkersRequest, error: ErrorCode) -> Response:
    markers = request.markers
    return WriteTxnMarkersResponse(
        tuple((marker.producer_id, tuple((partition, error) for partition in marker.partitions)) for marker in markers)
    )


def _alter(request: AlterPartitionRequest, error: ErrorCode) -> Response:
    return AlterPartitionResponse(error)


def _create(request: CreateTopicsRequest, error: ErrorCode) -> Response:
    return CreateTopicsResponse(tuple(CreatedTopic(topic.name, error) for topic in request.topics))


def _delete_topics(request: DeleteTopicsRequest, error: ErrorCode) -> Response:
    return DeleteTopicsResponse(tuple(DeletedTopic(name, error) for name in request.topics))


def _grow(request: CreatePartitionsRequest, error: ErrorCode) -> Response:
    return CreatePartitionsResponse(tuple((more.name, error, None) for more in request.topics))


def _configs(request: DescribeConfigsRequest, error: ErrorCode) -> Response:
    return DescribeConfigsResponse(tuple(ConfigsDescribed(one.type, one.name, error) for one in request.resources))


def _alter_configs(request: IncrementalAlterConfigsRequest, error: ErrorCode) -> Response:
    return IncrementalAlterConfigsResponse(tuple((one.type, one.name, error, None) for one in request.resources))


_ERRORS: dict[Api, Callable[[Any, ErrorCode], Response]] = {
    Api.METADATA: _metadata,
    Api.FIND_COORDINATOR: lambda request, error: FindCoordinatorResponse(error),
    Api.JOIN_GROUP: lambda request, error: JoinGroupResponse(error),
    Api.SYNC_GROUP: lambda request, error: SyncGroupResponse(error),
    Api.HEARTBEAT: lambda request, error: HeartbeatResponse(error),
    Api.LEAVE_GROUP: lambda request, error: LeaveGroupResponse(error),
    Api.OFFSET_COMMIT: _commit,
    Api.OFFSET_FETCH: _offset_fetch,
    Api.OFFSET_DELETE: lambda request, error: OffsetDeleteResponse(error),
    Api.DESCRIBE_GROUPS: _describe,
    Api.LIST_GROUPS: lambda request, error: ListGroupsResponse(error),
    Api.DELETE_GROUPS: _delete,
    Api.PRODUCE: _produce,
    Api.FETCH: _fetch,
    Api.LIST_OFFSETS: _list_offsets,
    Api.OFFSET_FOR_LEADER_EPOCH: _epoch_ends,
    Api.INIT_PRODUCER_ID: lambda request, error: InitProducerIdResponse(error),
    Api.ADD_PARTITIONS_TO_TXN: _partitions_in_txn,
    Api.ADD_OFFSETS_TO_TXN: lambda request, error: AddOffsetsToTxnResponse(error),
    Api.END_TXN: lambda request, error: EndTxnResponse(error),
    Api.WRITE_TXN_MARKERS: _markers,
    Api.TXN_OFFSET_COMMIT: _txn_commit,
    Api.CREATE_TOPICS: _create,
    Api.DELETE_TOPICS: _delete_topics,
    Api.CREATE_PARTITIONS: _grow,
    Api.DESCRIBE_CONFIGS: _configs,
    Api.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    Api.DESCRIBE_CLUSTER: lambda request, error: DescribeClusterResponse(error),
    Api.BROKER_REGISTRATION: lambda request, error: BrokerRegistrationResponse(error),
    Api.BROKER_HEARTBEAT: lambda request, error: BrokerHeartbeatResponse(error),
    Api.ALTER_PARTITION: _alter,
    Api.METADATA_LOG: lambda request, error: MetadataLogResponse(ClusterImage(), error=error),
    Api.ZOOKEEPER: lambda request, error: ZkAnswer(ZkError.CONNECTION_LOSS),
}
