"""The one error of a response, for the trace's column: the top-level error, else the first one of an item.

Most responses have one result per item: a batch by partition, a leave by member, a deletion by group. A request that is
refused as a whole (a commit in a transaction by UNKNOWN_MEMBER_ID, say) has that error at each item and nowhere else,
so the first item's error finds it. The messages themselves hold the error of each item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import acl, admin, consumer_group, data
from groupsim.protocol.messages import group as groups
from groupsim.protocol.messages import operator as operators
from groupsim.protocol.messages import transactions as txn

_NONE = ErrorCode.NONE


def error_in(response: Any) -> ErrorCode:
    """Return the error of a response, NONE without one; of a response with items, the first one."""
    error: ErrorCode = getattr(response, "error", _NONE)
    if error:
        return error
    items = _ITEMS.get(type(response))
    if items is not None:
        for error in items(response):
            if error:
                return error
    return _NONE


_Errors = Callable[[Any], Iterable[ErrorCode]]


def _of(items: str) -> _Errors:
    """Return the errors of items that have one each."""
    return lambda response: [item.error for item in getattr(response, items)]


def _at(items: str, place: int) -> _Errors:
    """Return the errors at this position of each item."""
    return lambda response: [item[place] for item in getattr(response, items)]


def _elected(response: operators.ElectLeadersResponse) -> list[ErrorCode]:
    return [error for _, partitions in response.topics for _, error, _ in partitions]


def _marked(response: txn.WriteTxnMarkersResponse) -> list[ErrorCode]:
    return [error for _, partitions in response.markers for _, error in partitions]


_ITEMS: Mapping[type, _Errors] = {
    groups.MetadataResponse: _of("topics"),
    groups.LeaveGroupResponse: _of("members"),
    groups.OffsetFetchResponse: _of("offsets"),
    groups.OffsetDeleteResponse: _at("partitions", 1),
    groups.DescribeGroupsResponse: _of("groups"),
    consumer_group.ConsumerGroupDescribeResponse: _of("groups"),
    groups.DeleteGroupsResponse: _at("results", 1),
    data.ProduceResponse: _of("results"),
    data.FetchResponse: _of("partitions"),
    data.ListOffsetsResponse: _of("partitions"),
    data.OffsetForLeaderEpochResponse: _of("partitions"),
    admin.CreateTopicsResponse: _of("topics"),
    admin.DeleteTopicsResponse: _of("topics"),
    admin.CreatePartitionsResponse: _at("topics", 1),
    admin.DescribeConfigsResponse: _of("results"),
    admin.IncrementalAlterConfigsResponse: _at("results", 2),
    admin.AlterConfigsResponse: _at("results", 2),
    operators.ElectLeadersResponse: _elected,
    operators.AlterPartitionReassignmentsResponse: _at("results", 1),
    operators.DescribeTopicPartitionsResponse: _of("topics"),
    operators.DeleteRecordsResponse: _at("results", 1),
    operators.DescribeProducersResponse: _of("results"),
    operators.DescribeTransactionsResponse: _of("transactions"),
    txn.AddPartitionsToTxnResponse: _at("results", 1),
    txn.TxnOffsetCommitResponse: _at("results", 1),
    txn.WriteTxnMarkersResponse: _marked,
    acl.CreateAclsResponse: _at("results", 0),
    acl.DeleteAclsResponse: _of("results"),
}
"""The errors of the items in a response, for responses with items."""
