"""Authorization checks for InitProducerId and the requests of transactions.

Source: `KafkaApis.handleInitProducerIdRequest` and its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupsim.cluster.acl.authorization import AuthContext, Check
from groupsim.cluster.acl.groups import NO_GROUP
from groupsim.cluster.acl.offsets import NO_TOPIC, allowed_topics, commit_to_topics
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

NO_TRANSACTIONAL_ID: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
NO_CLUSTER: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_BROKERS_ONLY = 4  # from this version of AddPartitionsToTxn on only brokers send it (KIP-890)


def _writes_as(auth: AuthContext, request: Any) -> bool:
    return auth.allows(Operation.WRITE, Resource.TRANSACTIONAL_ID, request.transactional_id)


def _init(auth: AuthContext, request: InitProducerIdRequest) -> None:
    """Require IDEMPOTENT_WRITE on the cluster, or WRITE on any topic (KIP-679), for an id without transactions."""
    if request.transactional_id is not None:
        _of_id(auth, request)
    elif auth.allows_cluster(Operation.IDEMPOTENT_WRITE) or auth.allows_by_type(Operation.WRITE, Resource.TOPIC):
        auth.forward(request)
    else:
        auth.refuse(NO_CLUSTER)


def _of_id(auth: AuthContext, request: Any) -> None:
    if _writes_as(auth, request):
        auth.forward(request)
    else:
        auth.refuse(NO_TRANSACTIONAL_ID)


def _add_partitions(auth: AuthContext, request: AddPartitionsToTxnRequest) -> None:
    if request.version >= _BROKERS_ONLY:
        if auth.allows_cluster(Operation.CLUSTER_ACTION):
            auth.forward(request)
        else:
            auth.answer(AddPartitionsToTxnResponse(error=NO_CLUSTER))
    elif _writes_as(auth, request):
        _add_to_topics(auth, request)
    else:
        auth.refuse(NO_TRANSACTIONAL_ID)


def _add_to_topics(auth: AuthContext, request: AddPartitionsToTxnRequest) -> None:
    """Add all partitions or none: OPERATION_NOT_ATTEMPTED for the allowed ones (`handleAddPartitionsToTxnRequest`)."""
    allowed = allowed_topics(auth, Operation.WRITE, request.partitions)
    if all(allowed.values()):
        auth.forward(request)
        return
    results = []
    for partition in request.partitions:
        known = auth.image.partition(partition) is not None
        missing = ErrorCode.OPERATION_NOT_ATTEMPTED if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        results.append((partition, missing if allowed[partition.topic] else NO_TOPIC))
    auth.answer(AddPartitionsToTxnResponse(tuple(results)))


def _add_offsets(auth: AuthContext, request: AddOffsetsToTxnRequest) -> None:
    if not _writes_as(auth, request):
        auth.refuse(NO_TRANSACTIONAL_ID)
    elif auth.allows(Operation.READ, Resource.GROUP, request.group_id):
        auth.forward(request)
    else:
        auth.refuse(NO_GROUP)


def _commit(auth: AuthContext, request: TxnOffsetCommitRequest) -> None:
    if not _writes_as(auth, request):
        auth.refuse(NO_TRANSACTIONAL_ID)
    elif auth.allows(Operation.READ, Resource.GROUP, request.group_id):
        commit_to_topics(auth, request, "results")
    else:
        auth.refuse(NO_GROUP)


def _write_markers(auth: AuthContext, request: WriteTxnMarkersRequest) -> None:
    """Require CLUSTER_ACTION, as brokers have it, or ALTER, as administrators may have it (KIP-1037)."""
    if auth.allows_cluster(Operation.ALTER) or auth.allows_cluster(Operation.CLUSTER_ACTION):
        auth.forward(request)
    else:
        auth.refuse(NO_CLUSTER)


CHECKS: Mapping[type, Check] = {
    InitProducerIdRequest: _init,
    AddPartitionsToTxnRequest: _add_partitions,
    AddOffsetsToTxnRequest: _add_offsets,
    TxnOffsetCommitRequest: _commit,
    EndTxnRequest: _of_id,
    WriteTxnMarkersRequest: _write_markers,
}
"""Request class → its check."""
