"""Requests that are answered from several places: one answer made of parts.

The broker's API layer answers for topics it does not know and hands only the rest to the coordinator; DeleteGroups
names groups of several partitions. Each part gets a token of its own here, and the last one to answer completes the
whole. Source: `KafkaApis`, `GroupCoordinatorService.deleteGroups`; classic-protocol reference, 1.2, 1.7 and 1.11.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, evolve, field

from groupsim.coordinator.interfaces import Call
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    Response,
    TopicPartition,
)


@define(eq=False)
class WithUnknownTopics:
    """An OffsetCommit or OffsetDelete of which some partitions were refused beforehand; `request` holds the others."""

    call: Call
    request: OffsetCommitRequest | OffsetDeleteRequest
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
        """The coordinator's part: put the refused partitions back where the request had them."""
        assert isinstance(response, OffsetCommitResponse | OffsetDeleteResponse)
        if isinstance(response, OffsetDeleteResponse) and response.error:
            self.call.answer(response)
            return
        results = {**dict(response.partitions), **self.refused}
        self.call.answer(evolve(response, partitions=tuple((tp, results[tp]) for tp in self.asked)))


@define(eq=False)
class GroupsGathered:
    """The answers to one DeleteGroups, one part per partition of `__consumer_offsets`."""

    call: Call
    asked: tuple[str, ...]
    parts: int
    results: dict[str, ErrorCode] = field(factory=dict)

    def add(self, part: DeleteGroupsResponse) -> None:
        """One part; the last completes the answer, in the order of the request."""
        self.results.update(part.results)
        self.parts -= 1
        if self.parts == 0:
            self.call.answer(DeleteGroupsResponse(tuple((group, self.results[group]) for group in self.asked)))


@define(eq=False)
class GroupsPart:
    """The part of a DeleteGroups that goes to one partition."""

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
