"""A consumer group as a value, for inspection: its present state, committed or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupsim.coordinator.base.interfaces import TopicsImage
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.snapshot import (
    GroupEpochs,
    GroupSnapshot,
    MemberEpoch,
    MemberSnapshot,
    TimerSnapshot,
    held,
)
from groupsim.coordinator.base.timers import consumer_session_timer
from groupsim.coordinator.consumer.assignment.preferred_assignor import preferred_assignor
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.state import GroupState
from groupsim.protocol.basics import TopicPartition

PROTOCOL_TYPE = "consumer"


def snapshot(state: GroupState, op: Operation) -> GroupSnapshot:
    """Return the group; it has no generation, but an epoch."""
    return GroupSnapshot(
        group_id=state.group_id,
        kind="consumer",
        state=state.state.value,
        previous_state=state.state.value,
        state_us=None,
        generation=state.group_epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol=None,
        leader=None,
        members=tuple(_member(state, state.members[member_id], op) for member_id in sorted(state.members)),
        pending_join=(),
        pending_sync=(),
        new_member_added=False,
        subscribed=tuple(sorted(state.subscribed_topics())),
        parked=(),
        held=held(op),
        timers=tuple(TimerSnapshot(timer.name, timer.due_us) for timer in op.timers.of_group(state.group_id)),
        epochs=GroupEpochs(
            state.group_epoch,
            state.assignment_epoch,
            preferred_assignor(state.assignors) or next(iter(op.assignors)),
            state.metadata_hash,
        ),
    )


def _member(state: GroupState, member: ConsumerMember, op: Operation) -> MemberSnapshot:
    session = op.timers.get(consumer_session_timer(state.group_id, member.member_id))
    classic = member.classic
    own_ms = op.config_of(state.group_id).consumer_session_timeout_ms
    return MemberSnapshot(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=own_ms if classic is None else classic.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=() if classic is None else tuple(protocol.name for protocol in classic.protocols),
        assignment=b"",
        is_new=False,
        awaiting_join=False,
        awaiting_sync=False,
        session_due_us=None if session is None else session.due_us,
        epoch=MemberEpoch(
            member.member_epoch,
            member.previous_epoch,
            member.state.name,
            _named(member.assigned, op.topics),
            _named(member.pending, op.topics),
            _named(state.target(member.member_id), op.topics),
        ),
    )


def _named(by_topic: Mapping[str, Iterable[int]], topics: TopicsImage) -> tuple[TopicPartition, ...]:
    """Return partitions by the names of their topics, sorted; a deleted topic is shown by its id."""
    found = []
    for topic_id, partitions in by_topic.items():
        topic = topics.topic_by_id(topic_id)
        found += [TopicPartition(topic_id if topic is None else topic.name, number) for number in partitions]
    return tuple(sorted(found))
