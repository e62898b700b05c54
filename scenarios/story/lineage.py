"""What brought an event about: links of cause and effect in place of whole events.

A story follows causes from a change of a group back to the step behind it. Steps and failures are kept whole; every
other event that can be a cause leaves a link, its number and that of its cause, and a request also who sent it. Links
of what goes on all the time (messages of the steady work, timers) are kept for the last `LINKS` such events: a chain
that leads further back through them ends there. So a run that goes on for days without a change takes no more memory.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

from groupsim.eventloop.trace.events import Kind, TraceEvent

LINKS = 500_000
_DEEPEST = 200  # links that are followed
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
"""Frequent kinds that never bring anything about."""


class Lineage:
    """The links of one trace, whose events come in the order of their numbers."""

    __slots__ = ("_causes", "_lasting", "_names", "_numbers", "_numbers_of", "_senders", "_whole")

    def __init__(self) -> None:
        self._whole: dict[int, TraceEvent] = {}
        self._lasting: dict[int, tuple[int, int]] = {}
        self._numbers = array("Q")  # of the fleeting ones, with cause and sender
        self._causes = array("Q")
        self._senders = array("i")
        self._names: list[str | None] = [None]
        self._numbers_of: dict[str | None, int] = {None: 0}

    def __len__(self) -> int:
        """How many links are kept."""
        return len(self._lasting) + len(self._numbers)

    def note(self, event: TraceEvent) -> None:
        """Keep the link of an event that may be a cause."""
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
        """The nearest step, or failed process, among the event and those that brought it about."""
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
        """The host that sent the nearest request behind an event, whether it was noted there or at the broker."""
        number = event.cause
        for _ in range(_DEEPEST - 1):
            number, sender = self._link(number)
            if sender:
                return self._names[abs(sender) - 1]
        return None

    def received_from(self, event: TraceEvent) -> str | None:
        """The host that sent the nearest request that a broker received before an event, where that is known."""
        number = event.cause
        while number:
            number, sender = self._link(number)
            if sender > 1:
                return self._names[sender - 1]
        return None

    def _link(self, number: int) -> tuple[int, int]:
        """The cause of an event, and of a request its sender: below zero where its client noted it."""
        known = self._lasting.get(number)
        if known is not None:
            return known
        place = bisect_left(self._numbers, number)
        if place < len(self._numbers) and self._numbers[place] == number:
            return self._causes[place], self._senders[place]
        return 0, 0
