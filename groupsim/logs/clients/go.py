"""The logs of franz-go and sarama. By default neither has a logger.

franz-go: `kgo.BasicLogger` at INFO with the time as a prefix, `[LEVEL] message; key: value, key: value`. sarama:
`sarama.Logger` on `log.New(…, "[sarama] ", log.LstdFlags)`; the start and end of sessions and subscriptions show its
rebalances. Messages: logs of franz-go 1.22.2 and sarama 1.61.1 from equal scenes, and their sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from groupsim.logs.clients.libraries import Library, LogLine, Values, Words, by_topic
from groupsim.logs.layout import millis
from groupsim.members.profiles import PROFILES


def _franz_layout(at: datetime, template: LogLine, text: str, values: Values) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{millis(at)}Z [{template.level}] {text}"


def _mapped(partitions: Iterable[str]) -> str:
    """Format partitions as Go prints a map of topics to slices: `orders[0 1], payments[2]`."""
    return ", ".join(f"{topic}[{' '.join(map(str, numbers))}]" for topic, numbers in by_topic(partitions).items())


def _duration(us: int) -> str:
    """Format a wait of 250 ms or more as Go prints a duration."""
    return f"{us // 1000}ms" if us < 1_000_000 else f"{us / 1_000_000:g}s"


def _franz_printed(values: Values) -> Mapping[str, object]:
    plan = values.get("plan") or {}
    return {
        "instance": values["instance"] or "<nil>",
        "assigned": _mapped(values.get("given", ())),
        "added": _mapped(values.get("added", ())),
        "lost": _mapped(values.get("gone", ())),
        "revoking": _mapped(values["partitions"]),
        "plan": ", ".join(f"{member}{{{_mapped(plan[member])}}}" for member in sorted(plan)),
        "backoff": _duration(PROFILES["franz-go"].error_loop.pause_us(max(int(str(values["errors"])), 1))),
        "err": f"{values['error']}: {values['message']}" if values["error"] else values["reason"],
    }


MEMBER = "group: {group}, member_id: {member}"
GENERATION = MEMBER + ", instance_id: {instance}, generation: {generation}"
ERRORED = LogLine("heartbeat errored; group: {group}, err: {err}")
REJOINS = LogLine(
    "heartbeat errored; group: {group}, err: REBALANCE_IN_PROGRESS: The group is rebalancing, so a rejoin is needed."
)
CHANGED_NOTHING = LogLine(
    "consumer calling onRevoke at the end of a session; consumer did not change any client-side subscription; "
    "group: {group}"
)
# The second line at the end of a session, after that of the heartbeat or of the join.
GAVE_UP = LogLine(
    "group manage loop errored; group: {group}, err: {err}, consecutive_errors: {errors}, backoff: {backoff}", "ERROR"
)
FRANZ_GO_WORDS: Words = {
    "started": (LogLine("beginning to manage the group lifecycle; group: {group}"),),
    "started auto": (
        LogLine("beginning to manage the group lifecycle; group: {group}"),
        LogLine("beginning autocommit loop; group: {group}"),
    ),
    "joining": (LogLine("joining group; group: {group}"),),
    "joining after-MEMBER_ID_REQUIRED": (
        LogLine(f"join returned MemberIDRequired, rejoining with response's MemberID; {MEMBER}"),
    ),
    "joining after-UNKNOWN_MEMBER_ID": (
        LogLine("join returned UnknownMemberID, rejoining without a member id; group: {group}"),
    ),
    "join MEMBER_ID_REQUIRED": (),
    "join UNKNOWN_MEMBER_ID": (),
    "join failed": (LogLine("join group failed; group: {group}, err: {err}", "WARN"), GAVE_UP),
    "leads": (
        LogLine(f"joined, balancing group; {GENERATION}, balance_protocol: {{protocol}}, leader: true"),
        LogLine("balancing group as leader"),
    ),
    "follows": (LogLine(f"joined; {GENERATION}, leader: false"),),
    "computed": (LogLine("balanced; plan: {plan}"),),
    "syncing": (LogLine("syncing; group: {group}, protocol_type: consumer, protocol: {protocol}"),),
    "sync REBALANCE_IN_PROGRESS": (LogLine("sync failed with RebalanceInProgress, rejoining; group: {group}"),),
    "sync failed": (LogLine("sync group failed; group: {group}, err: {err}", "WARN"), GAVE_UP),
    "synced": (
        LogLine("synced; group: {group}, assigned: {assigned}"),
        LogLine("new group session begun; group: {group}, added: {added}, lost: {lost}"),
        LogLine("beginning heartbeat loop; group: {group}"),
    ),
    "heartbeat REBALANCE_IN_PROGRESS": (ERRORED,),
    "heartbeat failed": (ERRORED, GAVE_UP),
    "keeps": (CHANGED_NOTHING,),
    "revoked": (LogLine("eager consumer revoking prior assigned partitions; group: {group}, revoking: {revoking}"),),
    "revoked in-part": (
        LogLine("calling onRevoke at the end of a session; group: {group}, lost: {revoking}, stage: 0"),
        LogLine(
            "forced rejoin quitting heartbeat loop; why: after revoking what we lost from a rebalance, is848: false"
        ),
        REJOINS,
        CHANGED_NOTHING,
    ),
    "revoked at-end": (),
    "leaving": (
        LogLine("heartbeat errored; group: {group}, err: context canceled"),
        LogLine(f"leaving group; {MEMBER}"),
    ),
    "failed": (LogLine("group manage loop errored; group: {group}, err: {message}", "ERROR"),),
}
FRANZ_GO = Library(_franz_layout, FRANZ_GO_WORDS, _franz_printed)


def _sarama_layout(at: datetime, template: LogLine, text: str, values: Values) -> str:
    return f"[sarama] {at:%Y/%m/%d %H:%M:%S} {text}"


def _sarama_printed(values: Values) -> Mapping[str, object]:
    return {"subscribed": f"[{' '.join(values['topics'])}]"}


SESSION = "consumergroup/session/{member}/{generation}"
DEAD = LogLine("consumer/broker/{leads} closed dead subscription to {topic}/{number}", each=True)
FENCED = LogLine("JoinGroup failed: group instance id {instance} has been fenced")
SARAMA_WORDS: Words = {
    "looks-up": (LogLine("client/coordinator requesting coordinator for {group} from broker-{to}:9092"),),
    "found": (LogLine("client/coordinator coordinator for {group} is #{node} (broker-{node}:9092)"),),
    "join FENCED_INSTANCE_ID": (FENCED,),
    "sync FENCED_INSTANCE_ID": (FENCED,),
    "assigned": (LogLine("consumer/broker/{leads} added subscription to {topic}/{number}", each=True),),
    "revoked": (DEAD,),
    "lost": (DEAD,),
    "session-over": (
        LogLine("consumergroup/{group} loop check partition number goroutine will exit, topics {subscribed}"),
        LogLine(SESSION + " heartbeat loop stopped"),
        LogLine(SESSION + " released"),
    ),
    "stopped": (LogLine("Closing Client"),),
}
SARAMA = Library(_sarama_layout, SARAMA_WORDS, _sarama_printed)
