"""ConsumerGroupHeartbeat: the one request of a member, which joins, keeps its session, reports, and leaves.

What an accepted heartbeat does, in Kafka's order:

1. The member is found, made, or put in the place of a static one (`joining`).
2. Fields that the request has replace those of the member.
3. What that means for the group is found, and the member moves towards its target (`member_update`).
4. Its session begins again, and it is answered once the records are committed.

The answer has the assignment when the member joins, when its request was a full one, and when the assignment changed.
It never has the partitions that the member has to revoke: these are missing in it.

A refused heartbeat writes nothing and prolongs no session.

Nearly all heartbeats change nothing, and need the session and the answer alone. Each condition of `steady_member`
stands for a step that would find nothing to do:

    the group has the member, under its instance id             it is neither made nor put in another's place
    the request has the member's epoch, and the member stays    nothing is refused, and the response has no assignment
    the request has no other field, and the client is the same  the member stays as it is, so it bumps nothing
    no member has a regular expression                          none is resolved
    fewer than two assignors are named                          the choice of the assignor stays (see the defect of 4.4)
    the topics need not be looked at                            their hash is not computed
    the target is that of the group epoch                       no target is computed
    the member has reached it                                   it does not move

A heartbeat for which one does not hold takes all steps; it may still change nothing.

Source: `GroupMetadataManager.consumerGroupHeartbeat`; consumer-protocol reference, 1.8 and 1.13.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from attrs import evolve

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.consumer_records import Partitions
from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.consumer.changes import Change, WrittenGroup, write
from groupsim.coordinator.consumer.joining import check_capacity, find_member
from groupsim.coordinator.consumer.leave import leave
from groupsim.coordinator.consumer.member import ConsumerMember, MemberState
from groupsim.coordinator.consumer.member_update import update_member
from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.request_checks import different_names
from groupsim.coordinator.consumer.timers import set_session
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.messages.consumer_group import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

# Bound once: access to a member of an enumeration is slow.
_NONE, _STABLE = ErrorCode.NONE, MemberState.STABLE
Request: TypeAlias = ConsumerGroupHeartbeatRequest


def heartbeat(group: WrittenGroup, op: Operation, arrival: Arrival, request: Request) -> None:
    """Handle a heartbeat to an existing or just created group."""
    last_append = op.purgatory.last_id
    try:
        if request.member_epoch < JOIN_EPOCH:
            response = leave(group, op, request)
        else:
            response = _beat(group, op, arrival, request)
    except Refused as refused:
        # Kafka answers a refused request at once, and any other after the writes before it.
        op.reply(arrival.call, ConsumerGroupHeartbeatResponse(refused.error, refused.message))
        return
    if op.purgatory.last_id != last_append:
        op.reply_when_written(arrival.call, request, response)
    else:
        op.reply_after_writes(arrival.call, request, response)


def _beat(group: WrittenGroup, op: Operation, arrival: Arrival, request: Request) -> ConsumerGroupHeartbeatResponse:
    state, rules, settings = group.data, op.differences, op.config_of(request.group_id)
    steady = steady_member(group, op, arrival, request)
    if steady is not None:
        set_session(group, op, steady.member_id, settings.consumer_session_timeout_ms)
        return _response(steady, settings, None)
    check_capacity(state, request.member_id, request.instance_id, settings.consumer_max_size, rules)
    change = Change()
    before = find_member(state, request, request.member_id or arrival.fresh_id, rules, change.records)
    after = _with_fields(before, arrival, request)
    moved = update_member(group, op, change, arrival.call, before, after, request.topic_partitions)
    set_session(group, op, moved.member_id, settings.consumer_session_timeout_ms)
    write(group, op, change, moved.member_id, _reason(request, moved))
    shown = request.member_epoch == JOIN_EPOCH or _is_full(request) or before.assigned != moved.assigned
    return _response(moved, settings, in_response(moved.assigned) if shown else None)


# --- nothing changes -------------------------------------------------------------------------------------------------


def steady_member(group: WrittenGroup, op: Operation, arrival: Arrival, request: Request) -> ConsumerMember | None:
    """Return the member of a heartbeat that changes nothing but its session; None for any other heartbeat."""
    state = group.data
    member = state.members.get(request.member_id)
    if (
        member is None
        or member.member_epoch != request.member_epoch
        or member.member_epoch <= 0
        or request.topic_partitions is not None
        or request.subscribed_topic_names is not None
        or request.subscribed_topic_regex is not None
        or request.server_assignor is not None
        or request.rebalance_timeout_ms != -1
        or request.rack_id is not None
        or (request.instance_id is not None and state.static_members.get(request.instance_id) != member.member_id)
        or request.instance_id != member.instance_id
        or arrival.client_id != member.client_id
        or arrival.client_host != member.client_host
        or member.classic is not None
        or member.state is not _STABLE
    ):
        return None
    head = state.head
    is_quiet = (
        member.member_epoch == head.assignment_epoch
        and 0 < head.group_epoch <= head.assignment_epoch
        and not state.regexes
        and len(state.assignors) < 2
        and not group.soft.is_metadata_due(head.group_epoch, op.now_us)
    )
    return member if is_quiet else None


# --- 2: the fields of the request ------------------------------------------------------------------------------------


def _with_fields(member: ConsumerMember, arrival: Arrival, request: Request) -> ConsumerMember:
    """Return the member with the fields that the request has; its client always, and never the classic protocol."""
    given: dict[str, Any] = {
        "instance_id": request.instance_id,
        "rack_id": request.rack_id,
        "rebalance_timeout_ms": None if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms,
        "assignor": request.server_assignor,
        "regex": request.subscribed_topic_regex,
        "client_id": arrival.client_id,
        "client_host": arrival.client_host,
    }
    changed = {name: new for name, new in given.items() if new is not None and new != getattr(member, name)}
    if request.subscribed_topic_names is not None:
        names = tuple(java_sorted(different_names(request.subscribed_topic_names)))
        if names != member.names:
            changed["names"] = names
    if member.classic is not None:
        changed["classic"] = None
    return evolve(member, **changed) if changed else member


# --- 4: the answer ---------------------------------------------------------------------------------------------------


def _response(
    member: ConsumerMember, settings: CoordinatorConfig, assignment: tuple[TopicPartitions, ...] | None
) -> ConsumerGroupHeartbeatResponse:
    interval_ms = settings.consumer_heartbeat_interval_ms
    return ConsumerGroupHeartbeatResponse(_NONE, None, member.member_id, member.member_epoch, interval_ms, assignment)


def _reason(request: Request, member: ConsumerMember) -> str:
    if request.member_epoch == JOIN_EPOCH:
        return f"Member {member.member_id} joins the consumer group using the consumer protocol."
    return f"Heartbeat of member {member.member_id} at epoch {member.member_epoch}."


def _is_full(request: Request) -> bool:
    """Whether the request has all that a first one has."""
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return request.rebalance_timeout_ms != -1 and subscribes and request.topic_partitions is not None


def in_response(assigned: Partitions) -> tuple[TopicPartitions, ...]:
    """Return partitions as a response has them: in the order of the member's maps, in which they need not ascend."""
    return tuple(TopicPartitions(topic, tuple(partitions)) for topic, partitions in assigned.items())
