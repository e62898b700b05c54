"""A librdkafka client's log with `debug=cgrp`: the facility is the key, and the join state tells the story."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import define

from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.logs_client import partitions_of

Entry = tuple[int, int, str, str]  # time, syslog level, facility, message

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


@define
class LibrdkafkaLog:
    """One librdkafka consumer's log."""

    group: str
    client_id: str
    state: str = "init"
    owned: int = 0

    def lines(self, event: TraceEvent) -> Iterator[Entry]:
        """The lines one event of this process makes."""
        worder = WORDERS.get(event.kind)
        for level, facility, text in worder(self, event) if worder else ():
            yield event.t_us, level, facility, text

    def said(self, text: str) -> str:
        """Most sentences begin with the group."""
        return f'Group "{self.group}" {text}'


Words = Iterator[tuple[int, str, str]]


def _state(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    new = JOIN_STATES.get(event.to or "", "init")
    if new == "wait-sync":
        yield 7, "JOINGROUP", f"JoinGroup response: GenerationId {event.generation}, my id {event.member or ''}"
    if new != log.state:
        yield 7, "CGRPJOINSTATE", log.said(f"changed join state {log.state} -> {new} (state up)")
        log.state = new


def _found(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    node = (event.payload or {}).get("node", "?")
    yield 7, "CGRPCOORD", log.said(f"coordinator is broker-{node}:9092 id {node}")


def _lost(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    yield 7, "COORDQUERY", log.said(f"querying for coordinator: {event.reason or 'intervaled in state up'}")


def _sent(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    if event.api == "JoinGroup":
        yield 7, "JOIN", log.said(f"join with {len((event.payload or {}).get('protocols', ()))} protocol(s)")
    elif event.api == "LeaveGroup":
        yield 7, "LEAVE", log.said("leave (in state up)")


def _answered(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    if event.api == "JoinGroup" and event.error:
        yield 7, "JOINGROUP", f"JoinGroup response: GenerationId -1, error {ERRORS.get(event.error, event.error)}"
    elif event.api == "SyncGroup":
        text = ERRORS.get(event.error or "", event.error) if event.error else "Success"
        yield 7, "SYNCGROUP", f"SyncGroup response: {text}"
    elif event.api == "Heartbeat" and event.error:
        text = ERRORS.get(event.error, event.error)
        where = f"in state up (join-state {log.state}, {log.owned} partition(s) assigned)"
        yield 7, "HEARTBEAT", log.said(f"heartbeat error response {where}: {text}")


def _callback(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    count = len((event.payload or {}).get("partitions") or ())
    listed = partitions_of(event.payload)
    if event.reason == "assigned":
        log.owned = count
        yield 7, "ASSIGN", log.said(f"assigning {count} partition(s) in join-state {log.state}: {listed}")
    else:
        log.owned = 0
        lost = " (lost)" if event.reason == "lost" else ""
        yield 7, "REVOKE", log.said(f"revoking {count} partition(s){lost} in join-state {log.state}: {listed}")


def _rejoin(log: LibrdkafkaLog, event: TraceEvent) -> Words:
    yield 7, "REJOIN", log.said(f"rejoining: {event.reason or ''}")


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
    Kind.CLIENT_STATE: _state,
    Kind.COORDINATOR_FOUND: _found,
    Kind.COORDINATOR_LOST: _lost,
    Kind.REQUEST_SENT: _sent,
    Kind.RESPONSE_RECEIVED: _answered,
    Kind.CALLBACK_BEGUN: _callback,
    Kind.REJOIN_REQUESTED: _rejoin,
    Kind.POLL_EXPIRED: _max_poll,
    Kind.SESSION_EXPIRED: _session,
    Kind.COMMIT_FAILED: _commit_failed,
    Kind.PROCESS_FAILED: _failed,
}
