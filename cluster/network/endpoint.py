"""Who answers at the far end of a connection: a broker, or the controller; and what it says of requests in the trace.

Messages that go round all the time (heartbeats of every sort, fetches, produce requests, the metadata log) are *quiet*:
listed only in a full trace. What they bring about has kinds of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from groupsim.cluster.network.answers import TITLES, generation_of, group_of, member_of
from groupsim.eventloop.interface import EventLoop, Host
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.cluster import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    MetadataLogRequest,
)
from groupsim.protocol.messages.data import FetchRequest, ProduceRequest
from groupsim.protocol.messages.group import HeartbeatRequest, JoinGroupResponse, Request, Response
from groupsim.protocol.messages.response_errors import error_in

if TYPE_CHECKING:
    from groupsim.cluster.network.broker_connection import Line
    from groupsim.cluster.network.connection import Connection

Payload = dict[str, object]

MACHINERY: frozenset[type] = frozenset(
    {
        FetchRequest,
        ProduceRequest,
        BrokerHeartbeatRequest,
        BrokerRegistrationRequest,
        MetadataLogRequest,
        AlterPartitionRequest,
    }
)
"""Requests by which a cluster moves records and keeps itself together."""

QUIET: frozenset[type] = MACHINERY | {HeartbeatRequest}
"""Requests that only a full trace lists. A group's heartbeat is listed, too, when its answer is an error."""

# Looked up once: members of an enumeration are found slowly, and these are for every request.
_RECEIVED, _ANSWERED = Kind.REQUEST_RECEIVED, Kind.RESPONSE_SENT


def broker_name(node: int) -> str:
    """The host name of a broker."""
    return f"broker-{node}"


class Endpoint(ABC):
    """A host that takes requests, one per connection at a time."""

    def __init__(self, loop: EventLoop, name: str) -> None:
        self.host: Host = loop.host(name)
        self.connects: type[Connection] | None = None  #: the class of its connections, where it is not the usual one
        self._loop = loop
        self._trace = loop.trace

    @property
    def is_open(self) -> bool:
        """Whether it takes connections."""
        return self.host.alive

    @abstractmethod
    def receive(self, call: Line) -> None:
        """Take the request in hand of a connection."""

    def note_received(self, call: Line) -> None:
        """Say that a request has arrived; all that follows from it has this for its cause."""
        call.took_us = self._loop.now_us
        if self._trace.wants(_RECEIVED):
            request = call.request
            sender: Payload = {"from": call.host_name, "client_id": call.client_id}
            self._note(_RECEIVED, call, member_of(request), generation_of(request), None, sender)

    def note_answer(self, call: Line, response: Response) -> None:
        """Say what is answered, and how long the request was in the broker's hands."""
        trace, request = self._trace, call.request
        if not trace.wants(_ANSWERED):
            return
        error, generation = error_in(response), generation_of(response)
        if generation is None:
            generation = generation_of(request)
        member = member_of(request) or getattr(response, "member_id", None) or None
        quiet = type(request) is HeartbeatRequest and not trace.heartbeats
        waited = 0 if quiet else self._loop.now_us - call.took_us
        payload: Payload = {"to": call.host_name, "waited_us": waited} if waited else {"to": call.host_name}
        if response.__class__ is JoinGroupResponse and response.members:
            payload["members"] = len(response.members)
        self._note(_ANSWERED, call, member, generation, error.name if error else None, payload)

    def _note(
        self, kind: Kind, call: Line, member: str | None, generation: int | None, error: str | None, payload: Payload
    ) -> None:
        """Emit an event about the request in hand, and make it the cause of what follows."""
        request, trace = call.request, self._trace
        trace.begin(
            trace.emit(
                kind,
                self.host.name,
                group_of(request),
                member,
                generation,
                api=TITLES[request.API],
                correlation=call.correlation,
                error=error,
                payload=payload,
            )
        )

    def note_dropped(self, call: Line, reason: str) -> None:
        """Say that the answer to a request reaches nobody."""
        request = call.request
        if type(request) in MACHINERY and not self._trace.heartbeats:
            return
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


def is_unanswered(request: Request) -> bool:
    """Whether no answer is ever sent to a request: Produce with acks=0."""
    return type(request) is ProduceRequest and request.acks == 0
