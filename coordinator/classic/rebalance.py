"""Open and close a round: prepare, wait, complete.

`prepare` answers the parked SyncGroups REBALANCE_IN_PROGRESS, sets the timer `join-<group>` and changes the state to
PreparingRebalance. `complete_join` closes the round as soon as every member has joined and no pending id is left, or
when the timer fires. It removes dynamic members that did not join, leaves static ones, and raises the generation.

The first round of an empty group is different (KIP-134): the timer fires after `group.initial.rebalance.delay.ms`, and
joins or leaves cannot close the round earlier. If members joined meanwhile, the timer is set again, until the rebalance
timeout of the *first* member is used up. `new_member_added` marks that, and is cleared only when the delay is
prolonged. When it is set in the last window, where no delay is left, it stays set, and the group's next initial round
waits one delay too long. That is Kafka's behaviour (`tryCompleteInitialRebalanceElseSchedule`).

Sources: `GroupMetadataManager.prepareRebalance`, `completeClassicGroupJoin`,
`tryCompleteInitialRebalanceElseSchedule`; classic-protocol reference, 2.1 to 2.6.
"""

from __future__ import annotations

from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.timers import TimerKind, join_timer, sync_timer
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.group_record import group_record
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.states import (
    AWAITING_SYNC,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    Reason,
    TransitionCause,
    next_state,
)
from groupsim.coordinator.classic.transition import change_state
from groupsim.coordinator.classic.voting import select_protocol, subscribed_topics
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, JoinGroupResponse, JoinMember, SyncGroupResponse
from groupsim.protocol.values import frozen

_BREATH_US = 1_000
"""The wait before another attempt to close a round without joined members, when the rebalance timeout is 0. Kafka waits
for no time at all, and uses CPU; virtual time would not advance."""

_NONE = ErrorCode.NONE  # looked up once: access to a member of an enumeration is slow

# --- opening ---------------------------------------------------------------------------------------------------------


def prepare_or_complete(op: Operation, group: GroupData, reason: Reason) -> None:
    """Open a round; in an open one, close it if it is complete (`maybePrepareRebalanceOrCompleteJoin`)."""
    if group.can_rebalance:
        prepare(op, group, reason)
    else:
        maybe_complete(op, group)


def prepare(op: Operation, group: GroupData, reason: Reason) -> None:
    """Open a round."""
    if group.state is AWAITING_SYNC:
        reset_assignments(op, group, ErrorCode.REBALANCE_IN_PROGRESS)
    group.pending_sync.clear()
    op.stop_timer(sync_timer(group.group_id))
    # The initial delay (KIP-134) exists since 0.11, and only for the first round of an Empty group.
    initial = group.state is EMPTY and op.differences.initial_delay
    if initial:
        _set_initial_timer(op, group)
    change_state(op, group, reason)
    if not initial:
        _complete_or_wait(op, group)


def _set_initial_timer(op: Operation, group: GroupData) -> None:
    delay_us = 1_000 * op.config.initial_rebalance_delay_ms
    remaining_us = max(group.rebalance_timeout_us - delay_us, 0)
    _arm_initial(op, group, delay_us, remaining_us)


def _arm_initial(op: Operation, group: GroupData, delay_us: int, remaining_us: int) -> None:
    args = (delay_us, remaining_us)
    op.set_timer(join_timer(group.group_id), TimerKind.INITIAL_JOIN, delay_us, group.group_id, args=args)


def _complete_or_wait(op: Operation, group: GroupData) -> None:
    if group.all_joined:
        complete_join(op, group)
    else:
        _arm_join(op, group)


def _arm_join(op: Operation, group: GroupData, *, at_least_us: int = 0) -> None:
    # The longest timeout of the members at this moment: members that join later do not move the timer.
    delay_us = max(at_least_us, group.rebalance_timeout_us)
    op.set_timer(join_timer(group.group_id), TimerKind.JOIN, delay_us, group.group_id)


def initial_timer_fired(op: Operation, group: GroupData, delay_us: int, remaining_us: int) -> None:
    """Handle the initial timer: prolong the delay if members joined and time is left, else close the round."""
    if group.new_member_added and remaining_us != 0:
        group.new_member_added = False
        next_us = min(1_000 * op.config.initial_rebalance_delay_ms, remaining_us)
        _arm_initial(op, group, next_us, max(remaining_us - delay_us, 0))
    else:
        complete_join(op, group)


# --- closing ---------------------------------------------------------------------------------------------------------


def is_initial(op: Operation, group: GroupData) -> bool:
    """Whether the open round is the first of an empty group, which only its timer should close."""
    return group.previous_state is EMPTY and op.differences.initial_delay


def maybe_complete(op: Operation, group: GroupData) -> None:
    """Close the open round if every member has joined, unless it is an initial one (`maybeCompleteJoinPhase`)."""
    if group.state is PREPARING_REBALANCE and group.all_joined and not is_initial(op, group):
        complete_join(op, group)


def complete_after_expiry(op: Operation, group: GroupData) -> None:
    """Do the same after the expiry of a session.

    Here Kafka does not check for an initial round (`expireClassicGroupMemberHeartbeat`); the Scala coordinator did.
    """
    if group.state is PREPARING_REBALANCE and group.all_joined:
        if is_initial(op, group) and not op.differences.initial_ends_early:
            return
        complete_join(op, group)


def complete_join(op: Operation, group: GroupData) -> None:
    """Close the round with the members that joined. Pending ids (KIP-394) stay, and delay the next round."""
    op.stop_timer(join_timer(group.group_id))
    _remove_absent(op, group)
    if group.state is DEAD:
        return
    if not _elect_joined_leader(op, group) and group.members:
        # No static member rejoined, and no other is left: Kafka waits again, until their sessions remove them.
        op.emit(
            Kind.WARNING,
            group,
            reason=f"Group {group.group_id} could not complete rebalance because no members rejoined.",
        )
        _arm_join(op, group, at_least_us=_BREATH_US)
    elif group.members:
        _next_generation(op, group)
    else:
        _become_empty(op, group)


def close_no_round(group: GroupData) -> None:
    """Handle the join timer of a group that could not be written, when an Empty group of the same name exists by now.

    Kafka closes a round that is not open: it raises the generation, and then the change of state fails. Raises
    IllegalState, which ends the timer. A group with members has set that timer again, or stopped it.
    """
    group.generation += 1
    next_state(group.state, TransitionCause.ALL_GONE)


def _remove_absent(op: Operation, group: GroupData) -> None:
    if group.awaiting_joins == len(group.members):
        return
    # Static members stay in the group until their session expires (KIP-345).
    absent = [m for m in group.members.values() if m.join_call is None and not m.is_static]
    for member in absent:
        op.end_session(group, member.member_id)
        remove_member(op, group, member.member_id, "join-timeout")


def _elect_joined_leader(op: Operation, group: GroupData) -> bool:
    """Whether the leader has joined; else the first joined member in HashMap order replaces it, if there is one."""
    if group.leader is None:
        return False
    if group.members[group.leader].join_call is not None:
        return True
    joined = next((m.member_id for m in group.members.values() if m.join_call is not None), None)
    if joined is None:
        return False
    before, group.leader = group.leader, joined
    op.emit(Kind.LEADER_ELECTED, group, joined, reason="not-joined", payload={"previous": before})
    return True


def _become_empty(op: Operation, group: GroupData) -> None:
    # An Empty group is a generation of its own (`initNextGeneration`); the protocol type stays.
    group.generation += 1
    group.protocol = None
    group.subscribed = subscribed_topics(group)
    group.pending_sync.clear()
    change_state(op, group, Reason(TransitionCause.ALL_GONE, "the group has no members any more"))
    op.append((group_record(group, {}),), EmptyStored(group))


@frozen(eq=False)
class EmptyStored:
    """The end of the append of an emptied group's record; a failure is only reported."""

    group: GroupData

    def __call__(self, op: Operation, error: ErrorCode | None) -> None:
        if error is not None:
            text = f"Failed to write empty metadata for group {self.group.group_id}: {error.name}"
            op.emit(Kind.WARNING, self.group, reason=text)


def _next_generation(op: Operation, group: GroupData) -> None:
    group.generation += 1
    group.protocol = select_protocol(group, in_scala_order=op.differences.votes_in_scala_order)
    group.subscribed = subscribed_topics(group)
    group.pending_sync.clear()
    change_state(
        op,
        group,
        Reason(TransitionCause.ALL_JOINED, "every member has joined"),
        members=len(group.members),
        leader=group.leader,
        protocol=group.protocol,
        static=group.static_count,
    )
    # Absent static members (KIP-345) get a new session, too, and have to send SyncGroup.
    for member in group.members.values():
        answer_join(op, group, member, joined(group, member))
        if member.is_new and not op.differences.new_member_session:
            op.end_session(group, member.member_id)  # KAFKA-9752: only its next request starts a session
        else:
            op.set_session(group, member)
        member.is_new = False
        group.pending_sync[member.member_id] = None
    _arm_sync(op, group)


def _arm_sync(op: Operation, group: GroupData) -> None:
    # Before 2.8.1 a member without a SyncGroup stayed in the group as long as it sent heartbeats (KAFKA-12890).
    if not op.differences.pending_sync_timer:
        return
    args = (group.generation,)
    op.set_timer(sync_timer(group.group_id), TimerKind.SYNC, group.rebalance_timeout_us, group.group_id, args=args)


# --- answers to parked requests --------------------------------------------------------------------------------------


def joined(group: GroupData, member: Member) -> JoinGroupResponse:
    """Return the current generation as a JoinGroup answer; only the leader gets the members' metadata."""
    return JoinGroupResponse(
        _NONE,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.leader or "",
        member.member_id,
        member_list(group) if member.member_id == group.leader else (),
    )


def member_list(group: GroupData) -> tuple[JoinMember, ...]:
    """Return the member list for the leader, in HashMap order."""
    protocol = group.protocol
    return tuple([JoinMember(m.member_id, m.instance_id, m.metadata(protocol)) for m in group.members.values()])


def answer_join(op: Operation, group: GroupData, member: Member, response: JoinGroupResponse) -> None:
    """Answer the member's parked JoinGroup, if there is one."""
    call = group.park_join(member, None)
    if call is not None:
        op.reply(call, response)


def answer_sync(op: Operation, member: Member, response: SyncGroupResponse) -> bool:
    """Answer the member's parked SyncGroup, if there is one."""
    call, member.sync_call = member.sync_call, None
    if call is None:
        return False
    op.reply(call, response)
    return True


def reset_assignments(op: Operation, group: GroupData, error: ErrorCode) -> None:
    """Clear every assignment and answer the parked SyncGroups with `error`."""
    for member in group.members.values():
        member.assignment = b""
        if answer_sync(op, member, SyncGroupResponse(error)):
            op.set_session(group, member)


def remove_member(
    op: Operation, group: GroupData, member_id: str, why: str, client_reason: str | None = None
) -> Member | None:
    """Remove a member or pending id and emit it. Its parked requests that the caller has not answered are dropped."""
    leader = group.leader
    member = group.remove(member_id)
    if op.tracing:
        instance = member.instance_id if member is not None else None
        payload = {"instance_id": instance, "client_reason": client_reason, "pending": member is None}
        op.emit(Kind.MEMBER_REMOVED, group, member_id, reason=why, payload=payload)
    if member is not None:
        drop_parked(op, group, member, f"its member was removed ({why})")
    if group.leader != leader and group.leader is not None:
        op.emit(Kind.LEADER_ELECTED, group, group.leader, reason="succession", payload={"previous": leader})
    return member


def drop_parked(op: Operation, group: GroupData, member: Member, why: str) -> None:
    """Report that the member's parked requests will never be answered."""
    op.drop(member.join_call, Api.JOIN_GROUP, group, member.member_id, why)
    op.drop(member.sync_call, Api.SYNC_GROUP, group, member.member_id, why)
    member.join_call = member.sync_call = None
