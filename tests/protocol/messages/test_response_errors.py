"""The one error of a response."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from attrs import fields, has

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import CreateAclsResponse, DeleteAclsResponse, DeletedAcls
from groupsim.protocol.messages.group import (
    DeleteGroupsResponse,
    FetchedOffset,
    LeaveGroupResponse,
    LeftMember,
    OffsetCommitResponse,
    OffsetFetchResponse,
    Response,
)
from groupsim.protocol.messages.operator import ElectLeadersResponse
from groupsim.protocol.messages.response_errors import _ITEMS, error_in
from groupsim.protocol.messages.transactions import TxnOffsetCommitResponse, WriteTxnMarkersResponse
from groupsim.protocol.messages.zookeeper import WatchEvent

ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
NONE, WHY = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "response",
    [
        OffsetCommitResponse(((ONE, NONE), (OTHER, WHY))),
        OffsetFetchResponse(offsets=(FetchedOffset(ONE, 7), FetchedOffset(OTHER, error=WHY))),
        TxnOffsetCommitResponse(((ONE, NONE), (OTHER, WHY))),
        LeaveGroupResponse(NONE, (LeftMember("a"), LeftMember("b", None, WHY))),
        DeleteGroupsResponse((("a", NONE), ("b", WHY), ("c", ErrorCode.NON_EMPTY_GROUP))),
        ElectLeadersResponse(topics=(("t", ((0, NONE, None), (1, WHY, "why"))),)),
        WriteTxnMarkersResponse(((7, ((ONE, NONE), (OTHER, WHY))),)),
        CreateAclsResponse(((NONE, ""), (WHY, "why"))),
        DeleteAclsResponse((DeletedAcls(), DeletedAcls(WHY, "why"))),
    ],
    ids=lambda response: type(response).__name__,
)
def test_the_first_error_of_an_item_is_the_answers(response: Any) -> None:
    """Items that went well before it do not hide it."""
    assert error_in(response) is WHY


def test_an_error_of_the_whole_comes_before_those_of_items() -> None:
    """What stands at the top is told, whatever the items say."""
    items = (LeftMember("a", None, WHY),)
    assert error_in(LeaveGroupResponse(ErrorCode.NOT_COORDINATOR, items)) is ErrorCode.NOT_COORDINATOR
    assert error_in(LeaveGroupResponse(NONE, items[:0])) is NONE


def test_no_response_without_an_error_of_its_own_is_forgotten() -> None:
    """Whoever has none at the top, and answers for items, has its row; a watch of ZooKeeper's tells of no error."""
    for kind in {*get_args(Response)} - {WatchEvent}:
        top = has(kind) and ("error" in {field.name for field in fields(kind)} or hasattr(kind, "error"))
        assert top or kind in _ITEMS, kind.__name__
