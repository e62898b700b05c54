"""Taking a partition over, and giving it up.

A group record holds the last generation that was assigned; whoever is parked, pending or new, and a rebalance that was
under way, is not in it and is lost with the broker. So the group comes back Stable (or Empty) as of that record, with
every session beginning anew. Of each member only the metadata of the chosen protocol survives: until it joins again it
seems to support nothing else ("protocol collapse"), so its next JoinGroup looks changed, and a newcomer that does not
offer the chosen protocol is refused.

Sources: `GroupMetadataManager.replay`, `onLoaded`, `onUnloaded`; classic-protocol reference, 3.3 and 3.5.
"""

from __future__ import annotations

from groupsim.coordinator.base.records import GroupValue, StoredMember
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.rebalance import answer_join, answer_sync, drop_parked, prepare
from groupsim.coordinator.classic.states import Cause, Reason, State
from groupsim.coordinator.classic.voting import subscribed_topics
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinGroupResponse, JoinProtocol, SyncGroupResponse


def restore(group: GroupData, value: GroupValue) -> None:
    """Fill a fresh group with what a record tells of it."""
    group.state = State.STABLE if value.members else State.EMPTY
    group.state_us = value.state_timestamp_us
    group.generation = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol = value.protocol
    group.leader = value.leader
    for stored in value.members:
        group.add(_restored(stored, value), None)
    group.subscribed = subscribed_topics(group)


def _restored(stored: StoredMember, value: GroupValue) -> Member:
    return Member(
        stored.member_id,
        stored.group_instance_id,
        stored.client_id,
        stored.client_host,
        stored.rebalance_timeout_ms,
        stored.session_timeout_ms,
        value.protocol_type,
        (JoinProtocol(value.protocol or "", stored.subscription),),
        stored.assignment,
    )


def loaded(group: GroupData, turn: Turn) -> None:
    """The load is over: every session begins, and a group larger than `group.max.size` starts a round at once."""
    turn.note(Kind.GROUP_LOADED, group, payload={"members": len(group.members), "generation": group.generation})
    for member in group.members.values():
        turn.set_session(group, member)
    size, limit = len(group.members), turn.config.group_max_size
    if turn.differences.group_max_size and size > limit:
        text = (
            f"Freshly-loaded group {group.group_id} (size {size}) is over capacity {limit}. "
            "Rebalancing in order to give a chance for consumers to commit offsets"
        )
        prepare(turn, group, Reason(Cause.OVER_CAPACITY, text))


def unloaded(group: GroupData, turn: Turn) -> None:
    """The partition is given up: the group is dead here, and what is parked is sent elsewhere."""
    before = group.state
    turn.change_state(group, Reason(Cause.UNLOADED, "the broker no longer leads the partition"))
    for member in group.members.values():
        if before is State.PREPARING_REBALANCE:
            response = JoinGroupResponse(ErrorCode.NOT_COORDINATOR, member_id=member.member_id)
            answer_join(turn, group, member, response)
        elif before in (State.AWAITING_SYNC, State.STABLE):
            answer_sync(turn, member, SyncGroupResponse(ErrorCode.NOT_COORDINATOR))
    turn.note(Kind.GROUP_UNLOADED, group)


def vanished(group: GroupData, turn: Turn) -> None:
    """The append that made the group failed, and the group is gone with it; its timers fire without effect."""
    for member in group.members.values():
        drop_parked(turn, group, member, "the append that made its group failed")
