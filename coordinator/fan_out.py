"""Requests with an answer joined from several parts.

The broker's API layer answers for unknown topics and hands only the rest to the coordinator. DeleteGroups names groups
of several partitions. Each part gets a call token of its own, and the last part to be answered completes the answer.
Source: `KafkaApis`, `GroupCoordinatorService.deleteGroups`; classic-protocol reference, 1.2, 1.7 and 1.11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, field

from groupsim.coordinator.base.interfaces import Call
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    Response,
    TopicPartition,
)
from groupsim.protocol.messages.transactions import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from groupsim.protocol.values import define

_NOT_READY = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


@define(eq=False)
class WithUnknownTopics:
    """An OffsetCommit, TxnOffsetCommit or OffsetDelete of which the API layer refused some partitions.

    `request` holds the other partitions.
    """

    call: Call
    request: OffsetCommitRequest | OffsetDeleteRequest | TxnOffsetCommitRequest
    asked: tuple[TopicPartition, ...]
    refused: Mapping[TopicPartition, ErrorCode]

    @property
    def client_id(self) -> str:
        return self.call.client_id

    @property
    def client_host(self) -> str:
        return self.call.client_host

    @property
    def correlation(self) -> int:
        return self.call.correlation

    def answer(self, response: Response) -> None:
        """Complete the coordinator's answer: insert the refused partitions at their positions in the request."""
        if isinstance(response, OffsetDeleteResponse) and response.error:
            self.call.answer(response)
        elif isinstance(response, TxnOffsetCommitResponse):
            self.call.answer(TxnOffsetCommitResponse(self._in_place(response.results)))
        else:
            assert isinstance(response, OffsetCommitResponse | OffsetDeleteResponse)
            self.call.answer(evolve(response, partitions=self._in_place(response.partitions)))

    def _in_place(
        self, known: Sequence[tuple[TopicPartition, ErrorCode]]
    ) -> tuple[tuple[TopicPartition, ErrorCode], ...]:
        """Return one result for each requested partition; a partition that the request names twice has two."""
        rest = iter(known)
        return tuple((tp, self.refused[tp]) if tp in self.refused else next(rest) for tp in self.asked)


@define(eq=False)
class GroupsGathered:
    """The answer to one DeleteGroups, collected from one part per partition of `__consumer_offsets`."""

    call: Call
    asked: tuple[str, ...]
    parts: int
    results: dict[str, ErrorCode] = field(factory=dict)

    def add(self, part: DeleteGroupsResponse) -> None:
        """Add one part; the last one completes the answer, in the order of the request."""
        self.results.update(part.results)
        self.parts -= 1
        if self.parts == 0:
            self.call.answer(DeleteGroupsResponse(tuple((group, self.results[group]) for group in self.asked)))


@define(eq=False)
class GroupsPart:
    """The part of a DeleteGroups for one partition."""

    whole: GroupsGathered
    request: DeleteGroupsRequest

    @property
    def client_id(self) -> str:
        return self.whole.call.client_id

    @property
    def client_host(self) -> str:
        return self.whole.call.client_host

    @property
    def correlation(self) -> int:
        return self.whole.call.correlation

    def answer(self, response: Response) -> None:
        assert isinstance(response, DeleteGroupsResponse)
        self.whole.add(response)


@define(eq=False)
class MarkerCall:
    """The part of a WriteTxnMarkers for one partition of `__consumer_offsets`; `done` gets its error."""

    request: WriteTxnMarkersRequest
    done: Callable[[ErrorCode], None]
    client_id: str = ""
    client_host: str = ""
    correlation: int = 0

    def answer(self, response: Response) -> None:
        """Take the coordinator's answer, which holds one marker and one partition."""
        assert isinstance(response, WriteTxnMarkersResponse)
        self.end(response.markers[0][1][0][1])

    def end(self, error: ErrorCode) -> None:
        """Report the result as a log does: a coordinator that is not ready becomes NOT_LEADER_OR_FOLLOWER."""
        self.done(ErrorCode.NOT_LEADER_OR_FOLLOWER if error in _NOT_READY else error)
