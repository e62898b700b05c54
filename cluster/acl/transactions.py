"""What is asked of producers that want an id, and of transactions.

Source: `KafkaApis.handleInitProducerIdRequest` and its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupsim.cluster.acl.authorization import Check, Visit
from groupsim.cluster.acl.groups import NO_GROUP
from groupsim.cluster.acl.offsets import NO_TOPIC, commit_to_topics, may_with_topics
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import Operation, Resource
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)

NO_ID: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
NO_CLUSTER: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_OF_BROKERS = 4  # from this version of AddPartitionsToTxn on only brokers speak it


def _writes_as(visit: Visit, request: Any) -> bool:
    return visit.may(Operation.WRITE, Resource.TRANSACTIONAL_ID, request.transactional_id)


def _init(visit: Visit, request: InitProducerIdRequest) -> None:
    """An idempotent producer may write somewhere at least, or to the cluster."""
    if request.transactional_id is not None:
        _of_id(visit, request)
    elif visit.may_with_cluster(Operation.IDEMPOTENT_WRITE) or visit.may_with_some(Operation.WRITE, Resource.TOPIC):
        visit.go_on(request)
    else:
        visit.refuse(NO_CLUSTER)


def _of_id(visit: Visit, request: Any) -> None:
    if _writes_as(visit, request):
        visit.go_on(request)
    else:
        visit.refuse(NO_ID)


def _add_partitions(visit: Visit, request: AddPartitionsToTxnRequest) -> None:
    if request.version >= _OF_BROKERS:
        if visit.may_with_cluster(Operation.CLUSTER_ACTION):
            visit.go_on(request)
        else:
            visit.answer(AddPartitionsToTxnResponse(error=NO_CLUSTER))
    elif _writes_as(visit, request):
        _add_to_topics(visit, request)
    else:
        visit.refuse(NO_ID)


def _add_to_topics(visit: Visit, request: AddPartitionsToTxnRequest) -> None:
    """One topic that may not be written to, and nothing is added at all."""
    mine = may_with_topics(visit, Operation.WRITE, request.partitions)
    if all(mine.values()):
        visit.go_on(request)
        return
    results = []
    for partition in request.partitions:
        known = visit.image.partition(partition) is not None
        missing = ErrorCode.OPERATION_NOT_ATTEMPTED if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        results.append((partition, missing if mine[partition.topic] else NO_TOPIC))
    visit.answer(AddPartitionsToTxnResponse(tuple(results)))


def _add_offsets(visit: Visit, request: AddOffsetsToTxnRequest) -> None:
    if not _writes_as(visit, request):
        visit.refuse(NO_ID)
    elif visit.may(Operation.READ, Resource.GROUP, request.group_id):
        visit.go_on(request)
    else:
        visit.refuse(NO_GROUP)


def _commit(visit: Visit, request: TxnOffsetCommitRequest) -> None:
    if not _writes_as(visit, request):
        visit.refuse(NO_ID)
    elif visit.may(Operation.READ, Resource.GROUP, request.group_id):
        commit_to_topics(visit, request, "results")
    else:
        visit.refuse(NO_GROUP)


def _write_markers(visit: Visit, request: WriteTxnMarkersRequest) -> None:
    """Brokers do this; administrators may, to end what hangs."""
    if visit.may_with_cluster(Operation.ALTER) or visit.may_with_cluster(Operation.CLUSTER_ACTION):
        visit.go_on(request)
    else:
        visit.refuse(NO_CLUSTER)


CHECKS: Mapping[type, Check] = {
    InitProducerIdRequest: _init,
    AddPartitionsToTxnRequest: _add_partitions,
    AddOffsetsToTxnRequest: _add_offsets,
    TxnOffsetCommitRequest: _commit,
    EndTxnRequest: _of_id,
    WriteTxnMarkersRequest: _write_markers,
}
"""Request class → its check."""
