"""The logs of kafka-python and aiokafka, in the layout of `logging`: `time - logger - LEVEL - message`.

Messages: the sources of kafka-python 1.3.5, 2.0.2, 2.3.3 and aiokafka 0.14.0; logs of all but the first from equal
scenes. Stack traces are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from groupsim.logs.clients.libraries import Library, LogLine, Values, Words, in_order
from groupsim.logs.layout import millis
from groupsim.protocol.errors import ErrorCode

COORDINATOR, CONSUMER, CLUSTER = "kafka.coordinator", "kafka.coordinator.consumer", "kafka.cluster"
HEARTBEAT, SUBSCRIPTION = "kafka.coordinator.heartbeat", "kafka.consumer.subscription_state"
AIO, AIO_SUBSCRIPTION = "aiokafka.consumer.group_coordinator", "aiokafka.consumer.subscription_state"
OLDER_NAMES = {
    "NOT_COORDINATOR": "NotCoordinatorForGroupError",
    "COORDINATOR_LOAD_IN_PROGRESS": "GroupLoadInProgressError",
    "COORDINATOR_NOT_AVAILABLE": "GroupCoordinatorNotAvailableError",
}


def _layout(at: datetime, template: LogLine, text: str, values: Values) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S},{millis(at)} - {template.logger} - {template.level} - {text}"


def _error(code: str, older: bool) -> str:
    """Format an error code as its exception: `[Error 25] UnknownMemberIdError`."""
    name = "".join(part.capitalize() for part in code.split("_")) + "Error"
    if older:
        name = OLDER_NAMES.get(code, name)
    return f"[Error {ErrorCode[code].value}] {name}" if code in ErrorCode.__members__ else code


def _printed(values: Values, *, older: bool) -> Mapping[str, object]:
    listed = ", ".join(
        f"TopicPartition(topic='{one.rpartition('-')[0]}', partition={one.rpartition('-')[2]})"
        for one in in_order(values["partitions"])
    )
    return {
        "subscribed": f"[{', '.join(repr(one) for one in values['topics'])}]",
        "subscribed_set": f"frozenset({{{', '.join(repr(one) for one in sorted(values['topics']))}}})",
        "list": f"[{listed}]",
        "set": f"{{{listed}}}" if listed else "set()",
        "frozen": f"frozenset({{{listed}}})" if listed else "set()",
        "one": listed,
        "error": _error(values["error"], older),
    }


def _older(values: Values) -> Mapping[str, object]:
    return _printed(values, older=True)


def _newer(values: Values) -> Mapping[str, object]:
    return _printed(values, older=False)


def _info(text: str, logger: str = COORDINATOR) -> LogLine:
    return LogLine(text, "INFO", logger)


def _warning(text: str, logger: str = COORDINATOR) -> LogLine:
    return LogLine(text, "WARNING", logger)


JOINING = _info("(Re-)joining group {group}")
LEADS = _info("Elected group leader -- performing partition assignments using {protocol}")
SUCCESS = _info("Successfully joined group {group} with generation {generation}")
REVOKING = _info("Revoking previously assigned partitions {set} for group {group}", CONSUMER)
DEAD = "Marking the coordinator dead (node coordinator-{node}) for group {group}: "
NOT_VALID = (
    "Heartbeat failed for group {group}: coordinator (node coordinator-{node}) is either not started or not valid"
)
FATAL = LogLine("Attempt to join group {group} failed due to fatal error: {error}", "ERROR", COORDINATOR)
AUTO_COMMIT = "Auto offset commit failed for group {group}: "
KICKED_OUT = "CommitFailedError: Commit cannot be completed since the group has already"  # the first line of several
COMMIT_ENDED = LogLine("Offset commit failed: This is likely to cause duplicate message delivery", "ERROR", CONSUMER)


def _heartbeats(logger: str) -> dict[str, tuple[LogLine, ...]]:
    unknown = "Heartbeat: local member_id was not recognized; this consumer needs to re-join"
    return {
        "heartbeat REBALANCE_IN_PROGRESS": (
            _warning("Heartbeat failed for group {group} because it is rebalancing", logger),
        ),
        "heartbeat ILLEGAL_GENERATION": (
            _warning("Heartbeat failed for group {group}: generation id is not current.", logger),
        ),
        "heartbeat UNKNOWN_MEMBER_ID": (_warning(unknown, logger),),
        "heartbeat NOT_COORDINATOR": (_warning(NOT_VALID, logger),),
        "heartbeat COORDINATOR_NOT_AVAILABLE": (_warning(NOT_VALID, logger),),
        "session": (_warning("Heartbeat session expired, marking coordinator dead", logger),),
    }


BROKER = "BrokerMetadata(nodeId={shown}, host='broker-{node}', port=9092, rack=None)"
APART = BROKER.replace("{shown}", "'coordinator-{node}'")
WORDS_2: Words = {
    "started": (_info("Updating subscribed topics to: {subscribed}", SUBSCRIPTION),),
    "found": (
        _info("Group coordinator for {group} is " + APART, CLUSTER),
        _info("Discovered coordinator coordinator-{node} for group {group}"),
    ),
    "coordinator-lost": (_warning(DEAD + "{error}."),),
    "coordinator-lost session": (_warning(DEAD + "Heartbeat session expired."),),
    "coordinator-lost connection": (_warning(DEAD + "Node Disconnected."),),
    "prepares": (REVOKING,),
    "revoked": (REVOKING,),
    "joining": (JOINING,),
    "computed": (LEADS,),
    "synced": (SUCCESS,),
    "assigned": (
        _info("Updated partition assignment: {list}", SUBSCRIPTION),
        _info("Setting newly assigned partitions {set} for group {group}", CONSUMER),
    ),
    "poll-limit": (_warning("Heartbeat poll expired, leaving group"),),
    "leaving": (_info("Leaving consumer group ({group})."),),
    "commit-auto failed": (_warning(AUTO_COMMIT + "{error}: {group}", CONSUMER),),
    "commit-auto UNKNOWN_MEMBER_ID": (_warning(AUTO_COMMIT + KICKED_OUT, CONSUMER),),
    "commit-auto ILLEGAL_GENERATION": (_warning(AUTO_COMMIT + KICKED_OUT, CONSUMER),),
    "commit-auto CommitFailedException": (COMMIT_ENDED,),
    "join INCONSISTENT_GROUP_PROTOCOL": (FATAL,),
    "failed": (LogLine("{message}", "ERROR", COORDINATOR),),
    **_heartbeats(COORDINATOR),
}
WORDS_1: Words = {
    **{code: templates for code, templates in WORDS_2.items() if code not in ("session", "poll-limit")},
    "found": (
        _info("Group coordinator for {group} is " + BROKER.replace("{shown}", "{node}"), CLUSTER),
        _info("Discovered coordinator {node} for group {group}"),
    ),
    "coordinator-lost": (_warning(DEAD.replace("coordinator-{", "{") + "{error}."),),
    "coordinator-lost session": (_warning(DEAD.replace("coordinator-{", "{") + "Heartbeat session expired."),),
    "coordinator-lost connection": (_warning(DEAD.replace("coordinator-{", "{") + "Node Disconnected."),),
    "heartbeat NOT_COORDINATOR": (_warning(NOT_VALID.replace("coordinator-{", "{")),),
    "leads": (_info("Joined group '{group}' (generation {generation}) with member_id {member}"),),
    "follows": (_info("Joined group '{group}' (generation {generation}) with member_id {member}"),),
    "session": (LogLine("Heartbeat session expired - marking coordinator dead", "ERROR", COORDINATOR),),
    "left": (_info("LeaveGroup request succeeded"),),
}
JOINED = _info(
    "Successfully joined group {group} <Generation {generation} (member_id: {member}, protocol: {protocol})>"
)
OBSOLETE = _info("Attempt to join group {group} failed due to obsolete coordinator information: {error}")
HELD = " due to fenced id error: {instance}"
FENCED = " failed" + HELD
WORDS_2_3: Words = {
    **{code: templates for code, templates in WORDS_2.items() if code != "synced"},
    **_heartbeats(HEARTBEAT),
    "found": (
        _info("Coordinator for group/{group} is " + APART, CLUSTER),
        _info("Discovered coordinator coordinator-{node} for group {group}"),
    ),
    "joining after-MEMBER_ID_REQUIRED": (
        _info("Received member id {member} for group {group}; will retry join-group"),
        _info("Failed to join group {group}: [Error 79] MemberIdRequiredError"),
        JOINING,
    ),
    "joining after-UNKNOWN_MEMBER_ID": (
        _info("Attempt to join group {group} failed due to unknown member id"),
        JOINING,
    ),
    "join COORDINATOR_LOAD_IN_PROGRESS": (
        _info("Attempt to join group {group} rejected since coordinator coordinator-{node} is loading the group."),
    ),
    "join FENCED_INSTANCE_ID": (FATAL,),
    "join GROUP_MAX_SIZE_REACHED": (FATAL,),
    "join NOT_COORDINATOR": (OBSOLETE,),
    "join COORDINATOR_NOT_AVAILABLE": (OBSOLETE,),
    "sync REBALANCE_IN_PROGRESS": (_info("SyncGroup for group {group} failed due to coordinator rebalance"),),
    "sync FENCED_INSTANCE_ID": (LogLine("SyncGroup for group {group}" + FENCED, "ERROR", COORDINATOR),),
    "sync failed": (_info("SyncGroup for group {group} failed due to {error}"),),
    "heartbeat FENCED_INSTANCE_ID": (LogLine("Heartbeat failed for group {group}" + HELD, "ERROR", HEARTBEAT),),
    "leads": (JOINED,),
    "follows": (JOINED,),
    "poll-limit": (
        _warning(
            "Consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than "
            "the configured max_poll_interval_ms, which typically implies that the poll loop is spending too much time "
            "processing messages. You can address this either by increasing max_poll_interval_ms or by reducing the "
            "maximum size of batches returned in poll() with max_poll_records.",
            HEARTBEAT,
        ),
    ),
    "leaving": (_info("Leaving consumer group {group} (member {member})."),),
    "left": (_info("LeaveGroup request for group {group} returned successfully"),),
    "reset": (_info("Resetting offset for partition {one} to offset {offset}.", "kafka.consumer.fetcher"),),
    "commit-auto UNKNOWN_MEMBER_ID": (_warning("OffsetCommit for group {group} failed: {error}: {group}", CONSUMER),),
    "commit-auto CommitFailedException": (
        _info("Failing OffsetCommit request since the consumer is not part of an active group", CONSUMER),
        COMMIT_ENDED,
    ),
}
AIO_DEAD = _warning("Marking the coordinator dead (node {node})for group {group}.", AIO)
AIO_REVOKING = _info("Revoking previously assigned partitions {frozen} for group {group}", AIO)
AIO_JOINED = _info("Joined group '{group}' (generation {generation}) with member_id {member}", AIO)
AIO_WORDS: Words = {
    "started": (_info("Updating subscribed topics to: {subscribed_set}", AIO_SUBSCRIPTION),),
    "found": (_info("Discovered coordinator {node} for group {group}", AIO),),
    "coordinator-lost": (AIO_DEAD,),
    "prepares": (AIO_REVOKING,),
    "revoked": (AIO_REVOKING,),
    "joining": (_info("(Re-)joining group {group}", AIO),),
    "joining after-MEMBER_ID_REQUIRED": (),  # aiokafka sends the second JoinGroup without a line
    "joining after-UNKNOWN_MEMBER_ID": (),
    "leads": (AIO_JOINED,),
    "follows": (AIO_JOINED,),
    "computed": (_info("Elected group leader -- performing partition assignments using {protocol}", AIO),),
    "synced": (_info("Successfully synced group {group} with generation {generation}", AIO),),
    "assigned": (_info("Setting newly assigned partitions {set} for group {group}", AIO),),
    "heartbeat REBALANCE_IN_PROGRESS": (_warning("Heartbeat failed for group {group} because it is rebalancing", AIO),),
    "heartbeat ILLEGAL_GENERATION": (
        _warning("Heartbeat failed for group {group}: generation id is not  current.", AIO),  # two blanks
    ),
    "heartbeat UNKNOWN_MEMBER_ID": (
        _warning("Heartbeat failed: local member_id was not recognized; resetting and re-joining group", AIO),
    ),
    "heartbeat NOT_COORDINATOR": (
        _warning(
            "Heartbeat failed for group {group}: coordinator (node {node}) is either not started or not valid", AIO
        ),
    ),
    "session": (LogLine("Heartbeat session expired - marking coordinator dead", "ERROR", AIO),),
    "left": (_info("LeaveGroup request succeeded", AIO),),
    "commit-auto UNKNOWN_MEMBER_ID": (
        LogLine(
            "OffsetCommit failed for group {group} due to group error ({error}: {group}), will rejoin", "ERROR", AIO
        ),
        _warning("Auto offset commit failed: {error}: {group}", AIO),
    ),
    "failed": (LogLine("Unexpected error in coordinator routine", "ERROR", AIO),),
}
KAFKA_PYTHON_1 = Library(_layout, WORDS_1, _older)
KAFKA_PYTHON_2 = Library(_layout, WORDS_2, _older)
KAFKA_PYTHON_2_3 = Library(_layout, WORDS_2_3, _newer)
AIOKAFKA = Library(_layout, AIO_WORDS, _older)
