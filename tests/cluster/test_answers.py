"""What a broker reads off any request or response."""

from __future__ import annotations

from groupsim.cluster.answers import error_of, generation_of, group_of, member_of
from groupsim.protocol.acl_messages import CreateAclsResponse, DeleteAclsResponse, DeletedAcls
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    FetchedOffset,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchResponse,
    TopicPartition,
)
from groupsim.protocol.txn_messages import (
    TxnOffsetCommitResponse,
)

TP = TopicPartition("t", 0)


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


def test_the_error_of_one_partition_is_the_answer_s() -> None:
    """OffsetFetch and TxnOffsetCommit say no error of their own: the first of their partitions' is told."""
    one, other = TopicPartition("t", 0), TopicPartition("t", 1)
    unstable = FetchedOffset(other, error=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert error_of(OffsetFetchResponse(offsets=(FetchedOffset(one, 7), unstable))) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    results = ((one, ErrorCode.NONE), (other, ErrorCode.UNKNOWN_MEMBER_ID))
    assert error_of(TxnOffsetCommitResponse(results)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert error_of(TxnOffsetCommitResponse(results[:1])) is ErrorCode.NONE


def test_the_error_of_one_acl_is_the_answer_s() -> None:
    """CreateAcls and DeleteAcls answer item by item; the first error there is is told."""
    refused = (ErrorCode.INVALID_REQUEST, "why")
    assert error_of(CreateAclsResponse(((ErrorCode.NONE, ""), refused))) is ErrorCode.INVALID_REQUEST
    assert error_of(DeleteAclsResponse((DeletedAcls(), DeletedAcls(*refused)))) is ErrorCode.INVALID_REQUEST
    assert error_of(DeleteAclsResponse((DeletedAcls(),))) is ErrorCode.NONE
