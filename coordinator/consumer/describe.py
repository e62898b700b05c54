"""A consumer group as ConsumerGroupDescribe and ListGroups show it: as of the last committed append.

The current assignment of a member has the partitions that it has to revoke as well (since 4.3, KAFKA-20431). Topics
that no longer exist are left out.

Source: `ConsumerGroup.asDescribedGroup`, `ConsumerGroupMember.asConsumerGroupDescribeMember`; consumer-protocol
reference, 1.21.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupsim.coordinator.base.interfaces import TopicsImage
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.consumer.assignment.preferred_assignor import preferred_assignor
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.state import GroupState
from groupsim.protocol.javahash import java_copied_order
from groupsim.protocol.messages.consumer_group import DescribedConsumer, DescribedConsumerGroup, DescribedPartitions
from groupsim.protocol.messages.group import ListedGroup
from groupsim.protocol.topic_ids import TopicIdMap

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1


def described(state: GroupState, op: Operation) -> DescribedConsumerGroup:
    """Return the description of a group; `state` is that of the last committed append."""
    return DescribedConsumerGroup(
        state.group_id,
        state=state.state.value,
        group_epoch=state.group_epoch,
        assignment_epoch=state.assignment_epoch,
        assignor=preferred_assignor(state.assignors) or next(iter(op.assignors)),
        members=tuple(
            _member(state, op, state.members[one]) for one in state.member_order() for _ in range(state.listings(one))
        ),
    )


def _member(state: GroupState, op: Operation, member: ConsumerMember) -> DescribedConsumer:
    current = {topic: [*partitions] for topic, partitions in member.assigned.items()}
    if op.differences.describe_shows_pending:
        for topic, partitions in member.pending.items():
            current[topic] = [*current.get(topic, ()), *partitions]
    return DescribedConsumer(
        member.member_id,
        member.instance_id,
        member.rack_id,
        member.member_epoch,
        member.client_id,
        member.client_host,
        tuple(java_copied_order(member.names)),
        member.regex,
        _partitions(dict(reversed(current.items())), op.topics),  # `computeIfAbsent` puts a key first in its bucket
        _partitions(state.target(member.member_id), op.topics),
        _CONSUMER_MEMBER if member.classic is None else _CLASSIC_MEMBER,
    )


def _partitions(by_topic: Mapping[str, Iterable[int]], image: TopicsImage) -> tuple[DescribedPartitions, ...]:
    found = []
    for topic_id, partitions in TopicIdMap(by_topic.items()).items():
        topic = image.topic_by_id(topic_id)
        if topic is not None:
            found.append(DescribedPartitions(topic_id, topic.name, tuple(partitions)))
    return tuple(found)


def listed(state: GroupState) -> ListedGroup:
    """Return a group's entry in a list; `state` is that of the last committed append."""
    return ListedGroup(state.group_id, "consumer", state.state.value, "consumer")
