"""Authorization checks for committed offsets: the group first, then each topic.

Partitions of forbidden topics get their error here; the handler gets the rest.

Source: `KafkaApis.handleOffsetCommitRequest`, `fetchOffsetsForGroup`, `fetchAllOffsetsForGroup`,
`handleOffsetDeleteRequest`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from groupsim.cluster.acl.authorization import AuthContext, Check
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


def allowed_topics(auth: AuthContext, operation: Operation, partitions: Sequence[TopicPartition]) -> dict[str, bool]:
    """Return by topic whether the caller may perform an operation on it."""
    return auth.allowed(operation, Resource.TOPIC, (partition.topic for partition in partitions))


def in_place(requested: Sequence[TopicPartition], allowed: Mapping[str, bool], results: Results) -> Results:
    """Return the results in the order of the request, with NO_TOPIC for partitions of forbidden topics."""
    known = iter(results)
    return tuple(next(known) if allowed[partition.topic] else (partition, NO_TOPIC) for partition in requested)


def commit_to_topics(auth: AuthContext, request: Any, results: str) -> None:
    """Commit the offsets of topics that the caller may read; `results` is the response's field of errors."""
    requested = [item.partition for item in request.offsets]
    allowed = allowed_topics(auth, Operation.READ, requested)
    rest = tuple(item for item in request.offsets if allowed[item.partition.topic])
    if len(rest) == len(requested):
        auth.forward(request)
    # Without a topic left `KafkaApis` does not call the coordinator, so a stale member gets no ILLEGAL_GENERATION.
    elif not rest:
        auth.refuse(NO_TOPIC)
    else:
        auth.forward_with(
            evolve(request, offsets=rest),
            lambda answer: evolve(answer, **{results: in_place(requested, allowed, getattr(answer, results))}),
        )


def _commit(auth: AuthContext, request: OffsetCommitRequest) -> None:
    if auth.allows(Operation.READ, Resource.GROUP, request.group_id):
        commit_to_topics(auth, request, "partitions")
    else:
        auth.refuse(NO_GROUP)


def _fetch(auth: AuthContext, request: OffsetFetchRequest) -> None:
    if not auth.allows(Operation.DESCRIBE, Resource.GROUP, request.group_id):
        auth.refuse(NO_GROUP)
    elif request.partitions is None:
        auth.forward_with(request, lambda answer: _described(auth, answer))
    else:
        _fetch_some(auth, request, request.partitions)


def _described(auth: AuthContext, answer: OffsetFetchResponse) -> OffsetFetchResponse:
    """Return the answer without the topics that the caller may not describe (`fetchAllOffsetsForGroup`)."""
    allowed = allowed_topics(auth, Operation.DESCRIBE, [offset.partition for offset in answer.offsets])
    return evolve(answer, offsets=tuple(offset for offset in answer.offsets if allowed[offset.partition.topic]))


def _fetch_some(auth: AuthContext, request: OffsetFetchRequest, requested: tuple[TopicPartition, ...]) -> None:
    allowed = allowed_topics(auth, Operation.DESCRIBE, requested)

    def complete(answer: OffsetFetchResponse) -> Any:
        if answer.error:
            return refusal(request, answer.error)
        found = iter(answer.offsets)
        offsets = (next(found) if allowed[tp.topic] else FetchedOffset(tp, error=NO_TOPIC) for tp in requested)
        return evolve(answer, offsets=tuple(offsets))

    rest = tuple(partition for partition in requested if allowed[partition.topic])
    auth.forward_with(evolve(request, partitions=rest), complete)


def _delete(auth: AuthContext, request: OffsetDeleteRequest) -> None:
    """Call the coordinator even without a topic left, unlike a commit: GROUP_ID_NOT_FOUND comes first."""
    if not auth.allows(Operation.DELETE, Resource.GROUP, request.group_id):
        auth.refuse(NO_GROUP)
        return
    requested = request.partitions
    allowed = allowed_topics(auth, Operation.READ, requested)

    def complete(answer: OffsetDeleteResponse) -> OffsetDeleteResponse:
        return answer if answer.error else evolve(answer, partitions=in_place(requested, allowed, answer.partitions))

    auth.forward_with(evolve(request, partitions=tuple(tp for tp in requested if allowed[tp.topic])), complete)


CHECKS: Mapping[type, Check] = {
    OffsetCommitRequest: _commit,
    OffsetFetchRequest: _fetch,
    OffsetDeleteRequest: _delete,
}
"""Request class → its check."""
