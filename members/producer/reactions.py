"""What the producer does with each error of a Produce answer, as data.

RETRY sends the batch again after retry.backoff.ms; REFRESH asks for metadata too, as the leader is elsewhere; SPLIT
halves the batch; DONE takes it as written (the broker has it already, only its offset is forgotten); BUMP has the
identity decide (`identity.may_retry`); FAIL gives the batch up; FENCED ends the producer.

Source: `Sender.completeBatch`, `Sender.canRetry`, `InvalidMetadataException` and its heirs, `TransactionManager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from groupsim.protocol.errors import ErrorCode


class Reaction(Enum):
    """What to do."""

    RETRY = auto()
    REFRESH = auto()
    SPLIT = auto()
    DONE = auto()
    BUMP = auto()
    FAIL = auto()
    FENCED = auto()

    __hash__ = object.__hash__


REACTIONS: Mapping[ErrorCode, Reaction] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Reaction.REFRESH,
    ErrorCode.LEADER_NOT_AVAILABLE: Reaction.REFRESH,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: Reaction.REFRESH,
    ErrorCode.FENCED_LEADER_EPOCH: Reaction.REFRESH,
    ErrorCode.KAFKA_STORAGE_ERROR: Reaction.REFRESH,
    ErrorCode.NETWORK_EXCEPTION: Reaction.REFRESH,
    ErrorCode.UNKNOWN_TOPIC_ID: Reaction.REFRESH,
    ErrorCode.UNKNOWN_LEADER_EPOCH: Reaction.RETRY,
    ErrorCode.REQUEST_TIMED_OUT: Reaction.RETRY,
    ErrorCode.CORRUPT_MESSAGE: Reaction.RETRY,
    ErrorCode.NOT_ENOUGH_REPLICAS: Reaction.RETRY,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Reaction.RETRY,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Reaction.RETRY,
    ErrorCode.NOT_COORDINATOR: Reaction.RETRY,
    ErrorCode.CONCURRENT_TRANSACTIONS: Reaction.RETRY,
    ErrorCode.MESSAGE_TOO_LARGE: Reaction.SPLIT,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: Reaction.DONE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: Reaction.BUMP,
    ErrorCode.UNKNOWN_PRODUCER_ID: Reaction.BUMP,
    ErrorCode.INVALID_PRODUCER_EPOCH: Reaction.BUMP,
    ErrorCode.PRODUCER_FENCED: Reaction.FENCED,
}


def reaction(error: ErrorCode) -> Reaction:
    """What to do with an error; what is not in the table fails the batch."""
    return REACTIONS.get(error, Reaction.FAIL)
