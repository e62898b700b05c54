"""Logs of clients that are neither Java nor librdkafka: a layout per library, and its words for what its group does.

Only what the libraries are known to say is said (log-formats reference, sections 1 and 5): kafka-python and aiokafka,
franz-go's key/value lines, kafkajs' JSON, brod's records of several lines, sarama, whose rebalances are all but silent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

from attrs import define, frozen

from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.logs_broker import Blanks
from groupsim.logs_client import partitions_of
from groupsim.logs_wording import MESSAGES

Layout = Callable[[datetime, str, str, str], str]  # moment, level, message, client → the line


def _millis(moment: datetime) -> str:
    return f"{moment.microsecond // 1000:03d}"


def _python(moment: datetime, level: str, message: str, client: str) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S},{_millis(moment)} - kafka.coordinator - {level} - {message}"


def _sarama(moment: datetime, level: str, message: str, client: str) -> str:
    return f"[sarama] {moment:%Y/%m/%d %H:%M:%S} {message}"


def _franz(moment: datetime, level: str, message: str, client: str) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{_millis(moment)}Z {level} {message}"


def _kafkajs(moment: datetime, level: str, message: str, client: str) -> str:
    at = f"{moment:%Y-%m-%dT%H:%M:%S}.{_millis(moment)}Z"
    record = {"level": level, "timestamp": at, "logger": "kafkajs", "message": message, "clientId": client}
    return json.dumps(record)


def _brod(moment: datetime, level: str, message: str, client: str) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}.{_millis(moment)} [{level.lower()}] {message}"


@frozen
class Family:
    """A library: its layout, and its words by event code. A word may be of several lines."""

    layout: Layout
    words: Mapping[str, tuple[str, str]]  # code → level, text


PYTHON = {
    "joining": ("INFO", "(Re-)joining group {g}"),
    "leading": ("INFO", "Elected group leader -- performing partition assignments using {protocol}"),
    "synced": ("INFO", "Successfully joined group {g} with generation {n}"),
    "revoked": ("INFO", "Revoking previously assigned partitions {{{tps}}} for group {g}"),
    "assigned": ("INFO", "Setting newly assigned partitions {{{tps}}} for group {g}"),
    "coordinator lost": ("WARNING", "Marking the coordinator dead (node coordinator-{node}) for group {g}: {r}."),
    "session": ("WARNING", "Heartbeat session expired, marking coordinator dead"),
    "heartbeat REBALANCE_IN_PROGRESS": ("WARNING", "Heartbeat failed for group {g} because it is rebalancing"),
    "heartbeat UNKNOWN_MEMBER_ID": (
        "WARNING",
        "Heartbeat: local member_id was not recognized; this consumer needs to re-join",
    ),
    "heartbeat ILLEGAL_GENERATION": ("WARNING", "Heartbeat failed for group {g}: generation id is not current"),
    "leaving": ("INFO", "Leaving consumer group {g} (member {m})."),
    "failed": ("ERROR", "{message}"),
}
FRANZ = {
    "joining": ("INFO", "joining group, group: {g}"),
    "joined": ("INFO", "joined, group: {g}, member_id: {m}, generation: {n}"),
    "leading": ("INFO", "joined, balancing group, group: {g}, member_id: {m}, generation: {n}, leader: true"),
    "syncing": ("INFO", "syncing, group: {g}, protocol_type: consumer, protocol: {protocol}"),
    "synced": ("INFO", "synced, group: {g}"),
    "assigned": ("INFO", "new group session begun, group: {g}, added: {tps}, lost: "),
    "heartbeat": ("INFO", "heartbeat errored, group: {g}, err: {error}: {message}"),
    "leaving": ("INFO", "leaving group, group: {g}, member_id: {m}"),
    "failed": ("ERROR", "group manage loop errored, group: {g}, err: {message}"),
}
KAFKAJS = {
    "synced": ("INFO", "Consumer has joined the group"),
    "heartbeat": ("WARN", "{message}, resync group"),
    "failed": ("ERROR", "Crash: {message}"),
}
BROD_HEAD = "Group member ({g},coor=<0.1.0>,cb=<0.2.0>,generation={n}):\n"
BROD = {
    "joining": ("INFO", f"{BROD_HEAD}re-joining group, reason: {{r}}"),
    "leading": ("INFO", f"{BROD_HEAD}elected=true"),
    "assigned": ("INFO", f"{BROD_HEAD}assignments received:\n  {{tps}}"),
    "heartbeat": ("INFO", f"{BROD_HEAD}re-joining group, reason:{{error}}"),
    "leaving": ("INFO", f"{BROD_HEAD}leaving group, reason: {{r}}"),
}
SARAMA = {
    "coordinator": ("", "client/coordinator coordinator for {g} is #{node} (broker-{node}:9092)"),
    "coordinator lost": ("", "client/coordinator requesting coordinator for {g} from broker-{node}:9092"),
    "heartbeat": ("", "consumergroup/{g}: lost ownership of claims due to {message}"),
}
FAMILIES: dict[str, Family] = {
    "kafka-python": Family(_python, PYTHON),
    "aiokafka": Family(_python, PYTHON),
    "franz-go": Family(_franz, FRANZ),
    "kafkajs": Family(_kafkajs, KAFKAJS),
    "brod": Family(_brod, BROD),
    "sarama": Family(_sarama, SARAMA),
}


def family_of(profile: str) -> Family | None:
    """The library of a client profile, when it is one of these."""
    return next((family for name, family in FAMILIES.items() if profile.startswith(name)), None)


@define
class OtherLog:
    """One such client's log."""

    family: Family
    group: str
    client_id: str
    rounds: Mapping[str, tuple[int, str]]
    start: datetime
    node: object = 0

    def lines(self, event: TraceEvent) -> Iterator[str]:
        """The physical lines one event of this process makes."""
        if event.kind is Kind.COORDINATOR_FOUND:
            self.node = (event.payload or {}).get("node", 0)
        level, text = self._words(event)
        if text:
            moment = self.start + timedelta(microseconds=event.t_us)
            message = text.format_map(Blanks(self._values(event)))
            yield from self.family.layout(moment, level, message, self.client_id).split("\n")

    def _words(self, event: TraceEvent) -> tuple[str, str]:
        code = _code(event)
        found = self.family.words.get(code) or self.family.words.get(code.split(" ")[0])
        return found if found is not None and code else ("", "")

    def _values(self, event: TraceEvent) -> dict[str, object]:
        generation, protocol = self.rounds.get(self.group, (0, "range"))
        return {
            "g": self.group,
            "n": event.generation if event.generation is not None else generation,
            "m": event.member or "",
            "r": event.reason or "",
            "protocol": protocol,
            "node": self.node,
            "tps": partitions_of(event.payload),
            "error": event.error or "",
            "message": MESSAGES.get(event.error or "", event.reason or event.error or ""),
        }


SENT = {"JoinGroup": "joining", "SyncGroup": "syncing", "LeaveGroup": "leaving"}
ANSWERED = {"JoinGroup": "joined", "SyncGroup": "synced"}
PLAIN = {
    Kind.COORDINATOR_FOUND: "coordinator",
    Kind.COORDINATOR_LOST: "coordinator lost",
    Kind.ASSIGNMENT_COMPUTED: "leading",
    Kind.SESSION_EXPIRED: "session",
    Kind.PROCESS_FAILED: "failed",
}


def _code(event: TraceEvent) -> str:
    """What the event is to a library: the key of its words."""
    if event.kind is Kind.REQUEST_SENT:
        return SENT.get(event.api or "", "")
    if event.kind is Kind.RESPONSE_RECEIVED:
        if event.api == "Heartbeat" and event.error:
            return f"heartbeat {event.error}"
        return ANSWERED.get(event.api or "", "") if event.error is None else ""
    if event.kind is Kind.CALLBACK_BEGUN:
        return event.reason or ""
    return PLAIN.get(event.kind, "")
