"""Authorization checks for Produce, Fetch, ListOffsets and OffsetForLeaderEpoch, topic by topic.

A Produce with acks=0 has no answer: when a part is refused, the broker appends the rest and closes the connection.

Source: `KafkaApis.handleProduceRequest`, `handleFetchRequest`, `handleListOffsetRequest`,
`handleOffsetForLeaderEpochRequest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from groupsim.cluster.acl.authorization import AuthContext, Check
from groupsim.cluster.acl.offsets import NO_TOPIC, allowed_topics
from groupsim.cluster.acl.transactions import NO_TRANSACTIONAL_ID
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import Operation, Resource
from groupsim.protocol.messages.data import (
    EpochEndOffset,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    OffsetListed,
    PartitionData,
    Produced,
    ProduceRequest,
    ProduceResponse,
    partitions_of,
)


def _produce(auth: AuthContext, request: ProduceRequest) -> None:
    if any(batch.is_transactional for _, batch in request.batches) and not _writes_as(auth, request.transactional_id):
        _refuse_produce(auth, request, NO_TRANSACTIONAL_ID)
        return
    requested = partitions_of(request)
    allowed = allowed_topics(auth, Operation.WRITE, requested)
    if all(allowed.values()):
        auth.forward(request)
        return
    batches = tuple(pair for pair in request.batches if allowed[pair[0].topic])
    unfit = tuple(one for one in request.unfit if allowed[one.partition.topic])
    if not batches and not unfit:
        _refuse_produce(auth, request, NO_TOPIC)
        return

    def complete(answer: ProduceResponse) -> ProduceResponse:
        found = {result.partition: result for result in answer.results}
        return ProduceResponse(tuple(found[tp] if allowed[tp.topic] else Produced(tp, NO_TOPIC) for tp in requested))

    auth.forward_with(evolve(request, batches=batches, unfit=unfit), complete)


def _writes_as(auth: AuthContext, transactional_id: str | None) -> bool:
    return transactional_id is not None and auth.allows(Operation.WRITE, Resource.TRANSACTIONAL_ID, transactional_id)


def _refuse_produce(auth: AuthContext, request: ProduceRequest, error: ErrorCode) -> None:
    # The producer awaits no answer, so an error closes the connection (`KafkaApis.handleProduceRequest`).
    if request.acks == 0:
        auth.call.cut("the broker closed the connection")
    else:
        auth.refuse(error)


def _fetch(auth: AuthContext, request: FetchRequest) -> None:
    allowed = allowed_topics(auth, Operation.READ, [item.partition for item in request.partitions])
    if all(allowed.values()):
        auth.forward(request)
        return
    rest = tuple(item for item in request.partitions if allowed[item.partition.topic])
    refused = tuple(
        PartitionData(item.partition, NO_TOPIC) for item in request.partitions if not allowed[item.partition.topic]
    )
    if not rest:
        auth.answer(FetchResponse(partitions=refused))
    else:
        auth.forward_with(
            evolve(request, partitions=rest),
            lambda answer: evolve(answer, partitions=(*answer.partitions, *refused)),
        )


def _list_offsets(auth: AuthContext, request: ListOffsetsRequest) -> None:
    _by_description(auth, request, lambda item: OffsetListed(item.partition, NO_TOPIC))


def _epoch_ends(auth: AuthContext, request: OffsetForLeaderEpochRequest) -> None:
    """Require CLUSTER_ACTION, as brokers have it, or DESCRIBE on the topic, as consumers have it (KIP-320)."""
    if auth.allows_cluster(Operation.CLUSTER_ACTION):
        auth.forward(request)
    else:
        _by_description(auth, request, lambda item: EpochEndOffset(item.partition, NO_TOPIC))


def _by_description(auth: AuthContext, request: Any, refused: Any) -> None:
    """Forward partitions of topics that the caller may describe; `refused` makes the answer for each of the others."""
    requested = request.partitions
    allowed = allowed_topics(auth, Operation.DESCRIBE, [one.partition for one in requested])
    if all(allowed.values()):
        auth.forward(request)
        return

    def complete(answer: Any) -> Any:
        found = iter(answer.partitions)
        parts = (next(found) if allowed[one.partition.topic] else refused(one) for one in requested)
        return evolve(answer, partitions=tuple(parts))

    rest = tuple(one for one in requested if allowed[one.partition.topic])
    auth.forward_with(evolve(request, partitions=rest), complete)


CHECKS: Mapping[type, Check] = {
    ProduceRequest: _produce,
    FetchRequest: _fetch,
    ListOffsetsRequest: _list_offsets,
    OffsetForLeaderEpochRequest: _epoch_ends,
}
"""Request class → its check."""
