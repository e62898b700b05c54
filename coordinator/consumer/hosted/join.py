"""JoinGroup to a consumer group with members: the sender becomes a classic member of it, or is one.

The request does what a heartbeat does (`member_update`), with what the subscription in its first protocol says: topics,
rack, and the partitions that the member owns. An eager member owns none, so that all it had to revoke is revoked. No
request is parked, and no other member has to join: the answer comes once the records are committed, with the member's
epoch as the generation, its first protocol, and no leader.

    in this order                                                     answer
    `group.consumer.migration.policy` is `disabled` (since 4.3)       INCONSISTENT_GROUP_PROTOCOL
    the group is full                                                 GROUP_MAX_SIZE_REACHED
    the type is not "consumer", or no protocol is one that every      INCONSISTENT_GROUP_PROTOCOL
      classic member supports
    from version 4 on: neither a member id nor an instance id         MEMBER_ID_REQUIRED, with an id that is forgotten
    a member id, and no member with that instance id                  UNKNOWN_MEMBER_ID
    a member id, and another member has that instance id              FENCED_INSTANCE_ID
    the subscription cannot be read                                   INCONSISTENT_GROUP_PROTOCOL

The member: one with the instance id, which a request without a member id replaces, whatever protocol it speaks and
whether it left or not; else one with the member id, also one of the consumer protocol, whose epoch is not asked for;
else a new one.

Source: `GroupMetadataManager.classicGroupJoinToConsumerGroup`, `throwIfClassicProtocolIsNotSupported`,
`ConsumerGroup.supportsClassicProtocols`; consumer-protocol reference, 1.18.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve

from groupsim.coordinator.base.consumer_records import ClassicMetadata, ConsumerRecord
from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.failures import IllegalState, operation_error
from groupsim.coordinator.base.interfaces import TopicsImage
from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.base.versions import Differences
from groupsim.coordinator.classic.group import CONSUMER_PROTOCOL
from groupsim.coordinator.classic.join import rebalance_timeout_ms, wants_handshake
from groupsim.coordinator.consumer.changes import Change, WrittenGroup, write
from groupsim.coordinator.consumer.hosted import classic_timers
from groupsim.coordinator.consumer.hosted.embedded import by_topic_id
from groupsim.coordinator.consumer.joining import check_capacity, instance_holder, replacement, static_member
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.member_update import update_member, update_member_of_downgrade
from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.request_checks import different_names
from groupsim.coordinator.consumer.state import GroupState
from groupsim.protocol.embedded.consumer_protocol import Subscription, decode_subscription
from groupsim.protocol.errors import ErrorCode, ProtocolError
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.messages.consumer_group import TopicPartitions
from groupsim.protocol.messages.group import JoinGroupRequest, JoinGroupResponse
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.values import frozen

_DISABLED = "disabled"


def join(group: WrittenGroup, op: Operation, arrival: Arrival, request: JoinGroupRequest) -> None:
    """Handle a JoinGroup to a consumer group with members."""
    try:
        _join(group, op, arrival, request)
    except Refused as refused:
        op.reply(arrival.call, JoinGroupResponse(refused.error))


def _join(group: WrittenGroup, op: Operation, arrival: Arrival, request: JoinGroupRequest) -> None:
    state, instance_id = group.data, request.group_instance_id
    member_id = request.member_id or arrival.fresh_id
    _check_admission(group, op, member_id, request)
    if request.member_id == "" and instance_id is None and wants_handshake(op, request):
        op.reply(arrival.call, JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))
        return
    change = Change()
    before = _find_member(
        state, member_id, instance_id, change.records, op.differences, is_fresh=request.member_id == ""
    )
    holder = None if instance_id is None else state.static_member(instance_id)
    old = None if holder is None else state.members[holder]
    subscription = _subscription(request, op.differences)
    after = _with_fields(op, before, arrival, request, subscription)
    owned = owned_by_id(subscription, op.topics)
    downgrades = old is not None and group.downgrade.is_due(group, op, (old,), replaced=True)
    if downgrades:
        assert old is not None
        moved, stale = update_member_of_downgrade(group, op, change, arrival.call, before, after, owned)
        group.downgrade.replaced(group, op, change, old, moved, stale=stale)
    else:
        moved = update_member(group, op, change, arrival.call, before, after, owned)
        reason = f"Member {moved.member_id} joins the consumer group using the classic protocol."
        write(group, op, change, moved.member_id, reason)
    response = JoinGroupResponse(
        generation_id=moved.member_epoch,
        protocol_type=CONSUMER_PROTOCOL,
        protocol_name=request.protocols[0].name,
        member_id=moved.member_id,
    )
    op.when_written(_Joined(group, arrival.call, request, response, moved, downgrades))


# --- the checks before the member is looked for ----------------------------------------------------------------------


def _check_admission(group: WrittenGroup, op: Operation, member_id: str, request: JoinGroupRequest) -> None:
    config, rules = op.config_of(group.group_id), op.differences
    if config.consumer_migration_policy == _DISABLED and rules.disabled_policy_refuses_joins:
        text = f"Classic members cannot join consumer group {group.group_id} because online migration is disabled."
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, text)
    check_capacity(group.data, member_id, request.group_instance_id, config.consumer_max_size, rules)
    if not _supports(group.data, request):
        text = f"Member {member_id}'s protocols are not supported."
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, text)


def _supports(state: GroupState, request: JoinGroupRequest) -> bool:
    """Whether every classic member supports one of the protocols; without classic members any protocol will do."""
    if request.protocol_type != CONSUMER_PROTOCOL:
        return False
    supported, everyone = state.classic_protocols, state.classic_members
    return any(supported.get(protocol.name, 0) == everyone for protocol in request.protocols)


# --- the member ------------------------------------------------------------------------------------------------------


def _find_member(
    state: GroupState,
    member_id: str,
    instance_id: str | None,
    records: list[ConsumerRecord],
    rules: Differences,
    *,
    is_fresh: bool,
) -> ConsumerMember:
    """Return the member that joins; one that replaces a static member adds its records. Raises Refused.

    `is_fresh`: the request has no member id, and `member_id` was made for it.
    """
    if instance_id is not None:
        if not is_fresh:
            return static_member(state, instance_id, member_id)
        holder = instance_holder(state, instance_id)
        if holder is not None:
            return replacement(state, holder, member_id, records, rules)
    return state.members.get(member_id) or ConsumerMember(member_id)


def _subscription(request: JoinGroupRequest, rules: Differences) -> Subscription:
    """Return the subscription in the first protocol. Raises Refused; before 4.3 IllegalState (KAFKA-20662)."""
    try:
        return decode_subscription(request.protocols[0].metadata)
    except ProtocolError as problem:
        text = f"Malformed embedded consumer protocol in subscription deserialization: {problem}"
        if not rules.malformed_subscription_is_refused:
            raise IllegalState(text) from problem
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, text) from problem


def _with_fields(
    op: Operation, member: ConsumerMember, arrival: Arrival, request: JoinGroupRequest, subscription: Subscription
) -> ConsumerMember:
    """Return the member with the fields of the request; its assignor stays, and a regular expression goes."""
    timeout_ms = rebalance_timeout_ms(op, request)
    given: dict[str, Any] = {
        "instance_id": request.group_instance_id,
        "rack_id": subscription.rack,
        "rebalance_timeout_ms": None if timeout_ms == -1 else timeout_ms,
    }
    return evolve(
        member,
        **{name: new for name, new in given.items() if new is not None},
        names=tuple(java_sorted(different_names(subscription.topics))),
        regex="",
        client_id=arrival.client_id,
        client_host=arrival.client_host,
        classic=ClassicMetadata(request.session_timeout_ms, request.protocols),
    )


def owned_by_id(subscription: Subscription, topics: TopicsImage) -> tuple[TopicPartitions, ...]:
    """Return the partitions that a subscription names, by topic id."""
    owned = by_topic_id(subscription.owned, topics)
    return tuple(TopicPartitions(topic_id, tuple(numbers)) for topic_id, numbers in owned.items())


# --- the answer ------------------------------------------------------------------------------------------------------


@frozen(eq=False)
class _Joined:
    """The end of the append of a JoinGroup, which starts the member's timers and answers it.

    `downgraded`: the group is a classic one now, which has started the session itself.
    """

    group: WrittenGroup
    call: CallToken
    request: JoinGroupRequest
    response: JoinGroupResponse
    member: ConsumerMember
    downgraded: bool

    def __call__(self, op: Operation, error: ErrorCode | None) -> None:
        if error is not None:
            op.reply(self.call, refusal(self.request, operation_error(self.request, error)))
            return
        member_id = self.member.member_id
        classic_timers.joined(self.group, op, member_id)
        if not self.downgraded:
            classic_timers.start_classic_timers(self.group, op, self.member)
            classic_timers.await_sync(self.group, op, member_id, rebalance_timeout_ms(op, self.request))
        op.reply(self.call, self.response)
