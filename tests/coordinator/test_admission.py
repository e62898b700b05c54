"""The table of admissions: complete, and what the coordinator does."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.coordinator import shard
from groupsim.coordinator.base.group_kind import GroupKind
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.consumer.entry_points import ConsumerGroup
from groupsim.coordinator.partition.admission import ADMISSION, Decision, Refusal
from groupsim.coordinator.testing import GROUP, Bench
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from groupsim.protocol.messages.group import (
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetDeleteRequest,
    SyncGroupRequest,
    TopicPartition,
)

KINDS = (None, GroupKind.CLASSIC, GroupKind.CONSUMER)
WITHOUT_A_GROUP = ("WriteTxnMarkersRequest",)  # they name a partition, not a group


def test_every_request_of_a_group_has_rows_for_every_kind() -> None:
    """No request of the shard and no kind of group is left to code."""
    requests = [kind for kind in shard._HANDLERS if kind.__name__ not in WITHOUT_A_GROUP]
    assert set(ADMISSION) == {*requests, DescribeGroupsRequest, ConsumerGroupDescribeRequest}
    assert all(set(rows) >= set(KINDS) for rows in ADMISSION.values())


def test_the_last_row_of_each_list_has_no_condition() -> None:
    """A decision is found for each request; no row after one without a condition is out of reach."""
    for kinds in ADMISSION.values():
        for rows in kinds.values():
            assert [row.holds is None for row in rows] == [False] * (len(rows) - 1) + [True]
            assert all(bool(row.when) == (row.holds is not None) for row in rows)


def test_a_kind_answers_the_requests_of_members_that_its_rows_let_through() -> None:
    """What the table gives to a group of a kind is in that kind's own table of answers."""
    assert set(ClassicGroup.answers) == {JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, LeaveGroupRequest}
    for request in ClassicGroup.answers:
        assert [row.decision for row in ADMISSION[request][GroupKind.CLASSIC]] == [Decision.ANSWER]
    assert set(ConsumerGroup.answers) == {
        *(ConsumerGroupHeartbeatRequest, SyncGroupRequest, HeartbeatRequest, LeaveGroupRequest)
    }
    for request in ConsumerGroup.answers:
        assert [row.decision for row in ADMISSION[request][GroupKind.CONSUMER]] == [Decision.ANSWER]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (SyncGroupRequest(GROUP, 1, "m"), ErrorCode.UNKNOWN_MEMBER_ID),
        (HeartbeatRequest(GROUP, 1, "m"), ErrorCode.UNKNOWN_MEMBER_ID),
        (LeaveGroupRequest(GROUP, (LeavingMember("m"),), version=2), ErrorCode.UNKNOWN_MEMBER_ID),
        (OffsetDeleteRequest(GROUP, (TopicPartition("t", 0),)), ErrorCode.GROUP_ID_NOT_FOUND),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_request_to_an_absent_group_gets_the_error_of_its_row(request_: Any, error: ErrorCode) -> None:
    """The answer of the shard is the refusal in the table."""
    (row,) = ADMISSION[type(request_)][None]
    assert row.decision == Refusal(error)
    assert Bench().send(request_).response.error is error
