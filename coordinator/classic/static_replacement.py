"""A static member comes back under a new member id (KIP-345, KIP-814; table J3).

The instance keeps its seat, its assignment and, if it led, the leadership; the old id is fenced. In Stable, as long as
the vote would not change, nothing else happens: the new id is written to the log and the member is answered with the
current generation. In CompletingRebalance the leader may be assigning to the old id, so a new round is due.

Sources: `GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin`, `ClassicGroup.replaceStaticMember`;
classic-protocol reference, 1.3 (J3), 2.2.
"""

from __future__ import annotations

from attrs import evolve, frozen

from groupsim.coordinator.base.failures import group_append_error
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.group_record import current_assignments, group_record
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.purgatory import JOIN_CONDITION, STATIC_CONDITION
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
    Cause,
    IllegalState,
    Reason,
)
from groupsim.coordinator.classic.validation import Arrival
from groupsim.coordinator.classic.voting import select_protocol
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, JoinGroupRequest, JoinGroupResponse, SyncGroupResponse

_SKIP_VERSION = 9


def replace_static_member(
    turn: Turn, group: GroupData, arrival: Arrival, request: JoinGroupRequest, old_id: str
) -> None:
    """The instance of `old_id` joins without a member id: it is given a new one.

    Raises IllegalState for a group that is Empty or Dead, which has no members.
    """
    if group.state in (EMPTY, DEAD):
        raise IllegalState(f"group {group.group_id} is {group.state.printed} but has the member {old_id}")
    leader_before = group.leader
    old = group.lookup[old_id]
    member = swap_id(turn, group, old, arrival.fresh_id)
    turn.set_session(group, member)  # the old timeout: the request's is taken below
    _take(turn, group, member, request)
    group.park_join(member, arrival.call)
    in_scala_order = turn.differences.votes_in_scala_order
    stored = turn.differences.replacement_is_stored
    quiet = group.state is STABLE and (
        not stored or select_protocol(group, in_scala_order=in_scala_order) == (group.protocol or "")
    )
    _note_replaced(turn, group, member, old_id, rebalance=not quiet)
    turn.park(arrival.call, Api.JOIN_GROUP, group, member, STATIC_CONDITION if quiet else JOIN_CONDITION)
    if quiet:
        then = ReplacementStored(group, member, old, leader_before, request.version)
        if stored:
            turn.append((group_record(group, current_assignments(group)),), then)
        else:
            then(turn, None)
    elif group.state is PREPARING_REBALANCE:
        maybe_complete(turn, group)
    else:
        prepare_or_complete(turn, group, _reason(group, member, request))


def swap_id(turn: Turn, group: GroupData, old: Member, new_id: str) -> Member:
    """Put the instance under a new id; what was parked under the old one is answered FENCED_INSTANCE_ID.

    The timer of the old id goes on and fires without effect, and an old id in the pending-sync set stays there (both
    as in Kafka; the latter brings a rebalance of a healthy group when the sync timer fires).
    """
    answer_join(turn, group, old, JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member_id=old.member_id))
    answer_sync(turn, old, SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))
    new = evolve(old, member_id=new_id, is_new=False, session=None)
    group.swap(old, new)
    return new


def _take(turn: Turn, group: GroupData, member: Member, said: JoinGroupRequest | Member) -> None:
    """Let the member offer and ask for what a request says, or for what it did before."""
    group.change_protocols(member, said.protocols)
    if turn.differences.timeouts_are_updated:
        member.rebalance_timeout_ms = said.rebalance_timeout_ms
        member.session_timeout_ms = said.session_timeout_ms


def _note_replaced(turn: Turn, group: GroupData, member: Member, old_id: str, *, rebalance: bool) -> None:
    if turn.noting:
        payload = {
            "old": old_id,
            "instance_id": member.instance_id,
            "rebalance": rebalance,
            "state": group.state.printed,
        }
        turn.note(Kind.MEMBER_REPLACED, group, member.member_id, payload=payload)


def _reason(group: GroupData, member: Member, request: JoinGroupRequest) -> Reason:
    said = request.reason or NO_REASON
    who = f"static member {member.member_id} with instance id {member.instance_id}"
    if group.state is STABLE:
        text = f"Group's selectedProtocol will change because {who} joined with change of protocol"
        cause = Cause.STATIC_PROTOCOL
    else:
        text = f"Updating metadata for {who}"
        cause = Cause.STATIC_META
    return Reason(cause, f"{text}; client reason: {said}", member.member_id, said)


@frozen(eq=False)
class ReplacementStored:
    """The record with the new id is written, or could not be: then the member is as `old` again."""

    group: GroupData
    member: Member
    old: Member
    leader_before: str | None
    version: int

    def __call__(self, turn: Turn, error: ErrorCode | None) -> None:
        if error is not None:
            self._undo(turn, group_append_error(turn.differences, error))
        elif not self._overtaken:
            answer_join(turn, self.group, self.member, self._answer())

    @property
    def _overtaken(self) -> bool:
        """A leader that would be told of its members while a round is open gets no answer but the round's.

        Kafka trips over the member list then (`currentClassicGroupMembers`), and the JoinGroup stays parked. A follower
        is answered with the old generation, and has to join again.
        """
        leads = self.version >= _SKIP_VERSION and self.member.member_id == self.group.leader
        return leads and self.group.state is PREPARING_REBALANCE

    def _answer(self) -> JoinGroupResponse:
        """From version 9 a returning leader is told that it leads and need not assign; before, that it does not."""
        group, member = self.group, self.member
        answer = joined(group, member)
        if self.version >= _SKIP_VERSION:
            return evolve(answer, skip_assignment=member.member_id == group.leader)
        return evolve(answer, members=(), leader=self.leader_before or "")

    def _undo(self, turn: Turn, error: ErrorCode) -> None:
        group, member = self.group, self.member
        answer = JoinGroupResponse(
            error, group.generation, group.protocol_type, group.protocol, self.leader_before or ""
        )
        answer_join(turn, group, member, answer)
        protocols = self.old.protocols if turn.differences.replacement_reverts_protocols else member.protocols
        # Of one that has gone, too: what the group counts is off by that from then on.
        _take(turn, group, member, evolve(self.old, protocols=protocols))
        if group.lookup.get(member.member_id) is not member or group.state is DEAD:
            return  # gone meanwhile: there is nothing to restore
        old_id = self.old.member_id
        turn.set_session(group, swap_id(turn, group, member, old_id))
        text = f"Failed to persist metadata for group {group.group_id}: reverting to old member id {old_id}"
        turn.note(Kind.WARNING, group, old_id, reason=text)
