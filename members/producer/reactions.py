"""The producer's reaction to each error of a Produce answer, as data.

RETRY sends the batch again after retry.backoff.ms. REFRESH does so, and refreshes metadata for the new leader. SPLIT
halves the batch. DONE counts it as written: the broker has it, but no longer knows its offset. With BUMP the identity
decides (`identity.may_retry`). FAIL fails the batch. FENCED ends the producer.

Source: `Sender.completeBatch`, `Sender.canRetry`, `InvalidMetadataException` and its subclasses, `TransactionManager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from groupsim.protocol.errors import ErrorCode


class ProduceReaction(Enum):
    """One reaction."""

    RETRY = auto()
    REFRESH = auto()
    SPLIT = auto()
    DONE = auto()
    BUMP = auto()
    FAIL = auto()
    FENCED = auto()

    __hash__ = object.__hash__


REACTIONS: Mapping[ErrorCode, ProduceReaction] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ProduceReaction.REFRESH,
    ErrorCode.LEADER_NOT_AVAILABLE: ProduceReaction.REFRESH,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ProduceReaction.REFRESH,
    ErrorCode.FENCED_LEADER_EPOCH: ProduceReaction.REFRESH,
    ErrorCode.KAFKA_STORAGE_ERROR: ProduceReaction.REFRESH,
    ErrorCode.NETWORK_EXCEPTION: ProduceReaction.REFRESH,
    ErrorCode.UNKNOWN_TOPIC_ID: ProduceReaction.REFRESH,
    ErrorCode.UNKNOWN_LEADER_EPOCH: ProduceReaction.RETRY,
    ErrorCode.REQUEST_TIMED_OUT: ProduceReaction.RETRY,
    ErrorCode.CORRUPT_MESSAGE: ProduceReaction.RETRY,
    ErrorCode.NOT_ENOUGH_REPLICAS: ProduceReaction.RETRY,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ProduceReaction.RETRY,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ProduceReaction.RETRY,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ProduceReaction.RETRY,
    ErrorCode.NOT_COORDINATOR: ProduceReaction.RETRY,
    ErrorCode.CONCURRENT_TRANSACTIONS: ProduceReaction.RETRY,
    ErrorCode.MESSAGE_TOO_LARGE: ProduceReaction.SPLIT,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: ProduceReaction.DONE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: ProduceReaction.BUMP,
    ErrorCode.UNKNOWN_PRODUCER_ID: ProduceReaction.BUMP,
    ErrorCode.INVALID_PRODUCER_EPOCH: ProduceReaction.BUMP,
    ErrorCode.PRODUCER_FENCED: ProduceReaction.FENCED,
}


def reaction(error: ErrorCode) -> ProduceReaction:
    """Return the reaction to an error; FAIL without an entry."""
    return REACTIONS.get(error, ProduceReaction.FAIL)
