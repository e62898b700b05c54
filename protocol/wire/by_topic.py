"""Partitions under their topics: how requests and responses list them, and the topics that have no name here.

A topic of a request is named, or known by its id alone in the newest versions (KIP-516). `asked_topics` gives the
topics of a request as `Topic`s, whose name is None for an id that nobody knows; `by_topic` puts the partitions of a
response back under theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.wire.exchange import Directory
from groupsim.protocol.wire.serial import Fields


class Topic(NamedTuple):
    """A topic as a request names it: by name, or by id; a name of None: the id is unknown. "" for no id."""

    name: str | None
    topic_id: str | None = None

    def fields(self, name: str) -> Fields:
        """The topic in a response whose schema calls its name `name`."""
        return {name: self.name, "topic_id": self.topic_id}


def asked_topic(topic: Fields, directory: Directory, name: str) -> Topic:
    """The topic of a request whose schema calls its name `name`."""
    if name in topic:
        return Topic(topic[name])
    topic_id = topic["topic_id"]
    return Topic(None if topic_id is None else directory.topic_name(topic_id), topic_id)


def named_partitions(topics: Iterable[Fields], partitions: str) -> tuple[TopicPartition, ...]:
    """The partitions of a request that lists numbers under names."""
    return tuple([TopicPartition(topic["name"], number) for topic in topics for number in topic[partitions]])


def grouped(pairs: Iterable[tuple[Topic, Fields]], name: str, partitions: str) -> list[Fields]:
    """A response's topics, each where its first partition stands, with their partitions in the order given."""
    found: dict[Topic, list[Fields]] = {}
    for topic, fields in pairs:
        found.setdefault(topic, []).append(fields)
    return [{**topic.fields(name), partitions: parts} for topic, parts in found.items()]


_BEFORE_THE_GROUP = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)


def as_asked(
    asked: Sequence[tuple[Topic, Sequence[int]]], errors: Iterable[ErrorCode], directory: Directory
) -> list[Fields]:
    """The topics of an answer about offsets that has nothing but an error per partition; one for each in `errors`.

    The group coordinator answers topic by topic as it was asked, a topic that was named twice two times. What the
    broker itself refuses it puts together under the topic, and then puts the coordinator's part to it; a topic that it
    does not know stands there without partitions, too (`OffsetCommitResponse.Builder`).
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
    return [{**topic.fields("name"), "partitions": told} for topic, told in refused.items() or rest]


def errors_by_name(
    results: Iterable[tuple[TopicPartition, ErrorCode]], partitions: str, error: str = "error_code"
) -> list[Fields]:
    """The topics of a response that has nothing but an error per partition."""
    pairs = ((Topic(tp.topic), {"partition_index": tp.partition, error: code}) for tp, code in results)
    return grouped(pairs, "name", partitions)
