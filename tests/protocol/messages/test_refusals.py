"""Answers that say an error and nothing else, of every API."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import AclFilter, DescribeAclsRequest
from groupsim.protocol.messages.admin import (
    ConfigsAsked,
    ConfigsToAlter,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    MorePartitions,
    NewTopic,
)
from groupsim.protocol.messages.cluster import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    MetadataLogRequest,
)
from groupsim.protocol.messages.consumer_group import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from groupsim.protocol.messages.data import (
    EpochAsked,
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
    OffsetAsked,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FetchedOffset,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    ListGroupsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    Request,
    SyncGroupRequest,
    TopicPartition,
)
from groupsim.protocol.messages.refusals import _AT_THE_TOP, _FOR_EACH, _SPECIAL, refusal
from groupsim.protocol.messages.response_errors import error_in
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    OffsetInTxn,
    TxnMarker,
    TxnOffsetCommitRequest,
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
        DescribeGroupsRequest(("g",)),
        DeleteGroupsRequest(("g",)),
        MetadataRequest(("t",)),
        ProduceRequest(1, 1, ((TP, Batch(0, 1, 70, 0, 0)),)),
        FetchRequest(500, 1, (FetchPartition(TP, 0),), version=12),
        CreateTopicsRequest((NewTopic("a"),)),
        DeleteTopicsRequest(("a",)),
        CreatePartitionsRequest((MorePartitions("a", 3),)),
        DescribeConfigsRequest((ConfigsAsked(2, "a"),)),
        IncrementalAlterConfigsRequest((ConfigsToAlter(4, "1"),)),
        AddPartitionsToTxnRequest("x", 1, 0, (TP,)),
        TxnOffsetCommitRequest("x", "g", 1, 0, (OffsetInTxn(TP, 4),)),
        WriteTxnMarkersRequest((TxnMarker(7, 0, True, (TP,)),)),
        OffsetCommitRequest("g", (OffsetToCommit(TP, 1),)),
        OffsetFetchRequest("g", (TP,)),
        OffsetDeleteRequest("g", (TP,)),
        ConsumerGroupHeartbeatRequest("g", "m", 3),
        ConsumerGroupDescribeRequest(("g",)),
        ListGroupsRequest(),
        FetchRequest(500, 1, (FetchPartition(TP, 0),)),
        ListOffsetsRequest((OffsetAsked(TP),)),
        OffsetForLeaderEpochRequest((EpochAsked(TP, 3),)),
        InitProducerIdRequest("x"),
        AddOffsetsToTxnRequest("x", 1, 0, "g"),
        EndTxnRequest("x", 1, 0, committed=True),
        DescribeClusterRequest(),
        DescribeAclsRequest(AclFilter()),
        BrokerRegistrationRequest(1, "broker-1", None, 0),
        BrokerHeartbeatRequest(1, 5, 0),
        AlterPartitionRequest(1, 5, ()),
        MetadataLogRequest(1, 0),
    ],
    ids=lambda request: type(request).__name__,
)
def test_error_response_is_of_the_request_s_api_and_carries_the_error(request_: Any) -> None:
    """Whatever was asked, the answer is that API's and says the error."""
    response = refusal(request_, ErrorCode.NOT_COORDINATOR)
    assert response.API is request_.API
    assert error_in(response) is ErrorCode.NOT_COORDINATOR


def test_answers_item_by_item_repeat_the_error_for_each() -> None:
    """DescribeGroups, DeleteGroups and Metadata carry one error per item asked for."""
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert [g.error for g in refusal(DescribeGroupsRequest(("a", "b")), error).groups] == [error] * 2
    assert refusal(DeleteGroupsRequest(("a", "b")), error).results == (("a", error), ("b", error))
    assert [t.error for t in refusal(MetadataRequest(("t",)), error).topics] == [error]


def test_join_that_failed_by_an_exception_names_no_member() -> None:
    """Classic-protocol reference, 1.2: the member id of such an answer is empty, not the request's."""
    response = refusal(JoinGroupRequest("g", 1, member_id="m"), ErrorCode.NOT_COORDINATOR)
    assert isinstance(response, JoinGroupResponse)
    assert response.member_id == ""


def test_records_and_transactions_repeat_the_error_for_each_partition() -> None:
    """Produce, the old Fetch, and what a transaction names, answer partition by partition."""
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    batch = Batch(0, 1, 70, 0, 0)
    assert [r.error for r in refusal(ProduceRequest(1, 1, ((TP, batch),) * 2), error).results] == [error] * 2
    old = FetchRequest(500, 1, (FetchPartition(TP, 0),), version=12)
    assert [p.error for p in refusal(old, error).partitions] == [error]
    assert refusal(FetchRequest(500, 1, (FetchPartition(TP, 0),)), error).partitions == ()
    adding = AddPartitionsToTxnRequest("x", 1, 0, (TP,))
    assert refusal(adding, error).results == ((TP, error),)
    committing = TxnOffsetCommitRequest("x", "g", 1, 0, (OffsetInTxn(TP, 4),))
    assert refusal(committing, error).results == ((TP, error),)
    marking = WriteTxnMarkersRequest((TxnMarker(7, 0, True, (TP,)),))
    assert refusal(marking, error).markers == ((7, ((TP, error),)),)


def test_administrators_hear_the_error_for_each_thing_they_named() -> None:
    """Topics by their names, resources by their types and names, and no words beside the error."""
    error = ErrorCode.REQUEST_TIMED_OUT
    made = refusal(CreateTopicsRequest((NewTopic("a"), NewTopic("b"))), error).topics
    assert [(topic.name, topic.error) for topic in made] == [("a", error), ("b", error)]
    (gone,) = refusal(DeleteTopicsRequest(("a",)), error).topics
    assert (gone.name, gone.error, gone.topic_id) == ("a", error, None)
    assert refusal(CreatePartitionsRequest((MorePartitions("a", 3),)), error).topics == (("a", error, None),)
    (told,) = refusal(DescribeConfigsRequest((ConfigsAsked(2, "a"),)), error).results
    assert (told.type, told.name, told.error) == (2, "a", error)
    assert refusal(IncrementalAlterConfigsRequest((ConfigsToAlter(4, "1"),)), error).results == ((4, "1", error, None),)


def test_an_old_offset_fetch_is_refused_partition_by_partition() -> None:
    """Below version 2 its answer has no place for an error but the partitions; from there on it names none."""
    error = ErrorCode.NOT_COORDINATOR
    old = refusal(OffsetFetchRequest("g", (TP,), version=1), error)
    assert old.offsets == (FetchedOffset(TP, error=error),)
    assert refusal(OffsetFetchRequest("g", (TP,), version=2), error).offsets == ()


def test_every_api_is_refused_by_one_table() -> None:
    """No request of ours is without a refusal, and none has two."""
    tables = (_AT_THE_TOP, _FOR_EACH, _SPECIAL)
    assert {kind.API for kind in get_args(Request)} == {api for table in tables for api in table}
    assert sum(len(table) for table in tables) == len({api for table in tables for api in table})
