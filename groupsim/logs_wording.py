"""Kafka's fixed words, by version: templates as data.

A `Wording` is one text from one version on, until the next one of the same code; an empty text means that the version
logs nothing at INFO. Placeholders are filled from the trace. Sources: log-formats reference, sections 1, 2 and 4; the
constants in the classes of the releases' jars; what a broker and clients of 4.4.0 wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

Version = tuple[int, int]
NEWEST: Version = (99, 0)
JAVA_COORDINATOR: Version = (4, 0)


@frozen
class Wording:
    """One text, from `since` on."""

    since: Version
    text: str
    level: str = "INFO"


Table = Mapping[str, tuple[Wording, ...]]


def version(text: object, default: Version = NEWEST) -> Version:
    """`3.9`, `0.11`, `2.x`, `java-2.8` as a pair of numbers; `default` when there are none."""
    found = re.search(r"(\d+)(?:\.(\d+))?", str(text or ""))
    return (int(found[1]), int(found[2] or 99)) if found else default


def wording(table: Table, code: str, at: Version) -> Wording | None:
    """The text of `code` in this version; None where nothing is logged."""
    found = [one for one in table.get(code, ()) if one.since <= at]
    return found[-1] if found and found[-1].text else None


BROKER: Table = {
    "PREP_REBALANCE": (
        Wording((0, 9), "Preparing to restabilize group {g} with old generation {n}"),
        Wording((0, 11), "Preparing to rebalance group {g} with old generation {n} (__consumer_offsets-{op})"),
        Wording(
            (2, 1),
            "Preparing to rebalance group {g} in state PreparingRebalance with old generation {n} "
            "(__consumer_offsets-{op}) (reason: {reason})",
        ),
        Wording(
            (4, 0),
            "Preparing to rebalance group {g} in state PreparingRebalance with old generation {n} (reason: {reason}).",
        ),
    ),
    "STABILIZED": (
        Wording((0, 9), "Stabilized group {g} generation {n}"),
        Wording((0, 11), "Stabilized group {g} generation {n} (__consumer_offsets-{op})"),
        Wording((2, 8), "Stabilized group {g} generation {n} (__consumer_offsets-{op}) with {k} members"),
        Wording((4, 0), "Stabilized group {g} generation {n} with {k} members."),
    ),
    "ASSIGN_RECEIVED": (
        Wording((0, 9), "Assignment received from leader for group {g} for generation {n}"),
        Wording(
            (2, 8),
            "Assignment received from leader for group {g} for generation {n}. "
            "The group has {k} members, {s} of which are static.",
        ),
        Wording(
            (3, 0),
            "Assignment received from leader {m} for group {g} for generation {n}. "
            "The group has {k} members, {s} of which are static.",
        ),
    ),
    "JOIN_UNKNOWN_MEMBER": (
        Wording((2, 4), ""),
        Wording(
            (3, 0),
            "Dynamic member with unknown member id joins group {g} in {state} state. "
            "Created a new member id {m} and request the member to rejoin with this id.",
        ),
        Wording(
            (4, 0),
            "Dynamic member with unknown member id joins group {g} in {state} state. "
            "Created a new member id {m} and requesting the member to rejoin with this id.",
        ),
    ),
    "JOIN_ADDED": (
        Wording(
            (2, 5),
            "{kind} Member with unknown member id joins group {g} in {state} state. "
            "Created a new member id {m} for this member and add to the group.",
        ),
        Wording(
            (4, 0),
            "{kind} member with unknown member id joins group {g} in state {state}. "
            "Created a new member id {m} and added the member to the group.",
        ),
    ),
    "STATIC_JOIN": (
        Wording((2, 5), "Adding new static member {i} to group {g} with member id {m}."),
        Wording(
            (3, 0),
            "Static member with groupInstanceId={i} and unknown member id joins group {g} in {state} state. "
            "Created a new member id {m} for this member and add to the group.",
        ),
        Wording(
            (4, 0),
            "Static member with groupInstanceId={i} and unknown member id joins group {g} in {state} state. "
            "Created a new member id {m} for this member and added to the group.",
        ),
    ),
    "STATIC_REPLACE": (
        Wording(
            (2, 3),
            "Static member {i} with unknown member id rejoins, assigning new member id {m}, "
            "while old member {old} will be removed.",
        ),
        Wording(
            (2, 5),
            "Static member {i} of group {g} with unknown member id rejoins, assigning new member id {m}, "
            "while old member id {old} will be removed.",
        ),
        Wording(
            (3, 0),
            "Static member with groupInstanceId={i} and unknown member id joins group {g} in {state} state. "
            "Replacing previously mapped member {old} with this groupInstanceId.",
        ),
    ),
    "STATIC_NO_REBALANCE": (
        Wording((2, 3), "Static member joins during Stable stage will not trigger rebalance."),
        Wording(
            (2, 7),
            "Static member which joins during Stable stage and doesn't affect selectProtocol "
            "will not trigger rebalance.",
        ),
        Wording(
            (4, 0),
            "Static member which joins during Stable stage and doesn't affect the selected protocol "
            "will not trigger a rebalance.",
        ),
    ),
    "FENCED": (
        Wording(
            (2, 3),
            "given member.id {m} is identified as a known static member {i},but not matching the expected "
            "member.id Some({current})",
            "ERROR",
        ),
        Wording(
            (3, 0),
            "Request memberId={m} for static member with groupInstanceId={i} is fenced by current "
            "memberId={current} during operation {op_name}",
        ),
        Wording(
            (4, 0),
            "Request memberId={m} for static member with groupInstanceId={i} is fenced by existing "
            "memberId={current} during operation {op_name}",
        ),
    ),
    "PENDING_JOIN": (
        Wording(
            (4, 0), "Pending dynamic member with id {m} joins group {g} in {state} state. Adding to the group now."
        ),
    ),
    "MEMBER_FAILED": (
        Wording((0, 11), "Member {m} in group {g} has failed, removing it from the group"),
        Wording((4, 0), "Member {m} in group {g} has failed, removing it from the group."),
    ),
    "MEMBER_LEFT": (
        Wording((2, 2), "Member {m} in group {g} has left, removing it from the group"),
        Wording(
            (2, 4),
            "Member[group.instance.id {oi}, member.id {m}] in group {g} has left, removing it from the group",
        ),
        Wording((3, 0), "Member {meta} has left group {g} through explicit `LeaveGroup` request"),
        Wording((3, 2), "Member {meta} has left group {g} through explicit `LeaveGroup`; client reason: {r}"),
        Wording(
            (4, 0),
            "[Group {g}] Member {m} has left group through explicit `LeaveGroup` request; client reason: {r}",
        ),
    ),
    "PENDING_LEFT": (
        Wording((2, 2), "Pending member {m} is leaving group {g}."),
        Wording((3, 0), "Pending member with memberId={m} has left group {g} through explicit `LeaveGroup` request"),
        Wording(
            (4, 0),
            "[Group {g}] Pending member {m} has left group through explicit `LeaveGroup` request; client reason: {r}",
        ),
    ),
    "PENDING_EXPIRED": (
        Wording((2, 2), "Pending member {m} in group {g} has been removed after session timeout expiration."),
    ),
    "DYN_REMOVED": (Wording((2, 7), "Group {g} removed dynamic members who haven't joined: {set}"),),
    "LEADER_REPLACED": (
        Wording(
            (2, 3),
            "Group leader [member.id: {old}, group.instance.id: None] failed to join before rebalance timeout, "
            "while new leader {m} was elected.",
        ),
        Wording(
            (4, 0),
            "Group leader [memberId: {old}, groupInstanceId: null] failed to join before the rebalance timeout. "
            "Member {m} was elected as the new leader.",
        ),
    ),
    "GROUP_EMPTY": (
        Wording((0, 10), "Group {g} with generation {n} is now empty"),
        Wording((0, 11), "Group {g} with generation {n} is now empty (__consumer_offsets-{op})"),
        Wording((4, 0), "Group {g} with generation {n} is now empty."),
    ),
    "ELECTED": (
        Wording((2, 8), "Elected as the group coordinator for partition {op} in epoch {epoch}"),
        Wording((4, 0), ""),
    ),
    "LOAD_SCHEDULED": (
        Wording((0, 11), "Scheduling loading of offsets and group metadata from __consumer_offsets-{op}"),
        Wording(
            (2, 8), "Scheduling loading of offsets and group metadata from __consumer_offsets-{op} for epoch {epoch}"
        ),
        Wording((4, 0), "Scheduling loading of metadata from __consumer_offsets-{op} with epoch {epoch}"),
    ),
    "LOAD_GROUP": (
        Wording((0, 9), "Loading group metadata for {g} with generation {n}"),
        Wording((4, 0), "Loaded classic group {g} with {k} members."),
    ),
    "UNLOAD_GROUP": (
        Wording((0, 9), "Unloading group metadata for {g} with generation {n}"),
        Wording((4, 0), "[GroupId={g}] Unloaded group metadata for group epoch {n}."),
    ),
    "GROUPS_DELETED": (
        Wording((1, 1), "The following groups were deleted: {g}. A total of {k} offsets were removed."),
    ),
    "OFFSETS_EXPIRED": (
        Wording((0, 10), "Removed {k} expired offsets in 0 milliseconds."),
        Wording((4, 0), "Generated {k} tombstone records while cleaning up group metadata in 0 milliseconds."),
    ),
    "ERROR": (Wording((0, 9), "{text}", "WARN"),),
}

# `{reason}` of PREP_REBALANCE.
REASONS: Table = {
    "ADD_MEMBER": (
        Wording((2, 1), "Adding new member {m}"),
        Wording((2, 3), "Adding new member {m} with group instanceid {oi}"),
        Wording((2, 5), "Adding new member {m} with group instance id {oi}"),
        Wording((3, 2), "Adding new member {m} with group instance id {oi}; client reason: {r}"),
        Wording((4, 0), "Adding new member {m} with group instance id {ni}; client reason: {r}"),
    ),
    "UPDATE_META": (
        Wording((2, 1), "Updating metadata for member {m}"),
        Wording((2, 7), "Updating metadata for member {m} during {state}"),
        Wording((3, 2), "Updating metadata for member {m} during {state}; client reason: {r}"),
    ),
    "REJOIN_MID": (
        Wording((2, 1), "Member {m} joining group during {state}"),
        Wording((3, 2), "Member {m} joining group during {state}; client reason: {r}"),
        Wording((4, 0), "Member {m} is joining group during {state}; client reason: {r}"),
    ),
    "LEADER_REJOIN": (
        Wording((2, 1), "Updating metadata for member {m}"),
        Wording((2, 7), "leader {m} re-joining group during {state}"),
        Wording((3, 0), "Leader {m} re-joining group during {state}"),
        Wording((3, 2), "Leader {m} re-joining group during {state}; client reason: {r}"),
    ),
    "STATIC_META": (
        Wording((2, 5), "Updating metadata for static member {m} with instance id {i}"),
        Wording((3, 2), "Updating metadata for static member {m} with instance id {i}; client reason: {r}"),
    ),
    "STATIC_PROTOCOL": (
        Wording(
            (2, 7),
            "Group's selectedProtocol will change because static member {m} with instance id {i} joined with change of "
            "protocol",
        ),
        Wording(
            (3, 2),
            "Group's selectedProtocol will change because static member {m} with instance id {i} joined with change of "
            "protocol; client reason: {r}",
        ),
    ),
    "HEARTBEAT_EXPIRED": (
        Wording((2, 1), "removing member {m} on heartbeat expiration"),
        Wording((4, 0), "removing member {m} on heartbeat expiration."),
    ),
    "LEAVE_GROUP": (
        Wording((2, 1), "removing member {m} on LeaveGroup"),
        Wording((3, 0), "Removing member {m} on LeaveGroup"),
        Wording((3, 2), "Removing member {m} on LeaveGroup; client reason: {r}"),
        Wording((4, 0), "explicit `LeaveGroup` request for ({m}) members."),
    ),
    "SYNC_EXPIRED": (Wording((2, 8), "Removing {set} on pending sync request expiration"),),
    "STORE_ERROR": (
        Wording((2, 1), "error when storing group assignment during SyncGroup (member: {m})"),
        Wording((3, 0), "Error when storing group assignment during SyncGroup (member: {m})"),
        Wording((4, 0), "Error when storing group assignmentduring SyncGroup (member: {m})."),
    ),
}

JAVA_CLIENT: Table = {
    "C_COORD_FOUND": (
        Wording((0, 9), "Discovered coordinator {node} for group {g}."),
        Wording((1, 0), "Discovered group coordinator {node}"),
    ),
    "C_COORD_LOST": (
        Wording((0, 9), "Marking the coordinator {node} dead for group {g}"),
        Wording((1, 0), "Marking the coordinator {node} dead"),
        Wording((1, 1), "Group coordinator {node} is unavailable or invalid, will attempt rediscovery"),
        Wording(
            (2, 7),
            "Group coordinator {node} is unavailable or invalid due to cause: {r}.isDisconnected: {broke}. "
            "Rediscovery will be attempted.",
        ),
        Wording(
            (3, 3),
            "Group coordinator {node} is unavailable or invalid due to cause: {r}. isDisconnected: {broke}. "
            "Rediscovery will be attempted.",
        ),
    ),
    "C_DISCONNECT_COORD": (Wording((3, 1), "Requesting disconnect from last known coordinator {node}"),),
    "C_JOINING": (Wording((0, 10), "(Re-)joining group {g}"), Wording((1, 0), "(Re-)joining group")),
    "C_JOINED": (Wording((2, 7), "Successfully joined group with generation {generation}"),),
    "C_SYNCED": (
        Wording((0, 10), "Successfully joined group {g} with generation {n}"),
        Wording((1, 0), "Successfully joined group with generation {n}"),
        Wording((2, 7), "Successfully synced group in generation {generation}"),
    ),
    "C_REVOKE": (
        Wording((0, 10), "Revoking previously assigned partitions [{tps}] for group {g}"),
        Wording((1, 0), "Revoking previously assigned partitions [{tps}]"),
        Wording((2, 4), "Revoke previously assigned partitions {tps}"),
        Wording((4, 1), "Revoke previously assigned partitions [{tps}]"),
    ),
    "C_ASSIGN": (
        Wording((0, 10), "Setting newly assigned partitions [{tps}] for group {g}"),
        Wording((1, 0), "Setting newly assigned partitions [{tps}]"),
        Wording((2, 2), "Setting newly assigned partitions: {tps}"),
        Wording((2, 4), "Adding newly assigned partitions: {tps}"),
        Wording((4, 1), "Adding newly assigned partitions: [{tps}]"),
    ),
    "C_LOST": (
        Wording((2, 4), "Lost previously assigned partitions {tps}"),
        Wording((4, 1), "Lost previously assigned partitions [{tps}]"),
    ),
    "C_GIVING_AWAY": (
        Wording(
            (2, 4),
            "Giving away all assigned partitions as lost since generation has been reset,"
            "indicating that consumer is no longer part of the group",
        ),
        Wording(
            (3, 2),
            "Giving away all assigned partitions as lost since generation/memberID has been reset,"
            "indicating that consumer is in old state or no longer part of the group",
        ),
    ),
    "C_UPDATING": (
        Wording(
            (2, 4),
            "Updating assignment with\nnow assigned partitions: [{now}]\ncompare with previously owned partitions: "
            "[{before}]\nnewly added partitions: [{added}]\nrevoked partitions: [{revoked}]\n",
        ),
        Wording(
            (2, 6),
            "Updating assignment with\n"
            "\tAssigned partitions:                       [{now}]\n"
            "\tCurrent owned partitions:                  [{before}]\n"
            "\tAdded partitions (assigned - owned):       [{added}]\n"
            "\tRevoked partitions (owned - assigned):     [{revoked}]\n",
        ),
    ),
    "C_ASSIGNOR_NOTIFIED": (Wording((2, 6), "Notifying assignor about the new Assignment(partitions=[{tps}])"),),
    "C_ASSIGNMENT_FINISHED": (Wording((2, 4), "Finished assignment for group at generation {n}: {map}"),),
    "C_REJOIN_REQ": (Wording((3, 0), "Request joining group due to: {r}"),),
    "C_RESET_GEN": (
        Wording((3, 0), "Resetting generation due to: {r}"),
        Wording((3, 2), "Resetting generation {and_id}due to: {r}"),
    ),
    "C_JOIN_FAIL": (
        Wording((2, 5), "Join group failed with {exception}"),
        Wording((2, 7), "JoinGroup failed: {message} Need to re-join the group. Sent generation was {generation}"),
    ),
    "C_SYNC_FAIL": (
        Wording((2, 7), "SyncGroup failed: {message} Need to re-join the group. Sent generation was {generation}"),
    ),
    "C_HB_REBALANCING": (
        Wording((2, 0), "Attempt to heartbeat failed since group is rebalancing"),
        Wording((3, 0), ""),
    ),
    "C_HB_FAIL": (
        Wording((2, 0), "Attempt to heartbeat failed since generation {n} is not current"),
        Wording(
            (2, 6),
            "Attempt to heartbeat with {generation} and group instance id {opt} failed due to {error}, "
            "resetting generation",
        ),
    ),
    "C_LEAVE": (
        Wording((2, 1), "Sending LeaveGroup request to coordinator {node}"),
        Wording((2, 2), "Member {m} sending LeaveGroup request to coordinator {node}"),
        Wording((2, 4), "Member {m} sending LeaveGroup request to coordinator {node} due to {r}"),
    ),
    "C_HB_FENCED": (Wording((2, 3), "Caught fenced group.instance.id {opt} error in heartbeat thread", "ERROR"),),
    "C_POLL_TIMEOUT": (
        Wording(
            (2, 1),
            "This member will leave the group because consumer poll timeout has expired. This means the time between "
            "subsequent calls to poll() was longer than the configured max.poll.interval.ms",
            "WARN",
        ),
        Wording((2, 4), ""),
        Wording(
            (3, 0),
            "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than "
            "the configured max.poll.interval.ms",
            "WARN",
        ),
    ),
    "C_OFFSET_SET": (Wording((2, 3), "Setting offset for partition {tp} to the committed offset {position}"),),
    "C_NO_COMMITTED_OFFSET": (Wording((2, 3), "Found no committed offset for partition {tp}"),),
    "C_OFFSET_RESET": (
        Wording((0, 11), "Resetting offset for partition {tp} to offset {offset}."),
        Wording((2, 7), "Resetting offset for partition {tp} to position {position}."),
    ),
    "C_COMMIT_FAIL": (
        Wording((0, 9), "Offset commit failed on partition {tp} at offset {offset}: {message}", "ERROR"),
        Wording((2, 6), "OffsetCommit failed with {generation}: {message}"),
    ),
    "C_SUBSCRIBED": (Wording((2, 2), "Subscribed to topic(s): {topics}"),),
    "C_SUBSCRIBED_PATTERN": (Wording((2, 2), "Subscribed to pattern: '{pattern}'"),),
    "C_WARNING": (Wording((0, 9), "{text}", "WARN"),),
    "C_FAILED": (Wording((0, 9), "{text}", "ERROR"),),
}

# The messages of Kafka's error codes, as its exceptions print them.
MESSAGES: Mapping[str, str] = {
    "UNKNOWN_MEMBER_ID": "The coordinator is not aware of this member.",
    "ILLEGAL_GENERATION": "Specified group generation id is not valid.",
    "REBALANCE_IN_PROGRESS": "The group is rebalancing, so a rejoin is needed.",
    "MEMBER_ID_REQUIRED": "The group member needs to have a valid member id before actually entering a consumer group.",
    "NOT_COORDINATOR": "This is not the correct coordinator.",
    "COORDINATOR_NOT_AVAILABLE": "The coordinator is not available.",
    "COORDINATOR_LOAD_IN_PROGRESS": "The coordinator is loading and hence can't process requests.",
    "FENCED_INSTANCE_ID": "The broker rejected this static consumer since another consumer with the same "
    "group.instance.id has registered with a different member.id.",
    "GROUP_MAX_SIZE_REACHED": "The consumer group has reached its max size.",
    "INCONSISTENT_GROUP_PROTOCOL": "The group member's supported protocols are incompatible with those of existing "
    "members or first group member tried to join with empty protocol type or empty protocol list.",
    "DISCONNECTED": "The server disconnected before a response was received.",
    "TIMED_OUT": "The request timed out.",
}
