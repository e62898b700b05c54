"""The change of a classic group's state, with its trace event."""

from __future__ import annotations

from typing import Any

from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.states import Reason
from groupsim.eventloop.trace.events import Kind


def change_state(op: Operation, group: GroupData, reason: Reason, **details: Any) -> None:
    """Change a group's state along the table of `states.py`, and emit it. No other code changes a state."""
    old = group.state
    group.transition(reason, op.now_us)
    if not op.tracing or group.replaced:
        return
    payload: dict[str, Any] = {"cause_code": reason.cause.value, **details}
    if reason.client_reason is not None:
        payload["client_reason"] = reason.client_reason
    op.emit(
        Kind.GROUP_STATE,
        group,
        reason.member_id,
        from_=old.printed,
        to=group.state.printed,
        reason=reason.text,
        payload=payload,
    )
