"""A conversion whose append failed: the group is of its former kind again.

Answers that were given, and timers, stay as they are. Source: `CoordinatorRuntime`, the timeline maps of
`GroupMetadataManager`.
"""

from __future__ import annotations

from groupsim.coordinator.base.group_kind import Group
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode


def conversion_failed(op: Operation, group: Group, restored: Group, error: ErrorCode) -> None:
    """Emit that `restored`, a group with members, is in the place of `group` again."""
    if isinstance(restored, ClassicGroup):
        restored.replaced = False
    if restored.kind is group.kind or restored.is_empty or not op.tracing:
        return
    shown = restored.snapshot(op)
    op.emit(
        Kind.GROUP_CONVERTED,
        restored,
        from_=group.kind.value,
        to=restored.kind.value,
        reason=f"The conversion could not be written ({error.name}).",
        payload={"members": len(shown.members), "before": group.snapshot(op).state, "state": shown.state},
    )
