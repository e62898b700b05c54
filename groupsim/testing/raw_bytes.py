"""Bytes of the embedded consumer protocol, for the requests that a test sends itself."""

from __future__ import annotations

from collections.abc import Iterable

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.embedded.consumer_protocol import (
    NEWEST_VERSION,
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)


def subscription_bytes(
    *topics: str,
    owned: Iterable[TopicPartition | str] = (),
    generation: int | None = None,
    rack: str | None = None,
    user_data: bytes | None = None,
    version: int = NEWEST_VERSION,
) -> bytes:
    """Encode a subscription: the metadata of a protocol of JoinGroup. Partitions may be written as `"orders-0"`.

    Raises ValueError for a text that is no partition, ProtocolError for a version that does not exist.
    """
    subscription = Subscription(topics, user_data, _partitions(owned), generation, rack)
    return encode_subscription(subscription, version)


def assignment_bytes(
    *partitions: TopicPartition | str, user_data: bytes | None = None, version: int = NEWEST_VERSION
) -> bytes:
    """Encode an assignment: what a leader gives one member in SyncGroup. Partitions may be written as `"orders-0"`.

    Raises ValueError for a text that is no partition, ProtocolError for a version that does not exist.
    """
    return encode_assignment(Assignment(_partitions(partitions), user_data), version)


def _partitions(said: Iterable[TopicPartition | str]) -> tuple[TopicPartition, ...]:
    return tuple(_partition(one) if isinstance(one, str) else one for one in said)


def _partition(text: str) -> TopicPartition:
    topic, dash, number = text.rpartition("-")
    if not (dash and topic and number.isdecimal()):
        raise ValueError(f"{text!r} is no partition; write topic and number, as in 'orders-0'")
    return TopicPartition(topic, int(number))
