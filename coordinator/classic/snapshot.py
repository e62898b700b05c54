"""A classic group as a value."""

from __future__ import annotations

from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.purgatory import JOIN_CONDITION, STATIC_CONDITION, SYNC_CONDITION
from groupsim.coordinator.base.snapshot import GroupSnapshot, MemberSnapshot, Parked, TimerSnapshot, held
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.states import State
from groupsim.protocol.javahash import java_set_order


def snapshot(group: GroupData, op: Operation) -> GroupSnapshot:
    """Return the group's present state as a value."""
    return GroupSnapshot(
        group.group_id,
        "classic",
        group.state.printed,
        group.previous_state.printed,
        group.state_us,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.leader,
        tuple(_member(member) for member in group.members.values()),
        tuple(group.pending_join),
        tuple(java_set_order(group.pending_sync)),
        group.new_member_added,
        None if group.subscribed is None else tuple(sorted(group.subscribed)),
        tuple(_parked(group)),
        held(op),
        tuple(TimerSnapshot(timer.name, timer.due_us) for timer in op.timers.of_group(group.group_id)),
    )


def _member(member: Member) -> MemberSnapshot:
    session = member.session
    return MemberSnapshot(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        tuple(protocol.name for protocol in member.protocols),
        member.assignment,
        member.is_new,
        member.join_call is not None,
        member.sync_call is not None,
        session.due_us if session is not None and session.running else None,
    )


def _parked(group: GroupData) -> list[Parked]:
    rows = []
    join_until = JOIN_CONDITION if group.state is State.PREPARING_REBALANCE else STATIC_CONDITION
    for member in group.members.values():
        if member.join_call is not None:
            rows.append(Parked("JoinGroup", member.member_id, join_until))
        if member.sync_call is not None:
            rows.append(Parked("SyncGroup", member.member_id, SYNC_CONDITION))
    return rows
