"""A broker's lines about groups of the consumer protocol (KIP-848), classic members of theirs included.

A line of Kafka is often logged before the coordinator decides, or with what another event of the trace says. So a group
needs more than the event of its line:

    line                                     from
    a member joins                           the event of a new or replaced member; of a known one its request, unless
                                             that was refused at once
    a refused instance id                    the refused response, and the instance id that its request was sent with
    a classic group cannot be upgraded       the refused response, and the message with which the client failed
    a member left by LeaveGroup              the removal, and the reason that the request was sent with
    a member did not revoke in time          the removal, the member's epoch, and the timeout of its timer
    an empty group changes its kind          the first member of the other kind

Source: `GroupMetadataManager` of 4.0 to 4.4; logs of brokers of 4.0.1 and 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import field

from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.coordinator.base.topics import KnownTopics
from groupsim.coordinator.base.versions import differences
from groupsim.coordinator.consumer.assignment.metadata_hash import metadata_hash
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.logs.broker_consumer_words import WHY_FENCED
from groupsim.protocol.values import define

CLASSIC, CONSUMER = "classic", "consumer"
_HEARTBEAT, _JOIN, _LEAVE = "ConsumerGroupHeartbeat", "JoinGroup", "LeaveGroup"
_AWAY = "-2"
_NO_ID = "A" * 22  # an id of 16 zero bytes
_BY_ADMIN = "member was removed by an admin"  # the words of Kafka's Admin
_REFUSED = "Cannot upgrade classic group "
_MALFORMED, _USER_DATA = "is malformed", "unsupported custom assignor"
_NEWEST = differences()

Words = Iterator[tuple[str, Mapping[str, object]]]


@define
class Ahead:
    """What later events say of earlier ones, by the seq of these."""

    refused: set[int] = field(factory=set)  # requests that were refused before anything was written
    arrivals: set[int] = field(factory=set)  # requests with which a member arrived, or took the place of another
    messages: dict[int, str] = field(factory=dict)  # refused response → the message of GROUP_ID_NOT_FOUND
    sent: dict[int, Mapping[str, Any]] = field(factory=dict)  # what requests say of an instance id, or a reason
    patterns: dict[int, list[str]] = field(factory=dict)  # first result of a resolution → all its texts
    rounds: set[tuple[str | None, int]] = field(factory=set)  # group and cause of a downgrade that opens a round

    @classmethod
    def of(cls, events: Iterable[TraceEvent]) -> Ahead:
        """Read a whole trace."""
        ahead = cls()
        answers: dict[int, int] = {}
        removals: dict[int, str] = {}
        resolutions: dict[tuple[str | None, int, int], int] = {}
        for event in events:
            payload = event.payload or {}
            if event.kind is Kind.ACTION and payload.get("do") == "remove-member":
                removals[event.seq] = _BY_ADMIN + (f": {payload['reason']}" if payload.get("reason") else "")
            elif event.kind is Kind.REQUEST_SENT and event.cause in removals:
                ahead.sent[event.seq] = {"reason": removals[event.cause]}
            elif event.kind is Kind.REQUEST_SENT and (payload.get("instance_id") or payload.get("reason")):
                ahead.sent[event.seq] = payload
            elif event.kind is Kind.RESPONSE_SENT and event.error:
                ahead.refused.add(event.cause)
            elif event.kind in (Kind.MEMBER_ADDED, Kind.MEMBER_REPLACED):
                ahead.arrivals.add(event.cause)
            elif event.kind is Kind.RESPONSE_RECEIVED and event.error == "GROUP_ID_NOT_FOUND":
                answers[event.seq] = event.cause
            elif event.kind is Kind.PROCESS_FAILED and (event.reason or "").startswith(_REFUSED):
                ahead.messages[answers.get(event.cause, 0)] = event.reason or ""
            elif event.kind is Kind.REGEX_RESOLVED:
                first = resolutions.setdefault((event.group, event.cause, event.t_us), event.seq)
                ahead.patterns.setdefault(first, []).append(event.reason or "")
            elif event.kind is Kind.GROUP_STATE and event.to == "PreparingRebalance":
                ahead.rounds.add((event.group, event.cause))
        return ahead


@define
class ConsumerGroups:
    """The groups of a trace, as far as the lines of those of the consumer protocol need them."""

    ahead: Ahead
    kinds: dict[str, str] = field(factory=dict)
    members: dict[str, dict[str, str | None]] = field(factory=dict)  # group → member → its group.instance.id
    epochs: dict[tuple[str, str], str] = field(factory=dict)
    timeouts_ms: dict[tuple[str, str], int] = field(factory=dict)  # of the last timer of a revocation
    requests: dict[str, TraceEvent] = field(factory=dict)  # host → the last request that it received
    sizes: dict[str, int] = field(factory=dict)  # topic → partitions
    names: dict[str, dict[str, tuple[str, ...]]] = field(factory=dict)  # group → member, or pattern → topics
    hashes: dict[str, int] = field(factory=dict)  # that of the last record of a group epoch
    held: set[str] = field(factory=set)  # groups whose conversion is logged after the round that it opens

    @classmethod
    def of(cls, events: Iterable[TraceEvent]) -> ConsumerGroups:
        """Return the groups before the first event of a trace."""
        return cls(Ahead.of(events))

    def is_consumer(self, event: TraceEvent) -> bool:
        """Whether the event is one of a group of the consumer protocol, or of its conversion."""
        return event.kind is Kind.GROUP_CONVERTED or self.kinds.get(event.group or "") == CONSUMER

    def before(self, event: TraceEvent) -> Words:
        """Note what an event tells, and yield the line of a group that begins, or begins again, as one of its kind."""
        note = _NOTES.get(event.kind)
        if note is not None:
            note(self, event)
        group, kind = event.group or "", _kind_shown(event)
        if event.kind is Kind.GROUP_LOADED:
            self.kinds.setdefault(group, "")  # a group from before the trace, of either kind
        known = self.kinds.get(group)
        if not group or kind in (None, known):
            return
        if event.kind is Kind.RECORD_APPENDED:
            if known is None:
                self.kinds[group] = CLASSIC
                yield "SIMPLE_GROUP", {}
            return
        self.kinds[group] = kind or ""
        if known and event.kind in (Kind.MEMBER_ADDED, Kind.MEMBER_PENDING):
            self.members[group] = {}
            yield ("EMPTY_UPGRADED" if kind == CONSUMER else "EMPTY_DOWNGRADED"), {}

    def words(self, event: TraceEvent) -> Words:
        """Yield the lines of an event of a consumer group."""
        worder = _WORDERS.get(event.kind)
        return worder(self, event) if worder is not None else iter(())

    def after(self, event: TraceEvent) -> Words:
        """Yield the lines that follow all others of an event, and note who is a member now."""
        group = event.group or ""
        if event.kind is Kind.GROUP_STATE and group in self.held:
            self.held.discard(group)
            yield "DOWNGRADED", {}
        elif event.kind is Kind.RESPONSE_SENT and event.error and self.kinds.get(group) == CLASSIC:
            yield from _not_upgraded(self, event)
        elif event.kind is Kind.GROUP_DELETED:
            for known in (self.kinds, self.members, self.names):
                known.pop(group, None)
        elif event.kind in (Kind.MEMBER_ADDED, Kind.MEMBER_REPLACED) and event.member:
            here = self.members.setdefault(group, {})
            here.pop(str((event.payload or {}).get("old")), None)
            here[event.member] = (event.payload or {}).get("instance_id")
        elif event.kind is Kind.MEMBER_REMOVED:
            self.members.get(group, {}).pop(event.member or "", None)
        elif event.kind is Kind.MEMBER_EPOCH:
            self.epochs[group, event.member or ""] = event.to or ""

    def request_of(self, event: TraceEvent) -> TraceEvent | None:
        """Return the request that caused an event of a broker; None when it was a timer."""
        request = self.requests.get(event.host or "")
        return request if request is not None and request.seq == event.cause else None

    def given(self, event: TraceEvent) -> Mapping[str, Any]:
        """Return the fields of the request that caused an event of a broker, as far as they are known."""
        request = self.request_of(event)
        return {} if request is None else self.ahead.sent.get(request.cause, {})

    def holder(self, group: str, instance: str) -> str | None:
        """Return the member that an instance id names."""
        return next((member for member, own in self.members.get(group, {}).items() if own == instance), None)

    def hash_of(self, group: str) -> int:
        """Return a metadata hash: Kafka's, but of topics without ids and racks, which the trace does not have."""
        topics = [TopicView(_NO_ID, topic, size) for topic, size in self.sizes.items()]
        named = {topic for several in self.names.get(group, {}).values() for topic in several}
        return metadata_hash(named, KnownTopics(topics), _NEWEST)


# --- what is noted ---------------------------------------------------------------------------------------------------


def _kind_shown(event: TraceEvent) -> str | None:
    """Return the kind of its group that an event shows; None when it shows none."""
    payload = event.payload or {}
    match event.kind:
        case Kind.GROUP_CONVERTED:
            return event.to
        case Kind.EPOCH_BUMPED | Kind.TARGET_COMPUTED | Kind.MEMBER_EPOCH | Kind.REGEX_RESOLVED:
            return CONSUMER
        case Kind.MEMBER_PENDING:
            return CLASSIC
        case Kind.MEMBER_ADDED if not payload.get("protocols", True):
            return CONSUMER
        case Kind.MEMBER_ADDED if payload.get("state") == "Empty":
            return CLASSIC  # a consumer group without members does not take a classic member: it is deleted
        case Kind.RECORD_APPENDED if payload.get("type") == "offset" and payload.get("value") is not None:
            return CLASSIC
    return None


def _note_request(groups: ConsumerGroups, event: TraceEvent) -> None:
    groups.requests[event.host or ""] = event


def _note_timer(groups: ConsumerGroups, event: TraceEvent) -> None:
    due_us = (event.payload or {}).get("due_us")
    if due_us is not None and (event.reason or "").startswith("rebalance-timeout-"):
        groups.timeouts_ms[event.group or "", event.member or ""] = (due_us - event.t_us) // 1_000


def _note_topic(groups: ConsumerGroups, event: TraceEvent) -> None:
    if event.topic is not None:
        groups.sizes[event.topic] = (event.payload or {}).get("partitions", 0)
        if not groups.sizes[event.topic]:
            del groups.sizes[event.topic]


def _note_record(groups: ConsumerGroups, event: TraceEvent) -> None:
    """Note the topics of a member, or of a regular expression, and the hash of all with the record of an epoch."""
    payload, group = event.payload or {}, event.group or ""
    kind, topics = payload.get("type"), payload.get("value")
    here = groups.names.setdefault(group, {})
    if kind == "group-epoch" and topics is not None:
        groups.hashes[group] = groups.hash_of(group)
    elif kind in ("member", "regex"):
        owner = f"{kind} {payload.get('key')}"
        here.pop(owner, None)
        if topics is not None:
            here[owner] = tuple(topics)


_NOTES: Mapping[Kind, Callable[[ConsumerGroups, TraceEvent], None]] = {
    Kind.REQUEST_RECEIVED: _note_request,
    Kind.TIMER_SET: _note_timer,
    Kind.METADATA_CHANGED: _note_topic,
    Kind.RECORD_APPENDED: _note_record,
}


# --- what is logged --------------------------------------------------------------------------------------------------


def _protocol(groups: ConsumerGroups, event: TraceEvent) -> str:
    request = groups.request_of(event)
    if request is None:
        return CLASSIC if (event.payload or {}).get("protocols") else CONSUMER
    return CLASSIC if request.api == _JOIN else CONSUMER


def _requested(groups: ConsumerGroups, event: TraceEvent) -> Words:
    """Yield the line of a known member that joins again: a dynamic one, or a static one that had left for a while."""
    beats, member = event.api == _HEARTBEAT and event.generation == 0, event.member or ""
    here = groups.members.get(event.group or "", {})
    if not (beats or event.api == _JOIN) or member not in here:
        return
    if event.seq in groups.ahead.refused or event.seq in groups.ahead.arrivals:
        return
    protocol = CONSUMER if beats else CLASSIC
    if here[member] is None:
        yield "N_JOIN", {"protocol": protocol}
    elif beats and groups.epochs.get((event.group or "", member)) == _AWAY:
        yield "N_STATIC_REPLACE", {"protocol": protocol, "i": here[member], "old": member}


def _added(groups: ConsumerGroups, event: TraceEvent) -> Words:
    static = (event.payload or {}).get("instance_id")
    yield ("N_STATIC_JOIN" if static else "N_JOIN"), {"protocol": _protocol(groups, event)}


def _replaced(groups: ConsumerGroups, event: TraceEvent) -> Words:
    old = (event.payload or {}).get("old", "?")
    yield "N_STATIC_REPLACE", {"protocol": _protocol(groups, event), "old": old}


def _removed(groups: ConsumerGroups, event: TraceEvent) -> Words:
    group, member = event.group or "", event.member or ""
    static = "STATIC_" if (event.payload or {}).get("instance_id") else ""
    request = groups.request_of(event)
    if event.reason == "rebalance-timeout":
        yield (
            "N_NOT_REVOKED",
            {
                "epoch": groups.epochs.get((group, member), "?"),
                "ms": groups.timeouts_ms.get((group, member), "?"),
            },
        )
    elif event.reason in WHY_FENCED:
        yield "N_FENCED", {"why": WHY_FENCED[event.reason]}
    elif event.reason != "left":
        return
    elif request is not None and request.api == _LEAVE:
        named = {"m": request.member or ""} if static else {}  # an administrator names the instance id alone
        yield f"N_{static}LEAVE_GROUP", {"r": groups.given(event).get("reason") or "not provided", **named}
    else:
        yield f"N_{static}LEFT", {}


def _bumped(groups: ConsumerGroups, event: TraceEvent) -> Words:
    yield "N_EPOCH", {"epoch": (event.payload or {}).get("epoch", "?"), "hash": groups.hashes.get(event.group or "", 0)}


def _computed(groups: ConsumerGroups, event: TraceEvent) -> Words:
    payload = event.payload or {}
    yield "N_TARGET", {"epoch": payload.get("epoch", "?"), "assignor": payload.get("assignor", "?")}


def _resolved(groups: ConsumerGroups, event: TraceEvent) -> Words:
    texts = groups.ahead.patterns.get(event.seq)
    if texts:
        yield "N_REGEX", {"k": len({*groups.sizes, OFFSETS_TOPIC}), "texts": ", ".join(texts)}


def _moved(groups: ConsumerGroups, event: TraceEvent) -> Words:
    if event.to == _AWAY:
        yield "N_STATIC_AWAY", {}


def _answered(groups: ConsumerGroups, event: TraceEvent) -> Words:
    instance = groups.given(event).get("instance_id")
    if event.error == "MEMBER_ID_REQUIRED" and event.api == _JOIN:
        yield "N_HANDSHAKE", {}
    elif instance and event.error in _INSTANCE_REFUSED:
        holder = groups.holder(event.group or "", instance)
        if holder is not None:
            yield _INSTANCE_REFUSED[event.error], {"i": instance, "holder": holder}


def _not_upgraded(groups: ConsumerGroups, event: TraceEvent) -> Words:
    _, because, why = groups.ahead.messages.get(event.seq, "").partition(" to consumer group because ")
    if _MALFORMED in why:
        yield "N_UPGRADE_MALFORMED", {}
    elif _USER_DATA in why:
        yield "N_UPGRADE_USER_DATA", {}
    elif because:
        yield "N_UPGRADE_REFUSED", {"why": why}


def _converted(groups: ConsumerGroups, event: TraceEvent) -> Words:
    """Yield the line of a conversion; a downgrade that opens a round is logged after that round."""
    if event.member is None:
        return  # the append of a conversion failed, which is no line of its own
    if event.to == CONSUMER:
        yield "UPGRADED", {}
    elif (event.group, event.cause) in groups.ahead.rounds:
        groups.held.add(event.group or "")
    else:
        yield "DOWNGRADED", {}


def _loaded(groups: ConsumerGroups, event: TraceEvent) -> Words:
    yield "N_LOADED", {"k": (event.payload or {}).get("members", 0)}


def _unloaded(groups: ConsumerGroups, event: TraceEvent) -> Words:
    yield "N_UNLOADED", {"epoch": event.generation}


_INSTANCE_REFUSED = {"UNRELEASED_INSTANCE_ID": "N_UNRELEASED", "FENCED_INSTANCE_ID": "N_FENCED_INSTANCE"}
_WORDERS: Mapping[Kind, Callable[[ConsumerGroups, TraceEvent], Words]] = {
    Kind.REQUEST_RECEIVED: _requested,
    Kind.MEMBER_ADDED: _added,
    Kind.MEMBER_REPLACED: _replaced,
    Kind.MEMBER_REMOVED: _removed,
    Kind.MEMBER_EPOCH: _moved,
    Kind.EPOCH_BUMPED: _bumped,
    Kind.TARGET_COMPUTED: _computed,
    Kind.REGEX_RESOLVED: _resolved,
    Kind.RESPONSE_SENT: _answered,
    Kind.GROUP_CONVERTED: _converted,
    Kind.GROUP_LOADED: _loaded,
    Kind.GROUP_UNLOADED: _unloaded,
}
