"""What is asked of who writes records, reads them, or asks where logs end: each topic for itself.

A Produce with acks=0 of which a part is refused ends the connection, after the rest is appended: there is no other way
to tell of it.

Source: `KafkaApis.handleProduceRequest`, `handleFetchRequest`, `handleListOffsetRequest`,
`handleOffsetForLeaderEpochRequest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from groupsim.cluster.acl.authorization import Check, Visit
from groupsim.cluster.acl.offsets import NO_TOPIC, may_with_topics
from groupsim.cluster.acl.transactions import NO_ID
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


def _produce(visit: Visit, request: ProduceRequest) -> None:
    if any(batch.is_transactional for _, batch in request.batches) and not _writes_as(visit, request.transactional_id):
        _refuse_produce(visit, request, NO_ID)
        return
    asked = partitions_of(request)
    mine = may_with_topics(visit, Operation.WRITE, asked)
    if all(mine.values()):
        visit.go_on(request)
        return
    batches = tuple(pair for pair in request.batches if mine[pair[0].topic])
    unfit = tuple(one for one in request.unfit if mine[one.partition.topic])
    if not batches and not unfit:
        _refuse_produce(visit, request, NO_TOPIC)
        return

    def told(answer: ProduceResponse) -> ProduceResponse:
        found = {result.partition: result for result in answer.results}
        return ProduceResponse(tuple(found[tp] if mine[tp.topic] else Produced(tp, NO_TOPIC) for tp in asked))

    visit.go_on_with(evolve(request, batches=batches, unfit=unfit), told)


def _writes_as(visit: Visit, transactional_id: str | None) -> bool:
    return transactional_id is not None and visit.may(Operation.WRITE, Resource.TRANSACTIONAL_ID, transactional_id)


def _refuse_produce(visit: Visit, request: ProduceRequest, error: ErrorCode) -> None:
    if request.acks == 0:
        visit.call.cut("the broker closed the connection")
    else:
        visit.refuse(error)


def _fetch(visit: Visit, request: FetchRequest) -> None:
    mine = may_with_topics(visit, Operation.READ, [asked.partition for asked in request.partitions])
    if all(mine.values()):
        visit.go_on(request)
        return
    rest = tuple(asked for asked in request.partitions if mine[asked.partition.topic])
    refused = tuple(
        PartitionData(asked.partition, NO_TOPIC) for asked in request.partitions if not mine[asked.partition.topic]
    )
    if not rest:
        visit.answer(FetchResponse(partitions=refused))
    else:
        visit.go_on_with(
            evolve(request, partitions=rest),
            lambda answer: evolve(answer, partitions=(*answer.partitions, *refused)),
        )


def _list_offsets(visit: Visit, request: ListOffsetsRequest) -> None:
    _by_description(visit, request, lambda asked: OffsetListed(asked.partition, NO_TOPIC))


def _epoch_ends(visit: Visit, request: OffsetForLeaderEpochRequest) -> None:
    """Once for brokers alone, which may do more with the cluster; consumers describe the topic (KIP-320)."""
    if visit.may_with_cluster(Operation.CLUSTER_ACTION):
        visit.go_on(request)
    else:
        _by_description(visit, request, lambda asked: EpochEndOffset(asked.partition, NO_TOPIC))


def _by_description(visit: Visit, request: Any, refused: Any) -> None:
    """Partitions of topics that may be described are asked for, the others answered by `refused`."""
    asked = request.partitions
    mine = may_with_topics(visit, Operation.DESCRIBE, [one.partition for one in asked])
    if all(mine.values()):
        visit.go_on(request)
        return

    def told(answer: Any) -> Any:
        found = iter(answer.partitions)
        parts = (next(found) if mine[one.partition.topic] else refused(one) for one in asked)
        return evolve(answer, partitions=tuple(parts))

    rest = tuple(one for one in asked if mine[one.partition.topic])
    visit.go_on_with(evolve(request, partitions=rest), told)


CHECKS: Mapping[type, Check] = {
    ProduceRequest: _produce,
    FetchRequest: _fetch,
    ListOffsetsRequest: _list_offsets,
    OffsetForLeaderEpochRequest: _epoch_ends,
}
"""Request class → its check."""
