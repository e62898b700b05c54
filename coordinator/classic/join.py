"""JoinGroup.

Order of the checks: capacity; then, for a sender without a member id (table J1), Dead, protocols, static or dynamic;
for a sender with a member id (table J2), Dead, protocols, pending id, membership, state.

A parked JoinGroup is answered when the round closes (`rebalance`), or when its member leaves or expires.

Sources: `GroupMetadataManager.classicGroupJoin…`; classic-protocol reference, 1.3 and 2.10.
"""

from __future__ import annotations

from attrs import evolve

from groupsim.coordinator.base.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.base.purgatory import JOIN_CONDITION
from groupsim.coordinator.base.timers import TimerKind, session_timer
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.rebalance import joined, maybe_complete, prepare, remove_member
from groupsim.coordinator.classic.states import (
    AWAITING_SYNC,
    DEAD,
    EMPTY,
    NO_REASON,
    PREPARING_REBALANCE,
    STABLE,
    Reason,
    TransitionCause,
)
from groupsim.coordinator.classic.static_replacement import replace_static_member
from groupsim.coordinator.classic.validation import member_error
from groupsim.coordinator.classic.voting import supports
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.batch.batch import EPOCH_MS
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, JoinGroupRequest, JoinGroupResponse

_HANDSHAKE_VERSION = 4
# Looked up once: access to a member of an enumeration is slow, and every join needs these.
_JOIN, _SESSION, _MEMBER_ID_REQUIRED = Api.JOIN_GROUP, TimerKind.SESSION, ErrorCode.MEMBER_ID_REQUIRED


def join(group: GroupData, op: Operation, arrival: Arrival, request: JoinGroupRequest) -> None:
    """Handle a JoinGroup to an existing or just created group."""
    if request.group_instance_id is not None and not op.differences.static_ids_are_random:
        arrival = evolve(arrival, fresh_id=_dated_id(group, request.group_instance_id))
    if not accepts(op, group, request.member_id):
        _evict(op, group, request.member_id)
        _refuse(op, arrival, ErrorCode.GROUP_MAX_SIZE_REACHED)
        # The Scala coordinator then completed the round if it awaited no other member; the Java one does not.
        if op.differences.completes_after_refusal:
            maybe_complete(op, group)
    elif request.member_id == "":
        _join_without_id(op, group, arrival, request)
    else:
        _join_with_id(op, group, arrival, request)


def _dated_id(group: GroupData, instance_id: str) -> str:
    """Return the id of a static member in Kafka 2.3.0 (KAFKA-8715). Raises IllegalState without a time of the state."""
    if group.state_us is None:
        raise IllegalState(f"group {group.group_id} has no time of its last change of state")
    return f"{instance_id}-{EPOCH_MS + group.state_us // 1_000}"


def rebalance_timeout_ms(op: Operation, request: JoinGroupRequest) -> int:
    """Return the rebalance timeout; in version 0 the session timeout, and in 2.3.0 none (KAFKA-8653)."""
    if request.version >= 1:
        return request.rebalance_timeout_ms
    return request.session_timeout_ms if op.differences.join_v0_has_timeout else -1


def instance_of(op: Operation, request: JoinGroupRequest) -> str | None:
    """Return the request's `group.instance.id`; None on brokers before static members (KIP-345)."""
    return request.group_instance_id if op.differences.static_members else None


# --- capacity --------------------------------------------------------------------------------------------------------


def accepts(op: Operation, group: GroupData, member_id: str) -> bool:
    """Whether the group has room (`acceptJoiningMember`). It checks ids only: a full group refuses a static restart."""
    limit = op.config.group_max_size
    if len(group.lookup) < limit or not op.differences.group_max_size or group.state in (EMPTY, DEAD):
        return True
    member = group.lookup.get(member_id)
    # Before 2.6 only unknown ids, and members of a group that is too large, were refused (KAFKA-9885).
    if not op.differences.pending_ids_count:
        return member_id != "" and (member is None or member.join_call is not None or len(group.lookup) <= limit)
    if group.state is PREPARING_REBALANCE:
        return (member is not None and member.join_call is not None) or group.awaiting_joins < limit
    return member is not None


def _evict(op: Operation, group: GroupData, member_id: str) -> None:
    """Remove the refused id. As in Kafka, its timers stay and the round is not completed (`acceptJoiningMember`)."""
    if member_id in group.lookup or member_id in group.pending_join:
        remove_member(op, group, member_id, "over-capacity")


def _refuse(op: Operation, arrival: Arrival, error: ErrorCode, member_id: str = "") -> None:
    op.reply(arrival.call, JoinGroupResponse(error, member_id=member_id))


# --- table J1: no member id ------------------------------------------------------------------------------------------


def _join_without_id(op: Operation, group: GroupData, arrival: Arrival, request: JoinGroupRequest) -> None:
    instance_id = instance_of(op, request)
    if group.state is DEAD:
        _refuse(op, arrival, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    elif not _supports(op, group, request):
        _refuse(op, arrival, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    elif instance_id is not None and instance_id in group.instances:
        replace_static_member(op, group, arrival, request, group.instances[instance_id])
    # A static member is known by its instance id (KIP-345), so it gets no MEMBER_ID_REQUIRED (KIP-394).
    elif instance_id is None and wants_handshake(op, request):
        _hand_out_id(op, group, arrival, request)
    else:
        _add_member(op, group, arrival, request, arrival.fresh_id, known_id=False)


def _supports(op: Operation, group: GroupData, request: JoinGroupRequest) -> bool:
    # Before KAFKA-6005 the first member could join without a protocol.
    if group.state is EMPTY and not op.differences.first_join_needs_protocols:
        return True
    return supports(group, request.protocol_type, request.protocols)


def wants_handshake(op: Operation, request: JoinGroupRequest) -> bool:
    """Whether a dynamic member without an id is given one, with which it has to come back (KIP-394)."""
    return request.version >= _HANDSHAKE_VERSION and op.differences.member_id_required


def _hand_out_id(op: Operation, group: GroupData, arrival: Arrival, request: JoinGroupRequest) -> None:
    """Answer MEMBER_ID_REQUIRED (KIP-394): the id is pending until the client joins with it, and rounds wait for it."""
    member_id = arrival.fresh_id
    if member_id in group.lookup:
        raise IllegalState(f"fresh member id {member_id} is already in group {group.group_id}")
    group.pending_join[member_id] = None
    if op.tracing:
        payload = {"state": group.state.printed, "client_id": arrival.client_id}
        op.emit(Kind.MEMBER_PENDING, group, member_id, payload=payload)
    name = session_timer(group.group_id, member_id)
    op.set_timer(name, _SESSION, 1_000 * request.session_timeout_ms, group.group_id, member_id)
    _refuse(op, arrival, _MEMBER_ID_REQUIRED, member_id)


def _add_member(
    op: Operation, group: GroupData, arrival: Arrival, request: JoinGroupRequest, member_id: str, *, known_id: bool
) -> None:
    member = Member(
        member_id,
        instance_of(op, request),
        arrival.client_id,
        arrival.client_host,
        rebalance_timeout_ms(op, request),
        request.session_timeout_ms,
        request.protocol_type,
        request.protocols,
        is_new=op.differences.new_member_timeout,
    )
    # Kafka sets `newMemberAdded` in the first round of an empty group only; it prolongs the initial delay (KIP-134).
    if group.state is PREPARING_REBALANCE and group.previous_state is EMPTY:
        group.new_member_added = True
    leads = group.leader is None
    group.add(member, arrival.call)
    _emit_added(op, group, member, known_id)
    if leads:
        op.emit(Kind.LEADER_ELECTED, group, member_id, reason="first-member")
    op.park(arrival.call, _JOIN, group, member, JOIN_CONDITION)
    # The JoinGroup of a new member expires after five minutes: its client may have given up (KAFKA-7610).
    if op.differences.new_member_timeout:
        op.set_session(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
    if group.can_rebalance:
        prepare(op, group, _reason_to_add(member, request))
    else:
        maybe_complete(op, group)


def _reason_to_add(member: Member, request: JoinGroupRequest) -> Reason:
    client_reason = request.reason or NO_REASON
    instance = member.instance_id or "null"
    text = f"Adding new member {member.member_id} with group instance id {instance}; client reason: {client_reason}"
    return Reason(TransitionCause.ADD_MEMBER, text, member.member_id, client_reason)


def _emit_added(op: Operation, group: GroupData, member: Member, known_id: bool) -> None:
    if not op.tracing:
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
    op.emit(Kind.MEMBER_ADDED, group, member.member_id, payload=payload)


# --- table J2: with a member id --------------------------------------------------------------------------------------


def _join_with_id(op: Operation, group: GroupData, arrival: Arrival, request: JoinGroupRequest) -> None:
    member_id = request.member_id
    if group.state is DEAD:
        _refuse(op, arrival, ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id)
    # `classicGroupJoinExistingMember` checks protocols before membership: an unknown member gets this error, too.
    elif not _supports(op, group, request):
        _refuse(op, arrival, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
    elif member_id in group.pending_join:
        # A pending id belongs to a dynamic member; Kafka throws IllegalStateException for a static one.
        if instance_of(op, request) is not None:
            raise IllegalState(f"the pending member {member_id} cannot be static")
        _add_member(op, group, arrival, request, member_id, known_id=True)
    else:
        error = member_error(op, group, member_id, request.group_instance_id, "join-group")
        if error is not None:
            _refuse(op, arrival, error, member_id)
        else:
            _rejoin(op, group, arrival, request, group.lookup[member_id])


def _rejoin(op: Operation, group: GroupData, arrival: Arrival, request: JoinGroupRequest, member: Member) -> None:
    """Handle the JoinGroup of a member: join the open round, open a round, or repeat the last answer."""
    # A JoinGroup does not prolong the session: with a parked one a member cannot expire (`hasSatisfiedHeartbeat`).
    if group.state is PREPARING_REBALANCE:
        _take_part(op, group, arrival, request, member)
        maybe_complete(op, group)
        return
    cause = _cause_of_rejoin(group, member, request)
    if cause is not None:
        reason = _rejoin_reason(group, member, request, cause)
        _take_part(op, group, arrival, request, member)
        prepare(op, group, reason)
    elif group.state is EMPTY:
        # Kafka answers a member of an Empty group as an unknown one (`classicGroupJoinExistingMember`).
        _refuse(op, arrival, ErrorCode.UNKNOWN_MEMBER_ID, member.member_id)
    else:
        # As in Kafka the timeouts of this JoinGroup are ignored. In Stable only followers get here: no member list.
        op.reply(arrival.call, joined(group, member))


def _take_part(op: Operation, group: GroupData, arrival: Arrival, request: JoinGroupRequest, member: Member) -> None:
    update_member(op, group, member, request, arrival.call)
    op.park(arrival.call, _JOIN, group, member, JOIN_CONDITION)


def _cause_of_rejoin(group: GroupData, member: Member, request: JoinGroupRequest) -> TransitionCause | None:
    """Return the cause for which this JoinGroup opens a round; None when it does not."""
    # Kafka opens a round for any JoinGroup of a Stable group's leader, even an unchanged one: it may want new topics.
    if group.state is STABLE and member.member_id == group.leader:
        return TransitionCause.LEADER_REJOIN
    if group.state in (STABLE, AWAITING_SYNC) and not member.matches(request.protocols):
        return TransitionCause.UPDATE_META
    return None


def _rejoin_reason(group: GroupData, member: Member, request: JoinGroupRequest, cause: TransitionCause) -> Reason:
    client_reason = request.reason or NO_REASON
    state = group.state.printed
    if cause is TransitionCause.LEADER_REJOIN:
        text = f"Leader {member.member_id} re-joining group during {state}; client reason: {client_reason}"
    else:
        text = f"Updating metadata for member {member.member_id} during {state}; client reason: {client_reason}"
    return Reason(cause, text, member.member_id, client_reason)


def update_member(
    op: Operation, group: GroupData, member: Member, request: JoinGroupRequest, call: CallToken | None
) -> None:
    """Take protocols and timeouts from the request and park it; one parked before is never answered (KAFKA-20938)."""
    timeouts = (member.rebalance_timeout_ms, member.session_timeout_ms)
    # Before 3.3.2 a member's timeouts stayed those of its first JoinGroup (KAFKA-14009).
    if op.differences.timeouts_are_updated:
        timeouts = (rebalance_timeout_ms(op, request), request.session_timeout_ms)
    changed = group.change_protocols(member, request.protocols) or timeouts != (
        member.rebalance_timeout_ms,
        member.session_timeout_ms,
    )
    member.rebalance_timeout_ms, member.session_timeout_ms = timeouts
    before = group.park_join(member, call)
    if before is not None:
        op.drop(before, _JOIN, group, member.member_id, "another JoinGroup of the same member took its place")
    if changed and op.tracing:
        payload = {
            "protocols": [protocol.name for protocol in member.protocols],
            "session_timeout_ms": member.session_timeout_ms,
            "rebalance_timeout_ms": member.rebalance_timeout_ms,
        }
        op.emit(Kind.MEMBER_UPDATED, group, member.member_id, payload=payload)
