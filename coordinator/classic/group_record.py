"""The record of a group in `__consumer_offsets`.

It stores only the selected protocol's metadata of each member. Source: `GroupCoordinatorRecordHelpers`;
classic-protocol reference, 3.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.coordinator.base.records import GroupRecord, GroupValue, StoredMember
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.member import Member


def group_record(group: GroupData, assignments: Mapping[str, bytes]) -> GroupRecord:
    """Return the record of the group with its members and these assignments."""
    members = tuple([_stored(member, group.protocol, assignments) for member in group.members.values()])
    value = GroupValue(
        group.protocol_type or "", group.generation, group.protocol, group.leader, group.state_us, members
    )
    return GroupRecord(group.group_id, value)


def new_group_record(group: GroupData) -> GroupRecord:
    """Return the record of a new group without members: generation 0, no protocol."""
    return GroupRecord(group.group_id, GroupValue("", 0, None, None, group.state_us))


def current_assignments(group: GroupData) -> dict[str, bytes]:
    """Return the present assignment of each member."""
    return {member.member_id: member.assignment for member in group.lookup.values()}


def _stored(member: Member, protocol: str | None, assignments: Mapping[str, bytes]) -> StoredMember:
    return StoredMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.session_timeout_ms,
        member.metadata(protocol),
        assignments.get(member.member_id, b""),
    )
