"""The records of a whole group: those that make a converted group, and those that delete a group.

Members come in the order of Kafka's map. Source: `ConsumerGroup.createConsumerGroupRecords`,
`createGroupTombstoneRecords`, `createGroupTombstoneRecordsWithReplacedMember`; consumer-protocol reference, 1.21.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.coordinator.base.consumer_records import (
    ConsumerRecord,
    CurrentRecord,
    EpochRecord,
    EpochValue,
    MemberRecord,
    RegexRecord,
    TargetEpochRecord,
    TargetEpochValue,
    TargetRecord,
    TopicsRecord,
)
from groupsim.coordinator.base.versions import Differences
from groupsim.coordinator.consumer.member_records import current_record, member_record
from groupsim.coordinator.consumer.state import GroupState


def group_records(state: GroupState, rules: Differences) -> tuple[ConsumerRecord, ...]:
    """Return the records that make a new group: members, (4.0) topics, epoch, targets, and where each member is."""
    group_id, head = state.group_id, state.head
    members = [state.members[member_id] for member_id in state.member_order()]
    return (
        *(member_record(group_id, member) for member in members),
        *(() if head.topics is None else (TopicsRecord(group_id, head.topics),)),
        EpochRecord(group_id, EpochValue(head.group_epoch, head.metadata_hash)),
        *(TargetRecord(group_id, member.member_id, state.target(member.member_id)) for member in members),
        TargetEpochRecord(group_id, TargetEpochValue(head.assignment_epoch, head.target_us)),
        *(current_record(group_id, member, rules) for member in members),
    )


def group_tombstones(state: GroupState, replaced: Mapping[str, str] | None = None) -> tuple[ConsumerRecord, ...]:
    """Return the records that delete a group, its parts first.

    `replaced`: former member id → the id under which a record before these has put the member.
    """
    group_id = state.group_id
    members = [(replaced or {}).get(member_id, member_id) for member_id in state.member_order()]
    return (
        *(CurrentRecord(group_id, member_id, None) for member_id in members),
        *(TargetRecord(group_id, member_id, None) for member_id in members),
        TargetEpochRecord(group_id, None),
        *(MemberRecord(group_id, member_id, None) for member_id in members),
        *(RegexRecord(group_id, regex, None) for regex in state.resolved_order()),
        TopicsRecord(group_id, None),
        EpochRecord(group_id, None),
    )
