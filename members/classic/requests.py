"""The group's requests, in the newest version that library and broker share; fields it lacks are dropped.

Fields are positional, in the order of Kafka's schemas: keywords take twice as long.

Source: classic-protocol reference, section 5.
"""

from __future__ import annotations

from groupsim.members.failures import ClientFailure
from groupsim.members.ports import Ports
from groupsim.protocol.messages.group import (
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
from groupsim.protocol.messages.versions import normalise_request

#: The longest reason that a client sends (KIP-800).
LONGEST_REASON = 255

_JOIN_INSTANCE = 5
_CONSUMER = "consumer"  # the protocol type
# Bound once: access to a member of an enumeration is slow.
_JOIN_GROUP, _SYNC_GROUP, _HEARTBEAT, _OFFSET_COMMIT = Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT


def join_request(member: Ports, protocols: tuple[JoinProtocol, ...], reason: str) -> JoinGroupRequest:
    """Make a JoinGroup with the current member id, at first "".

    Raises ClientFailure UNSUPPORTED_VERSION for a static member without JoinGroup v5, as clients do (KIP-345).
    """
    version = member.version(_JOIN_GROUP)
    settings = member.settings
    if settings.group_instance_id is not None and version < _JOIN_INSTANCE:
        raise ClientFailure(
            "UNSUPPORTED_VERSION",
            f"group.instance.id needs JoinGroup {_JOIN_INSTANCE}; {member.profile.name} and a"
            f" {member.transport.release} broker talk in version {version}",
            fatal=True,
        )
    # fmt: off
    return normalise_request(JoinGroupRequest(
        member.group, settings.session_timeout_ms, settings.rebalance_timeout_ms, member.generation.member_id,
        settings.group_instance_id, _CONSUMER, protocols, reason[:LONGEST_REASON], version,
    ))
    # fmt: on


def sync_request(member: Ports, assignments: tuple[SyncAssignment, ...]) -> SyncGroupRequest:
    """Make a SyncGroup of the current generation; the leader's has the assignments of all members."""
    generation = member.generation
    # fmt: off
    return normalise_request(SyncGroupRequest(
        member.group, generation.id, generation.member_id, member.settings.group_instance_id,
        _CONSUMER, generation.protocol, assignments, member.version(_SYNC_GROUP),
    ))
    # fmt: on


def heartbeat_request(member: Ports) -> HeartbeatRequest:
    """Make a Heartbeat of the current generation."""
    generation, instance, version = member.generation, member.settings.group_instance_id, member.version(_HEARTBEAT)
    return normalise_request(HeartbeatRequest(member.group, generation.id, generation.member_id, instance, version))


def leave_request(member: Ports, reason: str) -> LeaveGroupRequest:
    """Make a LeaveGroup of this member; Java sends its member id without the instance id (`maybeLeaveGroup`)."""
    sent_reason = reason[:LONGEST_REASON] if member.profile.leaving.with_reason else None
    leaving = LeavingMember(member.generation.member_id, None, sent_reason)
    return normalise_request(LeaveGroupRequest(member.group, (leaving,), version=member.version(Api.LEAVE_GROUP)))


def commit_request(member: Ports, offsets: tuple[OffsetToCommit, ...]) -> OffsetCommitRequest:
    """Make an OffsetCommit of the current generation; for `assign()` with generation -1 and no ids."""
    number, member_id, _ = member.generation
    instance, version = member.settings.group_instance_id if member_id else None, member.version(_OFFSET_COMMIT)
    return normalise_request(OffsetCommitRequest(member.group, offsets, number, member_id, instance, -1, version))
