"""The group protocol's requests, each with its way: sent, received, answered, returned.

The ends of a request are tied by process, API and correlation id; requests of a test have none on the client's side:
there the arrival has the sending for its cause, and the return of the answer the answer. Heartbeats are listed when
they were answered with an error; of theirs the sending is not in the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.pipeline.runs.lists import MESSAGES, Lists
from groupsim.protocol.values import define

Row = tuple[Any, ...]
HEARTBEAT = "Heartbeat"


@define
class Message:
    """One request, as far as the trace contains it: the times when it was sent, received, answered and returned.

    parked           the coordinator's condition for the answer; client_reason: the client's own reason
    subscriptions    the number in a JoinGroup's answer; assignments: the number in a SyncGroup
    sent_error       the error in the answer, when `error` is the client's own error (DISCONNECTED …)
    order            numbers of the events of its arrival and its answer
    """

    group: str | None
    host: str
    api: str
    correlation: int | None
    broker: str | None = None
    member: str | None = None
    generation: int | None = None
    sent_us: int | None = None
    received_us: int | None = None
    answered_us: int | None = None
    returned_us: int | None = None
    error: str | None = None
    client_reason: str | None = None
    parked: str | None = None
    subscriptions: int | None = None
    assignments: int | None = None
    sent_error: str | None = None
    order: tuple[int, int] = (0, 0)

    def row(self) -> Row:
        times = (self.sent_us, self.received_us, self.answered_us, self.returned_us)
        who = (self.group, self.host, self.broker, self.api, self.member, self.generation)
        return (*who, *times, self.error, self.parked or self.client_reason, self.subscriptions, self.assignments)

    @property
    def began_us(self) -> int:
        """When it begins as far as is known: a heartbeat is seen when it is answered."""
        return next(us for us in (self.sent_us, self.received_us, self.answered_us, self.returned_us) if us is not None)

    @property
    def over_us(self) -> int:
        """When it was over, or last seen."""
        return next(us for us in (self.returned_us, self.answered_us, self.began_us) if us is not None)


def messages(lists: Lists) -> list[Message]:
    """Joins, syncs, leaves and heartbeats that were answered with an error, in the order they were first seen."""
    reader = _RequestReader()
    for event in lists.of(*MESSAGES):
        _READERS[event.kind](reader, event)
    return [one for one in reader.found if one.api != HEARTBEAT or one.error]


class _RequestReader:
    """Ties the events of one request together."""

    def __init__(self) -> None:
        self.found: list[Message] = []
        self.by_seq: dict[int, Message] = {}  # by the event that others name as their cause
        self.by_member: dict[tuple[str | None, str | None, str | None, int | None], Message] = {}
        self.at_broker: dict[tuple[str | None, str, str | None, int | None], Message] = {}
        self.at_client: dict[tuple[str, str | None, int | None], Message] = {}

    def _new(self, event: TraceEvent, host: str) -> Message:
        message = Message(event.group, host, event.api or "?", event.correlation)
        self.found.append(message)
        return message

    def _sent(self, event: TraceEvent) -> None:
        payload = event.payload or {}
        message = self._new(event, event.host or "?")
        message.sent_us = event.t_us
        message.member, message.generation = event.member, event.generation
        message.broker = f"broker-{payload['to']}" if "to" in payload else None
        message.client_reason = payload.get("reason") or None
        message.assignments = payload.get("assignments")
        message.order = (event.seq, event.seq)
        self.by_seq[event.seq] = message
        self.at_client[message.host, event.api, event.correlation] = message

    def _received(self, event: TraceEvent) -> None:
        host = str((event.payload or {}).get("from", "?"))
        message = self._under_way(event, host) or self._new(event, host)
        message.received_us, message.broker = event.t_us, event.host
        message.order = (event.seq, event.seq)
        message.member = event.member or message.member
        self.by_seq[event.seq] = message
        self.by_member[event.host, event.member, event.api, event.correlation] = message
        self.at_broker[event.host, host, event.api, event.correlation] = message

    def _under_way(self, event: TraceEvent, host: str) -> Message | None:
        """The request that was sent and arrives now."""
        sent = self.at_client.get((host, event.api, event.correlation)) or self.by_seq.get(event.cause)
        same = sent is not None and sent.host == host and sent.api == event.api and sent.received_us is None
        return sent if same else None

    def _parked(self, event: TraceEvent) -> None:
        named = self.by_member.get((event.host, event.member, event.api, event.correlation))
        message = self.by_seq.get(event.cause) or named
        if message is not None and message.api == event.api:
            message.parked = event.reason

    def _answered(self, event: TraceEvent) -> None:
        payload = event.payload or {}
        host = str(payload.get("to", "?"))
        message = self.at_broker.pop((event.host, host, event.api, event.correlation), None) or self._new(event, host)
        message.answered_us, message.broker, message.error = event.t_us, event.host, event.error
        message.sent_error, message.order = event.error, (message.order[0] or event.seq, event.seq)
        if message.received_us is None:  # a heartbeat
            message.member, message.generation = event.member, event.generation
        elif event.api == "JoinGroup" and event.error is None:
            message.generation = event.generation
            message.subscriptions = payload.get("members", 0)
        self.by_seq[event.seq] = message

    def _returned(self, event: TraceEvent) -> None:
        host = event.host or "?"
        message = self.by_seq.get(event.cause)
        if message is None or message.answered_us is None or message.host != host or message.api != event.api:
            message = self.at_client.get((host, event.api, event.correlation)) or self._new(event, host)
        message.returned_us = event.t_us
        message.error = event.error or message.error


_READERS: Mapping[Kind, Callable[[_RequestReader, TraceEvent], None]] = {
    Kind.REQUEST_SENT: _RequestReader._sent,
    Kind.REQUEST_RECEIVED: _RequestReader._received,
    Kind.REQUEST_PARKED: _RequestReader._parked,
    Kind.RESPONSE_SENT: _RequestReader._answered,
    Kind.RESPONSE_RECEIVED: _RequestReader._returned,
    Kind.REQUEST_FAILED: _RequestReader._returned,
}
