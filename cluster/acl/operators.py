"""What is asked of who moves leaders and replicas, deletes records, or looks at disks, producers and transactions.

Source: `KafkaApis` (handleDeleteRecordsRequest, handleDescribeLogDirsRequest, handleDescribeProducersRequest,
handleListTransactionsRequest, handleDescribeTransactionsRequest), `ControllerApis` (handleElectLeaders,
handleAlterPartitionReassignments, handleListPartitionReassignments), `DescribeTopicPartitionsRequestHandler`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from groupsim.cluster.acl.authorization import Check, Visit
from groupsim.cluster.acl.control import not_authorized
from groupsim.cluster.acl.offsets import NO_TOPIC
from groupsim.cluster.acl.transactions import NO_CLUSTER
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import NOT_ASKED, Operation, Resource
from groupsim.protocol.messages.group import Response
from groupsim.protocol.messages.operator import (
    NO_WATERMARK,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
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
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    ProducersOf,
    UnderWay,
)
from groupsim.protocol.messages.refusals import refusal

_FAILED = "Topic authorization failed."


Refuse = Callable[[Any], Response]


def _plainly(request: Any) -> Response:
    """The error, and nothing else."""
    answer: Response = refusal(request, NO_CLUSTER)
    return answer


def _of_cluster(operation: Operation, refused: Refuse = _plainly) -> Check:
    def check(visit: Visit, request: Any) -> None:
        if visit.may_with_cluster(operation):
            visit.go_on(request)
        else:
            visit.answer(refused(request))

    return check


def _not_elected(request: ElectLeadersRequest) -> Response:
    """What is wrong is told in words of each partition."""
    answer: ElectLeadersResponse = refusal(request, NO_CLUSTER)
    words = not_authorized(request)
    topics = ((name, tuple((number, error, words) for number, error, _ in of)) for name, of in answer.topics)
    return evolve(answer, topics=tuple(topics))


def _not_moved(request: AlterPartitionReassignmentsRequest) -> Response:
    """In words at the top and of each partition."""
    answer: AlterPartitionReassignmentsResponse = refusal(request, NO_CLUSTER)
    words = not_authorized(request)
    results = tuple((partition, error, words) for partition, error, _ in answer.results)
    return evolve(answer, message=words, results=results)


def _not_listed(request: ListPartitionReassignmentsRequest) -> Response:
    """With the partitions that were asked for, and no replicas."""
    moves = tuple(UnderWay(partition, (), (), ()) for partition in request.partitions or ())
    return ListPartitionReassignmentsResponse(NO_CLUSTER, not_authorized(request), moves)


def _delete_records(visit: Visit, request: DeleteRecordsRequest) -> None:
    mine = visit.allowed(Operation.DELETE, Resource.TOPIC, (one.topic for one, _ in request.offsets))
    refused = tuple((one, NO_TOPIC, NO_WATERMARK) for one, _ in request.offsets if not mine[one.topic])
    rest = tuple((one, offset) for one, offset in request.offsets if mine[one.topic])
    visit.go_on_with(evolve(request, offsets=rest), lambda answer: DeleteRecordsResponse((*answer.results, *refused)))


def _describe_topics(visit: Visit, request: DescribeTopicPartitionsRequest) -> None:
    """A topic that may not be described is left out of a list of all, and else refused whether it is there or not.

    What lies before the cursor is not spoken of, and a cursor that cannot be is refused before anybody is asked.
    """
    cursor = request.cursor
    first = "" if cursor is None else cursor[0]
    names = tuple(name for name in request.topics or visit.image.topics if name >= first)
    if cursor is not None and (cursor[1] < 0 or (request.topics and first not in names)):
        visit.go_on(request)
        return
    mine = visit.allowed(Operation.DESCRIBE, Resource.TOPIC, names)
    seen = tuple(name for name in names if mine[name])
    hidden = () if not request.topics else (name for name in mine if not mine[name])
    refused = tuple(DescribedTopic(name, NO_TOPIC, operations=NOT_ASKED) for name in hidden)
    if not seen:
        visit.answer(DescribeTopicPartitionsResponse(refused))
        return

    def told(answer: DescribeTopicPartitionsResponse) -> DescribeTopicPartitionsResponse:
        topics = (evolve(one, operations=visit.operations(Resource.TOPIC, one.name)) for one in answer.topics)
        return evolve(answer, topics=(*topics, *refused))

    rest = evolve(request, topics=seen, cursor=cursor if first in seen else None)
    visit.go_on_with(rest, told)


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
    ElectLeadersRequest: _of_cluster(Operation.ALTER, _not_elected),
    AlterPartitionReassignmentsRequest: _of_cluster(Operation.ALTER, _not_moved),
    ListPartitionReassignmentsRequest: _of_cluster(Operation.DESCRIBE, _not_listed),
    DescribeTopicPartitionsRequest: _describe_topics,
    DeleteRecordsRequest: _delete_records,
    DescribeLogDirsRequest: _of_cluster(Operation.DESCRIBE),
    DescribeProducersRequest: _describe_producers,
    ListTransactionsRequest: _list_transactions,
    DescribeTransactionsRequest: _describe_transactions,
}
"""Request class → its check."""
