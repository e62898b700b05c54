"""Heartbeat of a classic member: it hears whether it has to join again.

    the member                                                        answer
    a target of a later epoch than its own is there                   REBALANCE_IN_PROGRESS
    it has to revoke partitions                                       REBALANCE_IN_PROGRESS
    it waits for partitions, and all that it lacks are free           REBALANCE_IN_PROGRESS
    else                                                              NONE

Both answers prolong its session. The first starts the time that it has to join again, unless that runs.

Source: `GroupMetadataManager.classicGroupHeartbeatToConsumerGroup`, `ConsumerGroup.waitingOnUnreleasedPartition`;
consumer-protocol reference, 1.18.
"""

from __future__ import annotations

from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.base.versions import Differences
from groupsim.coordinator.classic.heartbeat import ALIVE, REBALANCING
from groupsim.coordinator.consumer.assignment.reconciliation import NO_OWNER
from groupsim.coordinator.consumer.changes import WrittenGroup
from groupsim.coordinator.consumer.hosted.classic_timers import await_join, start_classic_timers
from groupsim.coordinator.consumer.hosted.senders import classic_sender, is_behind
from groupsim.coordinator.consumer.member import ConsumerMember, MemberState
from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.state import GroupState
from groupsim.protocol.messages.group import HeartbeatRequest, HeartbeatResponse


def classic_heartbeat(group: WrittenGroup, op: Operation, arrival: Arrival, request: HeartbeatRequest) -> None:
    """Handle a Heartbeat to a consumer group."""
    try:
        member = classic_sender(group.data, request)
    except Refused as refused:
        op.reply(arrival.call, HeartbeatResponse(refused.error))
        return
    start_classic_timers(group, op, member)
    rejoins = _has_to_join(group.data, member, op.differences)
    if rejoins:
        await_join(group, op, member)
    op.reply_after_writes(arrival.call, request, REBALANCING if rejoins else ALIVE)


def _has_to_join(state: GroupState, member: ConsumerMember, rules: Differences) -> bool:
    if is_behind(state, member, rules) or member.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    return member.state is MemberState.UNRELEASED_PARTITIONS and not _waits(state, member)


def _waits(state: GroupState, member: ConsumerMember) -> bool:
    """Whether a partition of its target that it lacks has an owner."""
    return any(
        number not in member.assigned.get(topic_id, {}) and state.partition_epoch(topic_id, number) != NO_OWNER
        for topic_id, numbers in state.target(member.member_id).items()
        for number in numbers
    )
