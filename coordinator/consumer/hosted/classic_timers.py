"""The timers of a classic member of a consumer group.

    session-timeout-G-M    its session, of the length that its JoinGroup named; JoinGroup, SyncGroup, Heartbeat move it
    join-G-M               it heard REBALANCE_IN_PROGRESS and has not joined again; a later answer does not move it
    sync-G-M               it has joined and has not sent SyncGroup

Each removes the member. The last two have the length of its rebalance timeout, and take the part that the timer of a
revocation has for other members. JoinGroup and SyncGroup set their timers when they are answered, Heartbeat at once. A
load forgets the last two, and gives the session the length that the group's setting has, as for any other member.

A member that goes over to the consumer protocol keeps these timers, as in Kafka.

Source: `GroupMetadataManager.scheduleConsumerGroupSessionTimeout`, `scheduleConsumerGroupJoinTimeoutIfNeeded`,
`scheduleConsumerGroupSyncTimeout`; consumer-protocol reference, 1.15.
"""

from __future__ import annotations

from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.timers import TimerKind, member_join_timer, member_sync_timer
from groupsim.coordinator.consumer.changes import WrittenGroup
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.timers import set_session

_JOIN, _SYNC = TimerKind.MEMBER_JOIN, TimerKind.MEMBER_SYNC


def start_classic_timers(group: WrittenGroup, op: Operation, member: ConsumerMember) -> None:
    """Start the session of a classic member, or move its deadline: its own session timeout from now on."""
    assert member.classic is not None
    set_session(group, op, member.member_id, member.classic.session_timeout_ms)


def await_join(group: WrittenGroup, op: Operation, member: ConsumerMember) -> None:
    """Start the timer of a member that has to join again, unless it runs."""
    group_id, member_id = group.group_id, member.member_id
    name = member_join_timer(group_id, member_id)
    if op.timers.get(name) is None:
        op.set_timer(name, _JOIN, 1_000 * member.rebalance_timeout_ms, group_id, member_id)


def await_sync(group: WrittenGroup, op: Operation, member_id: str, timeout_ms: int) -> None:
    """Start the timer of a member that has to send SyncGroup; it has joined, so that its other timer stops."""
    group_id = group.group_id
    op.set_timer(member_sync_timer(group_id, member_id), _SYNC, 1_000 * timeout_ms, group_id, member_id)


def joined(group: WrittenGroup, op: Operation, member_id: str) -> None:
    """Stop the timer of a member that had to join again."""
    op.stop_timer(member_join_timer(group.group_id, member_id))


def synced(group: WrittenGroup, op: Operation, member_id: str) -> None:
    """Stop the timer of a member that had to send SyncGroup."""
    op.stop_timer(member_sync_timer(group.group_id, member_id))
