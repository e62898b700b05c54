"""Requests of administrators that change topics: CreateTopics, DeleteTopics, CreatePartitions.

A request deletes topics by name, or since version 6 by id. Neither or both, an id twice, and an unknown id are answered
here, before the broker's answer. The controller checks everything else.

Sources: `CreateTopicsRequest.json`, `DeleteTopicsRequest.json`, `CreatePartitionsRequest.json`,
`ControllerApis.deleteTopics`; KIP-516, KIP-525.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.admin import (
    ConfigEntry,
    CreatedTopic,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    MorePartitions,
    NewTopic,
)
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation, one

# --- CreateTopics ------------------------------------------------------------------------------------------------


def _create(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = CreateTopicsRequest(
        topics=tuple([_new_topic(topic) for topic in fields["topics"]]),
        timeout_ms=fields["timeout"],
        validate_only=fields["validate_only"],
        version=header.version,
    )
    return one(header, request, _encode_created)


def _new_topic(topic: Fields) -> NewTopic:
    return NewTopic(
        name=topic["name"],
        partitions=topic["num_partitions"],
        replication=topic["replication_factor"],
        assignment=tuple([(placed["partition_index"], tuple(placed["broker_ids"])) for placed in topic["assignments"]]),
        config=tuple([(setting["name"], setting["value"]) for setting in topic["configs"]]),
    )


def _encode_created(answer: CreateTopicsResponse) -> Fields:
    return {"throttle_time": 0, "topics": [_created(topic) for topic in answer.topics]}


def _created(topic: CreatedTopic) -> Fields:
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "error_code": topic.error,
        "error_message": topic.message,
        "num_partitions": topic.partitions,
        "replication_factor": topic.replication,
        "configs": [_setting(entry) for entry in topic.config],
        "topic_config_error_code": topic.config_error,
    }


def _setting(entry: ConfigEntry) -> Fields:
    return {
        "name": entry.name,
        "value": entry.value,
        "read_only": entry.read_only,
        "config_source": entry.source,
        "is_sensitive": entry.sensitive,
    }


# --- DeleteTopics ------------------------------------------------------------------------------------------------


def _delete(fields: Fields, header: Header, directory: Directory) -> Exchange:
    refused: list[Fields] = []
    ids: dict[str | None, str] = {}
    if "topics" in fields:
        names = _names(fields["topics"], directory, refused)
        unnamed = (topic["topic_id"] for topic in fields["topics"] if topic["name"] is None and topic["topic_id"])
        ids = {directory.topic_name(topic_id): topic_id for topic_id in unnamed}
    else:
        names = list(fields["topic_names"])
    request = DeleteTopicsRequest(topics=tuple(names), timeout_ms=fields["timeout"], version=header.version)

    def encode(answers: Sequence[DeleteTopicsResponse]) -> Fields:
        deleted = [_deleted(topic, ids) for answer in answers for topic in answer.topics]
        return {"throttle_time": 0, "responses": [*refused, *deleted]}

    return Translation(header, (request,) if names else (), encode)


def _names(topics: list[Fields], directory: Directory, refused: list[Fields]) -> list[str]:
    """Return the topics by name, each id once; topics that are answered here go to `refused`."""
    times = Counter((topic["name"], topic["topic_id"]) for topic in topics)
    names: list[str] = []
    for (name, topic_id), count in times.items():
        found = directory.topic_name(topic_id) if name is None and topic_id is not None else name
        why = _objection(name, topic_id, count, found)
        if why is None and found is not None:
            names += [found] * (1 if name is None else count)  # the controller answers a name that comes twice
        elif why is not None:
            refused.append({"name": name, "topic_id": topic_id, "error_code": why[0], "error_message": why[1]})
    return names


def _objection(name: str | None, topic_id: str | None, times: int, found: str | None) -> tuple[ErrorCode, str] | None:
    """Return the error in how the request gives a topic."""
    if name is not None:
        both = "You may not specify both topic name and topic id."
        return None if topic_id is None else (ErrorCode.INVALID_REQUEST, both)
    if topic_id is None:
        return ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified."
    if times > 1:
        return ErrorCode.INVALID_REQUEST, "Duplicate topic id."
    if found is None:
        return ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID."
    return None


def _deleted(topic: DeletedTopic, ids: Mapping[str | None, str]) -> Fields:
    """Return one topic. An unauthorized one has the name or id of the request only; its name, if that may be seen."""
    name: str | None = topic.name
    topic_id = topic.topic_id
    if topic.error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        topic_id = ids.get(topic.name)
        name = None if topic_id and not topic.topic_id else topic.name
    return {
        "name": name,
        "topic_id": topic_id,
        "error_code": topic.error,
        "error_message": topic.message,
    }


# --- CreatePartitions --------------------------------------------------------------------------------------------


def _create_partitions(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = CreatePartitionsRequest(
        topics=tuple([_more(topic) for topic in fields["topics"]]),
        timeout_ms=fields["timeout"],
        validate_only=fields["validate_only"],
        version=header.version,
    )
    return one(header, request, _encode_partitions)


def _more(topic: Fields) -> MorePartitions:
    placed = topic["assignments"]
    assignment = None if placed is None else tuple([tuple(brokers["broker_ids"]) for brokers in placed])
    return MorePartitions(topic["name"], topic["count"], assignment)


def _encode_partitions(answer: CreatePartitionsResponse) -> Fields:
    results = [{"name": name, "error_code": error, "error_message": why} for name, error, why in answer.topics]
    return {"throttle_time": 0, "results": results}


READERS = {
    Api.CREATE_TOPICS: _create,
    Api.DELETE_TOPICS: _delete,
    Api.CREATE_PARTITIONS: _create_partitions,
}
"""API → the function that makes an exchange from a request's fields."""
