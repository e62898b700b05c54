"""The requests of the group, in the newest version that library and broker both know: what it cannot carry is left out.

Source: classic-protocol reference, section 5.
"""

from __future__ import annotations

from typing import TypeVar, cast

from groupsim.members.failures import ClientFailure
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
    Request,
    SyncAssignment,
    SyncGroupRequest,
)
from groupsim.protocol.versions import normalise_request

R = TypeVar("R", bound=Request)

#: The longest reason a client sends (KIP-800).
LONGEST_REASON = 255

_JOIN_INSTANCE = 5
_OFFSET_COMMIT = Api.OFFSET_COMMIT  # looked up once: members of an enumeration are found slowly


def join_request(member: Member, protocols: tuple[JoinProtocol, ...], reason: str) -> JoinGroupRequest:
    """JoinGroup under the present member id ("" at first).

    Raises ClientFailure UNSUPPORTED_VERSION for a static member where JoinGroup 5 is not to be had, as clients do.
    """
    version = member.version(Api.JOIN_GROUP)
    settings = member.settings
    if settings.group_instance_id is not None and version < _JOIN_INSTANCE:
        raise ClientFailure(
            "UNSUPPORTED_VERSION",
            f"group.instance.id needs JoinGroup {_JOIN_INSTANCE}; {member.profile.name} and a"
            f" {member.transport.release} broker talk in version {version}",
            fatal=True,
        )
    return carried(
        JoinGroupRequest(
            group_id=member.group,
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.rebalance_timeout_ms,
            member_id=member.generation.member_id,
            group_instance_id=settings.group_instance_id,
            protocols=protocols,
            reason=reason[:LONGEST_REASON],
            version=version,
        )
    )


def sync_request(member: Member, assignments: tuple[SyncAssignment, ...]) -> SyncGroupRequest:
    """SyncGroup of the present generation; the leader's carries everybody's assignment."""
    generation = member.generation
    return carried(
        SyncGroupRequest(
            group_id=member.group,
            generation_id=generation.id,
            member_id=generation.member_id,
            group_instance_id=member.settings.group_instance_id,
            protocol_type="consumer",
            protocol_name=generation.protocol,
            assignments=assignments,
            version=member.version(Api.SYNC_GROUP),
        )
    )


def heartbeat_request(member: Member) -> HeartbeatRequest:
    """Heartbeat of the present generation."""
    return carried(
        HeartbeatRequest(
            group_id=member.group,
            generation_id=member.generation.id,
            member_id=member.generation.member_id,
            group_instance_id=member.settings.group_instance_id,
            version=member.version(Api.HEARTBEAT),
        )
    )


def leave_request(member: Member, reason: str) -> LeaveGroupRequest:
    """LeaveGroup of this member alone, by member id (Java sends no instance id here)."""
    leaving = LeavingMember(member.generation.member_id, None, reason[:LONGEST_REASON])
    return carried(LeaveGroupRequest(member.group, (leaving,), version=member.version(Api.LEAVE_GROUP)))


def commit_request(member: Member, offsets: tuple[OffsetToCommit, ...]) -> OffsetCommitRequest:
    """OffsetCommit under the present generation; without a membership (`assign()`) with generation -1 and no ids."""
    generation = member.generation
    return carried(
        OffsetCommitRequest(
            group_id=member.group,
            offsets=offsets,
            generation_id=generation.id,
            member_id=generation.member_id,
            group_instance_id=member.settings.group_instance_id if generation.member_id else None,
            version=member.version(_OFFSET_COMMIT),
        )
    )


def carried(request: R) -> R:
    """The request with what its version can carry."""
    return cast(R, normalise_request(request))
