"""Load a group from its record, and unload it.

A group record holds the last assigned generation. Parked requests, pending ids, new members and an open rebalance are
not in it: they are lost with the broker. So the group is Stable (or Empty) as of that record, and every session starts
again. Of each member only the metadata of the selected protocol is stored: until it joins again it seems to offer no
other ("protocol collapse"). So its next JoinGroup looks changed, and a new member that does not offer the selected
protocol is refused.

Sources: `GroupMetadataManager.replay`, `onLoaded`, `onUnloaded`; classic-protocol reference, 3.3 and 3.5.
"""

from __future__ import annotations

from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.records import GroupValue, StoredMember
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.rebalance import answer_join, answer_sync, drop_parked, prepare
from groupsim.coordinator.classic.states import Reason, State, TransitionCause
from groupsim.coordinator.classic.transition import change_state
from groupsim.coordinator.classic.voting import subscribed_topics
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinGroupResponse, JoinProtocol, SyncGroupResponse


def restore(group: GroupData, value: GroupValue) -> None:
    """Fill a new group with the contents of its record."""
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


def loaded(group: GroupData, op: Operation) -> None:
    """Start every session; a group larger than `group.max.size` opens a round at once, as in Kafka's `onLoaded`."""
    op.emit(Kind.GROUP_LOADED, group, payload={"members": len(group.members), "generation": group.generation})
    for member in group.members.values():
        op.set_session(group, member)
    size, limit = len(group.members), op.config.group_max_size
    if op.differences.group_max_size and size > limit:
        text = (
            f"Freshly-loaded group {group.group_id} (size {size}) is over capacity {limit}. "
            "Rebalancing in order to give a chance for consumers to commit offsets"
        )
        prepare(op, group, Reason(TransitionCause.OVER_CAPACITY, text))


def unloaded(group: GroupData, op: Operation) -> None:
    """Handle the unload of the partition: the group is Dead here, and parked requests are answered NOT_COORDINATOR."""
    before = group.state
    change_state(op, group, Reason(TransitionCause.UNLOADED, "the broker no longer leads the partition"))
    for member in group.members.values():
        if before is State.PREPARING_REBALANCE:
            response = JoinGroupResponse(ErrorCode.NOT_COORDINATOR, member_id=member.member_id)
            answer_join(op, group, member, response)
        elif before in (State.AWAITING_SYNC, State.STABLE):
            answer_sync(op, member, SyncGroupResponse(ErrorCode.NOT_COORDINATOR))
    op.emit(Kind.GROUP_UNLOADED, group)


def vanished(group: GroupData, op: Operation) -> None:
    """Handle the failure of the append that created the group: it is gone, and its timers fire without effect."""
    for member in group.members.values():
        drop_parked(op, group, member, "the append that made its group failed")
