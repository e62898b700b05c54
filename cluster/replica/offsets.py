"""ListOffsets and OffsetForLeaderEpoch: the start, the end and offsets by timestamp or epoch of a log.

A new leader's high watermark may be below the start of its epoch, and below offsets that the old leader has returned.
Until it has caught up, a consumer's ListOffsets for the end fails with OFFSET_NOT_AVAILABLE, because offsets must not
decrease (KIP-207).

Source: `Partition.fetchOffsetForTimestamp`, `ReplicaManager.fetchOffset`, `lastOffsetForLeaderEpoch`.
"""

from __future__ import annotations

from groupsim.cluster.log.segment_reads import find_max_time
from groupsim.cluster.replica.broker_replicas import BrokerReplicas
from groupsim.cluster.replica.partition import HostedPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import (
    CONSUMER,
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    READ_COMMITTED,
    EpochAsked,
    EpochEndOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetAsked,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetListed,
)

_TIERED = (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP)  # without tiered storage there is no offset
NOT_AVAILABLE_SINCE = 5
"""The first version of ListOffsets with OFFSET_NOT_AVAILABLE; older ones get LEADER_NOT_AVAILABLE (KIP-207)."""


def list_offsets(local: BrokerReplicas, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Return the requested offset of each partition."""
    return ListOffsetsResponse(tuple(_listed(local, request, asked) for asked in request.partitions))


def _listed(local: BrokerReplicas, request: ListOffsetsRequest, asked: OffsetAsked) -> OffsetListed:
    error = local.refusal(asked.partition, asked.current_leader_epoch, leader_only=True)
    if error is not ErrorCode.NONE:
        return OffsetListed(asked.partition, error)
    hosted = local.partitions[asked.partition]
    if asked.timestamp == LATEST_TIMESTAMP:
        if _is_behind(hosted, request):
            return _not_available(request, asked)
        return OffsetListed(asked.partition, ErrorCode.NONE, _end(hosted, request), -1, hosted.epoch)
    if asked.timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        start = hosted.log.start_offset
        return OffsetListed(asked.partition, ErrorCode.NONE, start, -1, hosted.log.epoch_at(start))
    if asked.timestamp in _TIERED:
        return OffsetListed(asked.partition)
    try:
        return _by_time(hosted, request, asked)
    except OSError as failed:
        local.storage_failed(asked.partition, failed)
        return OffsetListed(asked.partition, ErrorCode.KAFKA_STORAGE_ERROR)


def _by_time(hosted: HostedPartition, request: ListOffsetsRequest, asked: OffsetAsked) -> OffsetListed:
    if asked.timestamp == MAX_TIMESTAMP:
        latest = find_max_time(hosted.log.store.segments)
        found = None if latest is None else (*latest[0], latest[1])
    else:
        found = hosted.log.find_time(asked.timestamp)
    if found is None or found[0] >= _end(hosted, request):
        if _is_behind(hosted, request):
            return _not_available(request, asked)
        return OffsetListed(asked.partition)
    offset, timestamp, epoch = found
    return OffsetListed(asked.partition, ErrorCode.NONE, offset, timestamp, epoch)


def _end(hosted: HostedPartition, request: ListOffsetsRequest) -> int:
    log = hosted.log
    if request.replica_id != CONSUMER:
        return log.end_offset
    return log.last_stable_offset if request.isolation_level == READ_COMMITTED else log.high_watermark


def _is_behind(hosted: HostedPartition, request: ListOffsetsRequest) -> bool:
    lead = hosted.lead
    return request.replica_id == CONSUMER and lead is not None and lead.epoch_start > hosted.log.high_watermark


def _not_available(request: ListOffsetsRequest, asked: OffsetAsked) -> OffsetListed:
    knows = request.version >= NOT_AVAILABLE_SINCE
    return OffsetListed(asked.partition, ErrorCode.OFFSET_NOT_AVAILABLE if knows else ErrorCode.LEADER_NOT_AVAILABLE)


def epoch_ends(local: BrokerReplicas, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    """Return the end offset of each requested epoch."""
    return OffsetForLeaderEpochResponse(tuple(_epoch_end(local, asked) for asked in request.partitions))


def _epoch_end(local: BrokerReplicas, asked: EpochAsked) -> EpochEndOffset:
    error = local.refusal(asked.partition, asked.current_leader_epoch, leader_only=True)
    if error is not ErrorCode.NONE:
        return EpochEndOffset(asked.partition, error)
    epoch, end = local.partitions[asked.partition].log.epoch_end(asked.leader_epoch)
    return EpochEndOffset(asked.partition, ErrorCode.NONE, epoch, end)
