"""The removal of members: they left, or a timer removed them.

When only classic members are left, the group may become a classic one instead (`coordinator/conversion/downgrade.py`).
All members of one operation are removed together and bump the group epoch once. No target is computed: the next
heartbeat of any member does that. A group that becomes empty has its target at the new epoch, without a time, so that
the next member that joins does not wait (since 4.4, KAFKA-20442).

Source: `GroupMetadataManager.consumerGroupFenceMembers`; consumer-protocol reference, 1.14.
"""

from __future__ import annotations

from collections.abc import Collection

from groupsim.coordinator.base.consumer_records import (
    EpochRecord,
    EpochValue,
    RegexRecord,
    TargetEpochRecord,
    TargetEpochValue,
)
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.timers import CONSUMER_KINDS, Timer, TimerKind
from groupsim.coordinator.consumer.assignment.subscriptions import unused_regexes, without
from groupsim.coordinator.consumer.assignment.topics_metadata import topics_metadata
from groupsim.coordinator.consumer.changes import Change, Trigger, WrittenGroup, write
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.member_records import removal
from groupsim.coordinator.consumer.timers import stop_timers
from groupsim.eventloop.trace.events import Kind

_EXPIRED = {
    TimerKind.CONSUMER_SESSION: (Trigger.SESSION_EXPIRED, "the member session expired."),
    TimerKind.MEMBER_JOIN: (
        Trigger.JOIN_TIMEOUT,
        "the classic member failed to join within the rebalance timeout.",
    ),
    TimerKind.MEMBER_SYNC: (Trigger.SYNC_TIMEOUT, "the member failed to sync within timeout."),
}
"""Timer → the trigger of the bump, and Kafka's reason, where its member is removed whatever has happened since."""


def fence(group: WrittenGroup, op: Operation, members: Collection[ConsumerMember], why: Trigger, reason: str) -> None:
    """Remove members of the group; `reason` is the text for the trace. Raises Refused when a downgrade fails."""
    if group.downgrade.is_due(group, op, members):
        group.downgrade.fenced(group, op, members, why, reason)
        return
    state, change = group.data, Change()
    for member in members:
        change.records += removal(group.group_id, member.member_id)
        payload = {"instance_id": member.instance_id, "client_reason": None}
        change.note(Kind.MEMBER_REMOVED, member.member_id, reason=why.value, payload=payload)
    change.records += [RegexRecord(group.group_id, regex, None) for regex in unused_regexes(state, members)]
    topics = without(state, members).topics()
    epoch = state.group_epoch + 1
    metadata = topics_metadata(state, topics, op)
    change.records += metadata.before
    change.records.append(EpochRecord(group.group_id, EpochValue(epoch, metadata.hash)))
    culprit = next(iter(members)).member_id
    change.note(Kind.EPOCH_BUMPED, culprit, payload={"epoch": epoch, "triggers": [why.value]})
    if group.soft.waiting_since_us is None:
        group.soft.waiting_since_us = op.now_us
    if len(members) == len(state.members) and op.differences.last_leave_ends_target:
        change.records.append(TargetEpochRecord(group.group_id, TargetEpochValue(epoch)))
        group.soft.waiting_since_us = None
    for member in members:
        stop_timers(group, op, member.member_id)
    write(group, op, change, culprit, reason)


def timer_fired(group: WrittenGroup, op: Operation, timer: Timer) -> None:
    """Remove the member of a timer. A rebalance timer does so only if the member is at the epoch that it had then."""
    member = group.data.members.get(timer.member_id)
    if member is None or timer.kind not in CONSUMER_KINDS:
        return
    named = f"Member {member.member_id} fenced from the group because"
    expired = _EXPIRED.get(timer.kind)
    if expired is not None:
        fence(group, op, (member,), expired[0], f"{named} {expired[1]}")
        return
    epoch, timeout_ms = timer.args
    if member.member_epoch == epoch:
        text = f"{named} it failed to transition from epoch {epoch} within {timeout_ms}ms."
        fence(group, op, (member,), Trigger.REBALANCE_TIMEOUT, text)
