"""DescribeGroups, ListGroups and DeleteGroups for one partition.

DescribeGroups and ListGroups choose among the committed groups, but show each of them in its present state
(`classic/describe.py`).

Source: `GroupMetadataManager.describeGroups`, `listGroups`; classic-protocol reference, 1.10 and 1.11.
"""

from __future__ import annotations

from attrs import evolve

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.failures import operation_error
from groupsim.coordinator.base.group_kind import Group, GroupKind
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.classic.states import State
from groupsim.coordinator.partition.admission import Decision, decide, refused
from groupsim.coordinator.partition.state import BY_REQUEST, Partition
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import DescribedConsumerGroup
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    ListedGroup,
    ListGroupsRequest,
)
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.values import frozen


def describe_one(partition: Partition, group_id: str, request: DescribeGroupsRequest) -> DescribedGroup:
    """Return the answer of DescribeGroups for one group."""
    group = partition.groups.get_committed(group_id)
    decision = decide(request, group, partition.op.differences)
    if group is not None and group.kind is not GroupKind.CLASSIC:
        dead = group.describe()
        return dead if decision is ErrorCode.GROUP_ID_NOT_FOUND else DescribedGroup(group_id, state=dead.state)
    if group is not None and decision is Decision.ANSWER:
        described = group.describe()
        return described if partition.op.differences.describe_shows_old_assignments else _hidden(described)
    # Before version 6 (KIP-1043) an unknown group is a group in the state Dead, without an error.
    if decision is ErrorCode.GROUP_ID_NOT_FOUND:
        return DescribedGroup(group_id, decision, f"Group {group_id} not found.", "Dead")
    return DescribedGroup(group_id, state="Dead")


def describe_consumer_group(partition: Partition, group_id: str) -> DescribedConsumerGroup:
    """Return the answer of ConsumerGroupDescribe for one group."""
    group = partition.groups.get_committed(group_id)
    if group is None:
        return DescribedConsumerGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    return group.described(partition.op)


def _hidden(described: DescribedGroup) -> DescribedGroup:
    """Return the description without assignments unless the group is Stable, as the Scala coordinator answers."""
    if described.state == State.STABLE.printed:
        return described
    return evolve(described, members=tuple(evolve(member, assignment=b"") for member in described.members))


def list_groups(partition: Partition, request: ListGroupsRequest) -> list[ListedGroup]:
    """Return the partition's groups that pass the filters; an unknown state or type matches no group.

    Since 4.0 blanks around a state are ignored, but blanks around a type are not (`Group.GroupType.parse`).
    """
    trims = partition.op.differences.list_trims_states
    states = {(state.strip() if trims else state).lower() for state in request.states}
    types = {kind.lower() for kind in request.types}
    lines = [group.listed() for group in partition.groups.committed()]
    return [
        line
        for line in lines
        if (not states or line.state.lower() in states) and (not types or line.group_type in types)
    ]


def delete_groups(partition: Partition, call: CallToken, request: DeleteGroupsRequest) -> None:
    """Delete the empty groups among those of the request, with all their offsets; pending ids do not count as members.

    Since 4.1 Kafka first searches for share groups by a write without records (`GroupCoordinatorService.deleteGroups`).
    That write waits for all earlier appends, so the check for emptiness happens only after they are committed.
    """
    deletion = Deletion(partition, call, request)
    if partition.op.differences.deletes_after_writes:
        partition.op.when_written(deletion)
    else:
        deletion(partition.op, None)


@frozen(eq=False)
class Deletion:
    """The second half of a DeleteGroups: runs when the earlier appends are committed, and refuses when they failed."""

    partition: Partition
    call: CallToken
    request: DeleteGroupsRequest

    def __call__(self, op: Operation, error: ErrorCode | None) -> None:
        if error is not None:
            op.reply(self.call, refusal(self.request, operation_error(self.request, error)))
            return
        request = self.request
        results = tuple((group_id, _delete_one(self.partition, group_id, request)) for group_id in request.groups)
        op.reply_when_deleted(self.call, request, DeleteGroupsResponse(results))


def _delete_one(partition: Partition, group_id: str, request: DeleteGroupsRequest) -> ErrorCode:
    group = partition.groups.get(group_id)
    error = refused(request, group, partition.op.differences)
    if error is not None:
        return error
    if group is None or group.is_dead:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if not group.is_empty:
        return ErrorCode.NON_EMPTY_GROUP
    remove_group(partition, group, BY_REQUEST)
    return ErrorCode.NONE


def remove_group(partition: Partition, group: Group, why: str) -> None:
    """Append the tombstones of a group and of its offsets."""
    payload = {"offsets": len(partition.offsets.latest(group.group_id))}
    partition.op.emit_by_id(Kind.GROUP_DELETED, group.group_id, reason=why, payload=payload)
    partition.delete(partition.tombstones(group))
