"""The client's reactions to an error in the answer to a heartbeat, as a table.

Every error without a row ends the membership: the member is FATAL, and `poll` throws.

Sources: `AbstractHeartbeatRequestManager.onErrorResponse`, `ConsumerHeartbeatRequestManager.handleSpecificError`
(4.4.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from groupsim.protocol.errors import ErrorCode


class Action(StrEnum):
    """One reaction; `heartbeat.py` carries it out. In every case the next heartbeat has all fields."""

    LOOK_UP = "the coordinator is forgotten; the next heartbeat follows at once when it is found"
    BACK_OFF = "the same coordinator is asked again after the backoff"
    FENCE = "partitions are lost, and the member joins again with its member id, without a backoff"
    THROW = "poll throws it; state and heartbeats go on"
    NO_GROUP = "ignored by a member that is not in the group; else fatal"
    FATAL = "poll throws it, and the membership ends"


_E = ErrorCode

ACTIONS: Final[Mapping[ErrorCode, Action]] = {
    _E.NOT_COORDINATOR: Action.LOOK_UP,
    _E.COORDINATOR_NOT_AVAILABLE: Action.LOOK_UP,
    _E.COORDINATOR_LOAD_IN_PROGRESS: Action.BACK_OFF,
    _E.FENCED_MEMBER_EPOCH: Action.FENCE,
    _E.UNKNOWN_MEMBER_ID: Action.FENCE,
    _E.TOPIC_AUTHORIZATION_FAILED: Action.THROW,
    _E.GROUP_ID_NOT_FOUND: Action.NO_GROUP,
    _E.GROUP_AUTHORIZATION_FAILED: Action.FATAL,
    _E.INVALID_REQUEST: Action.FATAL,
    _E.GROUP_MAX_SIZE_REACHED: Action.FATAL,
    _E.UNSUPPORTED_ASSIGNOR: Action.FATAL,
    _E.UNSUPPORTED_VERSION: Action.FATAL,
    _E.INVALID_REGULAR_EXPRESSION: Action.FATAL,
    _E.UNRELEASED_INSTANCE_ID: Action.FATAL,
    _E.FENCED_INSTANCE_ID: Action.FATAL,
}

#: Errors that end a membership of librdkafka up to 2.14; others, also GROUP_ID_NOT_FOUND, are retried.
LISTED_AS_FATAL: Final = frozenset(
    {
        _E.INVALID_REQUEST,
        _E.GROUP_MAX_SIZE_REACHED,
        _E.UNSUPPORTED_ASSIGNOR,
        _E.UNSUPPORTED_VERSION,
        _E.UNRELEASED_INSTANCE_ID,
        _E.GROUP_AUTHORIZATION_FAILED,
    }
)


def action_on(error: ErrorCode) -> Action:
    """Return the client's reaction to an error."""
    return ACTIONS.get(error, Action.FATAL)
