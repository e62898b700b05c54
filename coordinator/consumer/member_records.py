"""The records of one member.

Source: `GroupCoordinatorRecordHelpers`; consumer-protocol reference, 1.21.
"""

from __future__ import annotations

from groupsim.coordinator.base.consumer_records import (
    ConsumerRecord,
    CurrentRecord,
    CurrentValue,
    MemberRecord,
    MemberValue,
    TargetRecord,
)
from groupsim.coordinator.base.versions import Differences
from groupsim.coordinator.consumer.member import ConsumerMember


def member_record(group_id: str, member: ConsumerMember) -> MemberRecord:
    """Return the record of what a member sent."""
    sent = MemberValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        names=member.names,
        regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        assignor=member.assignor,
        classic=member.classic,
    )
    return MemberRecord(group_id, member.member_id, sent)


def current_record(group_id: str, member: ConsumerMember, rules: Differences) -> CurrentRecord:
    """Return the record of a member's epochs, state and partitions.

    Before 4.3 a partition has no assignment epoch: then it has that which such a record is read with, the member's.
    """
    assigned, pending = member.assigned, member.pending
    if not rules.partitions_have_epochs:
        epoch = max(member.member_epoch, 0)
        assigned = {topic: dict.fromkeys(numbers, epoch) for topic, numbers in assigned.items()}
        pending = {topic: dict.fromkeys(numbers, epoch) for topic, numbers in pending.items()}
    at = CurrentValue(member.member_epoch, member.previous_epoch, member.state, assigned, pending)
    return CurrentRecord(group_id, member.member_id, at)


def removal(group_id: str, member_id: str) -> list[ConsumerRecord]:
    """Return the tombstones of a member, in Kafka's order."""
    return [
        CurrentRecord(group_id, member_id, None),
        TargetRecord(group_id, member_id, None),
        MemberRecord(group_id, member_id, None),
    ]
