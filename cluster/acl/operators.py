"""What is asked of who moves leaders and replicas, deletes records, or looks at disks, producers and transactions.

Source: `KafkaApis` (handleDeleteRecordsRequest, handleDescribeLogDirsRequest, handleDescribeProducersRequest,
handleListTransactionsRequest, handleDescribeTransactionsRequest), `ControllerApis` (handleElectLeaders,
handleAlterPartitionReassignments, handleListPartitionReassignments), `DescribeTopicPartitionsRequestHandler`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from groupsim.cluster.acl.gate import Check, Visit
from groupsim.cluster.acl.offsets import NO_TOPIC
from groupsim.cluster.acl.transactions import NO_CLUSTER
from groupsim.protocol.acl_messages import Operation, Resource
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.operator_messages import (
    NO_WATERMARK,
    AlterPartitionReassignmentsRequest,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DescribedTopic,
    DescribedTransaction,
    DescribeLogDirsRequest,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    ListTransactionsRequest,
    ListTransactionsResponse,
    ProducersOf,
)

_FAILED = "Topic authorization failed."


def _of_cluster(operation: Operation) -> Check:
    def check(visit: Visit, request: Any) -> None:
        if visit.may_with_cluster(operation):
            visit.go_on(request)
        else:
            visit.refuse(NO_CLUSTER)

    return check


def _delete_records(visit: Visit, request: DeleteRecordsRequest) -> None:
    mine = visit.allowed(Operation.DELETE, Resource.TOPIC, (one.topic for one, _ in request.offsets))
    refused = tuple((one, NO_TOPIC, NO_WATERMARK) for one, _ in request.offsets if not mine[one.topic])
    rest = tuple((one, offset) for one, offset in request.offsets if mine[one.topic])
    visit.go_on_with(evolve(request, offsets=rest), lambda answer: DeleteRecordsResponse((*answer.results, *refused)))


def _describe_topics(visit: Visit, request: DescribeTopicPartitionsRequest) -> None:
    """A topic that may not be described is left out of a list of all, and else refused whether it is there or not."""
    names = request.topics or tuple(visit.image.topics)
    mine = visit.allowed(Operation.DESCRIBE, Resource.TOPIC, names)
    seen = tuple(name for name in names if mine[name])
    refused = tuple(DescribedTopic(name, NO_TOPIC, operations=0) for name in request.topics if not mine[name])
    if not seen:
        visit.answer(DescribeTopicPartitionsResponse(refused))
        return

    def told(answer: DescribeTopicPartitionsResponse) -> DescribeTopicPartitionsResponse:
        topics = (evolve(one, operations=visit.operations(Resource.TOPIC, one.name)) for one in answer.topics)
        return evolve(answer, topics=(*topics, *refused))

    visit.go_on_with(evolve(request, topics=seen), told)


def _describe_producers(visit: Visit, request: DescribeProducersRequest) -> None:
    mine = visit.allowed(Operation.READ, Resource.TOPIC, (one.topic for one in request.partitions))
    refused = {one: ProducersOf(one, NO_TOPIC, _FAILED) for one in request.partitions if not mine[one.topic]}

    def told(answer: DescribeProducersResponse) -> DescribeProducersResponse:
        found = {one.partition: one for one in answer.results} | refused
        return DescribeProducersResponse(tuple(found[one] for one in request.partitions))

    rest = tuple(one for one in request.partitions if one not in refused)
    visit.go_on_with(evolve(request, partitions=rest), told)


def _list_transactions(visit: Visit, request: ListTransactionsRequest) -> None:
    def told(answer: ListTransactionsResponse) -> ListTransactionsResponse:
        mine = visit.allowed(
            Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, (name for name, _, _ in answer.transactions)
        )
        return evolve(answer, transactions=tuple(one for one in answer.transactions if mine[one[0]]))

    visit.go_on_with(request, told)


def _describe_transactions(visit: Visit, request: DescribeTransactionsRequest) -> None:
    names = request.transactional_ids
    mine = visit.allowed(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, names)

    def told(answer: DescribeTransactionsResponse) -> DescribeTransactionsResponse:
        found = {one.transactional_id: _seen(visit, one) for one in answer.transactions}
        error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return DescribeTransactionsResponse(
            tuple(found.get(name) or DescribedTransaction(name, error) for name in names)
        )

    visit.go_on_with(evolve(request, transactional_ids=tuple(name for name in names if mine[name])), told)


def _seen(visit: Visit, one: DescribedTransaction) -> DescribedTransaction:
    """Without the topics that may not be described."""
    mine = visit.allowed(Operation.DESCRIBE, Resource.TOPIC, (partition.topic for partition in one.partitions))
    return evolve(one, partitions=tuple(partition for partition in one.partitions if mine[partition.topic]))


CHECKS: Mapping[type, Check] = {
    ElectLeadersRequest: _of_cluster(Operation.ALTER),
    AlterPartitionReassignmentsRequest: _of_cluster(Operation.ALTER),
    ListPartitionReassignmentsRequest: _of_cluster(Operation.DESCRIBE),
    DescribeTopicPartitionsRequest: _describe_topics,
    DeleteRecordsRequest: _delete_records,
    DescribeLogDirsRequest: _of_cluster(Operation.DESCRIBE),
    DescribeProducersRequest: _describe_producers,
    ListTransactionsRequest: _list_transactions,
    DescribeTransactionsRequest: _describe_transactions,
}
"""Request class → its check."""
