"""The timers of a member: its session, and the time that it has to revoke partitions.

    session-timeout-G-M    an accepted heartbeat sets it; it removes a member that is silent
    rebalance-timeout-G-M  set when the member has to revoke; it removes one that is still at the same epoch

Classic members have two more (`hosted/classic_timers.py`).

A timer is set by the operation, not by its append. So one that was set by an operation whose append failed goes on, as
in Kafka. After a load every member has both in full length again.

Source: `GroupMetadataManager.scheduleConsumerGroupSessionTimeout`, `scheduleConsumerGroupRebalanceTimeout`;
consumer-protocol reference, 1.15.
"""

from __future__ import annotations

from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.timers import (
    TimerKind,
    consumer_session_timer,
    member_join_timer,
    member_sync_timer,
    rebalance_timer,
)
from groupsim.coordinator.consumer.changes import WrittenGroup
from groupsim.coordinator.consumer.member import ConsumerMember, MemberState

_SESSION, _REBALANCE = TimerKind.CONSUMER_SESSION, TimerKind.REBALANCE


def set_session(group: WrittenGroup, op: Operation, member_id: str, timeout_ms: int) -> None:
    """Start a member's session, or move its deadline."""
    sessions = group.soft.sessions
    timer = sessions.get(member_id)
    if timer is not None and timer.running:
        op.move_timer(timer, 1_000 * timeout_ms)
        return
    group_id = group.group_id
    name = consumer_session_timer(group_id, member_id)
    sessions[member_id] = op.set_timer(name, _SESSION, 1_000 * timeout_ms, group_id, member_id)


def set_rebalance(group: WrittenGroup, op: Operation, member: ConsumerMember) -> None:
    """Start the timer of a member that has to revoke, for its present epoch; stop it for any other."""
    group_id, member_id = group.group_id, member.member_id
    name = rebalance_timer(group_id, member_id)
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        args = (member.member_epoch, member.rebalance_timeout_ms)
        op.set_timer(name, _REBALANCE, 1_000 * member.rebalance_timeout_ms, group_id, member_id, args)
    else:
        op.stop_timer(name)


def stop_timers(group: WrittenGroup, op: Operation, member_id: str) -> None:
    """Stop the timers of a member that is removed, those of a classic member as well."""
    group.soft.sessions.pop(member_id, None)
    for name_of in (consumer_session_timer, rebalance_timer, member_join_timer, member_sync_timer):
        op.stop_timer(name_of(group.group_id, member_id))
