"""How a round opens and closes: prepare, wait, complete.

Opening (`prepare`) answers the parked SyncGroups REBALANCE_IN_PROGRESS, sets the timer `join-<group>` and moves to
PreparingRebalance. The round closes (`complete_join`) as soon as every member has joined and no pending id is left, or
when the timer fires: dynamic members that did not come are out, static ones stay, the generation goes up.

The first round of an empty group is different (KIP-134): the timer fires after `group.initial.rebalance.delay.ms`, and
joining or leaving cannot close it earlier. If members came meanwhile, it is set again, until the rebalance timeout of
the *first* member is used up. The flag that says so, `new_member_added`, is cleared only when the wait is prolonged:
set in the last window, when nothing is left to prolong, it stays, and the group's next initial round waits one delay
too many. That is Kafka's, and kept.

Sources: `GroupMetadataManager.prepareRebalance`, `completeClassicGroupJoin`,
`tryCompleteInitialRebalanceElseSchedule`; classic-protocol reference, 2.1 to 2.6.
"""

from __future__ import annotations

from attrs import frozen

from groupsim.coordinator.base.timers import TimerKind, join_timer, sync_timer
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.group_record import group_record
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.states import (
    AWAITING_SYNC,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    Cause,
    Reason,
    next_state,
)
from groupsim.coordinator.classic.voting import select_protocol, subscribed_topics
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, JoinGroupResponse, JoinMember, SyncGroupResponse

_BREATH_US = 1_000
"""Between two looks at a round that nobody has joined, where the rebalance timeout is 0: Kafka takes none (and a CPU),
and time that is virtual would stand still."""

_NONE = ErrorCode.NONE  # looked up once: members of an enumeration are found slowly

# --- opening -----------------------------------------------------------------------------------------------------


def prepare_or_complete(turn: Turn, group: GroupData, reason: Reason) -> None:
    """Open a round, or, where one is open, see whether it can close (`maybePrepareRebalanceOrCompleteJoin`)."""
    if group.can_rebalance:
        prepare(turn, group, reason)
    else:
        maybe_complete(turn, group)


def prepare(turn: Turn, group: GroupData, reason: Reason) -> None:
    """Open a round."""
    if group.state is AWAITING_SYNC:
        reset_assignments(turn, group, ErrorCode.REBALANCE_IN_PROGRESS)
    group.pending_sync.clear()
    turn.stop_timer(sync_timer(group.group_id))
    initial = group.state is EMPTY and turn.differences.initial_delay
    if initial:
        _set_initial_timer(turn, group)
    turn.change_state(group, reason)
    if not initial:
        _complete_or_wait(turn, group)


def _set_initial_timer(turn: Turn, group: GroupData) -> None:
    delay_us = 1_000 * turn.config.initial_rebalance_delay_ms
    remaining_us = max(group.rebalance_timeout_us - delay_us, 0)
    _arm_initial(turn, group, delay_us, remaining_us)


def _arm_initial(turn: Turn, group: GroupData, delay_us: int, remaining_us: int) -> None:
    args = (delay_us, remaining_us)
    turn.set_timer(join_timer(group.group_id), TimerKind.INITIAL_JOIN, delay_us, group.group_id, args=args)


def _complete_or_wait(turn: Turn, group: GroupData) -> None:
    if group.all_joined:
        complete_join(turn, group)
    else:
        _arm_join(turn, group)


def _arm_join(turn: Turn, group: GroupData, *, at_least_us: int = 0) -> None:
    delay_us = max(at_least_us, group.rebalance_timeout_us)
    turn.set_timer(join_timer(group.group_id), TimerKind.JOIN, delay_us, group.group_id)


def initial_timer_fired(turn: Turn, group: GroupData, delay_us: int, remaining_us: int) -> None:
    """The initial wait is over: prolong it if members came and time is left, else close the round."""
    if group.new_member_added and remaining_us != 0:
        group.new_member_added = False
        next_us = min(1_000 * turn.config.initial_rebalance_delay_ms, remaining_us)
        _arm_initial(turn, group, next_us, max(remaining_us - delay_us, 0))
    else:
        complete_join(turn, group)


# --- closing -----------------------------------------------------------------------------------------------------


def is_initial(turn: Turn, group: GroupData) -> bool:
    """Whether the open round is the first of an empty group, which only its timer should close."""
    return group.previous_state is EMPTY and turn.differences.initial_delay


def maybe_complete(turn: Turn, group: GroupData) -> None:
    """Close the open round if everybody has joined; never an initial one (`maybeCompleteJoinPhase`)."""
    if group.state is PREPARING_REBALANCE and group.all_joined and not is_initial(turn, group):
        complete_join(turn, group)


def complete_after_expiry(turn: Turn, group: GroupData) -> None:
    """The same after a session ran out, where Kafka does not look whether the round is an initial one."""
    if group.state is PREPARING_REBALANCE and group.all_joined:
        if is_initial(turn, group) and not turn.differences.initial_ends_early:
            return
        complete_join(turn, group)


def complete_join(turn: Turn, group: GroupData) -> None:
    """Close the round with those who joined."""
    turn.stop_timer(join_timer(group.group_id))
    _remove_absent(turn, group)
    if group.state is DEAD:
        return
    if not _elect_joined_leader(turn, group) and group.members:
        # Only static members are left and none of them came: wait on, until their sessions remove them.
        turn.note(
            Kind.WARNING,
            group,
            reason=f"Group {group.group_id} could not complete rebalance because no members rejoined.",
        )
        _arm_join(turn, group, at_least_us=_BREATH_US)
    elif group.members:
        _next_generation(turn, group)
    else:
        _become_empty(turn, group)


def close_no_round(group: GroupData) -> None:
    """The join timer of a group that could not be written fires, when an empty one of the same name is there already.

    Kafka closes the round that it takes for open: the generation is counted, and then the state cannot change. Raises
    IllegalState, which ends the timer. A group with members has set that timer anew, or stopped it.
    """
    group.generation += 1
    next_state(group.state, Cause.ALL_GONE)


def _remove_absent(turn: Turn, group: GroupData) -> None:
    if group.awaiting_joins == len(group.members):
        return
    absent = [m for m in group.members.values() if m.join_call is None and not m.is_static]
    for member in absent:
        turn.end_session(group, member.member_id)
        remove_member(turn, group, member.member_id, "join-timeout")


def _elect_joined_leader(turn: Turn, group: GroupData) -> bool:
    """Whether the leader has joined; a leader that has not is replaced by the first in HashMap order that has."""
    if group.leader is None:
        return False
    if group.members[group.leader].join_call is not None:
        return True
    joined = next((m.member_id for m in group.members.values() if m.join_call is not None), None)
    if joined is None:
        return False
    before, group.leader = group.leader, joined
    turn.note(Kind.LEADER_ELECTED, group, joined, reason="not-joined", payload={"previous": before})
    return True


def _become_empty(turn: Turn, group: GroupData) -> None:
    group.generation += 1
    group.protocol = None
    group.subscribed = subscribed_topics(group)
    group.pending_sync.clear()
    turn.change_state(group, Reason(Cause.ALL_GONE, "the group has no members any more"))
    turn.append((group_record(group, {}),), EmptyStored(group))


@frozen(eq=False)
class EmptyStored:
    """The record of an emptied group is written, or could not be: a failure is only logged."""

    group: GroupData

    def __call__(self, turn: Turn, error: ErrorCode | None) -> None:
        if error is not None:
            text = f"Failed to write empty metadata for group {self.group.group_id}: {error.name}"
            turn.note(Kind.WARNING, self.group, reason=text)


def _next_generation(turn: Turn, group: GroupData) -> None:
    group.generation += 1
    group.protocol = select_protocol(group, in_scala_order=turn.differences.votes_in_scala_order)
    group.subscribed = subscribed_topics(group)
    group.pending_sync.clear()
    turn.change_state(
        group,
        Reason(Cause.ALL_JOINED, "every member has joined"),
        members=len(group.members),
        leader=group.leader,
        protocol=group.protocol,
        static=group.static_count,
    )
    for member in group.members.values():
        answer_join(turn, group, member, joined(group, member))
        if member.is_new and not turn.differences.new_member_session:
            turn.end_session(group, member.member_id)  # KAFKA-9752: its next request begins one
        else:
            turn.set_session(group, member)
        member.is_new = False
        group.pending_sync[member.member_id] = None
    _arm_sync(turn, group)


def _arm_sync(turn: Turn, group: GroupData) -> None:
    if not turn.differences.pending_sync_timer:
        return
    args = (group.generation,)
    turn.set_timer(sync_timer(group.group_id), TimerKind.SYNC, group.rebalance_timeout_us, group.group_id, args=args)


# --- answers to what is parked -----------------------------------------------------------------------------------


def joined(group: GroupData, member: Member) -> JoinGroupResponse:
    """The current generation, as JoinGroup tells it: the leader gets the members' metadata, the others nothing."""
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
    """What the leader is told of the members, in HashMap order."""
    protocol = group.protocol
    return tuple([JoinMember(m.member_id, m.instance_id, m.metadata(protocol)) for m in group.members.values()])


def answer_join(turn: Turn, group: GroupData, member: Member, response: JoinGroupResponse) -> None:
    """Answer the member's parked JoinGroup, if there is one."""
    call = group.park_join(member, None)
    if call is not None:
        turn.reply(call, response)


def answer_sync(turn: Turn, member: Member, response: SyncGroupResponse) -> bool:
    """Answer the member's parked SyncGroup, if there is one."""
    call, member.sync_call = member.sync_call, None
    if call is None:
        return False
    turn.reply(call, response)
    return True


def reset_assignments(turn: Turn, group: GroupData, error: ErrorCode) -> None:
    """Take every assignment back and answer the parked SyncGroups with `error`."""
    for member in group.members.values():
        member.assignment = b""
        if answer_sync(turn, member, SyncGroupResponse(error)):
            turn.set_session(group, member)


def remove_member(
    turn: Turn, group: GroupData, member_id: str, why: str, client_reason: str | None = None
) -> Member | None:
    """Take a member or pending id out of the group, and say so; what it had parked is answered before, or dropped."""
    leader = group.leader
    member = group.remove(member_id)
    if turn.noting:
        instance = member.instance_id if member is not None else None
        payload = {"instance_id": instance, "client_reason": client_reason, "pending": member is None}
        turn.note(Kind.MEMBER_REMOVED, group, member_id, reason=why, payload=payload)
    if member is not None:
        drop_parked(turn, group, member, f"its member was removed ({why})")
    if group.leader != leader and group.leader is not None:
        turn.note(Kind.LEADER_ELECTED, group, group.leader, reason="succession", payload={"previous": leader})
    return member


def drop_parked(turn: Turn, group: GroupData, member: Member, why: str) -> None:
    """Whatever the member has parked will never be answered."""
    turn.drop(member.join_call, Api.JOIN_GROUP, group, member.member_id, why)
    turn.drop(member.sync_call, Api.SYNC_GROUP, group, member.member_id, why)
    member.join_call = member.sync_call = None
