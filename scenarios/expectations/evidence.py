"""The evidence for expectations: the story of a run, a few indices, and the events that checks watch.

Counts that the headline shows (rebalances, moves, stop time, duplicates) come from the story, so an expectation and the
headline cannot differ.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.registry import Check, Watch
from groupsim.scenarios.language.values import END
from groupsim.scenarios.story.builder import StoryBuilder, growth_of
from groupsim.scenarios.story.model import GroupStory, Span, Story
from groupsim.scenarios.story.rebalances.copies import Copies, as_loaded
from groupsim.scenarios.story.records.lag_history import LagHistory
from groupsim.scenarios.story.records.progress import Progress

PART = 1_024  # events that are read in one go


class Violated(Protocol):
    """The invariants that a run is checked for (`scenarios/invariants/watch.py` `Invariants`)."""

    def found(self) -> Sequence[Any]:
        """Return the first violation of each invariant so far, the earliest one first."""


@frozen
class StateChange:
    """The state of a group from an instant on."""

    t_us: int
    seq: int
    state: str
    generation: int


class Evidence:
    """The story of a run, and the data that its expectations need.

    `Evidence(events)` reads a whole trace. `Evidence.watching` is read in parts while the run goes, and keeps only the
    events that its checks watch.
    """

    def __init__(self, events: Iterable[TraceEvent] = (), builder: StoryBuilder | None = None) -> None:
        self.events: Sequence[TraceEvent] = events if isinstance(events, Sequence) else list(events)
        self.end_us = 0
        self.tells_log_ends = False
        #: The invariants that were checked while the run went; None when none were.
        self.invariants: Violated | None = None
        self._builder = builder or StoryBuilder(growth_of(self.events))
        self._watches: list[tuple[Check, Watch]] = []
        self._readers: dict[Kind, list[Watch]] = {}
        self._clients: set[str] = set()
        self._hosts: dict[str, str] = {}
        self._states = _States()
        self._facts: Mapping[str, Any] = {}
        self._topics: list[tuple[int, str, int]] = []  # time, topic, number of partitions from then on
        self._membership: list[TraceEvent] = []
        if builder is None:
            self.read(self.events)

    @classmethod
    def watching(cls, checks: Sequence[Check], builder: StoryBuilder) -> Evidence:
        """Make the evidence for a run that is about to begin, for these checks alone; `builder` makes its story."""
        instants = sorted({at_us for check in checks for at_us in check.lag_at()})
        builder.facts.ledgers.progress = Progress(instants) if instants else None
        evidence = cls((), builder)
        for check in checks:
            evidence._watch(check)
        return evidence

    def read(self, events: Sequence[TraceEvent]) -> None:
        """Read further events, in order. Looks up the causes of an event soon after it, before they are dropped."""
        for begin in range(0, len(events), PART):
            self._read(events[begin : begin + PART])

    def _read(self, events: Sequence[TraceEvent]) -> None:
        self._builder.read(events)
        hosts, index_of, watches_of = self._hosts, _INDEXED.get, self._readers.get
        for event in events:
            kind, member = event.kind, event.member
            if member and member not in hosts:
                self._learn(event)
            index = index_of(kind)
            if index is not None:
                index(self, event)
            for watch in watches_of(kind, ()):
                watch(event)
        self.end_us = events[-1].t_us

    @property
    def story(self) -> Story:
        """The story of the run, once it is over."""
        return self._builder.story

    @cached_property
    def _groups(self) -> dict[str, GroupStory]:
        return {group.group: group for group in self.story.groups}

    @cached_property
    def lag_history(self) -> LagHistory:
        """The lag at the instants that checks need."""
        return LagHistory.of(self.events) if self.events else LagHistory(self._builder.ended)

    def watched(self, check: Check) -> Any:
        """Return the result of a check's `watch` after all events."""
        for known, watch in self._watches:
            if known == check:
                return watch
        watch = self._watch(check)
        for event in self.events:
            if event.kind in watch.kinds:
                watch(event)
        return watch

    def _watch(self, check: Check) -> Any:
        watch = check.watch(self)
        if watch is not None:
            self._watches.append((check, watch))
            for kind in watch.kinds:
                self._readers.setdefault(kind, []).append(watch)
        return watch

    # --- indices -------------------------------------------------------------------------------------------------

    def _learn(self, event: TraceEvent) -> None:
        """Note the process of a member id, from the client's own events and from the coordinator's at its join."""
        host: str | None = event.host
        if host not in self._clients:
            host = self._joiner(event)
        if host is not None and host in self._clients and event.member:
            self._hosts[event.member] = host

    def _joiner(self, event: TraceEvent) -> str | None:
        """Return the process that joined: as the coordinator noted it, else the sender of the request behind it."""
        if event.kind not in _JOINS:
            return None
        noted = (event.payload or {}).get("client_host") or self._builder.facts.lineage.received_from(event)
        return str(noted).lstrip("/") if noted is not None else None

    def _begin(self, event: TraceEvent) -> None:
        self._facts = event.payload or {}
        self._topics[:0] = [(0, topic, int(count)) for topic, count in self._facts.get("topics", {}).items()]

    def _end(self, _: TraceEvent) -> None:
        self.tells_log_ends = True

    def _started(self, event: TraceEvent) -> None:
        if event.host:
            self._clients.add(event.host)
            if event.member and event.member not in self._hosts:
                self._learn(event)

    def _changed(self, event: TraceEvent) -> None:
        if event.topic:
            self._topics.append((event.t_us, event.topic, int((event.payload or {}).get("partitions") or 0)))

    def _state(self, event: TraceEvent) -> None:
        self._states.note(event)
        self._membership.append(event)

    def _member(self, event: TraceEvent) -> None:
        self._membership.append(event)

    def moment(self, at_us: int) -> int:
        """Return an instant of the run; for `end` its last one."""
        return self.end_us if at_us >= END else at_us

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of the scenario, by name."""
        named = self._facts.get("groups")
        return tuple(self._groups if named is None else named)

    def group(self, name: str | None) -> GroupStory:
        """Return the story of a group; of the only one if none is named."""
        wanted = self.only(name)
        return self._groups.get(wanted) or _silent(wanted)

    def only(self, name: str | None) -> str:
        """Return the given name, or that of the only group."""
        return name if name is not None else (self.groups or ("?",))[0]

    def host_of(self, member_id: str | None) -> str | None:
        """Return the process that had a member id; None if unknown."""
        return self._hosts.get(member_id or "")

    def is_about(self, event: TraceEvent, process: str) -> bool:
        """Return whether an event is this process's own, or has a member id of it."""
        return event.host == process or self._hosts.get(event.member or "") == process

    def states(self, group: str) -> Sequence[StateChange]:
        """Return the group's state changes, in order."""
        return self._states.found.get(group, ())

    def state_at(self, group: str, at_us: int) -> StateChange | None:
        """Return the state after all events of an instant; None before the first."""
        changes = self.states(group)
        index = bisect_right(changes, self.moment(at_us), key=lambda change: change.t_us)
        return changes[index - 1] if index else None

    def spans(self, group: str | None = None) -> Iterable[Span]:
        """Return the spans of ownership in one group, or in all."""
        stories = self.story.groups if group is None else (self.group(group),)
        return (span for story in stories for span in story.spans)

    def owners(self, partition: TopicPartition, at_us: int, group: str) -> tuple[Span, ...]:
        """Return the owners of a partition after all events of an instant."""
        at = self.moment(at_us)
        return tuple(s for s in self.spans(group) if s.partition == partition and _covers(s, at))

    def assignment(self, at_us: int, group: str) -> dict[str, tuple[TopicPartition, ...]]:
        """Return the partitions of each process at an instant."""
        at = self.moment(at_us)
        owned: dict[str, list[TopicPartition]] = {}
        for span in self.spans(group):
            if _covers(span, at):
                owned.setdefault(span.host, []).append(span.partition)
        return {host: tuple(sorted(set(partitions))) for host, partitions in sorted(owned.items())}

    def partitions(self, group: str, at_us: int) -> tuple[TopicPartition, ...]:
        """Return all partitions, at an instant, of the topics to which a group's members subscribe."""
        at = self.moment(at_us)
        known = (entry for entry in self._topics if entry[0] <= at)
        sizes = {topic: count for _, topic, count in known if self._subscribes(group, topic)}
        return tuple(TopicPartition(topic, p) for topic in sorted(sizes) for p in range(sizes[topic]))

    def _subscribes(self, group: str, topic: str) -> bool:
        declared = self._facts.get("groups", {}).get(group)
        if declared is not None and topic in declared:
            return True
        return any(span.partition.topic == topic for span in self.spans(group))

    def members_at(self, group: str, at_us: int) -> tuple[str, ...]:
        """Member ids the coordinator counts at an instant."""
        at = self.moment(at_us)
        members: dict[str, None] = {}
        settled: list[tuple[str, ...]] = []
        copies = Copies()
        for event in self._membership:
            if event.t_us > at:
                break
            if event.group != group or not copies.counts(event):
                continue
            if event.kind is Kind.GROUP_LOADED:
                members = dict.fromkeys(as_loaded(members, settled, (event.payload or {}).get("members")))
            elif _state_after(event) in ("Stable", "Empty"):
                settled.append(tuple(members))
            else:
                _apply_membership(members, event)
        return tuple(members)


def _silent(name: str) -> GroupStory:
    """Return the story of a group that no member ever joined."""
    return GroupStory(
        group=name,
        formed_us=None,
        generations=(),
        spans=(),
        standstills=(),
        overlaps=(),
        stopped_us=0,
        unserved_us=0,
        worst=None,
        delivered=0,
        duplicates=0,
        commits_failed=(),
    )


def _covers(span: Span, at_us: int) -> bool:
    return span.owned_us <= at_us and (span.released_us is None or span.released_us > at_us)


_JOINS = (Kind.MEMBER_ADDED, Kind.MEMBER_PENDING, Kind.MEMBER_REPLACED)
_INDEXED: dict[Kind, Callable[[Evidence, TraceEvent], None]] = {
    Kind.RUN_STARTED: Evidence._begin,
    Kind.LOG_ENDS: Evidence._end,
    Kind.PROCESS_STARTED: Evidence._started,
    Kind.METADATA_CHANGED: Evidence._changed,
    Kind.GROUP_STATE: Evidence._state,
    Kind.GROUP_CONVERTED: Evidence._state,
    Kind.GROUP_LOADED: Evidence._state,
    Kind.GROUP_UNLOADED: Evidence._state,
    Kind.MEMBER_ADDED: Evidence._member,
    Kind.MEMBER_REMOVED: Evidence._member,
    Kind.MEMBER_REPLACED: Evidence._member,
}


class _States:
    """The state changes of each group, in its current copy."""

    def __init__(self) -> None:
        self.found: dict[str, list[StateChange]] = {}
        self._copies = Copies()

    def note(self, event: TraceEvent) -> None:
        """Note that a group's state has changed, or that a broker has loaded or unloaded it."""
        if event.group and self._copies.counts(event) and (state := _state_after(event)):
            change = StateChange(event.t_us, event.seq, state, event.generation or 0)
            self.found.setdefault(event.group, []).append(change)


def _state_after(event: TraceEvent) -> str | None:
    """Return the state of a group after an event: of a loaded group, the state that the log has; None for no change."""
    if event.kind is Kind.GROUP_LOADED:
        return "Stable" if (event.payload or {}).get("members") else "Empty"
    if event.kind is Kind.GROUP_CONVERTED:
        return str((event.payload or {}).get("state"))
    return event.to if event.kind is Kind.GROUP_STATE else None


def _apply_membership(members: dict[str, None], event: TraceEvent) -> None:
    member = event.member or ""
    if event.kind is Kind.MEMBER_ADDED:
        members[member] = None
    elif event.kind is Kind.MEMBER_REMOVED:
        members.pop(member, None)
    elif event.kind is Kind.MEMBER_REPLACED:
        members.pop(str((event.payload or {}).get("old")), None)
        members[member] = None
