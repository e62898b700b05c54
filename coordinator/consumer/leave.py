"""A heartbeat with epoch -1 or -2: a member leaves. Neither its epoch nor the size of the group is checked.

    sender                               epoch  what happens
    no instance id                       -1     it is removed, a static member too
    instance id, and the member has it   -1     it is removed
    instance id, and the member has it   -2     it stays, at epoch -2, and may come back until its session ends
    instance id of another member        any    FENCED_INSTANCE_ID
    unknown instance id, or member       any    UNKNOWN_MEMBER_ID

A member at epoch -2 keeps its partitions, and no other member gets them. What it had to revoke is free at once. Its
session goes on from its last heartbeat, and the group is Reconciling.

Source: `GroupMetadataManager.consumerGroupLeave`; consumer-protocol reference, 1.14.
"""

from __future__ import annotations

from attrs import evolve

from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.consumer.changes import Change, Trigger, WrittenGroup, note_member, write
from groupsim.coordinator.consumer.fence import fence
from groupsim.coordinator.consumer.joining import static_member, unknown_member
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.member_records import current_record
from groupsim.protocol.messages.consumer_group import (
    STATIC_LEAVE_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def leave(group: WrittenGroup, op: Operation, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    """Handle a heartbeat that leaves; return its answer. Raises Refused."""
    member_id = request.member_id
    if request.instance_id is None:
        member = group.data.members.get(member_id)
        if member is None:
            raise unknown_member(group.data, member_id)
    else:
        member = static_member(group.data, request.instance_id, member_id)
        if request.member_epoch == STATIC_LEAVE_EPOCH:
            _leave_for_now(group, op, member)
            return ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=STATIC_LEAVE_EPOCH)
    fence(group, op, (member,), Trigger.LEFT, f"Member {member_id} left the consumer group.")
    return ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=request.member_epoch)


def _leave_for_now(group: WrittenGroup, op: Operation, member: ConsumerMember) -> None:
    assigned = {topic: dict.fromkeys(partitions, 0) for topic, partitions in member.assigned.items()}
    away = evolve(member, member_epoch=STATIC_LEAVE_EPOCH, assigned=assigned, pending={})
    change = Change([current_record(group.group_id, away, op.differences)])
    note_member(change, member, away)
    text = (
        f"Static member {member.member_id} with instance id {member.instance_id} temporarily left the consumer group."
    )
    write(group, op, change, member.member_id, text)
