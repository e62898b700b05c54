"""Authorization checks for Metadata, CreateTopics, DeleteTopics and CreatePartitions.

A topic that the caller may not describe is left out of a list of all topics, and refused by name, whether it exists or
not. Requested by id it is refused without its name; an unknown id is not refused. In Kafka the controller has an
authorizer of its own; here the broker makes its checks, with the ACLs of the image.

Source: `KafkaApis.handleTopicMetadataRequest`, `ControllerApis.createTopics`, `deleteTopics`, `createPartitions`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve

from groupsim.cluster.acl.authorization import AuthContext, Check
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
    """The check of Metadata; `creates` is `auto.create.topics.enable`."""

    def __init__(self, creates: bool) -> None:
        self._creates = creates

    def check(self, auth: AuthContext, request: MetadataRequest) -> None:
        """Answer the topics that the caller may describe; create only those that it may create."""
        if request.topics is None:
            auth.forward_with(request, lambda answer: _described(auth, answer, request))
            return
        allowed = auth.allowed(Operation.DESCRIBE, Resource.TOPIC, request.topics)
        ids, hidden_ids = _by_id(auth, request)
        if request.auto_create and self._creates:
            allowed = _creatable(auth, allowed)
        hidden = (*(TopicInfo(name, NO_TOPIC) for name in allowed if not allowed[name]), *hidden_ids)

        def complete(answer: MetadataResponse) -> MetadataResponse:
            answer = with_operations(auth, answer, request)
            return evolve(answer, topics=tuple(sorted((*answer.topics, *hidden), key=lambda topic: topic.name)))

        names = tuple(name for name in allowed if allowed[name])
        auth.forward_with(evolve(request, topics=names, topic_ids=ids), complete)


def _by_id(auth: AuthContext, request: MetadataRequest) -> tuple[tuple[str, ...], list[TopicInfo]]:
    """Return the requested ids whose topics the caller may describe, and the answers for the others."""
    if not request.topic_ids:
        return (), []
    asked = frozenset(request.topic_ids)
    names = {topic.topic_id: name for name, topic in auth.image.topics.items() if topic.topic_id in asked}
    refused = [
        topic_id
        for topic_id in dict.fromkeys(request.topic_ids)
        if topic_id in names and not auth.allows(Operation.DESCRIBE, Resource.TOPIC, names[topic_id])
    ]
    rest = tuple(topic_id for topic_id in request.topic_ids if topic_id not in refused)
    return rest, [TopicInfo("", NO_TOPIC, topic_id=topic_id) for topic_id in refused]


def _creatable(auth: AuthContext, allowed: Mapping[str, bool]) -> dict[str, bool]:
    """Restrict topics that auto-creation would create to those that the caller may create (KIP-277)."""
    if auth.allows_cluster(Operation.CREATE):
        return dict(allowed)
    existing = auth.image.topics
    return {
        name: described and (name in existing or auth.allows(Operation.CREATE, Resource.TOPIC, name))
        for name, described in allowed.items()
    }


def _described(auth: AuthContext, answer: MetadataResponse, request: MetadataRequest) -> MetadataResponse:
    """Return the answer without the topics that the caller may not describe."""
    allowed = auth.allowed(Operation.DESCRIBE, Resource.TOPIC, (topic.name for topic in answer.topics))
    answer = evolve(answer, topics=tuple(topic for topic in answer.topics if allowed[topic.name]))
    return with_operations(auth, answer, request)


def with_operations(auth: AuthContext, answer: MetadataResponse, request: MetadataRequest) -> MetadataResponse:
    """Add the authorized operations (KIP-430) that the request asks for."""
    if request.include_topic_operations:
        topics = (evolve(topic, operations=auth.operations(Resource.TOPIC, topic.name)) for topic in answer.topics)
        answer = evolve(answer, topics=tuple(topics))
    cluster = auth.cluster_operations() if request.include_cluster_operations else NOT_ASKED
    return evolve(answer, operations=cluster)


def _once(names: Iterable[str]) -> list[str]:
    """Return the names without duplicates: a duplicate is refused before authorization (`ControllerApis`)."""
    return [name for name, times in Counter(names).items() if times == 1]


def _create(auth: AuthContext, request: CreateTopicsRequest) -> None:
    # Only `__cluster_metadata` is refused by name, before authorization (`ControllerApis.createTopics`).
    once = [name for name in _once(topic.name for topic in request.topics) if name != _METADATA_LOG]
    # CREATE on the cluster or on the topic is enough (KIP-277).
    on_cluster = auth.allows_cluster(Operation.CREATE)
    allowed = {name: on_cluster or auth.allows(Operation.CREATE, Resource.TOPIC, name) for name in once}
    visible = auth.allowed(Operation.DESCRIBE_CONFIGS, Resource.TOPIC, once)
    refused = tuple(CreatedTopic(name, NO_TOPIC, _FAILED) for name in once if not allowed[name])

    def complete(answer: CreateTopicsResponse) -> CreateTopicsResponse:
        created = (topic if visible.get(topic.name, True) else _without_config(topic) for topic in answer.topics)
        return CreateTopicsResponse((*created, *refused))

    rest = tuple(topic for topic in request.topics if allowed.get(topic.name, True))
    if rest:
        auth.forward_with(evolve(request, topics=rest), complete)
    else:
        auth.answer(CreateTopicsResponse(refused))


def _without_config(topic: CreatedTopic) -> CreatedTopic:
    """Return a created topic for a caller without DESCRIBE_CONFIGS: no settings and no counts (KIP-525)."""
    if topic.error:
        return topic
    return evolve(topic, config=(), partitions=-1, replication=-1, config_error=NO_TOPIC)


def _delete(auth: AuthContext, request: DeleteTopicsRequest) -> None:
    """Refuse topics that the caller may not delete.

    A topic that the caller may describe keeps its id in the refusal: the encoder answers its name only with an id.
    """
    once = _once(request.topics)
    on_cluster = auth.allows_cluster(Operation.DELETE)
    described = {name: on_cluster or auth.allows(Operation.DESCRIBE, Resource.TOPIC, name) for name in once}
    allowed = {name: on_cluster or auth.allows(Operation.DELETE, Resource.TOPIC, name) for name in once}
    existing = auth.image.topics
    refused = tuple(
        DeletedTopic(name, NO_TOPIC, _TOPIC_FAILED, existing[name].topic_id if described[name] else None)
        for name in once
        if not described[name] or (name in existing and not allowed[name])
    )
    names = {topic.name for topic in refused}
    rest = tuple(name for name in request.topics if name not in names)
    if rest:
        auth.forward_with(evolve(request, topics=rest), lambda answer: DeleteTopicsResponse((*answer.topics, *refused)))
    else:
        auth.answer(DeleteTopicsResponse(refused))


def _grow(auth: AuthContext, request: CreatePartitionsRequest) -> None:
    once = _once(more.name for more in request.topics)
    allowed = auth.allowed(Operation.ALTER, Resource.TOPIC, once)
    refused = tuple((name, NO_TOPIC, None) for name in once if not allowed[name])
    rest = tuple(more for more in request.topics if allowed.get(more.name, True))
    if rest:
        auth.forward_with(
            evolve(request, topics=rest), lambda answer: CreatePartitionsResponse((*answer.topics, *refused))
        )
    else:
        auth.answer(CreatePartitionsResponse(refused))


CHECKS: Mapping[type, Check] = {
    CreateTopicsRequest: _create,
    DeleteTopicsRequest: _delete,
    CreatePartitionsRequest: _grow,
}
"""Request class → its check."""
