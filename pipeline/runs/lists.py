"""Tables that only list what events say: commits, callbacks, the states of groups, the trace itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.sinks import COLUMNS, plain, to_json
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story import Story
from groupsim.scenarios.story.rebalances.copies import Copies

Row = tuple[Any, ...]
By = Mapping[Kind, Sequence[TraceEvent]]

_in_order = attrgetter("seq")
UNLOADED = "Unloaded"


def in_order(by_kind: By, *kinds: Kind) -> Iterable[TraceEvent]:
    """The events of several kinds, as they happened."""
    return sorted(chain.from_iterable(by_kind[kind] for kind in kinds), key=_in_order)  # a merge: each is sorted


# --- commits ------------------------------------------------------------------------------------------------------


def commits(by_kind: By) -> Iterator[Row]:
    """How often a process committed with which result, in the order of the first of each."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for event in in_order(by_kind, Kind.OFFSETS_COMMITTED, Kind.COMMIT_FAILED):
        auto = bool((event.payload or {}).get("auto"))
        error = None if event.kind is Kind.OFFSETS_COMMITTED else event.error or "?"
        counts[event.group, event.host or "?", auto, error] += 1
    return ((*key, count) for key, count in counts.items())


def commits_of_hosts(by_kind: By) -> Counter[str]:
    """How many commits of each process succeeded."""
    return Counter(event.host or "?" for event in by_kind[Kind.OFFSETS_COMMITTED])


def last_commits(by_kind: By) -> dict[tuple[str, TopicPartition], int]:
    """The last offset that was committed, by group and partition."""
    found: dict[tuple[str, str], int] = {}
    for event in by_kind[Kind.OFFSETS_COMMITTED]:
        for name, offset in (event.payload or {}).get("offsets", {}).items():
            found[event.group or "?", name] = offset
    return {(group, _partition(name)): offset for (group, name), offset in found.items()}


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


# --- callbacks ----------------------------------------------------------------------------------------------------


def callbacks(by_kind: By, _: Story) -> Iterator[Row]:
    """Calls of rebalance listeners; a process that died in one never ended it."""
    ends = {event.span: event for event in by_kind[Kind.CALLBACK_ENDED]}
    for begun in by_kind[Kind.CALLBACK_BEGUN]:
        end = ends.get(begun.span)
        count = len((begun.payload or {}).get("partitions", ()))
        over = (end.t_us, end.error) if end else (None, None)
        yield (begun.group, begun.host or "?", begun.reason or "?", count, begun.t_us, *over)


# --- states -------------------------------------------------------------------------------------------------------


def states(by_kind: By, story: Story) -> Iterator[Row]:
    """Stretches in which a group was in one state; those of one group follow each other without a gap."""
    kinds = (Kind.GROUP_STATE, Kind.GROUP_LOADED, Kind.GROUP_UNLOADED)
    current: dict[str, TraceEvent] = {}
    found: list[tuple[int, Row]] = []
    for event in filter(Copies().counts, in_order(by_kind, *kinds)):
        before = current.get(event.group or "?")
        if before is not None:
            found.append((before.seq, _stretch(before, event.t_us)))
        current[event.group or "?"] = event
    found += ((event.seq, _stretch(event, story.end_us)) for event in current.values())
    return (row for _, row in sorted(found, key=lambda item: item[0]))


def _stretch(event: TraceEvent, until_us: int) -> Row:
    return (event.group or "?", _state(event), event.generation or 0, event.t_us, until_us, event.reason)


def _state(event: TraceEvent) -> str:
    """The state after an event; a group that was loaded goes on where the log has it."""
    if event.kind is Kind.GROUP_UNLOADED:
        return UNLOADED
    if event.kind is Kind.GROUP_LOADED:
        return "Stable" if (event.payload or {}).get("members") else "Empty"
    return event.to or "?"


# --- the trace ----------------------------------------------------------------------------------------------------

_values = attrgetter(*COLUMNS.values())


def traces(events: Iterable[TraceEvent]) -> Iterator[Row]:
    """Every event as it stands in a Parquet trace (`sinks.PARQUET` has the names of the columns)."""
    for event in events:
        *columns, payload = _values(event)
        columns[2] = event.kind.value
        yield (*columns, None if payload is None else to_json(plain(payload)))
