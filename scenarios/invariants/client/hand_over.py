"""What a partition's next owner begins with, after a clean hand-over and after a crash: D4, D5 and D7.

Source: consumer-protocol reference, 3.3.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.values import define
from groupsim.scenarios.invariants.checker import Checker, Found

_Place: TypeAlias = tuple[str, str]
"""A group and a partition."""

_LOGS = (Kind.LOG_TRUNCATED, Kind.LOG_DELETED, Kind.METADATA_CHANGED, Kind.OFFSET_EXPIRED)
_OF_OWNER = (Kind.POSITION_SET, Kind.RECORDS_DELIVERED, Kind.RECORDS_PROCESSED, Kind.PARTITION_RELEASED)


@define
class _ReadSoFar:
    """One process that reads a partition: its first position, its next one, and the end of what it has processed."""

    begin: int
    position: int
    processed: int


class _Positions(Checker):
    """The readers of partitions, and the committed offsets of groups."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {*_OF_OWNER, *_LOGS, Kind.OFFSETS_COMMITTED, Kind.ACTION, Kind.PARTITION_LEADER}
    )

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.readers: dict[tuple[str, _Place], _ReadSoFar] = {}
        self.committed: dict[_Place, int] = {}

    def event(self, event: TraceEvent) -> Found:
        """Follow positions and committed offsets."""
        kind, payload, host = event.kind, event.payload or {}, event.host or ""
        if kind is Kind.OFFSETS_COMMITTED:
            for partition, offset in payload.get("offsets", {}).items():
                self.committed[event.group or "", partition] = int(offset)
                self.commits(event, (event.group or "", partition))
            return
        if kind is Kind.ACTION:
            if "offset" in str(payload.get("do")) or "offset" in str(payload.get("request")).lower():
                self.lose(None)
            return
        if kind in _LOGS:
            self.lose(event)
            return
        if kind is Kind.PARTITION_LEADER:
            if event.reason == "unclean":  # acknowledged commits and records may be lost
                self.committed.clear()
                self.lose(None)
            return
        place = (event.group or "", f"{event.topic}-{event.partition}")
        reader = self.readers.get((host, place))
        if kind is Kind.POSITION_SET:
            at = int(payload["offset"])
            yield from self.begins(event, place, at)
            self.readers[host, place] = _ReadSoFar(at, at, at)
        elif reader is None:
            return
        elif kind is Kind.PARTITION_RELEASED:
            del self.readers[host, place]
            self.ends(event, place, reader)
        elif kind is Kind.RECORDS_DELIVERED:
            yield from self.delivers(event, place, reader)
            reader.position = int(payload["base"]) + int(payload["count"])
        else:
            reader.processed = max(reader.processed, int(payload["base"]) + int(payload["count"]))

    def commits(self, event: TraceEvent, place: _Place) -> None:
        """Read a commit."""

    def lose(self, event: TraceEvent | None) -> None:
        """Read that a log or the offsets of a group were changed from outside; None: any of them."""

    def begins(self, event: TraceEvent, place: _Place, at: int) -> Found:
        """Read that a process begins to read a partition, or goes on elsewhere."""
        return ()

    def ends(self, event: TraceEvent, place: _Place, reader: _ReadSoFar) -> None:
        """Read that a process gives a partition up."""

    def delivers(self, event: TraceEvent, place: _Place, reader: _ReadSoFar) -> Found:
        """Read a delivery, before the position moves."""
        return ()


def _is_about(event: TraceEvent | None, place: _Place) -> bool:
    """Whether a change of a log or of offsets is about a partition."""
    if event is None or event.topic is None:
        return True
    topic, _, number = place[1].rpartition("-")
    return topic == event.topic and event.partition in (None, int(number))


class HandOverKeepsPosition(_Positions):
    """D4."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._clean: dict[_Place, tuple[int, str]] = {}  # the position that was committed as it was given up, by whom

    def commits(self, event: TraceEvent, place: _Place) -> None:
        """A later commit moves the position."""
        self._clean.pop(place, None)

    def lose(self, event: TraceEvent | None) -> None:
        """Nothing is compared across a change from outside."""
        for place in [one for one in self._clean if _is_about(event, one)]:
            del self._clean[place]

    def ends(self, event: TraceEvent, place: _Place, reader: _ReadSoFar) -> None:
        """Note a position that was committed."""
        self._clean.pop(place, None)
        if event.reason == "revoked" and self.committed.get(place) == reader.position:
            self._clean[place] = (reader.position, event.host or "")

    def begins(self, event: TraceEvent, place: _Place, at: int) -> Found:
        """Compare the first position of the next owner."""
        known = self._clean.pop(place, None)
        if known is not None and at != known[0] and event.reason in ("committed", "reset"):
            what = f"{event.host} begins at offset {at}, {known[1]} gave up at {known[0]}, which was committed"
            yield self.in_trace(event, what, partitions=(place[1],))


class RepeatsOnlyUncommitted(_Positions):
    """D5."""

    KINDS: ClassVar[frozenset[Kind]] = _Positions.KINDS | {Kind.PROCESS_CRASHED}

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._open: dict[_Place, tuple[int, int]] = {}  # after a crash: the position then, and the committed offset

    def event(self, event: TraceEvent) -> Found:
        """Note what a process that is killed had read and not committed."""
        if event.kind is Kind.PROCESS_CRASHED:
            for host, place in [one for one in self.readers if one[0] == event.host]:
                reader, committed = self.readers.pop((host, place)), self.committed.get(place)
                if committed is not None and reader.begin <= committed <= reader.position:
                    self._open[place] = (reader.position, committed)
            return
        yield from super().event(event)

    def lose(self, event: TraceEvent | None) -> None:
        """Nothing is compared across a change from outside."""
        for place in [one for one in self._open if _is_about(event, one)]:
            del self._open[place]

    def begins(self, event: TraceEvent, place: _Place, at: int) -> Found:
        """Compare the first position of the next owner with what was committed."""
        known = self._open.pop(place, None)
        if known is not None and event.reason in ("committed", "reset") and at < known[1]:
            position, committed = known
            again, bound = position - at, position - committed
            what = f"{event.host} gets {again} records again after a crash, {bound} were not committed"
            yield self.in_trace(event, what, partitions=(place[1],))


class CloseCommitsPositions(_Positions):
    """D7, the part about a process that closes. D3 and L4 have the others."""

    KINDS: ClassVar[frozenset[Kind]] = _Positions.KINDS | {
        Kind.PROCESS_STARTED,
        Kind.PROCESS_STOPPED,
        Kind.CALLBACK_BEGUN,
        Kind.COMMIT_FAILED,
        Kind.REQUEST_FAILED,
    }

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._auto: dict[str, None] = {}  # processes that commit automatically, and did so last
        self._left: dict[str, dict[_Place, int]] = {}  # process → what it gave up last, and how far it had processed

    def event(self, event: TraceEvent) -> Found:
        """Compare the positions of a process that has closed with what is committed."""
        host = event.host or ""
        if event.kind is Kind.PROCESS_STOPPED:
            left = self._left.pop(host, {})
            if host in self._auto and event.reason == "closed":
                for place, processed in left.items():
                    committed = self.committed.get(place)
                    if committed is not None and committed < processed:
                        what = f"{host} has closed: it had processed up to offset {processed}, {committed} is committed"
                        yield self.in_trace(event, what, group=place[0], partitions=(place[1],))
        if event.kind in (Kind.PROCESS_STARTED, Kind.PROCESS_STOPPED, Kind.COMMIT_FAILED, Kind.REQUEST_FAILED):
            self._auto.pop(host, None)
        elif event.kind is Kind.CALLBACK_BEGUN:
            if event.reason == "assigned":
                self._left.pop(host, None)
        elif event.kind is Kind.OFFSETS_COMMITTED:
            if (event.payload or {}).get("auto"):
                self._auto[host] = None
            else:
                self._auto.pop(host, None)
        yield from super().event(event)

    def ends(self, event: TraceEvent, place: _Place, reader: _ReadSoFar) -> None:
        """Note how far the process had come."""
        self._left.setdefault(event.host or "", {})[place] = reader.processed
