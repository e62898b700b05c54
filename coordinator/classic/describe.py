"""A classic group as DescribeGroups and ListGroups show it.

The description shows the present state: `PreparingRebalance` appears at once. Assignments are those stored last: during
a rebalance, those of the previous generation.

Source: `ClassicGroup.describe`, `ClassicGroup.asListedGroup`; classic-protocol reference, 1.10.
"""

from __future__ import annotations

from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.states import State
from groupsim.protocol.messages.group import DescribedGroup, DescribedMember, ListedGroup


def describe(group: GroupData) -> DescribedGroup:
    """Return a classic group's description; protocol and metadata only in Stable.

    Raises IllegalState for a Stable group without a protocol, which only a foreign group record can create.
    """
    stable = group.state is State.STABLE
    members = tuple(
        DescribedMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.metadata(group.protocol) if stable else b"",
            member.assignment,
        )
        for member in group.members.values()
    )
    return DescribedGroup(
        group.group_id,
        state=group.state.printed,
        protocol_type=group.protocol_type or "",
        protocol=(group.protocol or "") if stable else "",
        members=members,
    )


def listed(group: GroupData) -> ListedGroup:
    """Return a classic group's entry in a list; a simple group has no protocol type."""
    return ListedGroup(group.group_id, group.protocol_type or "", group.state.printed, "classic")
