"""Partitions under their topics: how requests and responses list them, and the topics that have no name here.

A topic of a request is named, or known by its id alone in the newest versions (KIP-516). `asked_topics` gives the
topics of a request as `Topic`s, whose name is None for an id that nobody knows; `by_topic` puts the partitions of a
response back under theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
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


def errors_by_name(
    results: Iterable[tuple[TopicPartition, ErrorCode]], partitions: str, error: str = "error_code"
) -> list[Fields]:
    """The topics of a response that has nothing but an error per partition."""
    pairs = ((Topic(tp.topic), {"partition_index": tp.partition, error: code}) for tp, code in results)
    return grouped(pairs, "name", partitions)
