"""Bytes of the embedded consumer protocol, for raw requests of a test."""

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
    """Encode a subscription: the metadata of a JoinGroup protocol. Partitions may be written as `"orders-0"`.

    Raises ValueError for another text, ProtocolError for an unknown version.
    """
    subscription = Subscription(topics, user_data, _partitions(owned), generation, rack)
    return encode_subscription(subscription, version)


def assignment_bytes(
    *partitions: TopicPartition | str, user_data: bytes | None = None, version: int = NEWEST_VERSION
) -> bytes:
    """Encode the assignment of one member in a SyncGroup. Partitions may be written as `"orders-0"`.

    Raises ValueError for another text, ProtocolError for an unknown version.
    """
    return encode_assignment(Assignment(_partitions(partitions), user_data), version)


def _partitions(partitions: Iterable[TopicPartition | str]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition.parse(one) if isinstance(one, str) else one for one in partitions)
