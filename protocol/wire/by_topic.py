"""Partitions under their topics, as requests and responses list them, and topics without a known name.

A request names a topic, or in the newest versions gives its id only (KIP-516). `requested_topics` returns the topics of
a request as `Topic`s, whose name is None for an unknown id; `by_topic` puts the partitions of a response under their
topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.wire.exchange import Directory
from groupsim.protocol.wire.serial import Fields


class Topic(NamedTuple):
    """A topic of a request, by name or by id. The name None means an unknown id, the id "" none."""

    name: str | None
    topic_id: str | None = None

    def fields(self, name: str) -> Fields:
        """Return the topic in a response whose schema calls its name `name`."""
        return {name: self.name, "topic_id": self.topic_id}


def requested_topic(topic: Fields, directory: Directory, name: str) -> Topic:
    """Return the topic of a request whose schema calls its name `name`."""
    if name in topic:
        return Topic(topic[name])
    topic_id = topic["topic_id"]
    return Topic(None if topic_id is None else directory.topic_name(topic_id), topic_id)


def named_partitions(topics: Iterable[Fields], partitions: str) -> tuple[TopicPartition, ...]:
    """Return the partitions of a request that lists numbers under names."""
    return tuple([TopicPartition(topic["name"], number) for topic in topics for number in topic[partitions]])


def grouped(pairs: Iterable[tuple[Topic, Fields]], name: str, partitions: str) -> list[Fields]:
    """Return a response's topics, each at the place of its first partition, with its partitions in order."""
    found: dict[Topic, list[Fields]] = {}
    for topic, fields in pairs:
        found.setdefault(topic, []).append(fields)
    return [{**topic.fields(name), partitions: parts} for topic, parts in found.items()]


_BEFORE_THE_GROUP = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)


def in_request_order(
    asked: Sequence[tuple[Topic, Sequence[int]]], errors: Iterable[ErrorCode], directory: Directory
) -> list[Fields]:
    """Return the topics of an answer about offsets with an error per partition only; one for each in `errors`.

    The group coordinator answers topic by topic in the order of the request, and a topic that is named twice two times.
    The broker puts the partitions that it refuses itself first under the topic, and then adds the coordinator's part;
    an unknown topic is listed without partitions, too (`OffsetCommitResponse.Builder`).
    """
    codes = iter(errors)
    refused: dict[Topic, list[Fields]] = {}
    rest: list[tuple[Topic, list[Fields]]] = []
    for topic, numbers in asked:
        results = [{"partition_index": number, "error_code": next(codes)} for number in numbers]
        here = [result for result in results if result["error_code"] in _BEFORE_THE_GROUP]
        if here or topic.name is None or directory.topic_id(topic.name) is None:
            refused.setdefault(topic, []).extend(here)
        if len(here) < len(results):
            rest.append((topic, [result for result in results if result["error_code"] not in _BEFORE_THE_GROUP]))
    if refused:
        for topic, results in rest:
            refused.setdefault(topic, []).extend(results)
    return [{**topic.fields("name"), "partitions": entries} for topic, entries in refused.items() or rest]


def errors_by_name(
    results: Iterable[tuple[TopicPartition, ErrorCode]], partitions: str, error: str = "error_code"
) -> list[Fields]:
    """Return the topics of a response with an error per partition only."""
    pairs = ((Topic(tp.topic), {"partition_index": tp.partition, error: code}) for tp, code in results)
    return grouped(pairs, "name", partitions)
