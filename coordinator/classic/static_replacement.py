"""A static member joins again under a new member id (KIP-345, KIP-814; table J3).

The instance keeps its place, its assignment and, if it led, the leadership; the old id is fenced. In Stable, as long as
the vote does not change, no round opens: the new id is written to the log, and the member is answered with the present
generation. In CompletingRebalance the leader may be assigning to the old id, so a new round opens.

Sources: `GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin`, `ClassicGroup.replaceStaticMember`;
classic-protocol reference, 1.3 (J3), 2.2.
"""

from __future__ import annotations

from attrs import evolve

from groupsim.coordinator.base.failures import IllegalState, group_append_error
from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.base.purgatory import JOIN_CONDITION, STATIC_CONDITION
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.group_record import current_assignments, group_record
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.rebalance import (
    answer_join,
    answer_sync,
    joined,
    maybe_complete,
    prepare_or_complete,
)
from groupsim.coordinator.classic.states import (
    DEAD,
    EMPTY,
    NO_REASON,
    PREPARING_REBALANCE,
    STABLE,
    Reason,
    TransitionCause,
)
from groupsim.coordinator.classic.voting import select_protocol
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, JoinGroupRequest, JoinGroupResponse, SyncGroupResponse
from groupsim.protocol.values import frozen

_SKIP_VERSION = 9


def replace_static_member(
    op: Operation, group: GroupData, arrival: Arrival, request: JoinGroupRequest, old_id: str
) -> None:
    """Replace the member `old_id`, whose instance joins without a member id, by one with a new id.

    Raises IllegalState for an Empty or Dead group, which has no members.
    """
    if group.state in (EMPTY, DEAD):
        raise IllegalState(f"group {group.group_id} is {group.state.printed} but has the member {old_id}")
    leader_before = group.leader
    old = group.lookup[old_id]
    member = swap_id(op, group, old, arrival.fresh_id)
    op.set_session(group, member)  # with the old timeout; the request's follows below
    _take(op, group, member, request)
    group.park_join(member, arrival.call)
    in_scala_order = op.differences.votes_in_scala_order
    stored = op.differences.replacement_is_stored
    # Before 2.6.1 the new id was not written (KAFKA-10284), and the vote was not checked.
    quiet = group.state is STABLE and (
        not stored or select_protocol(group, in_scala_order=in_scala_order) == (group.protocol or "")
    )
    _emit_replaced(op, group, member, old_id, rebalance=not quiet)
    op.park(arrival.call, Api.JOIN_GROUP, group, member, STATIC_CONDITION if quiet else JOIN_CONDITION)
    if quiet:
        then = ReplacementStored(group, member, old, leader_before, request.version)
        if stored:
            op.append((group_record(group, current_assignments(group)),), then)
        else:
            then(op, None)
    elif group.state is PREPARING_REBALANCE:
        maybe_complete(op, group)
    else:
        prepare_or_complete(op, group, _reason(group, member, request))


def swap_id(op: Operation, group: GroupData, old: Member, new_id: str) -> Member:
    """Replace a member by one with a new id; requests parked under the old id are answered FENCED_INSTANCE_ID.

    As in Kafka, the timer of the old id goes on and fires without effect, and an old id in the pending-sync set stays
    there. The latter causes a rebalance of a healthy group when the sync timer fires.
    """
    answer_join(op, group, old, JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member_id=old.member_id))
    answer_sync(op, old, SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))
    new = evolve(old, member_id=new_id, is_new=False, session=None)
    group.swap(old, new)
    return new


def _take(op: Operation, group: GroupData, member: Member, source: JoinGroupRequest | Member) -> None:
    """Copy protocols and timeouts from a request, or from the former member."""
    group.change_protocols(member, source.protocols)
    if op.differences.timeouts_are_updated:
        member.rebalance_timeout_ms = source.rebalance_timeout_ms
        member.session_timeout_ms = source.session_timeout_ms


def _emit_replaced(op: Operation, group: GroupData, member: Member, old_id: str, *, rebalance: bool) -> None:
    if op.tracing:
        payload = {
            "old": old_id,
            "instance_id": member.instance_id,
            "rebalance": rebalance,
            "state": group.state.printed,
        }
        op.emit(Kind.MEMBER_REPLACED, group, member.member_id, payload=payload)


def _reason(group: GroupData, member: Member, request: JoinGroupRequest) -> Reason:
    client_reason = request.reason or NO_REASON
    described = f"static member {member.member_id} with instance id {member.instance_id}"
    if group.state is STABLE:
        text = f"Group's selectedProtocol will change because {described} joined with change of protocol"
        cause = TransitionCause.STATIC_PROTOCOL
    else:
        text = f"Updating metadata for {described}"
        cause = TransitionCause.STATIC_META
    return Reason(cause, f"{text}; client reason: {client_reason}", member.member_id, client_reason)


@frozen(eq=False)
class ReplacementStored:
    """The end of the append of a replacement; after a failure the member is as `old` again."""

    group: GroupData
    member: Member
    old: Member
    leader_before: str | None
    version: int

    def __call__(self, op: Operation, error: ErrorCode | None) -> None:
        if error is not None:
            self._undo(op, group_append_error(op.differences, error))
        elif not self._overtaken:
            answer_join(op, self.group, self.member, self._answer())

    @property
    def _overtaken(self) -> bool:
        """Whether a round was opened meanwhile and the member leads: then only the round's end answers it.

        Kafka fails at the member list then (`currentClassicGroupMembers`), and the JoinGroup stays parked. A follower
        is answered with the old generation, and has to join again.
        """
        leads = self.version >= _SKIP_VERSION and self.member.member_id == self.group.leader
        return leads and self.group.state is PREPARING_REBALANCE

    def _answer(self) -> JoinGroupResponse:
        """Return the answer. From version 9 on a returning leader gets `skipAssignment`; before, no leader's answer."""
        group, member = self.group, self.member
        answer = joined(group, member)
        if self.version >= _SKIP_VERSION:
            return evolve(answer, skip_assignment=member.member_id == group.leader)
        return evolve(answer, members=(), leader=self.leader_before or "")

    def _undo(self, op: Operation, error: ErrorCode) -> None:
        group, member = self.group, self.member
        answer = JoinGroupResponse(
            error, group.generation, group.protocol_type, group.protocol, self.leader_before or ""
        )
        answer_join(op, group, member, answer)
        protocols = self.old.protocols if op.differences.replacement_reverts_protocols else member.protocols
        # As in Kafka, also after the member has left: the group's protocol counters are wrong from then on.
        _take(op, group, member, evolve(self.old, protocols=protocols))
        if group.lookup.get(member.member_id) is not member or group.state is DEAD:
            return  # the member has left meanwhile
        old_id = self.old.member_id
        op.set_session(group, swap_id(op, group, member, old_id))
        text = f"Failed to persist metadata for group {group.group_id}: reverting to old member id {old_id}"
        op.emit(Kind.WARNING, group, old_id, reason=text)
