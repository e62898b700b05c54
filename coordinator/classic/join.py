"""JoinGroup.

Order of the checks: capacity, then for a sender without a member id (table J1) Dead, protocols, static or dynamic; for
one with a member id (table J2) Dead, protocols, pending id, membership, state.

A member parked here is answered when the round closes (`rebalance`), or when it leaves or its session runs out.

Sources: `GroupMetadataManager.classicGroupJoin…`; classic-protocol reference, 1.3 and 2.10.
"""

from __future__ import annotations

from attrs import evolve

from groupsim.coordinator.base.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.timers import TimerKind, session_timer
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.purgatory import JOIN_CONDITION
from groupsim.coordinator.classic.rebalance import joined, maybe_complete, prepare, remove_member
from groupsim.coordinator.classic.states import (
    AWAITING_SYNC,
    DEAD,
    EMPTY,
    NO_REASON,
    PREPARING_REBALANCE,
    STABLE,
    Cause,
    IllegalState,
    Reason,
)
from groupsim.coordinator.classic.static_replacement import replace_static_member
from groupsim.coordinator.classic.validation import Arrival, member_error
from groupsim.coordinator.classic.voting import supports
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.batch.batch import EPOCH_MS
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, JoinGroupRequest, JoinGroupResponse

_HANDSHAKE_VERSION = 4
# Looked up once: members of an enumeration are found slowly, and these are for every join.
_JOIN, _SESSION, _MEMBER_ID_REQUIRED = Api.JOIN_GROUP, TimerKind.SESSION, ErrorCode.MEMBER_ID_REQUIRED


def join(group: GroupData, turn: Turn, arrival: Arrival, request: JoinGroupRequest) -> None:
    """Handle a JoinGroup to an existing, or just created, group."""
    if request.group_instance_id is not None and not turn.differences.static_ids_are_random:
        arrival = evolve(arrival, fresh_id=_dated_id(group, request.group_instance_id))
    if not accepts(turn, group, request.member_id):
        _kick(turn, group, request.member_id)
        _refuse(turn, arrival, ErrorCode.GROUP_MAX_SIZE_REACHED)
        if turn.differences.looks_after_refusal:
            maybe_complete(turn, group)
    elif request.member_id == "":
        _join_without_id(turn, group, arrival, request)
    else:
        _join_with_id(turn, group, arrival, request)


def _dated_id(group: GroupData, instance_id: str) -> str:
    """The id of a static member in Kafka 2.3.0 (KAFKA-8715). Raises IllegalState where the group's time is unknown."""
    if group.state_us is None:
        raise IllegalState(f"nobody knows when the state of {group.group_id} changed")
    return f"{instance_id}-{EPOCH_MS + group.state_us // 1_000}"


def rebalance_timeout_ms(turn: Turn, request: JoinGroupRequest) -> int:
    """Version 0 has no rebalance timeout of its own."""
    if request.version >= 1:
        return request.rebalance_timeout_ms
    return request.session_timeout_ms if turn.differences.join_v0_has_timeout else -1


def instance_of(turn: Turn, request: JoinGroupRequest) -> str | None:
    """The request's `group.instance.id`; None on brokers that do not know it."""
    return request.group_instance_id if turn.differences.static_members else None


# --- capacity ----------------------------------------------------------------------------------------------------


def accepts(turn: Turn, group: GroupData, member_id: str) -> bool:
    """Whether there is room (`acceptJoiningMember`). Only ids are looked at: a full group refuses a static restart."""
    limit = turn.config.group_max_size
    if len(group.lookup) < limit or not turn.differences.group_max_size or group.state in (EMPTY, DEAD):
        return True
    member = group.lookup.get(member_id)
    if not turn.differences.pending_ids_count:  # only strangers, and who rejoins a group that is too large (KAFKA-9885)
        return member_id != "" and (member is None or member.join_call is not None or len(group.lookup) <= limit)
    if group.state is PREPARING_REBALANCE:
        return (member is not None and member.join_call is not None) or group.awaiting_joins < limit
    return member is not None


def _kick(turn: Turn, group: GroupData, member_id: str) -> None:
    """The refused id is out of the group on the spot; nothing else is looked at, the timers stay (a trap)."""
    if member_id in group.lookup or member_id in group.pending_join:
        remove_member(turn, group, member_id, "over-capacity")


def _refuse(turn: Turn, arrival: Arrival, error: ErrorCode, member_id: str = "") -> None:
    turn.reply(arrival.call, JoinGroupResponse(error, member_id=member_id))


# --- table J1: no member id --------------------------------------------------------------------------------------


def _join_without_id(turn: Turn, group: GroupData, arrival: Arrival, request: JoinGroupRequest) -> None:
    instance_id = instance_of(turn, request)
    if group.state is DEAD:
        _refuse(turn, arrival, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    elif not _supports(turn, group, request):
        _refuse(turn, arrival, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    elif instance_id is not None and instance_id in group.instances:
        replace_static_member(turn, group, arrival, request, group.instances[instance_id])
    elif instance_id is None and _wants_handshake(turn, request):
        _hand_out_id(turn, group, arrival, request)
    else:
        _add_member(turn, group, arrival, request, arrival.fresh_id, known_id=False)


def _supports(turn: Turn, group: GroupData, request: JoinGroupRequest) -> bool:
    if group.state is EMPTY and not turn.differences.first_join_needs_protocols:
        return True
    return supports(group, request.protocol_type, request.protocols)


def _wants_handshake(turn: Turn, request: JoinGroupRequest) -> bool:
    return request.version >= _HANDSHAKE_VERSION and turn.differences.member_id_required


def _hand_out_id(turn: Turn, group: GroupData, arrival: Arrival, request: JoinGroupRequest) -> None:
    """MEMBER_ID_REQUIRED (KIP-394): the id is pending until it comes back, and rounds wait for it."""
    member_id = arrival.fresh_id
    if member_id in group.lookup:
        raise IllegalState(f"fresh member id {member_id} is in group {group.group_id} already")
    group.pending_join[member_id] = None
    if turn.noting:
        payload = {"state": group.state.printed, "client_id": arrival.client_id}
        turn.note(Kind.MEMBER_PENDING, group, member_id, payload=payload)
    name = session_timer(group.group_id, member_id)
    turn.set_timer(name, _SESSION, 1_000 * request.session_timeout_ms, group.group_id, member_id)
    _refuse(turn, arrival, _MEMBER_ID_REQUIRED, member_id)


def _add_member(
    turn: Turn, group: GroupData, arrival: Arrival, request: JoinGroupRequest, member_id: str, *, known_id: bool
) -> None:
    member = Member(
        member_id,
        instance_of(turn, request),
        arrival.client_id,
        arrival.client_host,
        rebalance_timeout_ms(turn, request),
        request.session_timeout_ms,
        request.protocol_type,
        request.protocols,
        is_new=turn.differences.new_member_timeout,
    )
    if group.state is PREPARING_REBALANCE and group.previous_state is EMPTY:
        group.new_member_added = True
    leads = group.leader is None
    group.add(member, arrival.call)
    _note_added(turn, group, member, known_id)
    if leads:
        turn.note(Kind.LEADER_ELECTED, group, member_id, reason="first-member")
    turn.park(arrival.call, _JOIN, group, member, JOIN_CONDITION)
    if turn.differences.new_member_timeout:
        turn.set_session(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
    if group.can_rebalance:
        prepare(turn, group, _reason_to_add(member, request))
    else:
        maybe_complete(turn, group)


def _reason_to_add(member: Member, request: JoinGroupRequest) -> Reason:
    said = request.reason or NO_REASON
    instance = member.instance_id or "null"
    text = f"Adding new member {member.member_id} with group instance id {instance}; client reason: {said}"
    return Reason(Cause.ADD_MEMBER, text, member.member_id, said)


def _note_added(turn: Turn, group: GroupData, member: Member, known_id: bool) -> None:
    if not turn.noting:
        return
    payload = {
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "session_timeout_ms": member.session_timeout_ms,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "protocols": [protocol.name for protocol in member.protocols],
        "state": group.state.printed,
        "known_id": known_id,
    }
    turn.note(Kind.MEMBER_ADDED, group, member.member_id, payload=payload)


# --- table J2: with a member id ----------------------------------------------------------------------------------


def _join_with_id(turn: Turn, group: GroupData, arrival: Arrival, request: JoinGroupRequest) -> None:
    member_id = request.member_id
    if group.state is DEAD:
        _refuse(turn, arrival, ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id)
    elif not _supports(turn, group, request):
        _refuse(turn, arrival, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
    elif member_id in group.pending_join:
        if instance_of(turn, request) is not None:
            raise IllegalState(f"the pending member {member_id} cannot be static")
        _add_member(turn, group, arrival, request, member_id, known_id=True)
    else:
        error = member_error(turn, group, member_id, request.group_instance_id, "join-group")
        if error is not None:
            _refuse(turn, arrival, error, member_id)
        else:
            _rejoin(turn, group, arrival, request, group.lookup[member_id])


def _rejoin(turn: Turn, group: GroupData, arrival: Arrival, request: JoinGroupRequest, member: Member) -> None:
    """A member joins again: into an open round, with news that open one, or only to hear its answer once more."""
    if group.state is PREPARING_REBALANCE:
        _take_part(turn, group, arrival, request, member)
        maybe_complete(turn, group)
        return
    cause = _cause_of_rejoin(group, member, request)
    if cause is not None:
        reason = _rejoin_reason(group, member, request, cause)
        _take_part(turn, group, arrival, request, member)
        prepare(turn, group, reason)
    elif group.state is EMPTY:
        _refuse(turn, arrival, ErrorCode.UNKNOWN_MEMBER_ID, member.member_id)
    else:
        turn.reply(arrival.call, joined(group, member))  # in Stable only a follower gets here: no members


def _take_part(turn: Turn, group: GroupData, arrival: Arrival, request: JoinGroupRequest, member: Member) -> None:
    update_member(turn, group, member, request, arrival.call)
    turn.park(arrival.call, _JOIN, group, member, JOIN_CONDITION)


def _cause_of_rejoin(group: GroupData, member: Member, request: JoinGroupRequest) -> Cause | None:
    """What makes this JoinGroup open a round; None when it does not."""
    if group.state is STABLE and member.member_id == group.leader:
        return Cause.LEADER_REJOIN
    if group.state in (STABLE, AWAITING_SYNC) and not member.matches(request.protocols):
        return Cause.UPDATE_META
    return None


def _rejoin_reason(group: GroupData, member: Member, request: JoinGroupRequest, cause: Cause) -> Reason:
    said = request.reason or NO_REASON
    state = group.state.printed
    if cause is Cause.LEADER_REJOIN:
        text = f"Leader {member.member_id} re-joining group during {state}; client reason: {said}"
    else:
        text = f"Updating metadata for member {member.member_id} during {state}; client reason: {said}"
    return Reason(cause, text, member.member_id, said)


def update_member(
    turn: Turn, group: GroupData, member: Member, request: JoinGroupRequest, call: CallToken | None
) -> None:
    """Take protocols and timeouts from the request and park it; one parked before is forgotten (KAFKA-20938)."""
    timeouts = (member.rebalance_timeout_ms, member.session_timeout_ms)
    if turn.differences.timeouts_are_updated:
        timeouts = (rebalance_timeout_ms(turn, request), request.session_timeout_ms)
    changed = group.change_protocols(member, request.protocols) or timeouts != (
        member.rebalance_timeout_ms,
        member.session_timeout_ms,
    )
    member.rebalance_timeout_ms, member.session_timeout_ms = timeouts
    before = group.park_join(member, call)
    if before is not None:
        turn.drop(before, _JOIN, group, member.member_id, "another JoinGroup of the same member took its place")
    if changed and turn.noting:
        payload = {
            "protocols": [protocol.name for protocol in member.protocols],
            "session_timeout_ms": member.session_timeout_ms,
            "rebalance_timeout_ms": member.rebalance_timeout_ms,
        }
        turn.note(Kind.MEMBER_UPDATED, group, member.member_id, payload=payload)
