"""The sender of a SyncGroup or a Heartbeat to a consumer group.

    the sender                                        answer
    its instance id, or its member id, is unknown     UNKNOWN_MEMBER_ID
    another member has its instance id                FENCED_INSTANCE_ID
    it is a member of the consumer protocol           UNKNOWN_MEMBER_ID
    its generation is not its member epoch            ILLEGAL_GENERATION

Source: `GroupMetadataManager.validateConsumerGroupMember`, `throwIfMemberDoesNotUseClassicProtocol`,
`throwIfGenerationIdUnmatched`; consumer-protocol reference, 1.18.
"""

from __future__ import annotations

from groupsim.coordinator.base.versions import Differences
from groupsim.coordinator.consumer.joining import static_member, unknown_member
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.state import GroupState
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import HeartbeatRequest, SyncGroupRequest


def classic_sender(state: GroupState, request: SyncGroupRequest | HeartbeatRequest) -> ConsumerMember:
    """Return the classic member that sends a request in its present generation. Raises Refused."""
    member_id = request.member_id
    if request.group_instance_id is not None:
        member = static_member(state, request.group_instance_id, member_id)
    else:
        found = state.members.get(member_id)
        if found is None:
            raise unknown_member(state, member_id)
        member = found
    if member.classic is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol.")
    if request.generation_id != member.member_epoch:
        raise Refused(
            ErrorCode.ILLEGAL_GENERATION,
            f"The request generation id {request.generation_id} is not equal to the member epoch "
            f"{member.member_epoch} from the consumer group member {member_id}.",
        )
    return member


def is_behind(state: GroupState, member: ConsumerMember, rules: Differences) -> bool:
    """Whether a member has a target to move to; before 4.3 an epoch without a target counted, too (KAFKA-20272)."""
    return member.member_epoch < (state.assignment_epoch if rules.rejoins_for_targets else state.group_epoch)
