"""Who answers at the far end of a connection: a broker, or the controller; and what it says of requests in the trace.

Messages that go round all the time (heartbeats of every sort, fetches, produce requests, the metadata log) are *quiet*:
listed only in a full trace. What they bring about has kinds of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from groupsim.cluster.network.answers import TITLES, columns_of
from groupsim.eventloop.interface import EventLoop, Host
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.cluster import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    MetadataLogRequest,
)
from groupsim.protocol.messages.data import FetchRequest, ProduceRequest
from groupsim.protocol.messages.group import HeartbeatRequest, JoinGroupResponse, Response
from groupsim.protocol.messages.response_errors import error_in

if TYPE_CHECKING:
    from groupsim.cluster.network.broker_connection import BrokerConnection
    from groupsim.cluster.network.connection import Connection

Payload = dict[str, object]
Columns = tuple[str | None, str | None, int | None]

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
    def receive(self, call: BrokerConnection) -> None:
        """Take the request in hand of a connection."""

    def note_received(self, call: BrokerConnection) -> None:
        """Say that a request has arrived; all that follows from it has this for its cause."""
        call.took_us = self._loop.now_us
        if self._trace.wants(_RECEIVED):
            sender: Payload = {"from": call.host_name, "client_id": call.client_id}
            self._note(_RECEIVED, call, columns_of(call.request), None, sender)

    def note_answer(self, call: BrokerConnection, response: Response) -> None:
        """Say what is answered, and how long the request was in the broker's hands."""
        trace, request = self._trace, call.request
        if not trace.wants(_ANSWERED):
            return
        error, columns = error_in(response), columns_of(request)
        quiet = type(request) is HeartbeatRequest and not trace.heartbeats
        waited = 0 if quiet else self._loop.now_us - call.took_us
        payload: Payload = {"to": call.host_name, "waited_us": waited} if waited else {"to": call.host_name}
        if response.__class__ is JoinGroupResponse:
            group, member, generation = columns
            answered = response.generation_id if response.generation_id >= 0 else generation
            columns = group, member or response.member_id or None, answered
            if response.members:
                payload["members"] = len(response.members)
        self._note(_ANSWERED, call, columns, error.name if error else None, payload)

    def _note(self, kind: Kind, call: BrokerConnection, columns: Columns, error: str | None, payload: Payload) -> None:
        """Emit an event about the request in hand, of a kind that is wanted, and make it the cause of what follows."""
        trace, title = self._trace, TITLES[call.request.API]
        group, member, generation = columns
        # fmt: off
        trace.cause = trace.emit(
            kind, self.host.name, group, member, generation, None, None, title, call.correlation, error,
            None, None, None, None, None, payload,
        )
        # fmt: on

    def note_dropped(self, call: BrokerConnection, reason: str) -> None:
        """Say that the answer to a request reaches nobody."""
        request = call.request
        if type(request) in MACHINERY and not self._trace.heartbeats:
            return
        group, member, _ = columns_of(request)
        self._trace.emit(
            Kind.REQUEST_DROPPED,
            host=self.host.name,
            group=group,
            member=member,
            api=TITLES[request.API],
            correlation=call.correlation,
            reason=reason,
            payload={"from": call.host_name},
        )
