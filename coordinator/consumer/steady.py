"""A heartbeat that changes nothing: the rule by which it is known without any of the steps of the others.

Nearly all heartbeats of a group are of this kind. Each condition stands for a step of `heartbeat` that would find
nothing to do:

    the group has the member, under its instance id             it is neither made nor put in another's place
    the request has the member's epoch, and a member stays      nothing is refused, and the response has no assignment
    the request has no other field, and the client is the same  the member stays as it is, so it bumps nothing
    no member has a regular expression                          none is resolved
    fewer than two assignors are named                          the choice of the assignor stays (see the defect of 4.4)
    the topics need not be looked at                            their hash is not computed
    the target is that of the group epoch                       no target is computed
    the member has reached it                                   it does not move

A heartbeat for which one does not hold takes all steps; it may still change nothing. `tests/coordinator/consumer` runs
groups without this rule, too, and finds the same effects.

Source: `GroupMetadataManager.consumerGroupHeartbeat`.
"""

from __future__ import annotations

from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.consumer.changes import WrittenGroup
from groupsim.coordinator.consumer.member import ConsumerMember, MemberState
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest

_STABLE = MemberState.STABLE  # bound once: access to a member of an enumeration is slow


def steady_member(
    group: WrittenGroup, op: Operation, arrival: Arrival, request: ConsumerGroupHeartbeatRequest
) -> ConsumerMember | None:
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
