"""A broker's log of its groups, from the coordinator's events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import field

from groupsim.coordinator.base.placement import partition_for
from groupsim.coordinator.partition.state import BY_REQUEST, NOTHING_LEFT
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.logs.broker_consumer import ConsumerGroups
from groupsim.logs.broker_consumer_words import CONSUMER
from groupsim.logs.broker_life import speaker
from groupsim.logs.broker_words import BROKER, JAVA_COORDINATOR, REASONS
from groupsim.logs.layout import stock
from groupsim.logs.wording import Blanks, Table, Version, wording
from groupsim.protocol.values import define

JAVA_SPEAKERS = {
    "FENCED": "classic.ClassicGroup",
    "GROUPS_DELETED": "GroupCoordinatorShard",
    "OFFSETS_EXPIRED": "GroupCoordinatorShard",
    "SIMPLE_GROUP": "OffsetMetadataManager",
}
MESSAGES: Table = {**BROKER, **CONSUMER}
# ClassicGroup.validateOffsetCommit names each operation by the other's name.
MIXED_UP = {"offset-commit": "txn-offset-commit", "txn-offset-commit": "offset-commit"}


@define
class BrokerLog:
    """Formats the coordinator's events as the brokers of one version log them."""

    version: Version
    groups: ConsumerGroups
    sizes: dict[str, Mapping[str, Any]] = field(factory=dict)  # group → members, static, leader
    states: dict[str, str] = field(factory=dict)
    missing: dict[tuple[str, int], list[str]] = field(factory=dict)  # group, time → members removed at a join timeout
    instances: dict[str, str] = field(factory=dict)  # member → its group.instance.id
    cleanups: dict[int, int] = field(factory=dict)  # the last event of a clean-up → the count in its line

    @classmethod
    def of(cls, version: Version, events: Sequence[TraceEvent]) -> BrokerLog:
        """Make the log of a trace's brokers, which all have one version."""
        return cls(version, ConsumerGroups.of(events), cleanups=cleanups(version, events))

    def lines(self, event: TraceEvent) -> Iterator[str]:
        """Yield the lines of one event; events of clients have none."""
        if event.kind in (Kind.MEMBER_ADDED, Kind.MEMBER_REPLACED) and event.member:
            self.instances[event.member] = (event.payload or {}).get("instance_id") or ""
        for code, values in (*self.groups.before(event), *self._words(event), *self.groups.after(event)):
            yield from self._line(event, code, values)
        if event.seq in self.cleanups:
            yield from self._line(event, "OFFSETS_EXPIRED", {"k": self.cleanups[event.seq]})
        if event.kind is Kind.GROUP_STATE and event.group:
            self.states[event.group] = event.to or ""

    def _words(self, event: TraceEvent) -> Words:
        if event.group is None:
            return
        if self.groups.is_consumer(event):
            yield from self.groups.words(event)
        elif event.kind in WORDERS:
            yield from WORDERS[event.kind](self, event)

    def _line(self, event: TraceEvent, code: str, values: Mapping[str, object]) -> Iterator[str]:
        words = wording(MESSAGES, code, self.version)
        if words is None:
            return
        text = words.text.format_map(Blanks(self.values(event), values))
        prefix, logger = self._speaker(event, code)
        yield stock(event.t_us, words.level, prefix + text, logger)

    def _speaker(self, event: TraceEvent, code: str) -> tuple[str, str]:
        broker = (event.host or "0").rsplit("-", 1)[-1]
        if self.version >= JAVA_COORDINATOR:
            prefix = (
                f"[GroupCoordinator id={broker} topic=__consumer_offsets partition={partition_for(event.group or '')}] "
            )
            return prefix, f"org.apache.kafka.coordinator.group.{JAVA_SPEAKERS.get(code, 'GroupMetadataManager')}"
        return speaker(self.version, broker, code)

    def listed(self, members: Iterable[str]) -> str:
        """Format a set of members as Scala (before 4.0) or Java prints it."""
        names = ", ".join(members)
        return f"[{names}]" if self.version >= JAVA_COORDINATOR else f"Set({names})"

    def values(self, event: TraceEvent) -> dict[str, object]:
        """Return the values of an event for the templates."""
        payload = event.payload or {}
        group = event.group or ""
        instance = payload.get("instance_id") or self.instances.get(event.member or "")
        size = self.sizes.get(group, {})
        return {
            "g": group,
            "n": event.generation if event.generation is not None else 0,
            "op": partition_for(group),
            "m": event.member or "",
            "i": instance or "",
            "oi": f"Some({instance})" if instance else "None",
            "ni": instance or "null",
            "r": payload.get("client_reason") or "not provided",
            "k": size.get("members", 0),
            "s": size.get("static", 0),
            "state": payload.get("state") or self.states.get(group, "Empty"),
        }


Words = Iterator[tuple[str, Mapping[str, object]]]


def _state(log: BrokerLog, event: TraceEvent) -> Words:
    payload = event.payload or {}
    if event.to == "PreparingRebalance":
        yield from _prepare(log, event, payload)
    elif event.to == "CompletingRebalance":
        members = payload.get("members", 0)
        size = len(members) if isinstance(members, list | tuple) else members
        log.sizes[event.group or ""] = {**payload, "members": size}
        yield from _dropped(log, event)
        yield "STABILIZED", {"k": size}
    elif event.to == "Empty":
        yield "GROUP_EMPTY", {}


def _prepare(log: BrokerLog, event: TraceEvent, payload: Mapping[str, Any]) -> Words:
    code = str(payload.get("cause_code"))
    if code == "DOWNGRADED" and "static member" in (event.reason or ""):
        code = "DOWNGRADED_BY_REPLACEMENT"
    values = log.values(event)
    values["state"] = event.from_ or "Stable"
    values["set"] = log.listed([event.member or ""])
    words = wording(REASONS, code, log.version)
    reason = words.text.format_map(Blanks(values)) if words is not None else (event.reason or "").rstrip(".")
    yield "PREP_REBALANCE", {"reason": reason}


def _dropped(log: BrokerLog, event: TraceEvent) -> Words:
    members = log.missing.pop((event.group or "", event.t_us), None)
    if members:
        yield "DYN_REMOVED", {"set": log.listed(members)}


def _request(log: BrokerLog, event: TraceEvent) -> Words:
    size = log.sizes.get(event.group or "", {})
    if (
        event.api == "SyncGroup"
        and event.member == size.get("leader")
        and log.states.get(event.group or "") == "CompletingRebalance"
    ):
        yield "ASSIGN_RECEIVED", {"n": event.generation if event.generation is not None else "?"}


def _added(log: BrokerLog, event: TraceEvent) -> Words:
    payload = event.payload or {}
    if payload.get("known_id"):
        yield "PENDING_JOIN", {}
    elif payload.get("instance_id"):
        yield "STATIC_JOIN", {}
    else:
        yield "JOIN_ADDED", {}


def _removed(log: BrokerLog, event: TraceEvent) -> Words:
    if event.reason == "join-timeout":
        log.missing.setdefault((event.group or "", event.t_us), []).append(event.member or "")
        return
    pending = bool((event.payload or {}).get("pending"))
    code = {
        ("left", False): "MEMBER_LEFT",
        ("left", True): "PENDING_LEFT",
        ("session-expired", False): "MEMBER_FAILED",
        ("pending-expired", True): "PENDING_EXPIRED",
    }.get((event.reason or "", pending))
    if code is not None:
        yield code, {"meta": f"MemberMetadata(memberId={event.member}, groupInstanceId={log.values(event)['oi']})"}


def _replaced(log: BrokerLog, event: TraceEvent) -> Words:
    payload = event.payload or {}
    yield "STATIC_REPLACE", {"old": payload.get("old", "?")}
    if payload.get("rebalance") is False:
        yield "STATIC_NO_REBALANCE", {}


def _fenced(log: BrokerLog, event: TraceEvent) -> Words:
    operation = event.reason or "?"
    if log.version >= JAVA_COORDINATOR:
        operation = MIXED_UP.get(operation, operation)
    yield "FENCED", {"current": (event.payload or {}).get("current", "?"), "op_name": operation}


def _pending(log: BrokerLog, event: TraceEvent) -> Words:
    yield "JOIN_UNKNOWN_MEMBER", {}


def _elected(log: BrokerLog, event: TraceEvent) -> Words:
    if event.reason == "not-joined":
        yield "LEADER_REPLACED", {"old": (event.payload or {}).get("previous", "?")}


def _loaded(log: BrokerLog, event: TraceEvent) -> Words:
    members = (event.payload or {}).get("members", 0)
    yield "LOAD_GROUP", {"k": len(members) if isinstance(members, list | tuple) else members}


def _unloaded(log: BrokerLog, event: TraceEvent) -> Words:
    yield "UNLOAD_GROUP", {}


def _deleted(log: BrokerLog, event: TraceEvent) -> Words:
    """A group deleted by an administrator, or (up to 3.9) by a clean-up that found it without members and offsets."""
    payload = event.payload or {}
    if event.reason == BY_REQUEST:
        yield "GROUPS_DELETED", {"k": payload.get("offsets", 0)}
    elif event.reason == NOTHING_LEFT:
        yield "GROUP_TO_DEAD", {"n": payload.get("generation", 0)}


def cleanups(version: Version, events: Iterable[TraceEvent]) -> dict[int, int]:
    """Map the last event of each expiry check to the count in its log line.

    The Scala coordinator counts the offsets of all its partitions. The Java coordinator counts the tombstones of each
    partition, those of groups included.
    """
    java = version >= JAVA_COORDINATOR
    found: dict[tuple[int, str | None, int | None], tuple[int, int]] = {}
    for event in events:
        group_gone = event.kind is Kind.GROUP_DELETED and event.reason == NOTHING_LEFT
        if event.kind is Kind.OFFSET_EXPIRED or group_gone:
            look = (event.t_us, event.host, partition_for(event.group or "") if java else None)
            _, count = found.get(look, (0, 0))
            found[look] = (event.seq, count + (1 if java or not group_gone else 0))
    return {seq: count for seq, count in found.values() if count}


def _warning(log: BrokerLog, event: TraceEvent) -> Words:
    if event.member is None and (event.host or "").startswith("broker"):
        yield "ERROR", {"text": event.reason or ""}


WORDERS: dict[Kind, Callable[[BrokerLog, TraceEvent], Words]] = {
    Kind.GROUP_STATE: _state,
    Kind.REQUEST_RECEIVED: _request,
    Kind.MEMBER_PENDING: _pending,
    Kind.MEMBER_ADDED: _added,
    Kind.MEMBER_REMOVED: _removed,
    Kind.MEMBER_REPLACED: _replaced,
    Kind.MEMBER_FENCED: _fenced,
    Kind.LEADER_ELECTED: _elected,
    Kind.GROUP_LOADED: _loaded,
    Kind.GROUP_UNLOADED: _unloaded,
    Kind.GROUP_DELETED: _deleted,
    Kind.WARNING: _warning,
}
