"""The log messages of the Java consumer, by version.

Sources: log-formats reference, section 4; the constants in the classes of the releases' jars; logs of consumers of
4.4.0.
"""

from __future__ import annotations

from groupsim.logs.wording import Table, Wording

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
