"""DescribeGroups, ListGroups and DeleteGroups: of which groups of a partition.

Describe and List see which groups are committed, but of a group what it is now (`describing`).

Source: `GroupMetadataManager.describeGroups`, `listGroups`; classic-protocol reference, 1.10 and 1.11.
"""

from __future__ import annotations

from attrs import evolve, frozen

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.failures import operation_error
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.states import State
from groupsim.coordinator.partition.group_kind import Group
from groupsim.coordinator.partition.state import BY_REQUEST, Partition
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    ListedGroup,
    ListGroupsRequest,
)
from groupsim.protocol.messages.refusals import refusal

_NOT_FOUND_VERSION = 6


def describe_one(partition: Partition, group_id: str, request: DescribeGroupsRequest) -> DescribedGroup:
    """One group of a DescribeGroups."""
    group = partition.groups.get_committed(group_id)
    if group is not None:
        described = group.describe()
        return described if partition.turn.differences.describe_tells_old_assignments else _hidden(described)
    if request.version >= _NOT_FOUND_VERSION and partition.turn.differences.describe_unknown_is_error:
        return DescribedGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.", "Dead")
    return DescribedGroup(group_id, state="Dead")


def _hidden(described: DescribedGroup) -> DescribedGroup:
    """As the Scala coordinator told of a group: assignments are those of a Stable one."""
    if described.state == State.STABLE.printed:
        return described
    return evolve(described, members=tuple(evolve(member, assignment=b"") for member in described.members))


def list_groups(partition: Partition, request: ListGroupsRequest) -> list[ListedGroup]:
    """The partition's groups that pass the filters; a state or type nobody knows matches nothing.

    Blanks around a state do not matter since 4.0, around a type they do (`Group.GroupType.parse`).
    """
    trims = partition.turn.differences.list_trims_states
    states = {(state.strip() if trims else state).lower() for state in request.states}
    types = {kind.lower() for kind in request.types}
    lines = [group.listed() for group in partition.groups.committed()]
    return [
        line
        for line in lines
        if (not states or line.state.lower() in states) and (not types or line.group_type in types)
    ]


def delete_groups(partition: Partition, call: CallToken, request: DeleteGroupsRequest) -> None:
    """Delete those of the groups that are empty, with all their offsets; pending ids do not count.

    First a write without records looks for share groups among them, and waits like any other for what was appended
    before; only then are they looked at.
    """
    deletion = Deletion(partition, call, request)
    if partition.turn.differences.deletes_after_writes:
        partition.turn.when_written(deletion)
    else:
        deletion(partition.turn, None)


@frozen(eq=False)
class Deletion:
    """What was appended before a DeleteGroups is committed: now the groups go; or it is not, and they stay."""

    partition: Partition
    call: CallToken
    request: DeleteGroupsRequest

    def __call__(self, turn: Turn, error: ErrorCode | None) -> None:
        if error is not None:
            turn.reply(self.call, refusal(self.request, operation_error(self.request, error)))
            return
        results = tuple((group_id, _delete_one(self.partition, group_id)) for group_id in self.request.groups)
        turn.reply_when_deleted(self.call, self.request, DeleteGroupsResponse(results))


def _delete_one(partition: Partition, group_id: str) -> ErrorCode:
    group = partition.groups.get(group_id)
    if group is None or group.is_dead:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if not group.is_empty:
        return ErrorCode.NON_EMPTY_GROUP
    remove_group(partition, group, BY_REQUEST)
    return ErrorCode.NONE


def remove_group(partition: Partition, group: Group, why: str) -> None:
    """Append the tombstones of a group and its offsets."""
    payload = {"offsets": len(partition.offsets.latest(group.group_id))}
    partition.turn.mention(Kind.GROUP_DELETED, group.group_id, reason=why, payload=payload)
    partition.delete(partition.tombstones(group))
