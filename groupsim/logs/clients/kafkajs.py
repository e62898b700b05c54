"""kafkajs' log: one JSON object per line, at INFO, its default level.

Messages: logs of kafkajs 2.2.4 from equal scenes, and its source. The correlation id and the size of an answer are left
out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from groupsim.logs.clients.libraries import Library, LogLine, Values, Words, by_topic
from groupsim.logs.layout import millis

KEYS = {"JoinGroup": "11, version: 5", "Heartbeat": "12, version: 3", "SyncGroup": "14, version: 3"}
ASSIGNERS = {"roundrobin": "RoundRobinAssigner"}
# kafkajs has its own messages: Kafka's without full stops, and these.
MESSAGES = {
    "NOT_COORDINATOR": "This is not the correct coordinator for this group",
    "COORDINATOR_LOAD_IN_PROGRESS": "The coordinator is loading and hence can't process requests for this group",
    "COORDINATOR_NOT_AVAILABLE": "The group coordinator is not available",
}


def _layout(at: datetime, template: LogLine, text: str, values: Values) -> str:
    time = f"{at:%Y-%m-%dT%H:%M:%S}.{millis(at)}Z"
    record = {"level": template.level, "timestamp": time, "logger": "kafkajs", "message": text}
    return json.dumps({**record, **{name: values[name] for name in template.extra}}, separators=(",", ":"))


def _printed(values: Values) -> Mapping[str, object]:
    error, protocol = values["error"], values["protocol"]
    return {
        "groupId": values["group"],
        "memberId": values["member"],
        "leaderId": values["leader"],
        "isLeader": values["member"] == values["leader"],
        "memberAssignment": by_topic(values.get("given", ())),
        "groupProtocol": ASSIGNERS.get(protocol, protocol),
        "duration": values["took_ms"],
        "broker": f"broker-{values['node']}:9092",
        "clientId": values["client"],
        "error": MESSAGES.get(error, values["message"].removesuffix(".")),
        "key": KEYS.get(values["api"], "?"),
    }


WHO = ("groupId", "memberId", "error")
REJOINS = LogLine("[Runner] The group is rebalancing, re-joining", "WARN", extra=WHO)
UNKNOWN = LogLine("[Runner] The coordinator is not aware of this member, re-joining the group", "ERROR", extra=WHO)
ANSWER = ("broker", "clientId", "error")
JOINED = ("groupId", "memberId", "leaderId", "isLeader", "memberAssignment", "groupProtocol", "duration")
WORDS: Words = {
    "started": (LogLine("[Consumer] Starting", extra=("groupId",)),),
    "answer": (LogLine("[Connection] Response {api}(key: {key})", "ERROR", extra=ANSWER),),
    "answer MEMBER_ID_REQUIRED": (),
    "synced": (LogLine("[ConsumerGroup] Consumer has joined the group", extra=JOINED),),
    "heartbeat REBALANCE_IN_PROGRESS": (REJOINS,),
    "heartbeat ILLEGAL_GENERATION": (REJOINS,),
    "heartbeat NOT_COORDINATOR": (REJOINS,),
    "heartbeat UNKNOWN_MEMBER_ID": (UNKNOWN,),
    "join UNKNOWN_MEMBER_ID": (UNKNOWN,),
    "sync UNKNOWN_MEMBER_ID": (UNKNOWN,),
    "failed": (LogLine("[Consumer] Crash: {message}", "ERROR", extra=("groupId",)),),
    "stopped": (
        LogLine("[Runner] consumer not running, exiting", extra=("groupId", "memberId")),
        LogLine("[Consumer] Stopped", extra=("groupId",)),
    ),
}
KAFKAJS = Library(_layout, WORDS, _printed)
