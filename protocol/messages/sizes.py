"""The bytes of a message on the wire, without encoding it, for links of limited bandwidth.

A batch of records counts with the size that it has in the log, which is exact (`batch_sizes`). The rest is computed
from the fields of our values by Kafka's rules for the versions with short lengths (KIP-482): two bytes before a text,
one before a list, a topic named once in a message. Fields of ours that Kafka does not have, and of Kafka's that ours
leave out, make it wrong by a few bytes; tests compare it with real encodings.

Source: `RequestHeader.json`, `ResponseHeader.json`, KIP-482.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any

from attrs import fields, has

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.messages.cluster import ClusterImage
from groupsim.protocol.messages.group import OffsetFetchRequest, Request, Response, TopicInfo

_REQUEST_HEADER = 15  # length, API and its version, correlation id, the client id's length, tagged fields
_RESPONSE_HEADER = 9  # length, correlation id, tagged fields
_TEXT, _LIST, _TOPIC, _TAGS, _ID = 2, 1, 18, 1, 16
_WIDE = ("offset", "watermark", "timestamp", "timestamp_ms", "producer_id", "time_ms")
_NOT_SENT = frozenset({"version", "renewed", "pushes"})
_LEFT_OUT: Mapping[type, frozenset[str]] = {
    OffsetFetchRequest: frozenset({"member_id", "member_epoch"}),
    TopicInfo: frozenset({"topic_id"}),
}
"""Fields that came to our values later; to count their few bytes would change every recorded run with a full link."""


def request_bytes(request: Request, client_id: str) -> int:
    """Return the size of a request, with its length prefix."""
    return _REQUEST_HEADER + len(client_id.encode()) + _size(request, 4, set())


def response_bytes(response: Response) -> int:
    """Return the size of a response, with its length prefix."""
    return _RESPONSE_HEADER + _size(response, 4, set())


def _size(found: Any, width: int, topics: set[str]) -> int:
    """Return the size of a value; `width` is that of a number at its position, `topics` the topics named so far."""
    if isinstance(found, Batch):
        return found.size + _LIST
    if isinstance(found, TopicPartition):
        return 4 + _size_of_topic(found.topic, topics)
    if isinstance(found, bool) or found is None:
        return 1
    if isinstance(found, Enum):
        return 2
    if isinstance(found, int):
        return width
    if isinstance(found, str):
        return _TEXT + len(found.encode())
    if isinstance(found, bytes):
        return _TEXT + len(found)
    if isinstance(found, Mapping):
        return _LIST + sum(_size(key, 4, topics) + _size(value, width, topics) for key, value in found.items())
    parts = _parts(found.__class__)
    if parts:
        return _TAGS + sum(_size(take(found), width, topics) for take, width in parts)
    if isinstance(found, Collection):
        return _LIST + sum(_size(one, width, topics) for one in found)
    return 0


def _size_of_topic(name: str, topics: set[str]) -> int:
    if name in topics:
        return 0
    topics.add(name)
    return _TOPIC


@cache
def _parts(kind: Any) -> tuple[tuple[Callable[[Any], Any], int], ...]:
    """Return the fields of a message, or of a part of one, each with the width of a number; nothing for other types."""
    if kind is ClusterImage:  # Kafka's answer holds only the changes
        return ()
    names: tuple[str, ...] = getattr(kind, "_fields", ()) or (
        tuple(one.name for one in fields(kind)) if has(kind) else ()
    )
    return tuple(
        (_id_bytes if name == "topic_id" else attrgetter(name), 8 if name.endswith(_WIDE) else 4)
        for name in names
        if name not in _NOT_SENT and name not in _LEFT_OUT.get(kind, ())
    )


def _id_bytes(_: Any) -> bytes:
    """Return bytes that count, with their length, as a topic id does."""
    return bytes(_ID - _TEXT)
