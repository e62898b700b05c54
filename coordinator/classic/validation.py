"""Is this sender who it says it is? The checks that several requests share.

Source: `ClassicGroup.validateMember`; classic-protocol reference, 1.3 to 1.7.
"""

from __future__ import annotations

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.operation import Turn
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.values import value


@value
class Arrival:
    """Who sent a request: its token, its client, and the id to be given should a JoinGroup need one."""

    call: CallToken
    client_id: str
    client_host: str
    fresh_id: str


def member_error(
    turn: Turn, group: GroupData, member_id: str, instance_id: str | None, operation: str
) -> ErrorCode | None:
    """Why the sender is no member of this group; None when it is. A pending id is not a member."""
    if instance_id is not None and turn.differences.static_members:
        current = group.instances.get(instance_id)
        if current is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if current != member_id:
            payload = {"instance_id": instance_id, "current": current}
            turn.note(Kind.MEMBER_FENCED, group, member_id, reason=operation, payload=payload)
            return ErrorCode.FENCED_INSTANCE_ID
    return None if member_id in group.lookup else ErrorCode.UNKNOWN_MEMBER_ID
