"""LeaveGroup to a consumer group: it removes members of both protocols, all of one request together.

A classic member leaves with it, and an administrator's tool names members of either protocol.

Source: `GroupMetadataManager.classicGroupLeaveToConsumerGroup`; consumer-protocol reference, 1.18.
"""

from __future__ import annotations

from groupsim.coordinator.base.failures import refused_by_group
from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.consumer.changes import Trigger, WrittenGroup
from groupsim.coordinator.consumer.fence import fence
from groupsim.coordinator.consumer.joining import static_member, unknown_member
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.refused import Refused
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    LeftMember,
)

_BATCH_VERSION = 3


def leave_group(group: WrittenGroup, op: Operation, arrival: Arrival, request: LeaveGroupRequest) -> None:
    """Remove the members of the request, as one change of the group; the answer has an error for each."""
    gone: dict[str, ConsumerMember] = {}
    results = []
    for entry in request.members:
        error = ErrorCode.NONE
        try:
            member = _named(group, entry)
            gone[member.member_id] = member
        except Refused as refused:
            error = refused.error
        results.append(LeftMember(entry.member_id, entry.group_instance_id, error))
    if request.version >= _BATCH_VERSION:
        response = LeaveGroupResponse(ErrorCode.NONE, tuple(results))
    else:
        response = LeaveGroupResponse(results[0].error if results else ErrorCode.NONE)
    if not gone:
        op.reply_after_writes(arrival.call, request, response)
        return
    names = ", ".join(gone)
    try:
        fence(group, op, gone.values(), Trigger.LEFT, f"explicit `LeaveGroup` request for ({names}) members.")
    except Refused as refused:
        op.reply(arrival.call, refused_by_group(request, refused.error))
        return
    op.reply_when_written(arrival.call, request, response)


def _named(group: WrittenGroup, entry: LeavingMember) -> ConsumerMember:
    """Return the member of an entry; an administrator names a static one by its instance id alone. Raises Refused."""
    data = group.data
    if entry.group_instance_id is not None:
        holder = data.static_member(entry.group_instance_id) or ""
        return static_member(data, entry.group_instance_id, entry.member_id or holder)
    member = data.members.get(entry.member_id)
    if member is None:
        raise unknown_member(data, entry.member_id)
    return member
