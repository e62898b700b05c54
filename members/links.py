"""The connections of one process, and its requests with their trace events.

There is one connection for each broker and purpose. Group requests have their own connection, so a parked JoinGroup
blocks only group requests (classic-protocol reference, section 4.4), unless a library shares it.

After a lost connection the next one to the same broker for the same purpose waits: reconnect.backoff.ms, doubling up
to reconnect.backoff.max.ms, each ±20 %, until a broker answers on it (`ClusterConnectionStates`, KIP-144).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupsim.eventloop.trace.events import Kind
from groupsim.members.backoff import Backoff
from groupsim.members.interfaces import NO_BROKER, Connection, Disconnected, Outcome
from groupsim.members.ports import Ports
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from groupsim.protocol.messages.group import (
    Api,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    Request,
    SyncGroupRequest,
)
from groupsim.protocol.messages.response_errors import error_in

Done = Callable[[Outcome], None]
#: The purpose of the connection for all requests except those of the group.
SHARED = "data"
#: The purpose of the connection on which a broker pushes; a request behind pushed records would wait without end.
PUSHED = "push"
_TITLES = {api: api.title for api in Api}
# Bound once for every request: access to a member of an enumeration is slow.
_SENT, _RECEIVED = Kind.REQUEST_SENT, Kind.RESPONSE_RECEIVED


class Links:
    """All connections of one process."""

    __slots__ = ("_any", "_failing", "_in_flight", "_member", "_open")

    def __init__(self, member: Ports) -> None:
        self._member = member
        self._open: dict[tuple[int, str], Connection] = {}
        self._failing: dict[tuple[int, str], _Reconnect] = {}
        self._in_flight: dict[_Pending, Connection] = {}
        stream = member.loop.stream("bootstrap", member.host.name, member.host.incarnation)
        self._any = stream.below(len(member.transport.bootstrap))

    def ask_any(self, request: Request, on_done: Done) -> int:
        """Send to the preferred broker, at first a random one; return its node id.

        Returns -1 and sends nothing while no broker may be connected to; the outcome is then `Disconnected`.
        """
        member = self._member
        node = self._preferred()
        if node < 0:
            member.host.call_at(member.now_us, on_done, Disconnected(NO_BROKER))
            return node
        self.send(self.connection(node, SHARED), node, request, on_done, member.request_timeout_us)
        return node

    def _preferred(self) -> int:
        """Return the next broker that may be used, preferably one without a Fetch in flight; -1 if there is none.

        As in `NetworkClient.leastLoadedNode` a broker with a connection, busy or not, comes before one whose connection
        was lost; so the broker that did not answer is not the first to be asked again.
        """
        brokers, is_busy = self._member.transport.bootstrap, self._member.fetcher.is_busy
        node = brokers[self._any % len(brokers)]
        if not (self._failing or is_busy(node)):
            return node  # the usual case
        idle = busy = -1
        for step in range(len(brokers)):
            node = brokers[(self._any + step) % len(brokers)]
            if self.wait_us(node, SHARED):
                continue
            if is_busy(node):
                busy = step if busy < 0 else busy
            elif idle < 0:
                idle = step
        lost = idle >= 0 and self._was_lost(brokers[(self._any + idle) % len(brokers)])
        chosen = busy if idle < 0 or (lost and busy >= 0) else idle
        return -1 if chosen < 0 else self._prefer(chosen)

    def _was_lost(self, node: int) -> bool:
        link = self._open.get((node, SHARED))
        return (node, SHARED) in self._failing and not (link is not None and link.open)

    def _prefer(self, step: int) -> int:
        self._any += step
        brokers = self._member.transport.bootstrap
        return brokers[self._any % len(brokers)]

    def avoid(self, node: int) -> None:
        """Prefer the next broker: this one did not answer."""
        if node < 0:
            return
        self.failed(node, SHARED)
        brokers = self._member.transport.bootstrap
        if brokers[self._any % len(brokers)] == node:
            self._any += 1

    def failed(self, node: int, purpose: str) -> None:
        """Start or extend the wait before the next connection: the last one was lost, or never made."""
        member = self._member
        tries = self._failing.get((node, purpose))
        begins = tries is None
        if tries is None:
            new_stream = member.stream_factory(f"reconnect-{node}-{purpose}")
            tries = _Reconnect(Backoff.of_connections(member.settings, member.profile, new_stream))
            self._failing[node, purpose] = tries
        tries.not_before_us = member.now_us
        # librdkafka reconnects at once after the first failure, and waits only after the next.
        if not begins or not member.pace.keeps_coordinator:
            tries.not_before_us += tries.backoff.next_us()

    def wait_us(self, node: int, purpose: str) -> int:
        """Return the wait until a broker may be connected to; 0 for now, and for an open connection."""
        tries = self._failing.get((node, purpose))
        if tries is None:
            return 0
        link = self._open.get((node, purpose))
        return 0 if link is not None and link.open else max(tries.not_before_us - self._member.now_us, 0)

    def reconnect_us(self) -> int:
        """Return the wait until any broker may be connected to."""
        return min(self.wait_us(node, SHARED) for node in self._member.transport.bootstrap)

    def connected(self, node: int, purpose: str) -> bool:
        """Whether there is an open connection to a broker for a purpose."""
        link = self._open.get((node, purpose))
        return link is not None and link.open

    def connection(self, node: int, purpose: str) -> Connection:
        """Return the open connection to a broker for a purpose, or a new one."""
        member = self._member
        link = self._open.get((node, purpose))
        if link is None or not link.open:
            called = SHARED if purpose == PUSHED else purpose
            link = member.transport.connect(member.host.name, member.settings.client_id, node, called)
            self._open[node, purpose] = link
        return link

    def send(self, link: Connection, node: int, request: Request, on_done: Done, timeout_us: int) -> None:
        """Send a request, and emit the event first. `on_done` gets the outcome after the event of the answer."""
        member = self._member
        trace = member.trace
        before = trace.cause
        if trace.wants(_SENT):
            trace.begin(self._emit_sent(link, node, request))
        pending = _Pending(self, link, request, on_done, member.loop.now_us)
        self._in_flight[pending] = link
        member.fetcher.make_way(link)
        pending.correlation = link.send(request, pending.done, timeout_us)
        trace.cause = before

    def _emit_sent(self, link: Connection, node: int, request: Request) -> int:
        payload = {"to": node, "version": request.version}
        describe = _DETAILS.get(type(request))
        if describe is not None:
            payload.update(describe(request))
        return self._member.emit(_SENT, api=_TITLES[request.API], correlation=link.next_correlation, payload=payload)

    def answered(self, link: Connection) -> None:
        """Forget earlier failures of a connection: an answer arrived on it."""
        if not self._failing:
            return
        for key in [key for key in self._failing if self._open.get(key) is link]:
            del self._failing[key]

    def drop(self, link: Connection, reason: str) -> None:
        """Close a connection from this side; requests in flight on it fail in the order they were sent."""
        link.close()
        outcome = Disconnected(reason)
        for pending in [entry for entry, on in self._in_flight.items() if on is link]:
            self._member.host.call_at(self._member.now_us, pending.done, outcome)
        self._member.fetcher.connection_dropped(link)

    def close(self) -> None:
        """Close all connections; requests in flight get no outcome."""
        self._in_flight.clear()
        for link in self._open.values():
            if link.open:
                link.close()
        self._open.clear()


class _Reconnect:
    __slots__ = ("backoff", "not_before_us")

    def __init__(self, backoff: Backoff) -> None:
        self.backoff = backoff
        self.not_before_us = 0


class _Pending:
    __slots__ = ("_link", "_links", "_on_done", "_request", "_sent_us", "correlation")

    def __init__(self, links: Links, link: Connection, request: Request, on_done: Done, sent_us: int) -> None:
        self._links = links
        self._link = link
        self._request = request
        self._on_done = on_done
        self._sent_us = sent_us
        self.correlation = -1  # set when it is sent

    def done(self, outcome: Outcome) -> None:
        """Emit the outcome and pass it on, unless the connection was closed from this side."""
        links = self._links
        if links._in_flight.pop(self, None) is None:
            return
        member = links._member
        trace = member.trace
        lost = type(outcome) is Disconnected
        if links._failing and not lost:
            links.answered(self._link)
        if lost or trace.wants(_RECEIVED):
            trace.begin(emit_outcome(member, self._request, self.correlation, outcome, self._sent_us))
        on_network_event = member.on_network_event
        self._on_done(outcome)
        if on_network_event is not None:
            on_network_event()


def emit_outcome(
    member: Ports, request: Request, correlation: int, outcome: Outcome, sent_us: int | None = None
) -> int:
    """Emit the answer to a request, or the failure; return the event's seq."""
    took = None if sent_us is None else {"took_us": member.loop.now_us - sent_us}
    if isinstance(outcome, Disconnected):
        return member.emit(
            Kind.REQUEST_FAILED,
            api=_TITLES[request.API],
            correlation=correlation,
            error="TIMED_OUT" if outcome.timed_out else "DISCONNECTED",
            reason=outcome.reason,
            payload=took,
        )
    error = error_in(outcome)
    return member.emit(
        _RECEIVED,
        api=_TITLES[request.API],
        correlation=correlation,
        error=error.name if error else None,
        payload=took,
    )


def _join_details(request: JoinGroupRequest) -> dict[str, Any]:
    return {
        "member_id": request.member_id,
        "reason": request.reason,
        "protocols": [protocol.name for protocol in request.protocols],
        "session_timeout_ms": request.session_timeout_ms,
        "rebalance_timeout_ms": request.rebalance_timeout_ms,
        **_instance(request.group_instance_id),
    }


def _sync_details(request: SyncGroupRequest) -> dict[str, Any]:
    return {"assignments": len(request.assignments), **_instance(request.group_instance_id)}


def _leave_details(request: LeaveGroupRequest) -> dict[str, Any]:
    return {"reason": request.members[0].reason} if request.members else {}


def _commit_details(request: OffsetCommitRequest) -> dict[str, Any]:
    return {
        "generation": request.generation_id,
        "offsets": {str(entry.partition): entry.offset for entry in request.offsets},
    }


def _fetch_details(request: OffsetFetchRequest) -> dict[str, Any]:
    return {"partitions": [str(partition) for partition in request.partitions or ()]}


def _heartbeat_details(request: HeartbeatRequest) -> dict[str, Any]:
    return {"generation": request.generation_id, **_instance(request.group_instance_id)}


def _consumer_heartbeat_details(request: ConsumerGroupHeartbeatRequest) -> dict[str, Any]:
    """Return the member epoch, and the fields that the request carries besides the ids."""
    given = {
        "rack": request.rack_id,
        "rebalance_timeout_ms": None if request.rebalance_timeout_ms < 0 else request.rebalance_timeout_ms,
        "topics": None if request.subscribed_topic_names is None else list(request.subscribed_topic_names),
        "assignor": request.server_assignor,
        "owned": None
        if request.topic_partitions is None
        else {entry.topic_id: list(entry.partitions) for entry in request.topic_partitions},
    }
    return {
        "epoch": request.member_epoch,
        **{name: value for name, value in given.items() if value is not None},
        **_instance(request.instance_id),
    }


def _instance(instance_id: str | None) -> dict[str, Any]:
    return {} if instance_id is None else {"instance_id": instance_id}


_DETAILS: dict[type, Callable[[Any], dict[str, Any]]] = {
    JoinGroupRequest: _join_details,
    SyncGroupRequest: _sync_details,
    LeaveGroupRequest: _leave_details,
    OffsetCommitRequest: _commit_details,
    OffsetFetchRequest: _fetch_details,
    HeartbeatRequest: _heartbeat_details,
    ConsumerGroupHeartbeatRequest: _consumer_heartbeat_details,
}

"""By request: the function that makes its payload in the trace, besides target and version."""
