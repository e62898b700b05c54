"""The clients' logs, from each process's own events: the Java consumer's, and librdkafka's with `debug=cgrp`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import define, field

from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.logs_broker import Blanks, Line
from groupsim.logs_wording import JAVA_CLIENT, MESSAGES, Version, wording
from groupsim.members.failures import exception_name
from groupsim.protocol.errors import ErrorCode

COORDINATOR_IDS = 2_147_483_647  # Java clients show a coordinator as this minus its node id
INTERNALS = "org.apache.kafka.clients.consumer.internals"
COORDINATING = ("C_REVOKE", "C_ASSIGN", "C_LOST", "C_ASSIGNMENT_FINISHED", "C_OFFSET_SET", "C_COMMIT_FAIL")
SPEAKERS = {
    **dict.fromkeys((*COORDINATING, "C_NO_COMMITTED_OFFSET"), "ConsumerCoordinator"),
    "C_OFFSET_RESET": "SubscriptionState",
}


@define
class JavaLog:
    """One Java consumer's log."""

    group: str
    client_id: str
    instance_id: str | None
    version: Version
    rounds: Mapping[str, tuple[int, str]] = field(factory=dict)  # group → its generation and protocol
    node: str = "?"

    def lines(self, event: TraceEvent) -> Iterator[Line]:
        """The lines one event of this process makes."""
        worder = JAVA_WORDERS.get(event.kind)
        for code, values in worder(self, event) if worder else ():
            words = wording(JAVA_CLIENT, code, self.version)
            if words is not None:
                text = words.text.format_map(Blanks(self._values(event), values))
                yield event.t_us, words.level, self._prefix() + text, f"{INTERNALS}.{_class(code)}"

    def _prefix(self) -> str:
        if self.version < (1, 0):
            return ""
        instance = f"instanceId={self.instance_id}, " if self.instance_id and self.version >= (2, 3) else ""
        return f"[Consumer {instance}clientId={self.client_id}, groupId={self.group}] "

    def _values(self, event: TraceEvent) -> dict[str, object]:
        number = -1 if event.generation is None else event.generation
        protocol = self.rounds.get(self.group, (-1, "null"))[1] if number >= 0 else "null"
        generation = f"generationId={number}, memberId='{event.member or ''}', protocol='{protocol}'"
        return {
            "g": self.group,
            "n": number,
            "m": event.member or "",
            "node": self.node,
            "r": event.reason or "not provided",
            "error": event.error or "",
            "message": MESSAGES.get(event.error or "", event.error or ""),
            "exception": f"org.apache.kafka.common.errors.{_exception(event.error)}",
            "opt": f"Optional[{self.instance_id}]" if self.instance_id else "Optional.empty",
            "generation": f"Generation{{{generation}}}",
        }

    def coordinator(self, node: object) -> str:
        """A coordinator as the Java client prints it."""
        number = int(str(node)) if str(node).isdigit() else 0
        return f"broker-{number}:9092 (id: {COORDINATOR_IDS - number} rack: null)"


def _class(code: str) -> str:
    return SPEAKERS.get(code, "AbstractCoordinator")


def _exception(error: str | None) -> str:
    """The exception of an error code; what ended a process is the name of an exception already."""
    code = error or "UNKNOWN"
    if code in ErrorCode.__members__:
        return exception_name(ErrorCode[code])
    return "".join(part.capitalize() for part in code.split("_")) + "Exception" if code.isupper() else code


Words = Iterator[tuple[str, Mapping[str, object]]]


def partitions_of(payload: Mapping[str, Any] | None) -> str:
    """The partitions of a callback, as Java prints a list."""
    listed = (payload or {}).get("partitions") or ()
    return ", ".join(str(one) if isinstance(one, str) else f"{one[0]}-{one[1]}" for one in listed)


def _found(log: JavaLog, event: TraceEvent) -> Words:
    log.node = log.coordinator((event.payload or {}).get("node", 0))
    yield "C_COORD_FOUND", {"node": log.node}


def _lost(log: JavaLog, event: TraceEvent) -> Words:
    yield "C_COORD_LOST", {}


def _sent(log: JavaLog, event: TraceEvent) -> Words:
    if event.api == "JoinGroup":
        yield "C_JOINING", {}
    elif event.api == "LeaveGroup":
        yield "C_LEAVE", {"r": (event.payload or {}).get("reason") or event.reason or "the consumer is being closed"}


def _answered(log: JavaLog, event: TraceEvent) -> Words:
    code = ANSWERS.get((event.api or "", event.error is None))
    if event.api == "Heartbeat" and event.error == "REBALANCE_IN_PROGRESS":
        code = "C_HB_REBALANCING"
    if event.error == "MEMBER_ID_REQUIRED":  # a step of every first join, told at DEBUG
        return
    if code is not None:
        yield code, {}


ANSWERS = {
    ("JoinGroup", False): "C_JOIN_FAIL",
    ("SyncGroup", True): "C_SYNCED",
    ("SyncGroup", False): "C_SYNC_FAIL",
    ("Heartbeat", False): "C_HB_FAIL",
}


def _state(log: JavaLog, event: TraceEvent) -> Words:
    if event.to == "COMPLETING_REBALANCE":
        yield "C_JOINED", {}


def _callback(log: JavaLog, event: TraceEvent) -> Words:
    code = {"revoked": "C_REVOKE", "assigned": "C_ASSIGN", "lost": "C_LOST"}.get(event.reason or "")
    if code is not None:
        yield code, {"tps": partitions_of(event.payload)}


def _rejoin(log: JavaLog, event: TraceEvent) -> Words:
    yield "C_REJOIN_REQ", {}


def _reset(log: JavaLog, event: TraceEvent) -> Words:
    yield "C_RESET_GEN", {"and_id": "and member id " if (event.payload or {}).get("member_id_too") else ""}


def _computed(log: JavaLog, event: TraceEvent) -> Words:
    assignment = (event.payload or {}).get("assignment") or {}
    parts = [f"{m}=Assignment(partitions=[{partitions_of({'partitions': tps})}])" for m, tps in assignment.items()]
    yield "C_ASSIGNMENT_FINISHED", {"map": "{" + ", ".join(parts) + "}"}


def _position(log: JavaLog, event: TraceEvent) -> Words:
    values = {"tp": f"{event.topic}-{event.partition}", "offset": (event.payload or {}).get("offset", 0)}
    if event.reason == "reset":
        yield "C_NO_COMMITTED_OFFSET", values
        yield "C_OFFSET_RESET", values
    else:
        yield "C_OFFSET_SET", values


def _commit_failed(log: JavaLog, event: TraceEvent) -> Words:
    offsets = (event.payload or {}).get("offsets") or {"?": 0}
    for partition, offset in offsets.items():
        yield "C_COMMIT_FAIL", {"tp": partition, "offset": offset}
        if log.version >= (2, 6):
            return


def _poll_expired(log: JavaLog, event: TraceEvent) -> Words:
    yield "C_POLL_TIMEOUT", {}


def _warning(log: JavaLog, event: TraceEvent) -> Words:
    yield "C_WARNING", {"text": event.reason or ""}


def _failed(log: JavaLog, event: TraceEvent) -> Words:
    yield "C_FAILED", {"text": f"{_exception(event.error)}: {MESSAGES.get(event.error or '', event.reason or '')}"}


JAVA_WORDERS: dict[Kind, Callable[[JavaLog, TraceEvent], Words]] = {
    Kind.COORDINATOR_FOUND: _found,
    Kind.COORDINATOR_LOST: _lost,
    Kind.REQUEST_SENT: _sent,
    Kind.CLIENT_STATE: _state,
    Kind.RESPONSE_RECEIVED: _answered,
    Kind.CALLBACK_BEGUN: _callback,
    Kind.REJOIN_REQUESTED: _rejoin,
    Kind.GENERATION_RESET: _reset,
    Kind.ASSIGNMENT_COMPUTED: _computed,
    Kind.POSITION_SET: _position,
    Kind.COMMIT_FAILED: _commit_failed,
    Kind.POLL_EXPIRED: _poll_expired,
    Kind.WARNING: _warning,
    Kind.PROCESS_FAILED: _failed,
}
