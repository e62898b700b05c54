"""The lists of a trace for the tables of a run, event by event: commits, callbacks, states, messages, the trace itself.

Only what changes with the group is kept as events. Commits, of which there are many, are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Any

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.sinks import COLUMNS, plain, to_json
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story import Story
from groupsim.scenarios.story.rebalances.copies import Copies

Row = tuple[Any, ...]

_in_order = attrgetter("seq")
_values = attrgetter(*COLUMNS.values())
UNLOADED = "Unloaded"
APIS = frozenset({"JoinGroup", "SyncGroup", "LeaveGroup", "Heartbeat"})
"""The group protocol's requests: no others are in the table of messages."""
MESSAGES = frozenset(
    {
        Kind.REQUEST_SENT,
        Kind.REQUEST_RECEIVED,
        Kind.REQUEST_PARKED,
        Kind.RESPONSE_SENT,
        Kind.RESPONSE_RECEIVED,
        Kind.REQUEST_FAILED,
    }
)
STATES = (Kind.GROUP_STATE, Kind.GROUP_CONVERTED, Kind.GROUP_LOADED, Kind.GROUP_UNLOADED)
_OTHERS = (Kind.CALLBACK_BEGUN, Kind.CALLBACK_ENDED, Kind.ASSIGNMENT_COMPUTED)
_COMMITS = frozenset({Kind.OFFSETS_COMMITTED, Kind.COMMIT_FAILED})


class Lists:
    """A sink of one run, or of the given events. `events` is their number, `trace` their rows if requested."""

    def __init__(self, events: Iterable[TraceEvent] = (), *, traces: bool = False) -> None:
        self.events = 0
        self.trace: list[Row] = []
        self.commits: Counter[Row] = Counter()  # by group, process, whether it was automatic, and error
        self._offsets: dict[tuple[str, str], int] = {}
        self._by_kind: dict[Kind, list[TraceEvent]] = {kind: [] for kind in (*MESSAGES, *STATES, *_OTHERS)}
        self._traces = traces
        for event in events:
            self(event)

    def __call__(self, event: TraceEvent) -> None:
        self.events = event.seq
        kept = self._by_kind.get(event.kind)
        if kept is not None:
            if event.api in APIS or event.kind not in MESSAGES:
                kept.append(event)
        elif event.kind in _COMMITS:
            self._commit(event)
        if self._traces:
            self.trace.append(_as_listed(event))

    def close(self) -> None:
        """Do nothing."""

    abort = close

    def _commit(self, event: TraceEvent) -> None:
        payload = event.payload or {}
        error = None if event.kind is Kind.OFFSETS_COMMITTED else event.error or "?"
        self.commits[event.group, event.host or "?", bool(payload.get("auto")), error] += 1
        if error is None:
            for name, offset in payload.get("offsets", {}).items():
                self._offsets[event.group or "?", name] = offset

    def commits_of_hosts(self) -> Counter[str]:
        """Return the number of successful commits of each process."""
        found: Counter[str] = Counter()
        for (_, host, _, error), count in self.commits.items():
            found[host] += count if error is None else 0
        return found

    def last_commits(self) -> dict[tuple[str, TopicPartition], int]:
        """Return the last committed offset, by group and partition."""
        return {(group, TopicPartition.parse(name)): offset for (group, name), offset in self._offsets.items()}

    def callbacks(self) -> Iterator[Row]:
        """Return calls of rebalance listeners; a call in which the process died has no end."""
        ends = {event.span: event for event in self.of(Kind.CALLBACK_ENDED)}
        for begun in self.of(Kind.CALLBACK_BEGUN):
            end = ends.get(begun.span)
            count = len((begun.payload or {}).get("partitions", ()))
            over = (end.t_us, end.error) if end else (None, None)
            yield (begun.group, begun.host or "?", begun.reason or "?", count, begun.t_us, *over)

    def states(self, story: Story) -> Iterator[Row]:
        """Return the stretches of time in one state; those of one group follow each other without a gap."""
        current: dict[str, TraceEvent] = {}
        found: list[tuple[int, Row]] = []
        for event in filter(Copies().counts, self.of(*STATES)):
            before = current.get(event.group or "?")
            if before is not None:
                found.append((before.seq, _stretch(before, event.t_us)))
            current[event.group or "?"] = event
        found += ((event.seq, _stretch(event, story.end_us)) for event in current.values())
        return (row for _, row in sorted(found, key=lambda item: item[0]))

    def of(self, *kinds: Kind) -> list[TraceEvent]:
        """Return the stored events of some kinds, in their order."""
        return sorted(chain.from_iterable(self._by_kind[kind] for kind in kinds), key=_in_order)  # a merge


def _stretch(event: TraceEvent, until_us: int) -> Row:
    return (event.group or "?", _state(event), event.generation or 0, event.t_us, until_us, event.reason)


def _state(event: TraceEvent) -> str:
    """Return the state after an event; a loaded group continues in the state of the log."""
    if event.kind is Kind.GROUP_UNLOADED:
        return UNLOADED
    if event.kind is Kind.GROUP_LOADED:
        return "Stable" if (event.payload or {}).get("members") else "Empty"
    if event.kind is Kind.GROUP_CONVERTED:
        return str((event.payload or {}).get("state", "?"))
    return event.to or "?"


def _as_listed(event: TraceEvent) -> Row:
    """Return an event in the form of a Parquet trace (`sinks.PARQUET` has the names of the columns)."""
    *columns, payload = _values(event)
    columns[2] = event.kind.value
    return (*columns, None if payload is None else to_json(plain(payload)))
