"""The requests of the group, in the version a library speaks: what an old version cannot carry is left out.

Source: classic-protocol reference, section 5.
"""

from __future__ import annotations

from groupsim.members.member import Member
from groupsim.protocol.messages import (
    Api,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    SyncAssignment,
    SyncGroupRequest,
)

#: The longest reason a client sends (KIP-800).
LONGEST_REASON = 255

_JOIN_REBALANCE_TIMEOUT, _JOIN_INSTANCE, _JOIN_REASON = 1, 5, 8
_SYNC_INSTANCE, _SYNC_PROTOCOL = 3, 5
_HEARTBEAT_INSTANCE, _COMMIT_INSTANCE, _LEAVE_REASON = 3, 7, 5


def _instance(member: Member, version: int, since: int) -> str | None:
    return member.settings.group_instance_id if version >= since else None


def join_request(member: Member, protocols: tuple[JoinProtocol, ...], reason: str) -> JoinGroupRequest:
    """JoinGroup under the present member id ("" at first)."""
    version = member.profile.versions[Api.JOIN_GROUP]
    settings = member.settings
    return JoinGroupRequest(
        group_id=member.group,
        session_timeout_ms=settings.session_timeout_ms,
        rebalance_timeout_ms=settings.rebalance_timeout_ms if version >= _JOIN_REBALANCE_TIMEOUT else -1,
        member_id=member.generation.member_id,
        group_instance_id=_instance(member, version, _JOIN_INSTANCE),
        protocols=protocols,
        reason=reason[:LONGEST_REASON] if version >= _JOIN_REASON else None,
        version=version,
    )


def sync_request(member: Member, assignments: tuple[SyncAssignment, ...]) -> SyncGroupRequest:
    """SyncGroup of the present generation; the leader's carries everybody's assignment."""
    version = member.profile.versions[Api.SYNC_GROUP]
    generation = member.generation
    return SyncGroupRequest(
        group_id=member.group,
        generation_id=generation.id,
        member_id=generation.member_id,
        group_instance_id=_instance(member, version, _SYNC_INSTANCE),
        protocol_type="consumer" if version >= _SYNC_PROTOCOL else None,
        protocol_name=generation.protocol if version >= _SYNC_PROTOCOL else None,
        assignments=assignments,
        version=version,
    )


def heartbeat_request(member: Member) -> HeartbeatRequest:
    """Heartbeat of the present generation."""
    version = member.profile.versions[Api.HEARTBEAT]
    return HeartbeatRequest(
        group_id=member.group,
        generation_id=member.generation.id,
        member_id=member.generation.member_id,
        group_instance_id=_instance(member, version, _HEARTBEAT_INSTANCE),
        version=version,
    )


def leave_request(member: Member, reason: str) -> LeaveGroupRequest:
    """LeaveGroup of this member alone, by member id (Java sends no instance id here)."""
    version = member.profile.versions[Api.LEAVE_GROUP]
    said = reason[:LONGEST_REASON] if version >= _LEAVE_REASON else None
    leaving = LeavingMember(member.generation.member_id, None, said)
    return LeaveGroupRequest(member.group, (leaving,), version=version)


def commit_request(member: Member, offsets: tuple[OffsetToCommit, ...]) -> OffsetCommitRequest:
    """OffsetCommit under the present generation."""
    version = member.profile.versions[Api.OFFSET_COMMIT]
    return OffsetCommitRequest(
        group_id=member.group,
        offsets=offsets,
        generation_id=member.generation.id,
        member_id=member.generation.member_id,
        group_instance_id=_instance(member, version, _COMMIT_INSTANCE),
        version=version,
    )
