"""The member of a heartbeat: one of the group, a new one, or one that takes a static member's place.

    instance id  epoch  the member                                        what happens
    none         0      unknown                                           a new member
    none         0      known                                             it goes on as it is (since 4.2)
    none         > 0    unknown                                           UNKNOWN_MEMBER_ID
    none         > 0    known                                             its epoch is checked
    given        0      no member has the instance id                     a new member, or the known one gets that id
    given        0      the member with the instance id is there          UNRELEASED_INSTANCE_ID
    given        0      it left with epoch -2, or is a classic one        it is replaced
    given        > 0    no member has the instance id                     UNKNOWN_MEMBER_ID
    given        > 0    another member has it                             FENCED_INSTANCE_ID
    given        > 0    this member has it                                its epoch is checked
    given        any    it is a former one of a member that has gone      UNKNOWN_MEMBER_ID (before 4.4)

Before 4.4 a member that takes another instance id is named by its former one as well (KAFKA-20747).

A replacement has another member id and epoch 0, and all else of the former member: subscription, partitions, target. So
it has its partitions back with its first response, and no other member sees a change.

Source: `GroupMetadataManager.getOrMaybeSubscribeDynamicConsumerGroupMember`,
`getOrMaybeSubscribeStaticConsumerGroupMember`, `replaceMember`; consumer-protocol reference, 1.9 and 1.10.
"""

from __future__ import annotations

from attrs import evolve

from groupsim.coordinator.base.consumer_records import ConsumerRecord, TargetRecord
from groupsim.coordinator.base.versions import Differences
from groupsim.coordinator.consumer.epoch_check import check_epoch
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.member_records import current_record, member_record, removal
from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.state import GroupState
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import JOIN_EPOCH, STATIC_LEAVE_EPOCH, ConsumerGroupHeartbeatRequest


def check_capacity(state: GroupState, member_id: str, instance_id: str | None, limit: int, rules: Differences) -> None:
    """Check that a full group has the member, or its instance id. Raises Refused (GROUP_MAX_SIZE_REACHED)."""
    if len(state.members) < limit or member_id in state.members:
        return
    if instance_id is not None and state.static_member(instance_id) is not None and rules.known_instance_passes:
        return
    text = f"The consumer group has reached its maximum capacity of {limit} members."
    raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, text)


def find_member(
    state: GroupState,
    request: ConsumerGroupHeartbeatRequest,
    member_id: str,
    rules: Differences,
    records: list[ConsumerRecord],
) -> ConsumerMember:
    """Return the member that sends this heartbeat; a replacement adds its records to `records`.

    `member_id` is that of the request, or the one that the broker made for it. Raises Refused.
    """
    joins = request.member_epoch == JOIN_EPOCH
    if request.instance_id is None:
        member = state.members.get(member_id)
        if member is None:
            if not joins:
                raise unknown_member(state, member_id)
            return ConsumerMember(member_id)
        check_epoch(member, request.member_epoch, request.topic_partitions, rules)
        return member
    if not joins:
        member = static_member(state, request.instance_id, member_id)
        check_epoch(member, request.member_epoch, request.topic_partitions, rules)
        return member
    old = instance_holder(state, request.instance_id)
    if old is None:
        return state.members.get(member_id) or ConsumerMember(member_id)
    if old.classic is None and old.member_epoch != STATIC_LEAVE_EPOCH:
        raise Refused(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {request.instance_id} cannot join the group because the "
            f"instance id is owned by {old.member_id} member.",
        )
    return replacement(state, old, member_id, records, rules)


def instance_holder(state: GroupState, instance_id: str) -> ConsumerMember | None:
    """Return the member that an instance id names; None when it names none.

    Raises Refused (UNKNOWN_MEMBER_ID): before 4.4 a former instance id of a member that has gone still names it
    (KAFKA-20747).
    """
    holder = state.static_member(instance_id)
    if holder is None:
        return None
    member = state.members.get(holder)
    if member is None:
        raise unknown_member(state, holder)
    return member


def static_member(state: GroupState, instance_id: str, member_id: str) -> ConsumerMember:
    """Return the member with that instance id. Raises Refused: UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID."""
    holder = instance_holder(state, instance_id)
    if holder is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if holder.member_id != member_id:
        raise Refused(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {holder.member_id}.",
        )
    return holder


def unknown_member(state: GroupState, member_id: str) -> Refused:
    """Return the refusal of a member that the group does not have."""
    return Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {state.group_id}.")


def replacement(
    state: GroupState, old: ConsumerMember, member_id: str, records: list[ConsumerRecord], rules: Differences
) -> ConsumerMember:
    """Return the member that takes the place of a static one; the records of that are added to `records`."""
    group_id = state.group_id
    new = evolve(old, member_id=member_id, member_epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
    records += [
        *removal(group_id, old.member_id),
        member_record(group_id, new),
        TargetRecord(group_id, new.member_id, state.target(old.member_id)),
        current_record(group_id, new, rules),
    ]
    return new
