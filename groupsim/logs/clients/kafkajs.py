"""kafkajs' log: one JSON object a line, at INFO, which is its default.

Words: what kafkajs 2.2.4 wrote of the same story, and its source. An answer's correlation id and size are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from groupsim.logs.clients.libraries import Library, Said, Values, Words, by_topic
from groupsim.logs.layout import millis

KEYS = {"JoinGroup": "11, version: 5", "Heartbeat": "12, version: 3", "SyncGroup": "14, version: 3"}
ASSIGNERS = {"roundrobin": "RoundRobinAssigner"}
# Its own table of messages: without Kafka's full stops, and for some in other words.
MESSAGES = {
    "NOT_COORDINATOR": "This is not the correct coordinator for this group",
    "COORDINATOR_LOAD_IN_PROGRESS": "The coordinator is loading and hence can't process requests for this group",
    "COORDINATOR_NOT_AVAILABLE": "The group coordinator is not available",
}


def _layout(at: datetime, said: Said, text: str, values: Values) -> str:
    time = f"{at:%Y-%m-%dT%H:%M:%S}.{millis(at)}Z"
    record = {"level": said.level, "timestamp": time, "logger": "kafkajs", "message": text}
    return json.dumps({**record, **{name: values[name] for name in said.extra}}, separators=(",", ":"))


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
REJOINS = Said("[Runner] The group is rebalancing, re-joining", "WARN", extra=WHO)
UNKNOWN = Said("[Runner] The coordinator is not aware of this member, re-joining the group", "ERROR", extra=WHO)
ANSWER = ("broker", "clientId", "error")
JOINED = ("groupId", "memberId", "leaderId", "isLeader", "memberAssignment", "groupProtocol", "duration")
WORDS: Words = {
    "started": (Said("[Consumer] Starting", extra=("groupId",)),),
    "answer": (Said("[Connection] Response {api}(key: {key})", "ERROR", extra=ANSWER),),
    "answer MEMBER_ID_REQUIRED": (),
    "synced": (Said("[ConsumerGroup] Consumer has joined the group", extra=JOINED),),
    "heartbeat REBALANCE_IN_PROGRESS": (REJOINS,),
    "heartbeat ILLEGAL_GENERATION": (REJOINS,),
    "heartbeat NOT_COORDINATOR": (REJOINS,),
    "heartbeat UNKNOWN_MEMBER_ID": (UNKNOWN,),
    "join UNKNOWN_MEMBER_ID": (UNKNOWN,),
    "sync UNKNOWN_MEMBER_ID": (UNKNOWN,),
    "failed": (Said("[Consumer] Crash: {message}", "ERROR", extra=("groupId",)),),
    "stopped": (
        Said("[Runner] consumer not running, exiting", extra=("groupId", "memberId")),
        Said("[Consumer] Stopped", extra=("groupId",)),
    ),
}
KAFKAJS = Library(_layout, WORDS, _printed)
