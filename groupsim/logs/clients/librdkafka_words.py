"""The log messages of librdkafka with `debug=cgrp`: syslog level, facility and text.

Source: logs of 2.16, eager and cooperative. `{head}` is `Group "g":`; `{name}` has no colon.
"""

from __future__ import annotations

from collections.abc import Mapping

COOPERATIVE_REJOIN = "rejoining group to redistribute previously owned partitions to other group members"
TIMED_OUT = (
    "Consumer group session timed out (in join-state {join}) after {silent_ms} ms without a successful response from "
    "the group coordinator (broker {coordinator}, last error was {last})"
)
QUEUE = "rd_kafka_cgrp_new"
CLOSING_QUEUE = "rd_kafka_consumer_close0"

LINES: Mapping[str, tuple[int, str, str]] = {
    "subscribe": (7, "SUBSCRIBE", "{head} subscribe to new subscription of {topics} topics (join-state init)"),
    "state": (7, "CGRPSTATE", "{name} changed state {old} -> {new} (join-state {join})"),
    "join-state": (7, "CGRPJOINSTATE", "{name} changed join state {old} -> {new} (state {state})"),
    "query": (7, "CGRPQUERY", "{asked}: {head} querying for coordinator: {why}"),
    "found": (7, "CGRPCOORD", "{name} coordinator is broker-{new}:9092 id {new}"),
    "changing": (7, "CGRPCOORD", "{name} changing coordinator {old} -> {new}"),
    "clear": (7, "COORDCLEAR", "{name} broker broker-{old}:9092/{old} is no longer coordinator"),
    "set": (7, "COORDSET", "{name} coordinator set to broker broker-{new}:9092/{new}"),
    "join": (7, "JOIN", "{head} join with {topics} subscribed topic(s)"),
    "joining": (
        7,
        "JOIN",
        '{broker}: Joining group "{group}" with {topics} subscribed topic(s) and member id "{member}"',
    ),
    "joined": (
        7,
        "JOINGROUP",
        "JoinGroup response: GenerationId {generation}, Protocol {protocol}, LeaderId {leader}, my MemberId {member}, "
        "member metadata count {count}: {error}",
    ),
    "member-id": (7, "MEMBERID", '{head} updating member id "{old}" -> "{new}"'),
    "elected": (7, "JOINGROUP", 'I am elected leader for group "{group}" with {count} member(s)'),
    "assignor": (7, "ASSIGNOR", '{head} "{assignor}" assignor run for {count} member(s)'),
    "synced": (7, "SYNCGROUP", "SyncGroup response: {error}"),
    "list": (7, "ASSIGNMENT", "List with {count} partition(s):"),
    "listed": (7, "ASSIGNMENT", " {topic} [{number}] offset INVALID"),
    "compared": (
        7,
        "COOPASSIGN",
        "{head} incremental assignment: {added} newly added, {gone} revoked partitions based on assignment of {count} "
        "partitions",
    ),
    "heartbeat": (
        7,
        "HEARTBEAT",
        "{name} heartbeat error response in state {state} (join-state {join}, {owned} partition(s) assigned): {error}",
    ),
    "rejoin": (7, "REJOIN", "{head} Rejoining group {with_owned}: {why}"),
    "no-rejoin": (
        7,
        "NOREJOIN",
        "{head} Not rejoining group without an assignment: Unassignment done: no subscribed topics",
    ),
    "rebalance": (
        7,
        "REBALANCE",
        "{name} initiating rebalance ({kind}) in state {state} (join-state {join}) with {owned} assigned "
        "partition(s){lost}: {why}",
    ),
    "rebalancing": (
        7,
        "REBALANCE",
        "{name} is rebalancing ({kind}) in state {state} (join-state {join}) with {owned} assigned partition(s): {why}",
    ),
    "revoking": (7, "REBALANCE", "{head} revoking all {owned} partition(s) ({how})"),
    "lost": (7, "LOST", "{head} current assignment of {owned} partition(s) lost: {why}"),
    "no-longer-lost": (7, "LOST", "{head} current assignment no longer considered lost: {what} done"),
    "delegating": (
        7,
        "ASSIGN",
        "{head} delegating {what} of {count} partition(s) to application on queue {queue}: {why}",
    ),
    "new": (7, "ASSIGN", "{head} new assignment of {owned} partition(s) in join-state {join}"),
    "adding": (7, "ASSIGNMENT", "{head} {count} partition(s) being added to group assignment of {owned} partition(s)"),
    "removing": (
        7,
        "ASSIGNMENT",
        "{head} {count} partition(s) being removed from group assignment of {owned} partition(s)",
    ),
    "unassigned": (7, "UNASSIGN", "{head} unassign done in state {state} (join-state {join})"),
    "leave": (7, "LEAVE", "{head} leave (in state {state})"),
    "left": (7, "LEAVEGROUP", "LeaveGroup response received in state {state}"),
    "terminated": (7, "CGRPTERM", "Consumer group sub-system terminated (will enqueue reply)"),
    "max-poll": (
        4,
        "MAXPOLL",
        "Application maximum poll interval ({limit_ms}ms) exceeded by 0ms (adjust max.poll.interval.ms for "
        "long-running message processing): leaving group",
    ),
    "session": (4, "SESSTMOUT", TIMED_OUT + ": revoking assignment and rejoining group"),
    "commit-failed": (
        4,
        "COMMITFAIL",
        "Offset commit ({why}) failed for {count}/{count} partition(s) in join-state {join}: {error}: {shown}",
    ),
    "fatal": (0, "FATAL", "Fatal error: {error}: Fatal consumer error: {error}"),
}
ERRORS: Mapping[str, str] = {
    "UNKNOWN_MEMBER_ID": "Broker: Unknown member",
    "ILLEGAL_GENERATION": "Broker: Specified group generation id is not valid",
    "REBALANCE_IN_PROGRESS": "Broker: Group rebalance in progress",
    "NOT_COORDINATOR": "Broker: Not coordinator",
    "COORDINATOR_LOAD_IN_PROGRESS": "Broker: Coordinator load in progress",
    "COORDINATOR_NOT_AVAILABLE": "Broker: Coordinator not available",
    "FENCED_INSTANCE_ID": "Broker: Static consumer fenced by other consumer with same group.instance.id",
    "MEMBER_ID_REQUIRED": "Broker: Group member needs a valid member ID",
    "DISCONNECTED": "Local: Broker transport failure",
    "TIMED_OUT": "Local: Timed out",
}
