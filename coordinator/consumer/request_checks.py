"""The checks of a ConsumerGroupHeartbeat that need no group, in Kafka's order: the first that fails answers.

One more check has no counterpart in Kafka: names that cannot fit into a record are refused before anything is done with
them (`different_names`).

Source: `GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid`; consumer-protocol reference, 1.8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from groupsim.coordinator.consumer.refused import Refused
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroupHeartbeatRequest,
)

LONGEST_NAMES = 1_048_588
"""The most bytes that the names of a subscription may take in a record: the default of `message.max.bytes`."""
_PART = 10_000
_CLIENT_MAKES_ID = 1  # from this version on the client makes its member id (KIP-1082)

Check: TypeAlias = tuple[Callable[[ConsumerGroupHeartbeatRequest], bool], str]
"""The condition of a request that is refused with INVALID_REQUEST, and Kafka's message."""


def _needs_id(request: ConsumerGroupHeartbeatRequest) -> bool:
    return request.version >= _CLIENT_MAKES_ID or request.member_epoch > 0 or request.member_epoch == LEAVE_EPOCH


def _joins(request: ConsumerGroupHeartbeatRequest) -> bool:
    return request.member_epoch == JOIN_EPOCH


CHECKS: Sequence[Check] = (
    (lambda r: _needs_id(r) and r.member_id == "", "MemberId can't be empty."),
    (lambda r: r.group_id == "", "GroupId can't be empty."),
    (lambda r: r.instance_id == "", "InstanceId can't be empty."),
    (lambda r: r.rack_id == "", "RackId can't be empty."),
    (lambda r: _joins(r) and r.rebalance_timeout_ms == -1, "RebalanceTimeoutMs must be provided in first request."),
    (lambda r: _joins(r) and r.topic_partitions != (), "TopicPartitions must be empty when (re-)joining."),
    (
        lambda r: _joins(r) and r.subscribed_topic_names is None and r.subscribed_topic_regex is None,
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    ),
    (lambda r: r.member_epoch == STATIC_LEAVE_EPOCH and r.instance_id is None, "InstanceId can't be null."),
    (lambda r: r.member_epoch < STATIC_LEAVE_EPOCH, "MemberEpoch is invalid."),
)


def check_request(request: ConsumerGroupHeartbeatRequest, assignors: Sequence[str]) -> None:
    """Check a request; `assignors` are those of `group.consumer.assignors`.

    Raises Refused: INVALID_REQUEST, or UNSUPPORTED_ASSIGNOR for an assignor that is not among them.
    """
    if (
        request.member_epoch > 0
        and request.member_id
        and request.group_id
        and request.instance_id != ""
        and request.rack_id is None
        and request.server_assignor is None
    ):
        return  # a member that stays, and names nothing that could be refused
    for fails, message in CHECKS:
        if fails(request):
            raise Refused(ErrorCode.INVALID_REQUEST, message)
    named = request.server_assignor
    if named is not None and named not in assignors:
        known = ", ".join(assignors)
        message = f"ServerAssignor {named} is not supported. Supported assignors: {known}."
        raise Refused(ErrorCode.UNSUPPORTED_ASSIGNOR, message)


def different_names(names: Sequence[str]) -> set[str]:
    """Return the names, each once.

    Raises Refused with UNKNOWN_SERVER_ERROR, the answer after the append of a record that is too large, once the names
    take more bytes than `LONGEST_NAMES`. Kafka sorts and hashes all of them first; here other clients would wait.
    """
    found: set[str] = set()
    for begin in range(0, len(names), _PART):
        found.update(names[begin : begin + _PART])
        if len(found) + sum(map(len, found)) > LONGEST_NAMES:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    return found
