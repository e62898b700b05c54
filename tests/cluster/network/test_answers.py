"""What a broker reads off any request or response."""

from __future__ import annotations

from groupsim.cluster.network.answers import generation_of, group_of, member_of
from groupsim.protocol.messages.group import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MetadataRequest,
    OffsetCommitRequest,
)


def test_columns_of_requests() -> None:
    """Group, member and generation are read off any request that has them."""
    assert group_of(FindCoordinatorRequest("g")) == "g"
    assert group_of(MetadataRequest()) is None
    assert member_of(JoinGroupRequest("g", 1)) is None
    assert member_of(LeaveGroupRequest("g", (LeavingMember("m"),))) == "m"
    assert member_of(LeaveGroupRequest("g", (LeavingMember("m"), LeavingMember("n")))) is None
    assert generation_of(HeartbeatRequest("g", 4, "m")) == 4
    assert generation_of(OffsetCommitRequest("g", ())) is None


def test_a_transactional_id_is_no_group() -> None:
    """FindCoordinator with key type 1 asks for a transaction's coordinator."""
    assert group_of(FindCoordinatorRequest("x", key_type=1)) is None
    assert group_of(FindCoordinatorRequest("g")) == "g"
