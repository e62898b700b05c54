"""The requests of members: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

Sources: `JoinGroupRequest.json` and its neighbours; `JoinGroupResponse` (the version with a nullable protocol name),
`LeaveGroupResponse` (the place of a single member's error), the `getErrorResponse` of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groupsim.protocol.basics import Api
from groupsim.protocol.messages.group import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import one

_NULL_PROTOCOL_NAME = 7  # from this version of JoinGroup on no protocol is null, before it ""
_GENERATION_OF_REFUSALS = (2, 2)  # from this release on a refused JoinGroup has generation -1, before it 0
_SEVERAL_LEAVE = 3  # from this version of LeaveGroup on it has a list of members


def _join(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = JoinGroupRequest(
        group_id=fields["group_id"],
        session_timeout_ms=fields["session_timeout"],
        rebalance_timeout_ms=fields.get("rebalance_timeout", -1),
        member_id=fields["member_id"],
        group_instance_id=fields.get("group_instance_id"),
        protocol_type=fields["protocol_type"],
        protocols=tuple(JoinProtocol(offered["name"], offered["metadata"]) for offered in fields["protocols"]),
        reason=fields.get("reason"),
        version=header.version,
    )
    return one(header, request, lambda answer: _encode_join(answer, header))


def _encode_join(answer: JoinGroupResponse, header: Header) -> Fields:
    name = answer.protocol_name or (None if header.version >= _NULL_PROTOCOL_NAME else "")
    zero = answer.error and header.release < _GENERATION_OF_REFUSALS
    return {
        "throttle_time": 0,
        "error_code": answer.error,
        "generation_id": 0 if zero else answer.generation_id,
        "protocol_type": answer.protocol_type,
        "protocol_name": name,
        "leader": answer.leader,
        "skip_assignment": answer.skip_assignment,
        "member_id": answer.member_id,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "metadata": member.metadata,
            }
            for member in answer.members
        ],
    }


def _sync(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = SyncGroupRequest(
        group_id=fields["group_id"],
        generation_id=fields["generation_id"],
        member_id=fields["member_id"],
        group_instance_id=fields.get("group_instance_id"),
        protocol_type=fields.get("protocol_type"),
        protocol_name=fields.get("protocol_name"),
        assignments=tuple(SyncAssignment(each["member_id"], each["assignment"]) for each in fields["assignments"]),
        version=header.version,
    )
    return one(header, request, _encode_sync)


def _encode_sync(answer: SyncGroupResponse) -> Fields:
    return {
        "throttle_time": 0,
        "error_code": answer.error,
        "protocol_type": answer.protocol_type,
        "protocol_name": answer.protocol_name,
        "assignment": answer.assignment,
    }


def _heartbeat(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = HeartbeatRequest(
        group_id=fields["group_id"],
        generation_id=fields["generation_id"],
        member_id=fields["member_id"],
        group_instance_id=fields.get("group_instance_id"),
        version=header.version,
    )
    return one(header, request, _encode_heartbeat)


def _encode_heartbeat(answer: HeartbeatResponse) -> Fields:
    return {"throttle_time": 0, "error_code": answer.error}


def _leave(fields: Fields, header: Header, directory: Directory) -> Exchange:
    members = fields["members"] if header.version >= _SEVERAL_LEAVE else [fields]
    leaving = tuple(LeavingMember(m["member_id"], m.get("group_instance_id"), m.get("reason")) for m in members)
    request = LeaveGroupRequest(fields["group_id"], leaving, header.version)
    return one(header, request, lambda answer: _encode_leave(answer, header.version))


def _encode_leave(answer: LeaveGroupResponse, version: int) -> Fields:
    error = answer.error
    if version < _SEVERAL_LEAVE and not error and answer.members:
        error = answer.members[0].error
    members = [
        {"member_id": m.member_id, "group_instance_id": m.group_instance_id, "error_code": m.error}
        for m in answer.members
    ]
    return {"throttle_time": 0, "error_code": error, "members": members}


READERS: Mapping[Api, Callable[[Fields, Header, Directory], Exchange]] = {
    Api.JOIN_GROUP: _join,
    Api.SYNC_GROUP: _sync,
    Api.HEARTBEAT: _heartbeat,
    Api.LEAVE_GROUP: _leave,
}
"""API → the function that makes an exchange from a request's fields."""
