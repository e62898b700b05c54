"""SyncGroup of a classic member: it gets what it owns, in the version of its own subscription.

The assignment is what the group counts as the member's own: partitions that it has to revoke are missing, and those
that other members still have are, too. What a request gives to members is ignored: the group computes the target.

    the request                                                       answer
    of no classic member in its present generation                    `senders`
    it names another protocol type than "consumer", or another        INCONSISTENT_GROUP_PROTOCOL
      protocol than the member's first
    the member is behind the target, and has not to revoke            REBALANCE_IN_PROGRESS
    else                                                              the assignment

Source: `GroupMetadataManager.classicGroupSyncToConsumerGroup`, `throwIfClassicProtocolUnmatched`,
`throwIfRebalanceInProgress`, `prepareAssignment`; consumer-protocol reference, 1.18.
"""

from __future__ import annotations

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.failures import operation_error
from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.classic.group import CONSUMER_PROTOCOL
from groupsim.coordinator.consumer.changes import WrittenGroup
from groupsim.coordinator.consumer.hosted.classic_timers import await_join, start_classic_timers, synced
from groupsim.coordinator.consumer.hosted.embedded import assignment_bytes, version_of
from groupsim.coordinator.consumer.hosted.senders import classic_sender, is_behind
from groupsim.coordinator.consumer.member import ConsumerMember, MemberState
from groupsim.coordinator.consumer.refused import Refused
from groupsim.protocol.errors import ErrorCode, ProtocolError
from groupsim.protocol.messages.group import Api, JoinProtocol, SyncGroupRequest, SyncGroupResponse
from groupsim.protocol.values import frozen


def sync(group: WrittenGroup, op: Operation, arrival: Arrival, request: SyncGroupRequest) -> None:
    """Handle a SyncGroup to a consumer group."""
    try:
        member = classic_sender(group.data, request)
        _check_protocol(member, request)
        if is_behind(group.data, member, op.differences) and member.state is not MemberState.UNREVOKED_PARTITIONS:
            await_join(group, op, member)
            text = f"A new rebalance is triggered in group {group.group_id} and {member.member_id} should rejoin."
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, text)
    except Refused as refused:
        op.reply(arrival.call, SyncGroupResponse(refused.error))
        return
    op.when_written(_Synced(group, arrival.call, request, member))


def first_protocol(member: ConsumerMember) -> JoinProtocol:
    """Return the protocol of a classic member that counts, the first that it offers."""
    assert member.classic is not None
    return member.classic.protocols[0]


def _check_protocol(member: ConsumerMember, request: SyncGroupRequest) -> None:
    """Check the protocol that a request names; those before version 5 name none. Raises Refused."""
    name = first_protocol(member).name
    for named, actual in ((request.protocol_type, CONSUMER_PROTOCOL), (request.protocol_name, name)):
        if named is not None and named != actual:
            text = f"Member {member.member_id} names {named} in place of {actual}."
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, text)


@frozen(eq=False)
class _Synced:
    """The end of the writes before a SyncGroup; only then the timers change, and the sender is answered."""

    group: WrittenGroup
    call: CallToken
    request: SyncGroupRequest
    member: ConsumerMember

    def __call__(self, op: Operation, error: ErrorCode | None) -> None:
        if error is not None:
            op.reply(self.call, SyncGroupResponse(operation_error(self.request, error)))
            return
        member = self.member
        synced(self.group, op, member.member_id)
        start_classic_timers(self.group, op, member)
        try:
            version = version_of(first_protocol(member).metadata)
            assignment = assignment_bytes(member.assigned, op.topics, version)
        except ProtocolError:  # Kafka throws in the callback that would have answered
            why = "the member's subscription has no version"
            op.drop(self.call, Api.SYNC_GROUP, self.group, member.member_id, why)
            return
        answer = SyncGroupResponse(
            protocol_type=self.request.protocol_type, protocol_name=self.request.protocol_name, assignment=assignment
        )
        op.reply(self.call, answer)
