"""The last events of the trace, for readers of any speed.

A ring, bounded in events and in bytes, is between the run and its readers. Each reader has a position in it, and one
that falls behind the oldest event gets the number of lost events. The run never waits for a reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from typing import Any

from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.sinks import row, to_json
from groupsim.eventloop.units import MS_US
from groupsim.protocol.values import frozen

KEPT_EVENTS = 100_000
KEPT_BYTES = 128 << 20
_BARE_BYTES = 400  # an event without its texts: the tuple, its numbers and an empty payload
_VALUE_BYTES = 60  # a value in a payload, without its text
_CHUNK = 500
_LOOK_AGAIN_US = 20 * MS_US


@frozen
class Wanted:
    """The events for a reader: from a `seq` on, of some kinds, of a group; `last`: only so many of the stored ones."""

    from_: int = 1
    kinds: Collection[Kind] = ()
    group: str | None = None
    last: int | None = None

    def __contains__(self, event: TraceEvent) -> bool:
        if event.seq < self.from_ or (self.kinds and event.kind not in self.kinds):
            return False
        return self.group is None or event.group == self.group


class RecentEvents:
    """The ring. Subscribe it to the trace: `trace.subscribe(tail)`."""

    def __init__(self, loop: EventLoop, kept: int = KEPT_EVENTS, kept_bytes: int = KEPT_BYTES) -> None:
        """Store at most so many events, and so many bytes of memory, about; the last event always."""
        self._loop = loop
        self._kept = kept
        self._kept_bytes = kept_bytes
        self._ring: deque[TraceEvent] = deque()
        self._sizes: deque[int] = deque()  # of each of them
        self._bytes = 0
        self.last_seq = 0
        self.ended = False

    def __call__(self, event: TraceEvent) -> None:
        size = size_of(event)
        self._ring.append(event)
        self._sizes.append(size)
        self._bytes += size
        self.last_seq = event.seq
        while len(self._ring) > self._kept or (self._bytes > self._kept_bytes and len(self._ring) > 1):
            self._ring.popleft()
            self._bytes -= self._sizes.popleft()

    @property
    def first_seq(self) -> int:
        """The `seq` of the oldest stored event."""
        return self._ring[0].seq if self._ring else self.last_seq + 1

    def kept(self, wanted: Wanted) -> Iterator[TraceEvent]:
        """Return the stored events."""
        found = [event for event in self._ring if event in wanted]
        return iter(found if wanted.last is None else found[-wanted.last :] if wanted.last else [])

    def lines(self, wanted: Wanted, *, follow: bool) -> AsyncIterator[bytes]:
        """Return JSON Lines; with `follow` also later events, until the cluster stops.

        A gap is a line of its own: `{"lost": 12, "from": 1, "to": 12}`.
        """
        return self._lines(wanted, self.last_seq, follow=follow)

    async def _lines(self, wanted: Wanted, upto: int, *, follow: bool) -> AsyncIterator[bytes]:
        if wanted.last is not None or not follow:
            for chunk in _chunks(list(self.kept(wanted))):
                yield chunk
            place = upto + 1
        else:
            place = wanted.from_
        while follow and not self.ended:
            lost = self._lost(place)
            if lost and place > 1:
                yield _line({"lost": lost, "from": place, "to": place + lost - 1})
            place += lost
            events, place = self._next(place)
            chosen = [event for event in events if event in wanted]
            if chosen:
                yield b"".join(_line(row(event)) for event in chosen)
            elif not events:
                await self._loop.sleep(_LOOK_AGAIN_US)

    def _lost(self, place: int) -> int:
        return max(0, self.first_seq - place)

    def _next(self, place: int) -> tuple[list[TraceEvent], int]:
        """Return the next events from a position on, and the position after them."""
        behind = min(len(self._ring), self.last_seq - place + 1)
        if behind <= 0:
            return [], place
        start = len(self._ring) - behind
        events = [self._ring[index] for index in range(start, min(start + _CHUNK, len(self._ring)))]
        return events, events[-1].seq + 1


def size_of(event: TraceEvent) -> int:
    """Return about how many bytes of memory an event takes."""
    size = _BARE_BYTES + len(event.reason or "") + len(event.group or "") + len(event.member or "")
    return size + _size_of(event.payload) if event.payload else size


def _size_of(value: Any) -> int:
    kind = value.__class__
    if kind is str or kind is bytes:
        return _VALUE_BYTES + len(value)
    if kind is int or value is None:
        return _VALUE_BYTES
    if isinstance(value, Mapping):
        return _VALUE_BYTES + sum([len(name) + _size_of(part) for name, part in value.items()])
    if isinstance(value, list | tuple):
        return _VALUE_BYTES + sum([_size_of(part) for part in value])
    return _VALUE_BYTES


def _chunks(events: list[TraceEvent]) -> Iterator[bytes]:
    for start in range(0, len(events), _CHUNK):
        yield b"".join(_line(row(event)) for event in events[start : start + _CHUNK])


def _line(data: object) -> bytes:
    return to_json(data).encode() + b"\n"
