"""A librdkafka client's log with `debug=cgrp`: the facility is the key, and the join state tells the story.

The words are those of 2.16; of its lines those are here that say what the group does, not how its queues are emptied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import define, field

from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.logs.known import COOPERATIVE, Known
from groupsim.logs.layout import epoch_ms

JOIN_STATES = {
    "UNJOINED": "init",
    "PREPARING_REBALANCE": "wait-join",
    "COMPLETING_REBALANCE": "wait-sync",
    "STABLE": "steady",
}
ERRORS = {
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


Words = Iterator[tuple[int, str, str]]


@define
class LibrdkafkaLog:
    """One librdkafka consumer's log."""

    group: str
    client_id: str
    known: Known = field(factory=Known)
    state: str = "init"
    owned: int = 0
    topics: int = 1
    node: int = -1
    rejoins: bool = False  # whether what is revoked is revoked for a rebalance

    def lines(self, event: TraceEvent) -> Iterator[str]:
        """The lines one event of this process makes."""
        worder = WORDERS.get(event.kind)
        for level, facility, text in worder(self, event) if worder else ():
            seconds = epoch_ms(event.t_us) / 1000
            yield f"%{level}|{seconds:.3f}|{facility}|{self.client_id}#consumer-1| [thrd:main]: {text}"

    def said(self, text: str) -> str:
        """Most sentences begin with the group."""
        return f'Group "{self.group}" {text}'

    def told(self, text: str) -> str:
        """… and some have a colon there."""
        return f'Group "{self.group}": {text}'

    def broker(self) -> str:
        """The coordinator, as it stands before what is said of it."""
        return f"broker-{self.node}:9092/{self.node}"

    def change(self, new: str) -> Words:
        """A line for another join state."""
        if new != self.state:
            yield 7, "CGRPJOINSTATE", self.said(f"changed join state {self.state} -> {new} (state up)")
            self.state = new

    @property
    def protocol(self) -> str:
        """The assignor that was chosen."""
        return self.known.rounds.get(self.group, (-1, ""))[1]


def _started(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    log.state, log.owned, log.node, log.rejoins = "init", 0, -1, False
    log.topics = len((event.payload or {}).get("topics") or ()) or 1
    yield 7, "SUBSCRIBE", log.told(f"subscribe to new subscription of {log.topics} topics (join-state init)")


def _state(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    new = JOIN_STATES.get(event.to or "", "init")
    if new == "wait-sync":
        leader, count = log.known.chosen.get(log.group, ("", 0))
        leads = event.member == leader
        yield 7, "JOINGROUP", _joined(event, log.protocol, leader + " (me)" * leads, count if leads else 0)
        if leads:
            yield 7, "JOINGROUP", f'I am elected leader for group "{log.group}" with {count} member(s)'
            new = "wait-metadata"
    if new in ("wait-sync", "wait-metadata", "init"):
        yield from log.change(new)


def _joined(event: TraceEvent, protocol: str = "", leader: str = "", count: int = 0) -> str:
    generation = -1 if event.error else event.generation
    who = f"LeaderId {leader}, my MemberId {event.member or ''}, member metadata count {count}"
    error = ERRORS.get(event.error, event.error) if event.error else "(no error)"
    return f"JoinGroup response: GenerationId {generation}, Protocol {protocol}, {who}: {error}"


def _found(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    before, log.node = log.node, int((event.payload or {}).get("node", -1))
    yield 7, "CGRPCOORD", log.said(f"coordinator is broker-{log.node}:9092 id {log.node}")
    yield 7, "CGRPCOORD", log.said(f"changing coordinator {before} -> {log.node}")
    yield 7, "COORDSET", log.said(f"coordinator set to broker {log.broker()}")


def _lost(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    yield 7, "COORDCLEAR", log.said(f"broker {log.broker()} is no longer coordinator")
    yield 7, "CGRPQUERY", log.told(f"querying for coordinator: {event.reason or 'intervaled in state up'}")
    log.node = -1


def _sent(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    if event.api == "JoinGroup":
        member, topics = (event.payload or {}).get("member_id", ""), f"{log.topics} subscribed topic(s)"
        yield 7, "JOIN", log.told(f"join with {topics}")
        yield 7, "JOIN", f'{log.broker()}: Joining group "{log.group}" with {topics} and member id "{member}"'
        yield from log.change("wait-join")
    elif event.api == "LeaveGroup":
        yield 7, "LEAVE", log.told("leave (in state up)")


def _answered(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    if event.api == "JoinGroup" and event.error:
        yield 7, "JOINGROUP", _joined(event)
        yield from _rejoins(log, f"JoinGroup error: {ERRORS.get(event.error, event.error)}")
    elif event.api == "SyncGroup":
        text = ERRORS.get(event.error or "", event.error) if event.error else "Success"
        yield 7, "SYNCGROUP", f"SyncGroup response: {text}"
        yield from _listed(log.known.given.get(log.group, {}).get(event.member or "") if not event.error else None)
    elif event.api == "Heartbeat" and event.error:
        text = ERRORS.get(event.error, event.error)
        where = f"in state up (join-state {log.state}, {log.owned} partition(s) assigned)"
        yield 7, "HEARTBEAT", log.said(f"heartbeat error response {where}: {text}")


def _listed(given: list[str] | None) -> Words:
    if given is not None:
        yield 7, "ASSIGNMENT", f"List with {len(given)} partition(s):"
        for topic, _, number in (one.rpartition("-") for one in given):
            yield 7, "ASSIGNMENT", f" {topic} [{number}] offset INVALID"


def _rejoins(log: LibrdkafkaLog, reason: str) -> Words:
    assigned = f"with {log.owned} owned partition(s)" if log.owned else "without an assignment"
    yield 7, "REJOIN", log.told(f"Rejoining group {assigned}: {reason}")
    yield from log.change("init")


def _computed(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    payload = event.payload or {}
    members = f"{len(payload.get('counts') or ())} member(s)"
    yield 7, "ASSIGNOR", log.told(f'"{payload.get("assignor", "?")}" assignor run for {members}')
    yield from log.change("wait-sync")


def _callback(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    count = len((event.payload or {}).get("partitions") or ())
    incremental = log.protocol == COOPERATIVE and event.reason != "lost"
    if event.reason == "assigned":
        log.owned = log.owned + count if incremental else count
        yield from log.change("wait-assign-call")
        what = "incremental assign" if incremental else "assign"
        yield 7, "ASSIGN", log.told(_delegated(what, count, "new assignment"))
        return
    why = "rebalance in progress" if log.rejoins else "unsubscribe"
    log.owned = max(log.owned - count, 0) if incremental else 0
    if event.reason == "lost":
        yield 7, "LOST", log.told(f"current assignment of {count} partition(s) lost: {why}")
    yield from log.change("wait-incr-unassign-call" if incremental else "wait-unassign-call")
    yield 7, "ASSIGN", log.told(_delegated("incremental revoke" if incremental else "revoke", count, why))


def _delegated(what: str, count: int, why: str) -> str:
    return f"delegating {what} of {count} partition(s) to application on queue rd_kafka_cgrp_new: {why}"


def _asked(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    log.rejoins = True
    yield from ()


def _called(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    if event.reason == "assigned":
        yield 7, "ASSIGN", log.told(f"new assignment of {log.owned} partition(s) in join-state {log.state}")
        log.rejoins = False
        yield from log.change("steady")
        return
    yield from log.change("wait-incr-unassign-to-complete" if "incr" in log.state else "wait-unassign-to-complete")
    yield 7, "UNASSIGN", log.told(f"unassign done in state up (join-state {log.state})")
    if log.rejoins:
        yield from _rejoins(log, "Unassignment done")
    else:
        text = "Not rejoining group without an assignment: Unassignment done: no subscribed topics"
        yield 7, "NOREJOIN", log.told(text)
        yield from log.change("init")


def _max_poll(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    limit = int((event.payload or {}).get("limit_us", 0)) // 1000
    yield (
        4,
        "MAXPOLL",
        f"Application maximum poll interval ({limit}ms) exceeded by 0ms (adjust max.poll.interval.ms for "
        "long-running message processing): leaving group",
    )


def _session(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    text = f"Consumer group session timed out (in join-state {log.state}) without a successful response from the group"
    yield 4, "SESSTMOUT", f"{text} coordinator: revoking assignment and rejoining group"


def _commit_failed(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    count = len((event.payload or {}).get("offsets") or ())
    error = ERRORS.get(event.error or "", event.error)
    yield 4, "COMMITFAIL", f"Offset commit failed for {count}/{count} partition(s) in join-state {log.state}: {error}"


def _failed(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    yield 3, "FATAL", f"Fatal error: {ERRORS.get(event.error or '', event.reason or event.error)}"


WORDERS: dict[Kind, Callable[[LibrdkafkaLog, TraceEvent], Words]] = {
    Kind.PROCESS_STARTED: _started,
    Kind.CLIENT_STATE: _state,
    Kind.COORDINATOR_FOUND: _found,
    Kind.COORDINATOR_LOST: _lost,
    Kind.REQUEST_SENT: _sent,
    Kind.RESPONSE_RECEIVED: _answered,
    Kind.ASSIGNMENT_COMPUTED: _computed,
    Kind.CALLBACK_BEGUN: _callback,
    Kind.CALLBACK_ENDED: _called,
    Kind.REJOIN_REQUESTED: _asked,
    Kind.POLL_EXPIRED: _max_poll,
    Kind.SESSION_EXPIRED: _session,
    Kind.COMMIT_FAILED: _commit_failed,
    Kind.PROCESS_FAILED: _failed,
}
