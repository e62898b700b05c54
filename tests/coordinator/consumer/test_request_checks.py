"""The checks of a ConsumerGroupHeartbeat without a group, row by row, with Kafka's messages."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.request_checks import LONGEST_NAMES, check_request, different_names
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest, TopicPartitions

JOIN = ConsumerGroupHeartbeatRequest("g", "m", 0, None, None, 300_000, ("t",), None, None, ())
STEADY = ConsumerGroupHeartbeatRequest("g", "m", 3)
SOME = (TopicPartitions("A", (0,)),)
EITHER = "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."

ROWS: list[tuple[ConsumerGroupHeartbeatRequest, dict[str, Any], str]] = [
    (JOIN, {"member_id": ""}, "MemberId can't be empty."),
    (STEADY, {"member_id": "", "version": 0}, "MemberId can't be empty."),
    (STEADY, {"member_id": "", "version": 0, "member_epoch": -1}, "MemberId can't be empty."),
    (JOIN, {"group_id": ""}, "GroupId can't be empty."),
    (JOIN, {"instance_id": ""}, "InstanceId can't be empty."),
    (STEADY, {"rack_id": ""}, "RackId can't be empty."),
    (JOIN, {"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
    (JOIN, {"topic_partitions": None}, "TopicPartitions must be empty when (re-)joining."),
    (JOIN, {"topic_partitions": SOME}, "TopicPartitions must be empty when (re-)joining."),
    (JOIN, {"subscribed_topic_names": None}, EITHER),
    (STEADY, {"member_epoch": -2}, "InstanceId can't be null."),
    (STEADY, {"member_epoch": -3}, "MemberEpoch is invalid."),
]
PASSES: list[tuple[ConsumerGroupHeartbeatRequest, dict[str, Any]]] = [
    (JOIN, {}),
    (JOIN, {"member_id": "", "version": 0}),
    (JOIN, {"rebalance_timeout_ms": 0}),
    (JOIN, {"subscribed_topic_names": None, "subscribed_topic_regex": ""}),
    (JOIN, {"subscribed_topic_names": ()}),
    (JOIN, {"server_assignor": "range"}),
    (STEADY, {}),
    (STEADY, {"topic_partitions": SOME}),
    (STEADY, {"member_epoch": -1}),
    (STEADY, {"member_epoch": -2, "instance_id": "i"}),
    (STEADY, {"member_epoch": -2, "instance_id": "i", "member_id": "", "version": 0}),
]


def refused(request: ConsumerGroupHeartbeatRequest) -> tuple[ErrorCode, str | None]:
    """Return the error and the message of a refused request."""
    with pytest.raises(Refused) as caught:
        check_request(request, ("uniform", "range"))
    return caught.value.error, caught.value.message


@pytest.mark.parametrize(("request_", "changes", "message"), ROWS)
def test_a_request_that_cannot_be_meant_is_refused(
    request_: ConsumerGroupHeartbeatRequest, changes: dict[str, Any], message: str
) -> None:
    """INVALID_REQUEST with Kafka's message."""
    assert refused(evolve(request_, **changes)) == (ErrorCode.INVALID_REQUEST, message)


@pytest.mark.parametrize(("request_", "changes"), PASSES)
def test_a_request_that_can_be_meant_passes(request_: ConsumerGroupHeartbeatRequest, changes: dict[str, Any]) -> None:
    """A zero timeout, an empty list and an id left to the broker of version 0 are allowed."""
    check_request(evolve(request_, **changes), ("uniform", "range"))


def test_the_first_check_that_fails_answers() -> None:
    """A request with two faults is answered with the earlier one."""
    both = evolve(JOIN, group_id="", rebalance_timeout_ms=-1, server_assignor="mine")
    assert refused(both)[1] == "GroupId can't be empty."


def test_an_assignor_that_is_not_configured_is_refused() -> None:
    """UNSUPPORTED_ASSIGNOR names those that are."""
    assert refused(evolve(STEADY, server_assignor="mine")) == (
        ErrorCode.UNSUPPORTED_ASSIGNOR,
        "ServerAssignor mine is not supported. Supported assignors: uniform, range.",
    )


def test_names_beyond_the_size_of_a_record_are_refused() -> None:
    """Names that no record can hold are UNKNOWN_SERVER_ERROR without a message; a repeated name counts once."""
    name = "x" * 1_000
    names = [name] + [f"{number:09d}" for number in range((LONGEST_NAMES - 1_001) // 10)]
    assert different_names(names * 3) == set(names)
    with pytest.raises(Refused) as caught:
        different_names([*names, "more-bytes"])
    assert (caught.value.error, caught.value.message) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
