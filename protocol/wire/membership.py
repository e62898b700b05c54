"""What members send: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

Sources: `JoinGroupRequest.json` and its neighbours; `JoinGroupRequest.getErrorResponse` and theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groupsim.protocol.basics import Api
from groupsim.protocol.messages import HeartbeatRequest, HeartbeatResponse
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import one


def _heartbeat(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = HeartbeatRequest(
        group_id=fields["group_id"],
        generation_id=fields["generation_id"],
        member_id=fields["member_id"],
        group_instance_id=fields.get("group_instance_id"),
        version=header.version,
    )
    return one(header, request, _tell_heartbeat, lambda _, error: HeartbeatResponse(error))


def _tell_heartbeat(answer: HeartbeatResponse) -> Fields:
    return {"throttle_time": 0, "error_code": answer.error}


READERS: Mapping[Api, Callable[[Fields, Header, Directory], Exchange]] = {
    Api.HEARTBEAT: _heartbeat,
}
"""API → what makes an exchange of a request's fields."""
