"""Error responses of every API."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.answers import error_of, error_response, generation_of, group_of, member_of
from groupsim.protocol.batch import Batch
from groupsim.protocol.cluster_messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    MetadataLogRequest,
)
from groupsim.protocol.data_messages import (
    EpochAsked,
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
    OffsetAsked,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FetchedOffset,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
    SyncGroupRequest,
    TopicPartition,
)
from groupsim.protocol.txn_messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    OffsetInTxn,
    TxnMarker,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
)

TP = TopicPartition("t", 0)


@pytest.mark.parametrize(
    "request_",
    [
        FindCoordinatorRequest("g"),
        JoinGroupRequest("g", 1),
        SyncGroupRequest("g", 1, "m"),
        HeartbeatRequest("g", 1, "m"),
        LeaveGroupRequest("g"),
        OffsetCommitRequest("g", (OffsetToCommit(TP, 1),)),
        OffsetFetchRequest("g", (TP,)),
        OffsetDeleteRequest("g", (TP,)),
        ListGroupsRequest(),
        FetchRequest(500, 1, (FetchPartition(TP, 0),)),
        ListOffsetsRequest((OffsetAsked(TP),)),
        OffsetForLeaderEpochRequest((EpochAsked(TP, 3),)),
        InitProducerIdRequest("x"),
        AddOffsetsToTxnRequest("x", 1, 0, "g"),
        EndTxnRequest("x", 1, 0, committed=True),
        BrokerRegistrationRequest(1, "broker-1", None, 0),
        BrokerHeartbeatRequest(1, 5, 0),
        AlterPartitionRequest(1, 5, ()),
        MetadataLogRequest(1, 0),
    ],
    ids=lambda request: type(request).__name__,
)
def test_error_response_is_of_the_request_s_api_and_carries_the_error(request_: Any) -> None:
    """Whatever was asked, the answer is that API's and says the error."""
    response = error_response(request_, ErrorCode.NOT_COORDINATOR)
    assert response.API is request_.API
    assert error_of(response) is ErrorCode.NOT_COORDINATOR


def test_answers_item_by_item_repeat_the_error_for_each() -> None:
    """DescribeGroups, DeleteGroups and Metadata carry one error per item asked for."""
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert [g.error for g in error_response(DescribeGroupsRequest(("a", "b")), error).groups] == [error] * 2
    assert error_response(DeleteGroupsRequest(("a", "b")), error).results == (("a", error), ("b", error))
    assert [t.error for t in error_response(MetadataRequest(("t",)), error).topics] == [error]


def test_join_that_failed_by_an_exception_names_no_member() -> None:
    """Classic-protocol reference, 1.2: the member id of such an answer is empty, not the request's."""
    response = error_response(JoinGroupRequest("g", 1, member_id="m"), ErrorCode.NOT_COORDINATOR)
    assert isinstance(response, JoinGroupResponse)
    assert response.member_id == ""


def test_columns_of_requests() -> None:
    """Group, member and generation are read off any request that has them."""
    assert group_of(FindCoordinatorRequest("g")) == "g"
    assert group_of(MetadataRequest()) is None
    assert member_of(JoinGroupRequest("g", 1)) is None
    assert member_of(LeaveGroupRequest("g", (LeavingMember("m"),))) == "m"
    assert member_of(LeaveGroupRequest("g", (LeavingMember("m"), LeavingMember("n")))) is None
    assert generation_of(HeartbeatRequest("g", 4, "m")) == 4
    assert generation_of(OffsetCommitRequest("g", ())) is None


def test_records_and_transactions_repeat_the_error_for_each_partition() -> None:
    """Produce, the old Fetch, and what a transaction names, answer partition by partition."""
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    batch = Batch(0, 1, 70, 0, 0)
    assert [r.error for r in error_response(ProduceRequest(1, 1, ((TP, batch),) * 2), error).results] == [error] * 2
    old = FetchRequest(500, 1, (FetchPartition(TP, 0),), version=12)
    assert [p.error for p in error_response(old, error).partitions] == [error]
    assert error_response(FetchRequest(500, 1, (FetchPartition(TP, 0),)), error).partitions == ()
    adding = AddPartitionsToTxnRequest("x", 1, 0, (TP,))
    assert error_response(adding, error).results == ((TP, error),)
    committing = TxnOffsetCommitRequest("x", "g", 1, 0, (OffsetInTxn(TP, 4),))
    assert error_response(committing, error).results == ((TP, error),)
    marking = WriteTxnMarkersRequest((TxnMarker(7, 0, True, (TP,)),))
    assert error_response(marking, error).markers == ((7, ((TP, error),)),)


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
