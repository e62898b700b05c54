"""The host that answers requests, a broker or the controller, and its trace events of requests.

Frequent requests (heartbeats of every kind, fetches, produce requests, the metadata log) are *quiet*: only a full trace
lists them. Their effects have event kinds of their own.
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
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatResponse
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
"""Requests that move records, and requests between brokers and controller."""

QUIET: frozenset[type] = MACHINERY | {HeartbeatRequest}
"""Requests that only a full trace lists. A group's heartbeat is also listed when its answer is an error."""

# Looked up once: access to a member of an enumeration is slow, and every request needs these.
_RECEIVED, _ANSWERED = Kind.REQUEST_RECEIVED, Kind.RESPONSE_SENT


def broker_name(node: int) -> str:
    """Return the host name of a broker."""
    return f"broker-{node}"


class Endpoint(ABC):
    """A host that handles requests, one per connection at a time."""

    def __init__(self, loop: EventLoop, name: str) -> None:
        self.host: Host = loop.host(name)
        self.connection_class: type[Connection] | None = None  #: the class of its connections; None for `Connection`
        self._loop = loop
        self._trace = loop.trace

    @property
    def is_open(self) -> bool:
        """Whether the endpoint takes connections."""
        return self.host.alive

    @abstractmethod
    def receive(self, call: BrokerConnection) -> None:
        """Handle the current request of a connection."""

    def emit_received(self, call: BrokerConnection) -> None:
        """Emit the arrival of a request and make the event the cause of what follows."""
        call.took_us = self._loop.now_us
        if self._trace.wants(_RECEIVED):
            sender: Payload = {"from": call.host_name, "client_id": call.client_id}
            self._emit(_RECEIVED, call, columns_of(call.request), None, sender)

    def emit_answer(self, call: BrokerConnection, response: Response) -> None:
        """Emit the answer to a request and the time that the request waited at the broker."""
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
        elif response.__class__ is ConsumerGroupHeartbeatResponse and not error:
            group, member, _ = columns
            columns = group, member or response.member_id, response.member_epoch if response.member_epoch >= 0 else None
        self._emit(_ANSWERED, call, columns, error.name if error else None, payload)

    def _emit(self, kind: Kind, call: BrokerConnection, columns: Columns, error: str | None, payload: Payload) -> None:
        """Emit an event about the current request and make it the cause of what follows."""
        trace, title = self._trace, TITLES[call.request.API]
        group, member, generation = columns
        # fmt: off
        trace.cause = trace.emit(
            kind, self.host.name, group, member, generation, None, None, title, call.correlation, error,
            None, None, None, None, None, payload,
        )
        # fmt: on

    def emit_dropped(self, call: BrokerConnection, reason: str) -> None:
        """Emit that the answer to a request reaches no client."""
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
