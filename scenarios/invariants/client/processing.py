"""What is processed, and what an application hears of its commits: D1 and D6.

Source: consumer-protocol reference, 3.3.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.client.heartbeats import PROCESS_ENDS

_Place: TypeAlias = tuple[str, str]
"""A group and a partition."""


class _Done:
    """The offsets of a partition that are accounted for, as sorted ranges, from the first position on."""

    __slots__ = ("begin", "later", "until")

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.until = begin  # everything from `begin` up to here is accounted for
        self.later: list[tuple[int, int]] = []

    def add(self, begin: int, end: int) -> None:
        """Account for [begin, end)."""
        if begin > self.until:
            self.later.append((begin, end))
            return
        self.until = max(self.until, end)
        if self.later:
            self.later.sort()
            while self.later and self.later[0][0] <= self.until:
                self.until = max(self.until, self.later.pop(0)[1])


class EveryRecordProcessed(Checker):
    """D1. What is below a committed offset is read by no one any more, unless it is set back."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.POSITION_SET, Kind.RECORDS_DELIVERED, Kind.RECORDS_PROCESSED, Kind.OFFSETS_COMMITTED}
        | {Kind.RECORDS_APPENDED, Kind.LOG_TRUNCATED, Kind.LOG_DELETED, Kind.LOG_COMPACTED, Kind.METADATA_CHANGED}
    )

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._done: dict[_Place, _Done] = {}
        self._committed: dict[_Place, TraceEvent] = {}
        self._next: dict[tuple[str, _Place], int] = {}  # process, partition → its next offset
        self._left_out: dict[str, None] = {}  # partitions with markers of transactions, or whose log lost records

    def event(self, event: TraceEvent) -> Found:
        """Account for offsets that are processed, that are none, or that a reset skips."""
        kind, payload, partition = event.kind, event.payload or {}, f"{event.topic}-{event.partition}"
        if kind is Kind.OFFSETS_COMMITTED:
            for one in payload.get("offsets", {}):
                self._committed[event.group or "", one] = event
            return ()
        if kind is Kind.RECORDS_APPENDED:
            if "transaction" in payload:
                self._left_out[partition] = None
        elif kind is Kind.METADATA_CHANGED:
            if payload.get("partitions") == 0 or (payload.get("before") or 0) > (payload.get("partitions") or 0):
                self._left_out.update((f"{event.topic}-{n}", None) for n in range(int(payload.get("before") or 0)))
        elif kind in (Kind.LOG_TRUNCATED, Kind.LOG_DELETED, Kind.LOG_COMPACTED):
            self._left_out[partition] = None
        else:
            self._read(event, (event.group or "", partition))
        return ()

    def _read(self, event: TraceEvent, place: _Place) -> None:
        payload, host = event.payload or {}, event.host or ""
        if event.kind is Kind.POSITION_SET:
            at = int(payload["offset"])
            done = self._done.setdefault(place, _Done(at))
            if event.reason != "committed" and at > done.until:
                done.add(done.until, at)
            self._next[host, place] = at
            return
        base, end = int(payload["base"]), int(payload["base"]) + int(payload["count"])
        if event.kind is Kind.RECORDS_PROCESSED:
            self._done.setdefault(place, _Done(base)).add(base, end)
        else:
            following = self._next.get((host, place))
            if following is not None and base > following:  # offsets without a record
                self._done.setdefault(place, _Done(following)).add(following, base)
            self._next[host, place] = end

    def end(self, t_us: int, seq: int) -> Found:
        """Compare the committed offsets with what is accounted for."""
        for place, event in self._committed.items():
            done, offset = self._done.get(place), int((event.payload or {})["offsets"][place[1]])
            if done is None or place[1] in self._left_out or offset <= done.until:
                continue
            what = f"offset {offset} is committed, and from {done.until} on records are not processed"
            yield self.in_trace(event, what, group=place[0], partitions=(place[1],))


class RefusedCommitIsSeen(Checker):
    """D6. A client may commit again before it reports the error. The commit of a scenario's step has no application."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.RESPONSE_RECEIVED, Kind.REQUEST_SENT, Kind.OFFSETS_COMMITTED, Kind.COMMIT_FAILED, *PROCESS_ENDS}
    )
    SLACK_US = 10_000_000

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._refused: dict[str, TraceEvent] = {}
        self._steps: dict[str, None] = {}  # senders of commits that are a step of the scenario

    def event(self, event: TraceEvent) -> Found:
        """Follow the refused commit of a process until it is reported or tried again."""
        kind, host = event.kind, event.host or ""
        if kind is Kind.RESPONSE_RECEIVED:
            if event.api == "OffsetCommit" and event.error and host not in self._steps:
                self._refused[host] = event
        elif kind is Kind.REQUEST_SENT:
            if event.api == "OffsetCommit":
                self._refused.pop(host, None)
                if (event.payload or {}).get("by_hand"):
                    self._steps[host] = None
        elif kind is Kind.OFFSETS_COMMITTED:
            refused = self._refused.get(host)
            if refused is not None and event.cause == refused.seq:
                what = f"{host} takes a commit as done that was answered {refused.error}"
                yield self.in_trace(event, what, partitions=tuple((event.payload or {}).get("offsets", ())))
        else:
            self._refused.pop(host, None)

    def end(self, t_us: int, seq: int) -> Found:
        """Look for refused commits of which no application has heard."""
        for host, event in self._refused.items():
            if t_us - event.t_us > self.SLACK_US:
                yield self.in_trace(event, f"a commit of {host} was answered {event.error}, and no error was reported")
