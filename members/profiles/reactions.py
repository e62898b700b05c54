"""Reactions of clients to error codes: tables, one per API.

The default tables are those of the Java consumer (`AbstractCoordinator`, `ConsumerCoordinator`; classic-protocol
reference, sections 4.5, 4.6 and 4.10). A profile overrides single rows (`ClientProfile.reactions`). An error without a
row gets the API's reaction in `OTHERWISE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api


class Reaction(StrEnum):
    """One reaction to an error; the module of each API implements it."""

    RETRY = "retry after backoff"
    REDISCOVER = "coordinator unknown, retry after backoff"
    STORE_ID = "keep the given member id, retry at once"
    REJOIN = "rejoin with the generation kept"
    RESET_GENERATION = "forget the generation, keep the member id, rejoin"
    RESET_MEMBER = "forget generation and member id, rejoin"
    FATAL = "thrown from poll, and containers give up on it"
    THROW = "thrown from poll; a later poll tries again"
    OVERLOOK = "taken for an answer without an error"
    BACKOFF = "only wait longer before the next one"
    UNEXPECTED = "thrown as KafkaException"
    COMMIT_FAILED = "thrown as CommitFailedException"
    STALE = "commitSync throws CommitFailedException; repeated with a newer epoch before a reconciliation"


Table = Mapping[ErrorCode, Reaction]
_E = ErrorCode

JOIN: Table = {
    _E.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
    _E.UNKNOWN_MEMBER_ID: Reaction.RESET_MEMBER,
    _E.COORDINATOR_NOT_AVAILABLE: Reaction.REDISCOVER,
    _E.NOT_COORDINATOR: Reaction.REDISCOVER,
    _E.FENCED_INSTANCE_ID: Reaction.FATAL,
    _E.INCONSISTENT_GROUP_PROTOCOL: Reaction.THROW,
    _E.INVALID_SESSION_TIMEOUT: Reaction.THROW,
    _E.INVALID_GROUP_ID: Reaction.THROW,
    _E.GROUP_AUTHORIZATION_FAILED: Reaction.THROW,
    _E.GROUP_MAX_SIZE_REACHED: Reaction.THROW,
    _E.UNSUPPORTED_VERSION: Reaction.THROW,
    _E.MEMBER_ID_REQUIRED: Reaction.STORE_ID,
    _E.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
}
SYNC: Table = {
    _E.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    _E.UNKNOWN_MEMBER_ID: Reaction.RESET_MEMBER,
    _E.ILLEGAL_GENERATION: Reaction.RESET_GENERATION,
    _E.FENCED_INSTANCE_ID: Reaction.FATAL,
    _E.GROUP_AUTHORIZATION_FAILED: Reaction.THROW,
    _E.COORDINATOR_NOT_AVAILABLE: Reaction.REDISCOVER,
    _E.NOT_COORDINATOR: Reaction.REDISCOVER,
}
HEARTBEAT: Table = {
    _E.COORDINATOR_NOT_AVAILABLE: Reaction.REDISCOVER,
    _E.NOT_COORDINATOR: Reaction.REDISCOVER,
    _E.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    _E.ILLEGAL_GENERATION: Reaction.RESET_GENERATION,
    _E.UNKNOWN_MEMBER_ID: Reaction.RESET_MEMBER,
    _E.FENCED_INSTANCE_ID: Reaction.FATAL,
}
COMMIT: Table = {
    _E.GROUP_AUTHORIZATION_FAILED: Reaction.THROW,
    _E.TOPIC_AUTHORIZATION_FAILED: Reaction.THROW,
    _E.OFFSET_METADATA_TOO_LARGE: Reaction.THROW,
    _E.INVALID_COMMIT_OFFSET_SIZE: Reaction.THROW,
    _E.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
    _E.UNKNOWN_TOPIC_OR_PARTITION: Reaction.RETRY,
    _E.COORDINATOR_NOT_AVAILABLE: Reaction.REDISCOVER,
    _E.NOT_COORDINATOR: Reaction.REDISCOVER,
    _E.REQUEST_TIMED_OUT: Reaction.REDISCOVER,
    _E.FENCED_INSTANCE_ID: Reaction.FATAL,
    _E.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    _E.UNKNOWN_MEMBER_ID: Reaction.RESET_MEMBER,
    _E.ILLEGAL_GENERATION: Reaction.RESET_GENERATION,
}
OFFSET_FETCH: Table = {
    _E.COORDINATOR_NOT_AVAILABLE: Reaction.REDISCOVER,
    _E.NOT_COORDINATOR: Reaction.REDISCOVER,
    _E.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
    _E.UNSTABLE_OFFSET_COMMIT: Reaction.RETRY,
    _E.UNKNOWN_TOPIC_OR_PARTITION: Reaction.THROW,
    _E.TOPIC_AUTHORIZATION_FAILED: Reaction.THROW,
    _E.GROUP_AUTHORIZATION_FAILED: Reaction.THROW,
}
FIND_COORDINATOR: Table = {
    _E.COORDINATOR_NOT_AVAILABLE: Reaction.RETRY,
    _E.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
    _E.REQUEST_TIMED_OUT: Reaction.RETRY,
    _E.NETWORK_EXCEPTION: Reaction.RETRY,
}

JAVA: Mapping[Api, Table] = {
    Api.JOIN_GROUP: JOIN,
    Api.SYNC_GROUP: SYNC,
    Api.HEARTBEAT: HEARTBEAT,
    Api.OFFSET_COMMIT: COMMIT,
    Api.OFFSET_FETCH: OFFSET_FETCH,
    Api.FIND_COORDINATOR: FIND_COORDINATOR,
}

# The Java client under the consumer group protocol (`CommitRequestManager`, 4.4.0). Only heartbeats fence a member: a
# refused commit resets nothing.
CONSUMER_PROTOCOL: Mapping[Api, Table] = {
    Api.OFFSET_COMMIT: {
        _E.STALE_MEMBER_EPOCH: Reaction.STALE,
        _E.UNKNOWN_MEMBER_ID: Reaction.COMMIT_FAILED,
        _E.FENCED_INSTANCE_ID: Reaction.UNEXPECTED,
        _E.REBALANCE_IN_PROGRESS: Reaction.UNEXPECTED,
        _E.ILLEGAL_GENERATION: Reaction.UNEXPECTED,
        _E.UNKNOWN_TOPIC_ID: Reaction.RETRY,
    },
    Api.OFFSET_FETCH: {_E.STALE_MEMBER_EPOCH: Reaction.RETRY, _E.UNKNOWN_MEMBER_ID: Reaction.THROW},
}

# Older Java clients. Up to 3.1 ILLEGAL_GENERATION resets the member id as well (KAFKA-13419), and up to 2.3 so does a
# commit during a rebalance (KAFKA-8487); the old id stays in the group until its session ends. 0.9 keeps its id, except
# after SyncGroup.
FORGETS_ID: Table = {_E.ILLEGAL_GENERATION: Reaction.RESET_MEMBER}
_FORGETS_IN_A_REBALANCE: Table = {**FORGETS_ID, _E.REBALANCE_IN_PROGRESS: Reaction.RESET_MEMBER}
JAVA_UNTIL_0_10_0: Mapping[Api, Table] = {Api.SYNC_GROUP: FORGETS_ID}
JAVA_UNTIL_2_3 = {Api.SYNC_GROUP: FORGETS_ID, Api.HEARTBEAT: FORGETS_ID, Api.OFFSET_COMMIT: _FORGETS_IN_A_REBALANCE}
JAVA_UNTIL_3_1 = {**JAVA_UNTIL_2_3, Api.OFFSET_COMMIT: FORGETS_ID}

# 3.3 treats REBALANCE_IN_PROGRESS for SyncGroup as a lost generation (KAFKA-13891): its claims do not count in the next
# round, so more is revoked than necessary (KAFKA-14016).
JAVA_3_3: Mapping[Api, Table] = {Api.SYNC_GROUP: {_E.REBALANCE_IN_PROGRESS: Reaction.RESET_GENERATION}}

#: OffsetCommit 9 has no topic ids: an error about them is not expected (`CommitRequestManager.onResponse`).
JAVA_UNTIL_4_1: Mapping[Api, Table] = {Api.OFFSET_COMMIT: {_E.UNKNOWN_TOPIC_ID: Reaction.THROW}}

# kafka-python throws only errors that it does not call retriable; after others its thread waits for retry.backoff.ms
# (`coordinator/base.py`). Up to 2.2 a commit during a rebalance resets the member id.
KAFKA_PYTHON: Mapping[Api, Table] = {
    Api.JOIN_GROUP: {_E.ILLEGAL_GENERATION: Reaction.REJOIN},
    Api.SYNC_GROUP: {**FORGETS_ID, _E.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY},
    Api.HEARTBEAT: FORGETS_ID,
    Api.OFFSET_COMMIT: FORGETS_ID,
    Api.OFFSET_FETCH: {_E.COORDINATOR_NOT_AVAILABLE: Reaction.RETRY},
}
KAFKA_PYTHON_3: Mapping[Api, Table] = {
    Api.JOIN_GROUP: KAFKA_PYTHON[Api.JOIN_GROUP],
    Api.SYNC_GROUP: {_E.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY},
    Api.OFFSET_FETCH: KAFKA_PYTHON[Api.OFFSET_FETCH],
}
KAFKA_PYTHON_UNTIL_2_2 = {
    **KAFKA_PYTHON,
    Api.OFFSET_COMMIT: _FORGETS_IN_A_REBALANCE,
    Api.OFFSET_FETCH: {**KAFKA_PYTHON[Api.OFFSET_FETCH], _E.UNSTABLE_OFFSET_COMMIT: Reaction.THROW},
}

# aiokafka throws errors that its code does not list (`group_coordinator.py`), COORDINATOR_LOAD_IN_PROGRESS from
# SyncGroup and Heartbeat among them; such an error also ends its heartbeat task.
_UNEXPECTED_OF_HEARTBEATS = (
    _E.COORDINATOR_LOAD_IN_PROGRESS,
    _E.FENCED_INSTANCE_ID,
    _E.GROUP_AUTHORIZATION_FAILED,
    _E.UNKNOWN_SERVER_ERROR,
)
# It requests committed offsets in v3, but reads the errors of partitions only. An error of the whole group, which has
# its own field since v2, counts as no committed offset.
_UNREAD_OF_OFFSETS = (
    _E.COORDINATOR_LOAD_IN_PROGRESS,
    _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_COORDINATOR,
    _E.GROUP_AUTHORIZATION_FAILED,
    _E.UNKNOWN_SERVER_ERROR,
)
AIOKAFKA: Mapping[Api, Table] = {
    Api.JOIN_GROUP: {
        _E.REBALANCE_IN_PROGRESS: Reaction.THROW,
        _E.ILLEGAL_GENERATION: Reaction.THROW,
        _E.FENCED_INSTANCE_ID: Reaction.THROW,
    },
    Api.SYNC_GROUP: {**FORGETS_ID, _E.FENCED_INSTANCE_ID: Reaction.THROW},
    Api.HEARTBEAT: {**FORGETS_ID, **dict.fromkeys(_UNEXPECTED_OF_HEARTBEATS, Reaction.THROW)},
    Api.OFFSET_COMMIT: {**FORGETS_ID, _E.FENCED_INSTANCE_ID: Reaction.THROW},
    Api.OFFSET_FETCH: {
        **dict.fromkeys(_UNREAD_OF_OFFSETS, Reaction.OVERLOOK),
        _E.UNSTABLE_OFFSET_COMMIT: Reaction.THROW,
    },
}

# sarama waits for Rebalance.Retry.Backoff after a retriable error. A refused heartbeat ends the session, and the next
# JoinGroup still has the old member id (`consumer_group.go`, `consumer_group_session.go`).
SARAMA: Mapping[Api, Table] = {
    Api.JOIN_GROUP: {_E.ILLEGAL_GENERATION: Reaction.RESET_MEMBER, _E.REBALANCE_IN_PROGRESS: Reaction.RETRY},
    Api.SYNC_GROUP: {
        **FORGETS_ID,
        _E.REBALANCE_IN_PROGRESS: Reaction.RETRY,
        _E.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
    },
    Api.HEARTBEAT: {_E.UNKNOWN_MEMBER_ID: Reaction.RESET_GENERATION},
}

# franz-go, too, joins with the old member id, and resets it when that is refused (`consumer_group.go`).
FRANZ_GO: Mapping[Api, Table] = {Api.HEARTBEAT: {_E.UNKNOWN_MEMBER_ID: Reaction.RESET_GENERATION}}

# librdkafka reports unusable answers to the application, and repeats retriable requests (`MainThread.retries`).
LIBRDKAFKA: Mapping[Api, Table] = {
    Api.JOIN_GROUP: {_E.ILLEGAL_GENERATION: Reaction.RESET_GENERATION, _E.REBALANCE_IN_PROGRESS: Reaction.THROW},
    Api.SYNC_GROUP: {_E.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY},
    Api.HEARTBEAT: {_E.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY},
    Api.OFFSET_COMMIT: {_E.REBALANCE_IN_PROGRESS: Reaction.THROW, _E.REQUEST_TIMED_OUT: Reaction.RETRY},
    Api.OFFSET_FETCH: {_E.NOT_COORDINATOR: Reaction.THROW, _E.COORDINATOR_NOT_AVAILABLE: Reaction.THROW},
}

# Under the consumer group protocol a look-up of offsets that is refused for the member's epoch or id makes the next
# heartbeat follow at once, and is not repeated (`rd_kafka_assignment_handle_OffsetFetch`).
LIBRDKAFKA_CONSUMER: Mapping[Api, Table] = {
    Api.OFFSET_COMMIT: {_E.FENCED_INSTANCE_ID: Reaction.FATAL, _E.ILLEGAL_GENERATION: Reaction.RESET_GENERATION},
    Api.OFFSET_FETCH: {_E.STALE_MEMBER_EPOCH: Reaction.BACKOFF, _E.UNKNOWN_MEMBER_ID: Reaction.BACKOFF},
}

OTHERWISE: Mapping[Api, Reaction] = {
    Api.JOIN_GROUP: Reaction.THROW,
    Api.SYNC_GROUP: Reaction.THROW,
    Api.HEARTBEAT: Reaction.BACKOFF,
    Api.OFFSET_COMMIT: Reaction.THROW,
    Api.OFFSET_FETCH: Reaction.THROW,
    Api.FIND_COORDINATOR: Reaction.THROW,
}


def exception_of(api: Api, error: ErrorCode) -> str:
    """Return the exception that the Java client throws: KafkaException for an error it does not expect of the API."""
    expected = (error in JAVA[api] and (api, error) not in _UNEXPECTED) or (api, error) in _EXPECTED
    return exception_name(error) if expected or api is Api.FIND_COORDINATOR else "KafkaException"


def thrown_by(api: Api, error: ErrorCode) -> str:
    """Return the exception of JoinGroup or SyncGroup; errors that Java handles itself have none (KAFKA-10870)."""
    known = JAVA[api].get(error)
    return exception_of(api, error) if known in (None, Reaction.THROW, Reaction.FATAL) else "KafkaException"


_EXPECTED = frozenset({(Api.OFFSET_FETCH, _E.UNKNOWN_MEMBER_ID)})  # under the consumer group protocol alone
_UNEXPECTED = frozenset({(Api.OFFSET_FETCH, _E.UNKNOWN_TOPIC_OR_PARTITION)})
