"""The check of a sender's member id and instance id, which several requests share.

Source: `ClassicGroup.validateMember`; classic-protocol reference, 1.3 to 1.7.
"""

from __future__ import annotations

from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.classic.group import GroupData
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode


def member_error(
    op: Operation, group: GroupData, member_id: str, instance_id: str | None, request_name: str
) -> ErrorCode | None:
    """Return the error of a sender that is no member of this group; None for a member. A pending id is no member."""
    # A static member's request without its instance id passes: `validateMember` compares ids only if there is one.
    if instance_id is not None and op.differences.static_members:
        current = group.instances.get(instance_id)
        if current is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if current != member_id:
            payload = {"instance_id": instance_id, "current": current}
            op.emit(Kind.MEMBER_FENCED, group, member_id, reason=request_name, payload=payload)
            return ErrorCode.FENCED_INSTANCE_ID
    return None if member_id in group.lookup else ErrorCode.UNKNOWN_MEMBER_ID
