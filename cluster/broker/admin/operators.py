"""A broker's handlers for operators: answered by the broker, or forwarded to the controller.

    DescribeTopicPartitions                            ──▶ this broker's image, in pages
    DeleteRecords, DescribeLogDirs, DescribeProducers  ──▶ its replicas
    ListTransactions, DescribeTransactions             ──▶ its coordinator of transactions
    ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments  ──▶ the controller

Sources: `KafkaApis` (handleDeleteRecordsRequest, handleDescribeLogDirsRequest, handleDescribeProducersRequest,
handleListTransactionsRequest, handleDescribeTransactionsRequest), `DescribeTopicPartitionsRequestHandler`,
`KRaftMetadataCache.describeTopicResponse`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from groupsim.cluster.acl.operations import TOPIC_OPERATIONS
from groupsim.cluster.controller.topic_changes import illegal_name
from groupsim.coordinator.base.interfaces import Call
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import NO_LEADER, ClusterImage, PartitionState, TopicState
from groupsim.protocol.messages.operator import (
    AlterPartitionReassignmentsRequest,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DescribedPartition,
    DescribedTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
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
    LogDir,
    ProducersOf,
)
from groupsim.protocol.messages.refusals import refusal

_MAX_PARTITIONS: Final = 2_000
"""`max.request.partition.size.limit`"""
_MESSAGES: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
}


class OperatorReplicas(Protocol):
    """The part of the broker's replicas that these handlers use."""

    def delete_records(
        self, request: DeleteRecordsRequest, answer: Callable[[DeleteRecordsResponse], None]
    ) -> None: ...
    def log_sizes(self) -> dict[TopicPartition, tuple[int, int]]: ...
    def producers_of(self, partition: TopicPartition) -> ProducersOf: ...


class Coordinator(Protocol):
    """The part of the broker's transaction coordinator that these handlers use."""

    def list_transactions(self, request: ListTransactionsRequest) -> ListTransactionsResponse: ...
    def describe_transactions(self, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse: ...


class OperatorRequests:
    """Handlers of operators' requests in one life of a broker, by request type (`handlers`).

    `disk` returns path, total and usable bytes of the log directory.
    """

    def __init__(
        self,
        image: Callable[[], ClusterImage],
        replicas: OperatorReplicas,
        coordinator: Coordinator,
        disk: Callable[[], tuple[str, int, int]],
        pass_on: Callable[[Call, Any, int], None],
    ) -> None:
        self._image = image
        self._replicas = replicas
        self._disk = disk
        self._pass_on = pass_on
        self.handlers: dict[type, Callable[[Any, Any], None]] = {
            ElectLeadersRequest: self._to_controller,
            AlterPartitionReassignmentsRequest: self._to_controller,
            ListPartitionReassignmentsRequest: self._to_controller,
            DescribeTopicPartitionsRequest: self._describe_topics,
            DeleteRecordsRequest: self._delete_records,
            DescribeLogDirsRequest: lambda call, request: call.answer(self._dirs(request)),
            DescribeProducersRequest: lambda call, request: call.answer(self._producers(request)),
            ListTransactionsRequest: lambda call, request: call.answer(coordinator.list_transactions(request)),
            DescribeTransactionsRequest: lambda call, request: call.answer(coordinator.describe_transactions(request)),
        }

    def _to_controller(self, call: Call, request: Any) -> None:
        self._pass_on(call, request, request.timeout_ms * 1_000)

    # --- pages of topics -------------------------------------------------------------------------------------

    def _describe_topics(self, call: Call, request: DescribeTopicPartitionsRequest) -> None:
        cursor, topics = request.cursor, self._image().topics
        first = "" if cursor is None else cursor[0]
        names = sorted(name for name in {*(request.topics or topics)} if name >= first)
        outside = cursor is not None and request.topics and first not in names
        if outside or (cursor is not None and cursor[1] < 0):
            call.answer(refusal(request, ErrorCode.INVALID_REQUEST))
            return
        call.answer(self._pages(request, names))

    def _pages(self, request: DescribeTopicPartitionsRequest, names: list[str]) -> DescribeTopicPartitionsResponse:
        image = self._image()
        topics_of_page: list[DescribedTopic] = []
        # At least one partition, whatever the limit (`DescribeTopicPartitionsRequestHandler`).
        left = max(min(_MAX_PARTITIONS, request.limit), 1)
        for name in names:
            if not left:
                return DescribeTopicPartitionsResponse(tuple(topics_of_page), (name, 0))
            topic = image.topics.get(name)
            if topic is None:
                topics_of_page.append(_unknown(name))
                continue
            begin = request.cursor[1] if request.cursor is not None and request.cursor[0] == name else 0
            end = min(begin + left, len(topic.partitions))
            topics_of_page.append(_described(topic, begin, end, image))
            left -= max(end - begin, 0)
            if end < len(topic.partitions):
                return DescribeTopicPartitionsResponse(tuple(topics_of_page), (name, end))
        return DescribeTopicPartitionsResponse(tuple(topics_of_page))

    # --- logs ------------------------------------------------------------------------------------------------

    def _delete_records(self, call: Call, request: DeleteRecordsRequest) -> None:
        client_gone: list[bool] = []
        call.give_up = lambda: client_gone.append(True)  # type: ignore[attr-defined]

        def answer(response: DeleteRecordsResponse) -> None:
            if not client_gone:
                call.answer(response)

        self._replicas.delete_records(request, answer)

    def _dirs(self, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        sizes = self._replicas.log_sizes()
        wanted = sorted(sizes if request.partitions is None else {*request.partitions} & sizes.keys())
        path, total, usable = self._disk()
        return DescribeLogDirsResponse(dirs=(LogDir(path, tuple((one, *sizes[one]) for one in wanted), total, usable),))

    def _producers(self, request: DescribeProducersRequest) -> DescribeProducersResponse:
        return DescribeProducersResponse(tuple(self._producers_of(partition) for partition in request.partitions))

    def _producers_of(self, partition: TopicPartition) -> ProducersOf:
        illegal = illegal_name(partition.topic)
        if illegal is not None:
            return ProducersOf(partition, ErrorCode.INVALID_TOPIC_EXCEPTION, illegal)
        if partition.topic not in self._image().topics:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return ProducersOf(partition, error, _MESSAGES[error])
        return self._replicas.producers_of(partition)


def _unknown(name: str) -> DescribedTopic:
    illegal = illegal_name(name) is not None
    error = ErrorCode.INVALID_TOPIC_EXCEPTION if illegal else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribedTopic(name, error, operations=TOPIC_OPERATIONS)


def _described(topic: TopicState, begin: int, end: int, image: ClusterImage) -> DescribedTopic:
    partitions = tuple(_partition(number, topic.partitions[number], image) for number in range(begin, end))
    return DescribedTopic(topic.name, internal=topic.internal, partitions=partitions, operations=TOPIC_OPERATIONS)


def _partition(number: int, state: PartitionState, image: ClusterImage) -> DescribedPartition:
    return DescribedPartition(
        number,
        state.leader if image.is_up(state.leader) else NO_LEADER,
        state.leader_epoch,
        state.replicas,
        state.isr,
        state.elr,
        state.last_known_elr,
        tuple(node for node in state.replicas if not image.is_up(node)),
    )
