"""Requests of administrators about groups: DescribeGroups, ListGroups, DeleteGroups.

Sources: `DescribeGroupsRequest.json` and its neighbours, the `getErrorResponse` of each; KIP-518, KIP-848, KIP-1043.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from groupsim.protocol.basics import Api
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation, one, operations_of, parts


def _describe(fields: Fields, header: Header, directory: Directory) -> Exchange:
    operations = fields.get("include_authorized_operations", False)
    asked = [DescribeGroupsRequest(tuple(part), operations, header.version) for part in parts(fields["groups"])]

    def encode(answers: Sequence[DescribeGroupsResponse]) -> Fields:
        return {"throttle_time": 0, "groups": [_group(group, header) for answer in answers for group in answer.groups]}

    return Translation(header, tuple(asked), encode)


def _group(group: DescribedGroup, header: Header) -> Fields:
    return {
        "error_code": group.error,
        "error_message": group.error_message,
        "group_id": group.group_id,
        "group_state": group.state,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol,
        "members": [_member(member) for member in group.members],
        "authorized_operations": operations_of(group.authorized_operations, header),
    }


def _member(member: DescribedMember) -> Fields:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_metadata": member.metadata,
        "member_assignment": member.assignment,
    }


def _list(fields: Fields, header: Header, directory: Directory) -> Exchange:
    states, types = fields.get("states_filter", ()), fields.get("types_filter", ())
    request = ListGroupsRequest(tuple(states), tuple(types), header.version)
    return one(header, request, _encode_list)


def _encode_list(answer: ListGroupsResponse) -> Fields:
    groups = [
        {
            "group_id": group.group_id,
            "protocol_type": group.protocol_type,
            "group_state": group.state,
            "group_type": group.group_type,
        }
        for group in answer.groups
    ]
    return {"throttle_time": 0, "error_code": answer.error, "groups": groups}


def _delete(fields: Fields, header: Header, directory: Directory) -> Exchange:
    once = list(dict.fromkeys(fields["groups_names"]))  # a group named twice is deleted and answered once
    asked = [DeleteGroupsRequest(tuple(part), header.version) for part in parts(once)]
    return Translation(header, tuple(asked), _encode_deleted)


def _encode_deleted(answers: Sequence[DeleteGroupsResponse]) -> Fields:
    results = (result for answer in answers for result in answer.results)
    return {"throttle_time": 0, "results": [{"group_id": group, "error_code": error} for group, error in results]}


READERS: Mapping[Api, Callable[[Fields, Header, Directory], Exchange]] = {
    Api.DESCRIBE_GROUPS: _describe,
    Api.LIST_GROUPS: _list,
    Api.DELETE_GROUPS: _delete,
}
"""API → the function that makes an exchange from a request's fields."""
