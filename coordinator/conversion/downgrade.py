"""The downgrade: a consumer group in which only classic members are left becomes a classic group.

That happens when the last members of the consumer protocol leave or are removed, and when a classic JoinGroup takes the
place of the last one, a static member. It is done if

    every member that is left is a classic one, and there is one
    `group.consumer.migration.policy` is `downgrade` or `bidirectional`
    the classic group has at most `group.max.size` members

The classic group is Stable. Its generation is the group epoch, its first member leads, the protocol is voted among the
members, and each has its target as its assignment, in the version of its own subscription. So a member whose epoch is
older than the group's hears ILLEGAL_GENERATION. After a removal, and after a replacement in which the target is older
than the group epoch, a round opens at once, because the partitions of the one that is gone have no owner. Before 4.3 a
replacement opens one only with another subscription, and at first not even then (`member_update`).

Source: `GroupMetadataManager.convertToClassicGroup`, `ClassicGroup.fromConsumerGroup`; consumer-protocol reference,
1.17.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.records import Record, whole_ms
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.classic.group import CONSUMER_PROTOCOL
from groupsim.coordinator.classic.group_record import current_assignments, group_record
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.rebalance import prepare
from groupsim.coordinator.classic.states import STABLE, Reason, TransitionCause
from groupsim.coordinator.classic.voting import select_protocol, subscribed_topics
from groupsim.coordinator.consumer.changes import Change, Trigger, WrittenGroup
from groupsim.coordinator.consumer.group_records import group_tombstones
from groupsim.coordinator.consumer.hosted.embedded import assignment_bytes, version_of
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.state import GroupState
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode, ProtocolError
from groupsim.protocol.values import frozen

_POLICIES = ("downgrade", "bidirectional")


@frozen(eq=False)
class Downgrading:
    """The downgrades of one partition; `replace` appends records, and puts a group in the place of the one they delete.

    Implements `consumer.changes.Downgrade`.
    """

    replace: Callable[[tuple[Record, ...], ClassicGroup], None]

    def is_due(
        self, group: WrittenGroup, op: Operation, gone: Collection[ConsumerMember], *, replaced: bool = False
    ) -> bool:
        """Whether the group becomes classic when these members go, or one is replaced by a classic member.

        A classic member that replaces a classic one changes nothing, also where all others are classic.
        Source: `validateOnlineDowngradeWithFencedMembers`, `validateOnlineDowngradeWithReplacedMember`.
        """
        state = group.data
        classic_gone = sum(member.classic is not None for member in gone)
        left = len(state.members) - len(gone)
        if state.classic_members - classic_gone != left or (replaced and classic_gone):
            return False
        kept = left + len(gone) if replaced else left
        if kept == 0 or op.config.consumer_migration_policy not in _POLICIES:
            return False
        return kept <= op.config.group_max_size

    def fenced(
        self, group: WrittenGroup, op: Operation, gone: Collection[ConsumerMember], why: Trigger, reason: str
    ) -> None:
        """Write the downgrade without these members, and open a round. Raises Refused (GROUP_ID_NOT_FOUND)."""
        state = group.data
        left_out = {member.member_id for member in gone}
        members = [state.members[one] for one in state.member_order() if one not in left_out]
        new = _classic_group(op, state, members, {})
        before = state.state.value
        self.replace((*group_tombstones(state), group_record(new, current_assignments(new))), new)
        for member in gone:
            payload = {"instance_id": member.instance_id, "client_reason": None}
            op.emit(Kind.MEMBER_REMOVED, group, member.member_id, reason=why.value, payload=payload)
        culprit = next(iter(gone)).member_id
        _begin(op, new, before, culprit, reason)
        text = f"Downgrade group {new.group_id} from consumer to classic for member leaving."
        prepare(op, new, Reason(TransitionCause.DOWNGRADED, text, culprit))

    def replaced(
        self,
        group: WrittenGroup,
        op: Operation,
        change: Change,
        old: ConsumerMember,
        joined: ConsumerMember,
        *,
        stale: bool,
    ) -> None:
        """Write a change in which a classic member replaces `old`, and the downgrade, as one append.

        `stale`: the target is not that of the members any more, so that a round opens. Raises Refused
        (GROUP_ID_NOT_FOUND).
        """
        state = group.data
        members = [state.members[one] for one in state.member_order() if one != old.member_id]
        new = _classic_group(op, state, [*members, joined], {joined.member_id: old.member_id})
        before = state.state.value
        tombstones = group_tombstones(state, {old.member_id: joined.member_id})
        self.replace((*change.records, *tombstones, group_record(new, current_assignments(new))), new)
        for event in change.events:
            op.emit(
                event.kind, group, event.member_id, from_=event.from_, to=event.to, reason=event.reason,
                payload=event.payload,
            )  # fmt: skip
        _begin(op, new, before, joined.member_id, f"Static member {old.member_id} was replaced by a classic member.")
        if stale:
            why = "stale assignment" if op.differences.stale_downgrade_rebalances else "different subscription"
            text = f"Downgrade group {new.group_id} from consumer to classic for static member replacement with {why}."
            prepare(op, new, Reason(TransitionCause.DOWNGRADED, text, joined.member_id))


def _classic_group(
    op: Operation, state: GroupState, members: Collection[ConsumerMember], former: Mapping[str, str]
) -> ClassicGroup:
    """Return the Stable group of these members; `former`: member id → the id whose target it has.

    Raises Refused (GROUP_ID_NOT_FOUND) when the metadata of a member has no version.
    """
    group_id = state.group_id
    new = ClassicGroup(
        group_id,
        state=STABLE,
        state_us=whole_ms(op.now_us),
        generation=state.group_epoch,
        protocol_type=CONSUMER_PROTOCOL,
    )
    for member in members:
        new.add(_classic_member(member), None)
    new.protocol = select_protocol(new)
    new.subscribed = subscribed_topics(new)
    try:
        for made in new.members.values():
            target = state.target(former.get(made.member_id, made.member_id))
            made.assignment = assignment_bytes(target, op.topics, version_of(made.metadata(new.protocol)))
    except ProtocolError as problem:
        text = f"Cannot downgrade the classic group {group_id}: {problem}."
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, text) from problem
    return new


def _classic_member(member: ConsumerMember) -> Member:
    assert member.classic is not None
    return Member(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.classic.session_timeout_ms,
        CONSUMER_PROTOCOL,
        member.classic.protocols,
    )


def _begin(op: Operation, new: ClassicGroup, before: str, culprit: str, reason: str) -> None:
    """Start every session, and emit the conversion."""
    payload = {
        "members": len(new.members),
        "before": before,
        "state": new.state.printed,
        "protocol": new.protocol,
        "leader": new.leader,
    }
    op.emit(Kind.GROUP_CONVERTED, new, culprit, from_="consumer", to="classic", reason=reason, payload=payload)
    for member in new.members.values():
        op.set_session(new, member)
