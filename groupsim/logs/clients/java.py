"""The Java consumer's log, from the events of its process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import field

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.logs.clients.java_reasons import full_reason
from groupsim.logs.clients.java_words import JAVA_CLIENT
from groupsim.logs.clients.known import COOPERATIVE, Known
from groupsim.logs.layout import stock
from groupsim.logs.messages import MESSAGES
from groupsim.logs.wording import Blanks, Table, Version, wording
from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.values import define

COORDINATOR_IDS = 2_147_483_647  # Java clients print a coordinator's id as Integer.MAX_VALUE minus its node id
INTERNALS = "org.apache.kafka.clients.consumer.internals"
FRONT = "org.apache.kafka.clients.consumer.KafkaConsumer"
CALLBACKS = ("C_REVOKE", "C_ASSIGN", "C_LOST")
COORDINATING = (
    *("C_GIVING_AWAY", "C_UPDATING", "C_ASSIGNOR_NOTIFIED", "C_ASSIGNMENT_FINISHED", "C_COMMIT_FAIL"),
    *("C_NO_COMMITTED_OFFSET", "C_OFFSET_SET", *CALLBACKS),
)


Words = Iterator[tuple[str, Mapping[str, object]]]


@define
class JavaLog:
    """One Java consumer's log."""

    group: str
    client_id: str
    instance_id: str | None
    version: Version
    known: Known = field(factory=Known)
    node: str = "?"
    failed: bool = False
    owned: dict[str, None] = field(factory=dict)
    revoked: str = ""  # the partitions of the last callback for revoked ones
    refused: tuple[str, str] = ("", "")  # API and error of the last JoinGroup or SyncGroup answered with an error
    broken_us: int = -1  # time of the last request that failed with its connection

    def lines(self, event: TraceEvent) -> Iterator[str]:
        """Yield the lines of one event of this process."""
        for code, values in self.words(event):
            words = wording(self.table(), code, self.version)
            if words is not None:
                text = words.text.format_map(Blanks(self._values(event), values))
                prefix = "" if code == "C_OFFSET_SET" and self.version >= (3, 7) else self._prefix()
                yield stock(event.t_us, words.level, prefix + text, self._logger(code))
        self._note(event)

    def words(self, event: TraceEvent) -> Words:
        """Yield the codes of the lines of an event, each with its values."""
        worder = JAVA_WORDERS.get(event.kind)
        return worder(self, event) if worder else iter(())

    def table(self) -> Table:
        """Return the messages by code."""
        return JAVA_CLIENT

    def _note(self, event: TraceEvent) -> None:
        """Store the facts that later lines contain."""
        if event.kind is Kind.PARTITION_OWNED:
            self.owned[f"{event.topic}-{event.partition}"] = None
        elif event.kind is Kind.PARTITION_RELEASED:
            self.owned.pop(f"{event.topic}-{event.partition}", None)
        elif event.kind is Kind.PROCESS_STARTED:
            self.failed = False
        elif event.kind is Kind.PROCESS_FAILED:
            self.failed = True
        elif event.kind is Kind.CALLBACK_BEGUN and event.reason == "revoked":
            self.revoked = partitions_of(event.payload)
        elif event.kind is Kind.RESPONSE_RECEIVED and event.error and event.api in ("JoinGroup", "SyncGroup"):
            self.refused = (event.api, event.error)
        elif event.kind is Kind.REQUEST_FAILED and event.error == "DISCONNECTED":
            self.broken_us = event.t_us

    def _logger(self, code: str) -> str:
        return f"{INTERNALS}.{_speaker(code, self.version)}".replace(f"{INTERNALS}.KafkaConsumer", FRONT)

    def assignment(self, event: TraceEvent) -> list[str] | None:
        """Return this member's assignment in the leader's order; None if it is unknown."""
        return self.known.given.get(self.group, {}).get(event.member or "")

    def _prefix(self) -> str:
        if self.version < (1, 0):
            return ""
        instance = f"instanceId={self.instance_id}, " if self.instance_id and self.version >= (2, 3) else ""
        return f"[Consumer {instance}clientId={self.client_id}, groupId={self.group}] "

    def _values(self, event: TraceEvent) -> dict[str, object]:
        number = -1 if event.generation is None else event.generation
        protocol = self.known.rounds.get(self.group, (-1, "null"))[1] if number >= 0 else "null"
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
        """Format a coordinator as the Java client prints it: a node with a different id, for a separate connection."""
        number = int(str(node)) if str(node).isdigit() else 0
        return self._shown(number, f"+{number}" if self.version >= (4, 4) else str(COORDINATOR_IDS - number))

    def _shown(self, number: int, identity: str) -> str:
        fenced = " isFenced: false" if self.version >= (4, 0) else ""
        return f"broker-{number}:9092 (id: {identity} rack: null{fenced})"

    def position(self, partition: str, offset: object) -> str:
        """Format a position as the Java client prints it."""
        if self.version < (2, 4):
            return str(offset)
        node, epoch = self.known.leaders.get(partition, (None, "absent"))
        leader = "Optional.empty" if node is None else f"Optional[{self._shown(node, str(node))}]"
        current = f"LeaderAndEpoch{{leader={leader}, epoch={epoch}}}"
        return f"FetchPosition{{offset={offset}, offsetEpoch=Optional.empty, currentLeader={current}}}"


def _speaker(code: str, version: Version) -> str:
    """Return the class that logs a line; releases moved some lines to other classes."""
    if code.startswith("C_SUBSCRIBED"):
        kind = "Classic" if version >= (3, 9) else "Legacy"
        return f"{kind}KafkaConsumer" if version >= (3, 7) else "KafkaConsumer"
    if code == "C_OFFSET_RESET":
        return "SubscriptionState"
    if version >= (3, 7) and code in CALLBACKS:
        return "ConsumerRebalanceListenerInvoker"
    if version >= (3, 7) and code == "C_OFFSET_SET":
        return "ConsumerUtils"
    # Since 3.0 AbstractCoordinator logs under the class of the object.
    return "ConsumerCoordinator" if code in COORDINATING or version >= (3, 0) else "AbstractCoordinator"


def _exception(error: str | None) -> str:
    """Return the exception of an error code; the error of a failed process is an exception's name already."""
    code = error or "UNKNOWN"
    if code in ErrorCode.__members__:
        return exception_name(ErrorCode[code])
    return "".join(part.capitalize() for part in code.split("_")) + "Exception" if code.isupper() else code


def partitions_of(payload: Mapping[str, Any] | None) -> str:
    """Format the partitions of a callback as Java prints a list."""
    listed = (payload or {}).get("partitions") or ()
    return ", ".join(str(one) if isinstance(one, str) else f"{one[0]}-{one[1]}" for one in listed)


def _found(log: JavaLog, event: TraceEvent) -> Words:
    log.node = log.coordinator((event.payload or {}).get("node", 0))
    yield "C_COORD_FOUND", {"node": log.node}


def _started(log: JavaLog, event: TraceEvent) -> Words:
    payload = event.payload or {}
    if payload.get("topics"):
        yield "C_SUBSCRIBED", {"topics": ", ".join(payload["topics"])}
    elif payload.get("pattern"):
        yield "C_SUBSCRIBED_PATTERN", {"pattern": payload["pattern"]}


def _lost(log: JavaLog, event: TraceEvent) -> Words:
    """A lost coordinator. A request that failed with its connection has no cause in the line; else Java disconnects."""
    broke = event.reason == "coordinator unavailable"
    in_flight = broke and log.broken_us == event.t_us
    yield "C_COORD_LOST", {"broke": str(broke).lower(), **({"r": "null"} if in_flight else {})}
    if not broke:
        yield "C_DISCONNECT_COORD", {}


def _sent(log: JavaLog, event: TraceEvent) -> Words:
    if event.api == "JoinGroup":
        yield "C_JOINING", {}
    elif event.api == "LeaveGroup":
        yield "C_LEAVE", {"r": (event.payload or {}).get("reason") or event.reason or "the consumer is being closed"}


def _answered(log: JavaLog, event: TraceEvent) -> Words:
    code = ANSWERS.get((event.api or "", event.error is None))
    if event.api == "Heartbeat" and event.error == "REBALANCE_IN_PROGRESS":
        code = "C_HB_REBALANCING"
    if event.error == "MEMBER_ID_REQUIRED":  # a step of every first join (KIP-394), logged at DEBUG
        return
    if code is not None:
        yield code, {}
    if code == "C_SYNCED" and log.known.rounds.get(log.group, (0, ""))[1] == COOPERATIVE:
        yield from _updating(log, event)


def _updating(log: JavaLog, event: TraceEvent) -> Words:
    """The comparison of a cooperative member's new assignment with its owned partitions."""
    now = log.assignment(event)
    if now is not None:
        parts = {
            "now": now,
            "before": log.owned,
            "added": [one for one in now if one not in log.owned],
            "revoked": [one for one in log.owned if one not in now],
        }
        yield "C_UPDATING", {name: ", ".join(sorted(part, key=_by_topic)) for name, part in parts.items()}


def _by_topic(partition: str) -> tuple[str, int]:
    topic, _, number = partition.rpartition("-")
    return topic, int(number)


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
    if code == "C_ASSIGN":
        given = log.assignment(event)
        yield "C_ASSIGNOR_NOTIFIED", {"tps": partitions_of(event.payload) if given is None else ", ".join(given)}
    elif code == "C_LOST" and not log.failed:  # a failed consumer closes and does not prepare a rebalance
        yield "C_GIVING_AWAY", {}
    if code is not None:
        yield code, {"tps": partitions_of(event.payload)}


def _rejoin(log: JavaLog, event: TraceEvent) -> Words:
    payload = {"refused": log.refused, **(event.payload or {})}
    yield (
        "C_REJOIN_REQ",
        {"r": full_reason(event.reason or "", payload, log.version, log.assignment(event), log.revoked)},
    )


def _reset(log: JavaLog, event: TraceEvent) -> Words:
    yield "C_RESET_GEN", {"and_id": "and member id " if (event.payload or {}).get("member_id_too") else ""}


def _computed(log: JavaLog, event: TraceEvent) -> Words:
    assignment = (event.payload or {}).get("assignment") or {}
    parts = [f"{m}=Assignment(partitions=[{partitions_of({'partitions': tps})}])" for m, tps in assignment.items()]
    yield "C_ASSIGNMENT_FINISHED", {"map": "{" + ", ".join(parts) + "}"}


def _position(log: JavaLog, event: TraceEvent) -> Words:
    partition, offset = f"{event.topic}-{event.partition}", (event.payload or {}).get("offset", 0)
    values = {"tp": partition, "offset": offset, "position": log.position(partition, offset)}
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
    if (event.reason or "").startswith("heartbeat answered FENCED"):
        yield "C_HB_FENCED", {}
    yield "C_FAILED", {"text": f"{_exception(event.error)}: {MESSAGES.get(event.error or '', event.reason or '')}"}


JAVA_WORDERS: dict[Kind, Callable[[JavaLog, TraceEvent], Words]] = {
    Kind.PROCESS_STARTED: _started,
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
