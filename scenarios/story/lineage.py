"""The causes of events: links between event numbers in place of whole events.

A story follows causes from a change of a group back to the step behind it. Steps and failures are kept as events. Every
other event that can be a cause leaves a link: its number, the number of its cause, and for a request its sender. Links
of frequent events (messages of steady work, timers) are kept for the last `LINKS` of them; a chain of causes that leads
further back through them ends there. So a run of days without a change needs no more memory than a short one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

from groupsim.eventloop.trace.events import Kind, TraceEvent

LINKS = 500_000
_DEEPEST = 200  # longest chain of causes that is followed
_WHOLE = frozenset({Kind.ACTION, Kind.PROCESS_FAILED})
_RECEIVED = Kind.REQUEST_RECEIVED
_REQUESTS = frozenset({Kind.REQUEST_SENT, Kind.REQUEST_RECEIVED})
_MESSAGES = _REQUESTS | {Kind.RESPONSE_SENT, Kind.RESPONSE_RECEIVED}
_FLEETING = frozenset({Kind.TIMER_SET, Kind.TIMER_FIRED, Kind.TIMER_CANCELLED, Kind.APPEND_DONE, Kind.COMMIT_FAILED})
_LASTING = frozenset({"JoinGroup", "SyncGroup", "LeaveGroup", "FindCoordinator", "OffsetFetch", "ListOffsets"})
NO_CAUSE = frozenset(
    {
        Kind.RECORD_APPENDED,
        Kind.RECORDS_APPENDED,
        Kind.RECORDS_ACKNOWLEDGED,
        Kind.RECORDS_DELIVERED,
        Kind.RECORDS_PROCESSED,
        Kind.OFFSETS_COMMITTED,
        Kind.HIGH_WATERMARK,
        Kind.BUFFER_GREW,
    }
)
"""Frequent kinds that are never a cause."""


class Lineage:
    """The links of one trace; `note` takes its events in the order of their numbers."""

    __slots__ = ("_causes", "_lasting", "_names", "_numbers", "_numbers_of", "_senders", "_whole")

    def __init__(self) -> None:
        self._whole: dict[int, TraceEvent] = {}
        self._lasting: dict[int, tuple[int, int]] = {}
        self._numbers = array("Q")  # of frequent events, with their causes and senders
        self._causes = array("Q")
        self._senders = array("i")
        self._names: list[str | None] = [None]
        self._numbers_of: dict[str | None, int] = {None: 0}

    def __len__(self) -> int:
        """Return the number of links that are kept."""
        return len(self._lasting) + len(self._numbers)

    def note(self, event: TraceEvent) -> None:
        """Keep the link of an event that can be a cause."""
        kind = event.kind
        sender = 0
        if kind in _REQUESTS:
            name = (event.payload or {}).get("from") if kind is _RECEIVED else event.host
            known = self._numbers_of.get(name)
            if known is None:
                known = self._numbers_of[name] = len(self._names)
                self._names.append(name)
            sender = known + 1 if kind is _RECEIVED else -known - 1
        if kind in _FLEETING or (kind in _MESSAGES and event.api not in _LASTING):
            self._numbers.append(event.seq)
            self._causes.append(event.cause)
            self._senders.append(sender)
            if len(self._numbers) >= 2 * LINKS:
                for column in (self._numbers, self._causes, self._senders):
                    del column[:LINKS]
            return
        self._lasting[event.seq] = event.cause, sender
        if kind in _WHOLE:
            self._whole[event.seq] = event

    def nearest(self, event: TraceEvent | None, kind: Kind) -> TraceEvent | None:
        """Return the event, or the nearest of its causes, that is a step or a failed process (`kind`)."""
        if event is None or event.kind is kind:
            return event
        number = event.cause
        for _ in range(_DEEPEST - 1):
            found = self._whole.get(number)
            if found is not None and found.kind is kind:
                return found
            number, _sender = self._link(number)
        return None

    def sender(self, event: TraceEvent) -> str | None:
        """Return the sender of the nearest request among the causes of an event, noted at client or broker."""
        number = event.cause
        for _ in range(_DEEPEST - 1):
            number, sender = self._link(number)
            if sender:
                return self._names[abs(sender) - 1]
        return None

    def received_from(self, event: TraceEvent) -> str | None:
        """Return the sender of the nearest request among the causes that a broker received; None if not known."""
        number = event.cause
        while number:
            number, sender = self._link(number)
            if sender > 1:
                return self._names[sender - 1]
        return None

    def _link(self, number: int) -> tuple[int, int]:
        """Return the cause of an event and, of a request, its sender; negative if the client noted it."""
        known = self._lasting.get(number)
        if known is not None:
            return known
        place = bisect_left(self._numbers, number)
        if place < len(self._numbers) and self._numbers[place] == number:
            return self._causes[place], self._senders[place]
        return 0, 0
