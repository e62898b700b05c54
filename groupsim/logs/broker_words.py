"""The log messages of brokers, by version.

Sources: log-formats reference, sections 1 and 2; the constants in the classes of the releases' jars; logs of brokers of
4.4.0.
"""

from __future__ import annotations

from groupsim.logs.wording import Table, Version, Wording

JAVA_COORDINATOR: Version = (4, 0)

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
            "Dynamic Member with unknown member id joins group {g} in {state} state. "
            "Created a new member id {m} for this member and add to the group.",
        ),
        Wording(
            (4, 0),
            "Dynamic member with unknown member id joins group {g} in state {state}. "
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
    "SIMPLE_GROUP": (Wording((4, 0), "[GroupId {g}] Creating a simple consumer group via manual offset commit."),),
    "ELECTED": (
        Wording((2, 8), "Elected as the group coordinator for partition {op}"),
        Wording((3, 0), "Elected as the group coordinator for partition {op} in epoch {epoch}"),
        Wording((4, 0), ""),
    ),
    "LOAD_SCHEDULED": (
        Wording((0, 9), "Loading offsets and group metadata from __consumer_offsets-{op}"),
        Wording((0, 11), "Scheduling loading of offsets and group metadata from __consumer_offsets-{op}"),
        Wording(
            (3, 0), "Scheduling loading of offsets and group metadata from __consumer_offsets-{op} for epoch {epoch}"
        ),
        Wording((4, 0), "Scheduling loading of metadata from __consumer_offsets-{op} with epoch {epoch}"),
    ),
    "RESIGNED": (
        Wording((2, 8), "Resigned as the group coordinator for partition {op}"),
        Wording((3, 0), "Resigned as the group coordinator for partition {op} in epoch Some({epoch})"),
        Wording((3, 5), "Resigned as the group coordinator for partition {op} in epoch OptionalInt[{epoch}]"),
        Wording((4, 0), ""),
    ),
    "UNLOAD_SCHEDULED": (
        Wording((0, 11), "Scheduling unloading of offsets and group metadata from __consumer_offsets-{op}"),
        Wording((4, 0), "Scheduling unloading of metadata for __consumer_offsets-{op} with epoch OptionalInt[{epoch}]"),
    ),
    "UNLOAD_STARTED": (
        Wording((4, 0), "Started unloading metadata for __consumer_offsets-{op} with epoch OptionalInt[{epoch}]."),
    ),
    "UNLOAD_IGNORED": (
        Wording(
            (4, 0),
            "Ignored unloading metadata for __consumer_offsets-{op} in epoch OptionalInt[{epoch}] since metadata was "
            "never loaded.",
        ),
    ),
    "STARTING": (Wording((0, 9), "Starting up."),),
    "STARTED": (Wording((0, 9), "Startup complete."),),
    "STOPPING": (Wording((0, 9), "Shutting down."), Wording((4, 0), "")),  # log4j2 stops before
    "STOPPED": (Wording((0, 9), "Shutdown complete."), Wording((4, 0), "")),
    "LOAD_GROUP": (
        Wording((0, 9), "Loading group metadata for {g} with generation {n}"),
        Wording((4, 0), "Loaded classic group {g} with {k} members."),
    ),
    "UNLOAD_GROUP": (
        Wording((0, 9), "Unloading group metadata for {g} with generation {n}"),
        Wording((4, 0), "[GroupId={g}] Unloading group metadata for generation {n}."),
    ),
    "GROUPS_DELETED": (
        Wording((1, 1), "The following groups were deleted: {g}"),
        Wording((2, 0), "The following groups were deleted: {g}. A total of {k} offsets were removed."),
    ),
    "GROUP_TO_DEAD": (Wording((0, 10), "Group {g} transitioned to Dead in generation {n}"), Wording((4, 0), "")),
    "OFFSETS_EXPIRED": (
        Wording((0, 9), "Removed {k} expired offsets in 0 milliseconds."),
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
    "DOWNGRADED": (
        Wording((4, 0), "Downgrade group {g} from consumer to classic."),
        Wording((4, 1), "Downgrade group {g} from consumer to classic for member leaving."),
    ),
    "DOWNGRADED_BY_REPLACEMENT": (
        Wording(
            (4, 0),
            "Downgrade group {g} from consumer to classic for static member replacement with different subscription.",
        ),
        Wording((4, 3), "Downgrade group {g} from consumer to classic with stale assignment."),
    ),
}
