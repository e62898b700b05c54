"""What is asked of who commits, fetches and deletes offsets: the group first, then each topic.

Topics that may not be read are answered for here, the rest is carried out; where nothing is left of a commit nobody is
asked, so that a stale member goes unnoticed.

Source: `KafkaApis.handleOffsetCommitRequest`, `fetchOffsetsForGroup`, `fetchAllOffsetsForGroup`,
`handleOffsetDeleteRequest`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from groupsim.cluster.acl.authorization import Check, Visit
from groupsim.cluster.acl.groups import NO_GROUP
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import Operation, Resource
from groupsim.protocol.messages.group import (
    FetchedOffset,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from groupsim.protocol.messages.refusals import refusal

NO_TOPIC: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
Results = tuple[tuple[TopicPartition, ErrorCode], ...]


def may_with_topics(visit: Visit, operation: Operation, partitions: Sequence[TopicPartition]) -> dict[str, bool]:
    """By topic, whether who asks may do this with it."""
    return visit.allowed(operation, Resource.TOPIC, (partition.topic for partition in partitions))


def in_place(asked: Sequence[TopicPartition], mine: Mapping[str, bool], results: Results) -> Results:
    """A result for each partition asked for: the one there is, or that its topic is not for who asks."""
    known = iter(results)
    return tuple(next(known) if mine[partition.topic] else (partition, NO_TOPIC) for partition in asked)


def commit_to_topics(visit: Visit, request: Any, results: str) -> None:
    """Commit what is for topics that who asks may read; `results` is the field of the response with the errors."""
    asked = [item.partition for item in request.offsets]
    mine = may_with_topics(visit, Operation.READ, asked)
    rest = tuple(item for item in request.offsets if mine[item.partition.topic])
    if len(rest) == len(asked):
        visit.go_on(request)
    elif not rest:
        visit.refuse(NO_TOPIC)
    else:
        visit.go_on_with(
            evolve(request, offsets=rest),
            lambda answer: evolve(answer, **{results: in_place(asked, mine, getattr(answer, results))}),
        )


def _commit(visit: Visit, request: OffsetCommitRequest) -> None:
    if visit.may(Operation.READ, Resource.GROUP, request.group_id):
        commit_to_topics(visit, request, "partitions")
    else:
        visit.refuse(NO_GROUP)


def _fetch(visit: Visit, request: OffsetFetchRequest) -> None:
    if not visit.may(Operation.DESCRIBE, Resource.GROUP, request.group_id):
        visit.refuse(NO_GROUP)
    elif request.partitions is None:
        visit.go_on_with(request, lambda answer: _seen(visit, answer))
    else:
        _fetch_some(visit, request, request.partitions)


def _seen(visit: Visit, answer: OffsetFetchResponse) -> OffsetFetchResponse:
    """Of all offsets those whose topics may be described."""
    mine = may_with_topics(visit, Operation.DESCRIBE, [offset.partition for offset in answer.offsets])
    return evolve(answer, offsets=tuple(offset for offset in answer.offsets if mine[offset.partition.topic]))


def _fetch_some(visit: Visit, request: OffsetFetchRequest, asked: tuple[TopicPartition, ...]) -> None:
    mine = may_with_topics(visit, Operation.DESCRIBE, asked)

    def told(answer: OffsetFetchResponse) -> Any:
        if answer.error:
            return refusal(request, answer.error)
        found = iter(answer.offsets)
        offsets = (next(found) if mine[tp.topic] else FetchedOffset(tp, error=NO_TOPIC) for tp in asked)
        return evolve(answer, offsets=tuple(offsets))

    rest = tuple(partition for partition in asked if mine[partition.topic])
    visit.go_on_with(evolve(request, partitions=rest), told)


def _delete(visit: Visit, request: OffsetDeleteRequest) -> None:
    """Unlike a commit it is carried out though nothing is left: that there is no such group comes first."""
    if not visit.may(Operation.DELETE, Resource.GROUP, request.group_id):
        visit.refuse(NO_GROUP)
        return
    asked = request.partitions
    mine = may_with_topics(visit, Operation.READ, asked)

    def told(answer: OffsetDeleteResponse) -> OffsetDeleteResponse:
        return answer if answer.error else evolve(answer, partitions=in_place(asked, mine, answer.partitions))

    visit.go_on_with(evolve(request, partitions=tuple(tp for tp in asked if mine[tp.topic])), told)


CHECKS: Mapping[type, Check] = {
    OffsetCommitRequest: _commit,
    OffsetFetchRequest: _fetch,
    OffsetDeleteRequest: _delete,
}
"""Request class → its check."""
