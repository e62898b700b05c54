"""The columns of a request in the trace."""

from __future__ import annotations

from groupsim.cluster.network.answers import columns_of, group_of
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
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
    """Group, member and generation come from the fields of the request, where it has them."""
    assert group_of(FindCoordinatorRequest("g")) == "g"
    assert group_of(MetadataRequest()) is None
    assert columns_of(JoinGroupRequest("g", 1)) == ("g", None, None)
    assert columns_of(LeaveGroupRequest("g", (LeavingMember("m"),))) == ("g", "m", None)
    assert columns_of(LeaveGroupRequest("g", (LeavingMember("m"), LeavingMember("n")))) == ("g", None, None)
    assert columns_of(HeartbeatRequest("g", 4, "m")) == ("g", "m", 4)
    assert columns_of(OffsetCommitRequest("g", ())) == ("g", None, None)


def test_the_generation_of_a_consumer_group_s_member_is_its_epoch() -> None:
    """A heartbeat that joins has epoch 0; one that leaves has none."""
    assert columns_of(ConsumerGroupHeartbeatRequest("g", "m", 7)) == ("g", "m", 7)
    assert columns_of(ConsumerGroupHeartbeatRequest("g", "", 0)) == ("g", None, 0)
    assert columns_of(ConsumerGroupHeartbeatRequest("g", "m", -1)) == ("g", "m", None)


def test_a_transactional_id_is_no_group() -> None:
    """FindCoordinator with key type 1 asks for a transaction's coordinator."""
    assert group_of(FindCoordinatorRequest("x", key_type=1)) is None
    assert group_of(FindCoordinatorRequest("g")) == "g"
