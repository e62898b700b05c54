"""What is asked of who looks at topics, makes them, lets them grow or deletes them.

A topic that may not be described is hidden: left out of a list of all, and else refused whether it is there or not.
What only the controller of Kafka asks (it has an authorizer of its own) the broker asks here, with the ACLs it knows.

Source: `KafkaApis.handleTopicMetadataRequest`, `ControllerApis.createTopics`, `deleteTopics`, `createPartitions`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve

from groupsim.cluster.acl.authorization import Check, Visit
from groupsim.cluster.acl.offsets import NO_TOPIC
from groupsim.protocol.messages.acl import NOT_ASKED, Operation, Resource
from groupsim.protocol.messages.admin import (
    CreatedTopic,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from groupsim.protocol.messages.group import MetadataRequest, MetadataResponse, TopicInfo

_METADATA_LOG: Final = "__cluster_metadata"
_FAILED: Final = "Authorization failed."
_TOPIC_FAILED: Final = "Topic authorization failed."


class Metadata:
    """The check of Metadata; `creates` says whether this broker makes what it is asked for."""

    def __init__(self, creates: bool) -> None:
        self._creates = creates

    def check(self, visit: Visit, request: MetadataRequest) -> None:
        """Tell of topics that may be described, and let those be made that may be."""
        if request.topics is None:
            visit.go_on_with(request, lambda answer: _seen(visit, answer, request))
            return
        mine = visit.allowed(Operation.DESCRIBE, Resource.TOPIC, request.topics)
        if request.auto_create and self._creates:
            mine = _made(visit, mine)
        hidden = tuple(TopicInfo(name, NO_TOPIC) for name in mine if not mine[name])

        def told(answer: MetadataResponse) -> MetadataResponse:
            answer = with_operations(visit, answer, request)
            return evolve(answer, topics=tuple(sorted((*answer.topics, *hidden), key=lambda topic: topic.name)))

        visit.go_on_with(evolve(request, topics=tuple(name for name in mine if mine[name])), told)


def _made(visit: Visit, mine: Mapping[str, bool]) -> dict[str, bool]:
    """Of topics that are not there, and would be made, those that may be."""
    if visit.may_with_cluster(Operation.CREATE):
        return dict(mine)
    there = visit.image.topics
    return {
        name: seen and (name in there or visit.may(Operation.CREATE, Resource.TOPIC, name))
        for name, seen in mine.items()
    }


def _seen(visit: Visit, answer: MetadataResponse, request: MetadataRequest) -> MetadataResponse:
    """Of all topics those that may be described."""
    mine = visit.allowed(Operation.DESCRIBE, Resource.TOPIC, (topic.name for topic in answer.topics))
    answer = evolve(answer, topics=tuple(topic for topic in answer.topics if mine[topic.name]))
    return with_operations(visit, answer, request)


def with_operations(visit: Visit, answer: MetadataResponse, request: MetadataRequest) -> MetadataResponse:
    """What may be done with the topics and the cluster, if it was asked for."""
    if request.include_topic_operations:
        told = (evolve(topic, operations=visit.operations(Resource.TOPIC, topic.name)) for topic in answer.topics)
        answer = evolve(answer, topics=tuple(told))
    cluster = visit.cluster_operations() if request.include_cluster_operations else NOT_ASKED
    return evolve(answer, operations=cluster)


def _once(names: Iterable[str]) -> list[str]:
    """The names that are said once: what is said of one twice comes before what may be done with it."""
    return [name for name, times in Counter(names).items() if times == 1]


def _create(visit: Visit, request: CreateTopicsRequest) -> None:
    once = [name for name in _once(topic.name for topic in request.topics) if name != _METADATA_LOG]
    everything = visit.may_with_cluster(Operation.CREATE)
    mine = {name: everything or visit.may(Operation.CREATE, Resource.TOPIC, name) for name in once}
    shown = visit.allowed(Operation.DESCRIBE_CONFIGS, Resource.TOPIC, once)
    refused = tuple(CreatedTopic(name, NO_TOPIC, _FAILED) for name in once if not mine[name])

    def told(answer: CreateTopicsResponse) -> CreateTopicsResponse:
        made = (topic if shown.get(topic.name, True) else _without_config(topic) for topic in answer.topics)
        return CreateTopicsResponse((*made, *refused))

    rest = tuple(topic for topic in request.topics if mine.get(topic.name, True))
    if rest:
        visit.go_on_with(evolve(request, topics=rest), told)
    else:
        visit.answer(CreateTopicsResponse(refused))


def _without_config(topic: CreatedTopic) -> CreatedTopic:
    """A new topic, as who may not see its settings is told of it."""
    if topic.error:
        return topic
    return evolve(topic, config=(), partitions=-1, replication=-1, config_error=NO_TOPIC)


def _delete(visit: Visit, request: DeleteTopicsRequest) -> None:
    """What may be described, and not deleted, is refused with its id: by it the wire tells whether to name it."""
    once = _once(request.topics)
    everything = visit.may_with_cluster(Operation.DELETE)
    shown = {name: everything or visit.may(Operation.DESCRIBE, Resource.TOPIC, name) for name in once}
    mine = {name: everything or visit.may(Operation.DELETE, Resource.TOPIC, name) for name in once}
    there = visit.image.topics
    refused = tuple(
        DeletedTopic(name, NO_TOPIC, _TOPIC_FAILED, there[name].topic_id if shown[name] else None)
        for name in once
        if not shown[name] or (name in there and not mine[name])
    )
    names = {topic.name for topic in refused}
    rest = tuple(name for name in request.topics if name not in names)
    if rest:
        visit.go_on_with(evolve(request, topics=rest), lambda answer: DeleteTopicsResponse((*answer.topics, *refused)))
    else:
        visit.answer(DeleteTopicsResponse(refused))


def _grow(visit: Visit, request: CreatePartitionsRequest) -> None:
    once = _once(more.name for more in request.topics)
    mine = visit.allowed(Operation.ALTER, Resource.TOPIC, once)
    refused = tuple((name, NO_TOPIC, None) for name in once if not mine[name])
    rest = tuple(more for more in request.topics if mine.get(more.name, True))
    if rest:
        visit.go_on_with(
            evolve(request, topics=rest), lambda answer: CreatePartitionsResponse((*answer.topics, *refused))
        )
    else:
        visit.answer(CreatePartitionsResponse(refused))


CHECKS: Mapping[type, Check] = {
    CreateTopicsRequest: _create,
    DeleteTopicsRequest: _delete,
    CreatePartitionsRequest: _grow,
}
"""Request class → its check."""
