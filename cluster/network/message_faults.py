"""Faults of messages: they count matching messages while in force, and affect some of them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from groupsim.cluster.network.answers import group_of
from groupsim.cluster.network.faults import (
    After,
    AnswerError,
    DelayResponse,
    HoldResponse,
    LoseResponse,
    Match,
    MessageFault,
)
from groupsim.cluster.network.link_faults import has_purpose
from groupsim.protocol.messages.group import Request, Response
from groupsim.protocol.messages.refusals import refusal

if TYPE_CHECKING:
    from groupsim.cluster.network.broker_connection import BrokerConnection
    from groupsim.cluster.network.injection import FaultHandle
    from groupsim.cluster.network.network import Network


class MessageFaults:
    """The message faults in force. A connection consults them only while there is one."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._active: list[tuple[MessageFault, FaultHandle]] = []

    def __len__(self) -> int:
        return len(self._active)

    def add(self, fault: MessageFault, handle: FaultHandle) -> None:
        """Put a fault in force."""
        self._active.append((fault, handle))

    def remove(self, handle: FaultHandle) -> None:
        """Lift a fault."""
        self._active = [pair for pair in self._active if pair[1] is not handle]

    def answer_error(self, connection: BrokerConnection) -> bool:
        """Answer the current request with an error if a fault strikes; return whether one did."""
        for fault, handle in self._active:
            if isinstance(fault, AnswerError) and self._strikes(fault, handle, connection):
                response = refusal(connection.request, fault.error)
                with handle.blamed():
                    connection.broker.emit_received(connection)
                    connection.answer(response)
                handle.spent()
                return True
        return False

    def affect_response(self, connection: BrokerConnection, response: Response) -> bool:
        """Lose, delay or hold the response if a fault strikes; return whether one did."""
        for fault, handle in self._active:
            if not isinstance(fault, AnswerError) and self._strikes(fault, handle, connection):
                with handle.blamed():
                    _strike(fault, handle, connection, response)
                handle.spent()
                return True
        return False

    def _strikes(self, fault: MessageFault, handle: FaultHandle, connection: BrokerConnection) -> bool:
        match = fault.match
        if not self._matches(match, connection):
            return False
        handle.seen += 1
        if handle.seen < match.nth or (match.times is not None and handle.hits >= match.times):
            return False
        handle.hits += 1
        return True

    def _matches(self, match: Match, connection: BrokerConnection) -> bool:
        request = connection.request
        if match.api is not None and request.API is not match.api:
            return False
        if match.group is not None and group_of(request) != match.group:
            return False
        if not has_purpose(match.purpose, connection.purpose):
            return False
        if match.client_id is not None and not fnmatchcase(connection.client_id, match.client_id):
            return False
        if match.member_id is not None and not any(fnmatchcase(one, match.member_id) for one in member_ids(request)):
            return False
        host = self._network.resolve(match)
        if host is None:
            return False
        peer = match.peer or "*"
        client, broker = connection.host_name, connection.broker_host.name
        straight = fnmatchcase(client, host) and fnmatchcase(broker, peer)
        return straight or (fnmatchcase(broker, host) and fnmatchcase(client, peer))


def member_ids(request: Request) -> list[str]:
    """Return the member ids of a request; a LeaveGroup may have several."""
    one = getattr(request, "member_id", None)
    several = [getattr(member, "member_id", None) for member in getattr(request, "members", ())]
    return [name for name in (one, *several) if name]


def _strike(
    fault: LoseResponse | DelayResponse | HoldResponse,
    handle: FaultHandle,
    connection: BrokerConnection,
    response: Response,
) -> None:
    if isinstance(fault, HoldResponse):
        handle.hold(connection)
        connection.pass_back(response)
        return
    if isinstance(fault, DelayResponse):
        connection.cause_seq = handle.seq
        connection.delay(response, fault.by_us)
        return
    connection.drop("the response was lost on the way")
    if fault.after is After.BREAK:
        connection.cut("connection reset")
    else:
        connection.cause_seq = handle.seq
        connection.silence()
