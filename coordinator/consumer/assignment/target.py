"""A new target: what every member of a group shall have.

The target belongs to a group epoch. It is due when the group epoch is above the epoch of the target, and it is computed
by the next heartbeat of any member. Since 4.3 it waits until the assignment interval has passed since the last target
(KIP-1263), so that many joins at once cost two targets; there is no timer for it. A group whose target has no time, a
new one or one that was empty, does not wait.

The assignor gets the members in the order of a Java map, and their present targets. One record is written for each
member whose target changes, and one for the epoch.

Source: `GroupMetadataManager.maybeUpdateTargetAssignment`, `TargetAssignmentBuilder`; consumer-protocol reference, 1.11
and 1.19.
"""

from __future__ import annotations

from groupsim.assignors.server.interface import AssignmentFailed, ServerAssignor, ServerGroup, ServerMember, Target
from groupsim.coordinator.base.consumer_records import (
    ConsumerRecord,
    TargetEpochRecord,
    TargetEpochValue,
    TargetRecord,
)
from groupsim.coordinator.base.interfaces import TopicsImage
from groupsim.coordinator.base.versions import Differences
from groupsim.coordinator.consumer.assignment.subscriptions import subscribed_ids, subscribed_names
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.state import GroupState
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.javahash import JavaHashMap
from groupsim.protocol.values import frozen

_NOTHING: Target = {}


@frozen
class NewTarget:
    """A computed target: that of the member that asked, the records, and what changed for the trace."""

    own: Target
    records: list[ConsumerRecord]
    changed: int
    moved: int


def is_due(state: GroupState, group_epoch: int, now_us: int, interval_ms: int, rules: Differences) -> bool:
    """Whether a new target has to be computed now, for this group epoch."""
    if state.assignment_epoch >= group_epoch:
        return False
    waits = rules.targets_are_batched and state.target_us is not None and interval_ms > 0
    return not waits or now_us // 1_000 >= (state.target_us or 0) // 1_000 + interval_ms


def last_target(state: GroupState, member: ConsumerMember) -> Target:
    """Return the target of a member as it stands; a static member has that of the member that it replaces."""
    holder = member.member_id
    if member.instance_id is not None:
        holder = state.static_member(member.instance_id) or ""
    return state.target(holder)


@frozen
class Topics:
    """The broker's topics, as an assignor sees them."""

    image: TopicsImage

    def partitions(self, topic_id: str) -> int | None:
        """Return the number of partitions; None for a topic that does not exist."""
        topic = self.image.topic_by_id(topic_id)
        return None if topic is None else topic.partitions

    def racks(self, topic_id: str, partition: int) -> frozenset[str]:
        """Return the racks of the replicas of a partition; empty when they are unknown."""
        topic = self.image.topic_by_id(topic_id)
        known = topic is not None and partition < len(topic.racks)
        return frozenset(topic.racks[partition]) if known and topic is not None else frozenset()


def compute_target(
    state: GroupState,
    member: ConsumerMember,
    group_epoch: int,
    assignor: ServerAssignor,
    image: TopicsImage,
    *,
    homogeneous: bool,
    time_us: int | None,
) -> NewTarget:
    """Compute the target of a group in which `member` is as given, in place of the one whose instance id it has.

    Raises Refused (UNKNOWN_SERVER_ERROR) when the assignor fails.
    """
    replaced = None if member.instance_id is None else state.static_member(member.instance_id)
    members = _specs(state, member, replaced, image)
    takes_over = replaced is not None and replaced != member.member_id
    lost = state.target(member.member_id) if takes_over else _NOTHING
    try:
        found = assignor.assign(ServerGroup(members, homogeneous, lost), Topics(image))
    except AssignmentFailed as problem:
        text = f"Failed to compute a new target assignment for epoch {group_epoch}: {problem}"
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, text) from problem
    records: list[ConsumerRecord] = []
    moved = 0
    for one in members:
        new = found.get(one.member_id, _NOTHING)
        holder = replaced if one.member_id == member.member_id and replaced is not None else one.member_id
        if holder in state.targets and (new is one.target or _same(new, one.target)):
            continue
        moved += _added(one.target, new)
        records.append(TargetRecord(state.group_id, one.member_id, new))
    changed = len(records)
    records.append(TargetEpochRecord(state.group_id, TargetEpochValue(group_epoch, time_us)))
    return NewTarget(found.get(member.member_id, _NOTHING), records, changed, moved)


def _specs(
    state: GroupState, member: ConsumerMember, replaced: str | None, image: TopicsImage
) -> tuple[ServerMember, ...]:
    """Return the members for the assignor, with their targets, in the order of a `HashMap` filled from the group's."""
    order = [one for one in state.member_order() if one != replaced or one == member.member_id]
    if member.member_id not in state.members:
        order.append(member.member_id)
    known: dict[tuple[tuple[str, ...], str], tuple[tuple[str, ...], int]] = {}
    found = []
    for member_id in JavaHashMap((one, None) for one in order):
        one = member if member_id == member.member_id else state.members[member_id]
        key = (one.names, one.regex)
        subscription = known.get(key)
        if subscription is None:
            ids = subscribed_ids(one, state.resolved, image)
            subscription = known[key] = ids, subscribed_names(one, state.resolved) - len(ids)
        topics, missing = subscription
        holder = replaced if one is member and replaced is not None else member_id
        found.append(ServerMember(member_id, topics, state.target(holder), one.instance_id, one.rack_id, missing))
    return tuple(found)


def _same(one: Target, other: Target) -> bool:
    """Whether two targets have the same partitions, in any order."""
    return one.keys() == other.keys() and all(set(one[topic]) == set(other[topic]) for topic in one)


def _added(old: Target, new: Target) -> int:
    return sum(len({*partitions} - {*old.get(topic, ())}) for topic, partitions in new.items())
