"""One broker: it answers for the cluster's metadata itself and hands everything about groups to its coordinator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from groupsim.cluster.answers import TITLES, error_of, generation_of, group_of, member_of
from groupsim.cluster.topics import Topics
from groupsim.coordinator.interfaces import Call
from groupsim.coordinator.placement import partition_for
from groupsim.eventloop.events import Kind
from groupsim.eventloop.interface import EventLoop, Host
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    MetadataRequest,
    MetadataResponse,
    Response,
)
from groupsim.protocol.versions import normalise_request

if TYPE_CHECKING:
    from groupsim.cluster.connection import Connection


class Handles(Protocol):
    """What a broker needs of its coordinator."""

    def handle(self, call: Call) -> None:
        """Take a request; its answer goes out through the call, now or later."""
        ...

    def heartbeat(self, call: Call) -> None:
        """Take a Heartbeat: the same, by a shorter way."""
        ...


def broker_name(node: int) -> str:
    """The host name of a broker."""
    return f"broker-{node}"


class Broker:
    """A broker on its host. It gets one request per connection at a time."""

    def __init__(self, loop: EventLoop, node: int, topics: Topics) -> None:
        self.node = node
        self.host: Host = loop.host(broker_name(node))
        self.handle: Callable[[Call], None] = self._nobody
        self.heartbeat: Callable[[Call], None] = self._nobody
        self._loop = loop
        self._trace = loop.trace
        self._topics = topics

    def receive(self, call: Connection) -> None:
        """Take the request in hand of a connection. Raises `RuntimeError` when there is no coordinator to ask.

        Quiet heartbeats do not come this way but straight to `heartbeat`.
        """
        call.request = request = normalise_request(call.request)
        if type(request) is not HeartbeatRequest or self._trace.heartbeats:
            self.note_received(call)
        if isinstance(request, MetadataRequest):
            call.answer(self._metadata(request))
            return
        if isinstance(request, FindCoordinatorRequest):
            call.answer(self._find_coordinator(request))
            return
        self.handle(call)

    def serve_groups(self, coordinator: Handles) -> None:
        """Hand everything about groups to this coordinator from now on."""
        self.handle = coordinator.handle
        self.heartbeat = coordinator.heartbeat

    def _nobody(self, call: Call) -> None:
        raise RuntimeError(f"{self.host.name} got {call.request} and runs no coordinator")

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        return self._topics.describe(request.topics)

    def _find_coordinator(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        """The leader of the group's partition, as this broker knows it (classic-protocol reference, 1.12)."""
        partition = partition_for(request.key, self._topics.offsets_partitions)
        leader = self._topics.offsets_leader_seen(partition)
        if leader is None:
            return FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return FindCoordinatorResponse(ErrorCode.NONE, leader, broker_name(leader))

    # --- the trace -------------------------------------------------------------------------------------------

    def note_received(self, call: Connection) -> None:
        """Say that a request has arrived; all that follows from it has this for its cause."""
        call.took_us = self._loop.now_us
        trace, request = self._trace, call.request
        if not trace.wants(Kind.REQUEST_RECEIVED):
            return
        seq = trace.emit(
            Kind.REQUEST_RECEIVED,
            host=self.host.name,
            group=group_of(request),
            member=member_of(request),
            generation=generation_of(request),
            api=TITLES[request.API],
            correlation=call.correlation,
            payload={"from": call.host_name, "client_id": call.client_id},
        )
        trace.begin(seq)

    def note_answer(self, call: Connection, response: Response) -> None:
        """Say what is answered, and how long the request was in the broker's hands."""
        trace, request = self._trace, call.request
        if not trace.wants(Kind.RESPONSE_SENT):
            return
        error, generation = error_of(response), generation_of(response)
        quiet = type(request) is HeartbeatRequest and not trace.heartbeats
        waited = 0 if quiet else self._loop.now_us - call.took_us
        seq = trace.emit(
            Kind.RESPONSE_SENT,
            host=self.host.name,
            group=group_of(request),
            member=member_of(request) or getattr(response, "member_id", None) or None,
            generation=generation_of(request) if generation is None else generation,
            api=TITLES[request.API],
            correlation=call.correlation,
            error=error.name if error else None,
            payload={"to": call.host_name, "waited_us": waited} if waited else {"to": call.host_name},
        )
        trace.begin(seq)

    def note_dropped(self, call: Connection, reason: str) -> None:
        """Say that the answer to a request reaches nobody."""
        request = call.request
        self._trace.emit(
            Kind.REQUEST_DROPPED,
            host=self.host.name,
            group=group_of(request),
            member=member_of(request),
            api=TITLES[request.API],
            correlation=call.correlation,
            reason=reason,
            payload={"from": call.host_name},
        )
