"""The log messages of brokers about groups of the consumer protocol (KIP-848), by version.

All of `GroupMetadataManager`, at INFO. What a member has of its assignment, and its subscription, are lines at DEBUG
since 4.0.

Sources: logs of brokers of 4.0.1 and 4.4.0; for what lies between, the constants in the classes of the releases' jars.
"""

from __future__ import annotations

from groupsim.logs.wording import Table, Version, Wording

_FIRST: Version = (4, 0)

CONSUMER: Table = {
    "N_JOIN": (Wording(_FIRST, "[GroupId {g}] Member {m} joins the consumer group using the {protocol} protocol."),),
    "N_HANDSHAKE": (
        Wording(
            _FIRST,
            "[GroupId {g}] Dynamic member with unknown member id joins the consumer group. Created a new member id {m} "
            "and requesting the member to rejoin with this id.",
        ),
    ),
    "N_STATIC_JOIN": (
        Wording(
            _FIRST,
            "[GroupId {g}] Static member {m} with instance id {i} joins the consumer group using the {protocol} "
            "protocol.",
        ),
    ),
    "N_STATIC_REPLACE": (
        Wording(
            _FIRST,
            "[GroupId {g}] Static member with instance id {i} re-joins the consumer group using the {protocol} "
            "protocol. Created a new member {m} to replace the existing member {old}.",
        ),
    ),
    "N_UNRELEASED": (
        Wording(
            _FIRST,
            "[GroupId {g}] Static member {m} with instance id {i} cannot join the group because the instance id is "
            "owned by member {holder}.",
        ),
    ),
    "N_FENCED_INSTANCE": (
        Wording(_FIRST, "[GroupId {g}] Static member {m} with instance id {i} is fenced by existing member {holder}."),
    ),
    "N_EPOCH": (
        Wording(_FIRST, "[GroupId {g}] Bumped group epoch to {epoch}."),
        Wording((4, 1), "[GroupId {g}] Bumped group epoch to {epoch} with metadata hash {hash}."),
    ),
    "N_TARGET": (
        Wording(
            _FIRST,
            "[GroupId {g}] Computed a new target assignment for epoch {epoch} with '{assignor}' assignor in 0ms.",
        ),
    ),
    "N_REGEX": (Wording(_FIRST, "[GroupId {g}] Scanned {k} topics to refresh regular expressions [{texts}] in 0ms."),),
    "N_LEFT": (Wording(_FIRST, "[GroupId {g}] Member {m} left the consumer group."),),
    "N_STATIC_LEFT": (
        Wording(_FIRST, "[GroupId {g}] Static member {m} with instance id {i} left the consumer group."),
    ),
    "N_STATIC_AWAY": (
        Wording(_FIRST, "[GroupId {g}] Static member {m} with instance id {i} temporarily left the consumer group."),
    ),
    "N_LEAVE_GROUP": (
        Wording(
            _FIRST,
            "[GroupId {g}] Dynamic member {m} has left group through explicit `LeaveGroup` request; client reason: {r}",
        ),
    ),
    "N_STATIC_LEAVE_GROUP": (
        Wording(
            _FIRST,
            "[GroupId {g}] Static member {m} with instance id {i} has left group through explicit `LeaveGroup` "
            "request; client reason: {r}",
        ),
    ),
    "N_FENCED": (Wording(_FIRST, "[GroupId {g}] Member {m} fenced from the group because {why}."),),
    "N_NOT_REVOKED": (
        Wording(
            _FIRST,
            "[GroupId {g}] Member {m} fenced from the group because it failed to transition from epoch {epoch} within "
            "{ms}ms.",
        ),
    ),
    "N_UPGRADE_REFUSED": (Wording(_FIRST, "Cannot upgrade classic group {g} to consumer group because {why}"),),
    "N_UPGRADE_MALFORMED": (
        Wording(
            _FIRST,
            "Cannot upgrade classic group {g} to consumer group because the embedded consumer protocol is malformed: "
            "Malformed consumer protocol assignment.",
            "WARN",
        ),
    ),
    "N_UPGRADE_USER_DATA": (
        Wording(
            _FIRST,
            "Cannot upgrade classic group {g} to consumer group: userData from a custom assignor would be lost.",
            "WARN",
        ),
    ),
    "N_LOADED": (Wording(_FIRST, "Loaded consumer group {g} with {k} members."),),
    "N_UNLOADED": (Wording(_FIRST, "[GroupId={g}] Unloaded group metadata for group epoch {epoch}."),),
    "UPGRADED": (Wording(_FIRST, "[GroupId {g}] Converted the classic group to a consumer group."),),
    "DOWNGRADED": (Wording(_FIRST, "[GroupId {g}] Converted the consumer group to a classic group."),),
    "EMPTY_UPGRADED": (Wording(_FIRST, "[GroupId {g}] Converted the empty classic group to a consumer group."),),
    "EMPTY_DOWNGRADED": (Wording(_FIRST, "[GroupId {g}] Converted the empty consumer group to a classic group."),),
}

WHY_FENCED = {
    "session-expired": "the member session expired",
    "join-timeout": "the classic member failed to join within the rebalance timeout",
    "sync-timeout": "the member failed to sync within timeout",
}
"""Reason of `member.removed` → Kafka's words."""
