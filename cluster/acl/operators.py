"""Authorization checks for elections, reassignments, DeleteRecords, log directories, producers and transactions.

Source: `KafkaApis` (handleDeleteRecordsRequest, handleDescribeLogDirsRequest, handleDescribeProducersRequest,
handleListTransactionsRequest, handleDescribeTransactionsRequest), `ControllerApis` (handleElectLeaders,
handleAlterPartitionReassignments, handleListPartitionReassignments), `DescribeTopicPartitionsRequestHandler`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from groupsim.cluster.acl.authorization import AuthContext, Check, of_cluster
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


def _not_elected(request: ElectLeadersRequest) -> Response:
    """Return the error with a message for each partition."""
    answer: ElectLeadersResponse = refusal(request, NO_CLUSTER)
    message = not_authorized(request)
    topics = ((name, tuple((number, error, message) for number, error, _ in of)) for name, of in answer.topics)
    return evolve(answer, topics=tuple(topics))


def _not_moved(request: AlterPartitionReassignmentsRequest) -> Response:
    """Return the error with a message at the top level and for each partition."""
    answer: AlterPartitionReassignmentsResponse = refusal(request, NO_CLUSTER)
    message = not_authorized(request)
    results = tuple((partition, error, message) for partition, error, _ in answer.results)
    return evolve(answer, message=message, results=results)


def _not_listed(request: ListPartitionReassignmentsRequest) -> Response:
    """Return the error with the requested partitions, without replicas."""
    moves = tuple(UnderWay(partition, (), (), ()) for partition in request.partitions or ())
    return ListPartitionReassignmentsResponse(NO_CLUSTER, not_authorized(request), moves)


def _delete_records(auth: AuthContext, request: DeleteRecordsRequest) -> None:
    allowed = auth.allowed(Operation.DELETE, Resource.TOPIC, (one.topic for one, _ in request.offsets))
    refused = tuple((one, NO_TOPIC, NO_WATERMARK) for one, _ in request.offsets if not allowed[one.topic])
    rest = tuple((one, offset) for one, offset in request.offsets if allowed[one.topic])
    auth.forward_with(evolve(request, offsets=rest), lambda answer: DeleteRecordsResponse((*answer.results, *refused)))


def _describe_topics(auth: AuthContext, request: DescribeTopicPartitionsRequest) -> None:
    """Leave forbidden topics out of a list of all topics; refuse them by name, whether they exist or not.

    Topics before the cursor are not in the answer. An invalid cursor is refused before authorization.
    """
    cursor = request.cursor
    first = "" if cursor is None else cursor[0]
    names = tuple(name for name in request.topics or auth.image.topics if name >= first)
    if cursor is not None and (cursor[1] < 0 or (request.topics and first not in names)):
        auth.forward(request)
        return
    allowed = auth.allowed(Operation.DESCRIBE, Resource.TOPIC, names)
    described = tuple(name for name in names if allowed[name])
    hidden = () if not request.topics else (name for name in allowed if not allowed[name])
    refused = tuple(DescribedTopic(name, NO_TOPIC, operations=NOT_ASKED) for name in hidden)
    if not described:
        auth.answer(DescribeTopicPartitionsResponse(refused))
        return

    def complete(answer: DescribeTopicPartitionsResponse) -> DescribeTopicPartitionsResponse:
        topics = (evolve(one, operations=auth.operations(Resource.TOPIC, one.name)) for one in answer.topics)
        return evolve(answer, topics=(*topics, *refused))

    rest = evolve(request, topics=described, cursor=cursor if first in described else None)
    auth.forward_with(rest, complete)


def _describe_producers(auth: AuthContext, request: DescribeProducersRequest) -> None:
    allowed = auth.allowed(Operation.READ, Resource.TOPIC, (one.topic for one in request.partitions))
    refused = {one: ProducersOf(one, NO_TOPIC, _FAILED) for one in request.partitions if not allowed[one.topic]}

    def complete(answer: DescribeProducersResponse) -> DescribeProducersResponse:
        found = {one.partition: one for one in answer.results} | refused
        return DescribeProducersResponse(tuple(found[one] for one in request.partitions))

    rest = tuple(one for one in request.partitions if one not in refused)
    auth.forward_with(evolve(request, partitions=rest), complete)


def _list_transactions(auth: AuthContext, request: ListTransactionsRequest) -> None:
    def complete(answer: ListTransactionsResponse) -> ListTransactionsResponse:
        allowed = auth.allowed(
            Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, (name for name, _, _ in answer.transactions)
        )
        return evolve(answer, transactions=tuple(one for one in answer.transactions if allowed[one[0]]))

    auth.forward_with(request, complete)


def _describe_transactions(auth: AuthContext, request: DescribeTransactionsRequest) -> None:
    names = request.transactional_ids
    allowed = auth.allowed(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, names)

    def complete(answer: DescribeTransactionsResponse) -> DescribeTransactionsResponse:
        found = {one.transactional_id: _without_hidden(auth, one) for one in answer.transactions}
        error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return DescribeTransactionsResponse(
            tuple(found.get(name) or DescribedTransaction(name, error) for name in names)
        )

    auth.forward_with(evolve(request, transactional_ids=tuple(name for name in names if allowed[name])), complete)


def _without_hidden(auth: AuthContext, one: DescribedTransaction) -> DescribedTransaction:
    """Return the transaction without the partitions of topics that the caller may not describe."""
    allowed = auth.allowed(Operation.DESCRIBE, Resource.TOPIC, (partition.topic for partition in one.partitions))
    return evolve(one, partitions=tuple(partition for partition in one.partitions if allowed[partition.topic]))


CHECKS: Mapping[type, Check] = {
    ElectLeadersRequest: of_cluster(Operation.ALTER, _not_elected),
    AlterPartitionReassignmentsRequest: of_cluster(Operation.ALTER, _not_moved),
    ListPartitionReassignmentsRequest: of_cluster(Operation.DESCRIBE, _not_listed),
    DescribeTopicPartitionsRequest: _describe_topics,
    DeleteRecordsRequest: _delete_records,
    DescribeLogDirsRequest: of_cluster(Operation.DESCRIBE),
    DescribeProducersRequest: _describe_producers,
    ListTransactionsRequest: _list_transactions,
    DescribeTransactionsRequest: _describe_transactions,
}
"""Request class → its check."""
