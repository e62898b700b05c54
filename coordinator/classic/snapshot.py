"""A group as a value: for `describe`, for tests of whole states, for people.

Everything that decides what the group does next is in it, deadlines too; what only ranks timers within an instant is
not.
"""

from __future__ import annotations

from attrs import frozen

from groupsim.coordinator.base.records import OffsetValue
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.purgatory import JOIN_CONDITION, STATIC_CONDITION, SYNC_CONDITION
from groupsim.coordinator.classic.states import State
from groupsim.protocol.javahash import java_set_order
from groupsim.protocol.messages.group import TopicPartition


@frozen
class MemberSnapshot:
    """One member.

    member_id, instance_id, client_id, client_host    who it is; `instance_id` is its group.instance.id
    session_timeout_ms, rebalance_timeout_ms, protocols    of its last JoinGroup
    assignment        the bytes that its leader gave it
    is_new            its first JoinGroup is not answered yet
    awaiting_join, awaiting_sync    a JoinGroup, a SyncGroup of it waits for an answer
    session_due_us    when its session ends; None when that timer does not run
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[str, ...]
    assignment: bytes
    is_new: bool
    awaiting_join: bool
    awaiting_sync: bool
    session_due_us: int | None


@frozen
class Parked:
    """A request without an answer: `what` is its API, `until` the condition that ends the wait."""

    what: str
    member_id: str
    until: str


@frozen
class TimerSnapshot:
    """A running timer."""

    name: str
    due_us: int


@frozen
class PendingOffset:
    """An offset that an open transaction of this producer will commit, or not."""

    producer_id: int
    partition: TopicPartition
    value: OffsetValue


@frozen
class GroupSnapshot:
    """A group at one instant.

    group_id, kind, state, previous_state    states as Kafka's tools print them; the kind is "classic"
    state_us          when it got into its state; None when the log does not say
    generation, protocol_type, protocol, leader    of the present generation; `leader` is a member id
    members           each as a MemberSnapshot; `member(id)` finds one
    pending_join      member ids that were handed out and have not come back
    pending_sync      members whose SyncGroup is still to come
    new_member_added  somebody joined during the initial delay, which begins again
    subscribed        topics that somebody subscribes to; None when nobody knows
    parked, held      requests without an answer: of this group; of its partition, until an append is committed
    timers            those that run, with their deadlines
    pending_offsets   offsets of transactions that are open
    """

    group_id: str
    kind: str
    state: str
    previous_state: str
    state_us: int | None
    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    members: tuple[MemberSnapshot, ...]
    pending_join: tuple[str, ...]
    pending_sync: tuple[str, ...]
    new_member_added: bool
    subscribed: tuple[str, ...] | None
    parked: tuple[Parked, ...]
    held: tuple[Parked, ...]
    timers: tuple[TimerSnapshot, ...]
    pending_offsets: tuple[PendingOffset, ...] = ()

    def member(self, member_id: str) -> MemberSnapshot:
        """The member of that id; KeyError when there is none."""
        for member in self.members:
            if member.member_id == member_id:
                return member
        raise KeyError(member_id)


def snapshot(group: GroupData, turn: Turn) -> GroupSnapshot:
    """The group as it is now."""
    return GroupSnapshot(
        group.group_id,
        "classic",
        group.state.printed,
        group.previous_state.printed,
        group.state_us,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.leader,
        tuple(_member(member) for member in group.members.values()),
        tuple(group.pending_join),
        tuple(java_set_order(group.pending_sync)),
        group.new_member_added,
        None if group.subscribed is None else tuple(sorted(group.subscribed)),
        tuple(_parked(group)),
        held(turn),
        tuple(TimerSnapshot(timer.name, timer.due_us) for timer in turn.timers.of_group(group.group_id)),
    )


def held(turn: Turn) -> tuple[Parked, ...]:
    """The partition's answers that wait for an append."""
    return tuple(
        Parked(waiting.request.API.title, "", f"append {waiting.append_id} is committed")
        for waiting in turn.purgatory
        if waiting.request is not None
    )


def _member(member: Member) -> MemberSnapshot:
    session = member.session
    return MemberSnapshot(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        tuple(protocol.name for protocol in member.protocols),
        member.assignment,
        member.is_new,
        member.join_call is not None,
        member.sync_call is not None,
        session.due_us if session is not None and session.running else None,
    )


def _parked(group: GroupData) -> list[Parked]:
    rows = []
    join_until = JOIN_CONDITION if group.state is State.PREPARING_REBALANCE else STATIC_CONDITION
    for member in group.members.values():
        if member.join_call is not None:
            rows.append(Parked("JoinGroup", member.member_id, join_until))
        if member.sync_call is not None:
            rows.append(Parked("SyncGroup", member.member_id, SYNC_CONDITION))
    return rows
