"""A finished run as expectations see it: its events, its story, and a few indices over both.

Counts that the headline shows (rebalances, moves, stop time, duplicates) come from the story, so that an expectation
and the headline cannot disagree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from attrs import frozen

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.language.values import END
from groupsim.scenarios.story import tell
from groupsim.scenarios.story.model import GroupStory, Span, Story
from groupsim.scenarios.story.rebalances.copies import Copies, as_loaded
from groupsim.scenarios.story.records.lag_course import LagCourse


@frozen
class StateChange:
    """A group's state from an instant on."""

    t_us: int
    seq: int
    state: str
    generation: int


class Evidence:
    """The trace of one run, indexed."""

    def __init__(self, events: Sequence[TraceEvent]) -> None:
        self.events = events
        self.story: Story = tell(events)
        self.end_us = events[-1].t_us if events else 0
        self._groups = {group.group: group for group in self.story.groups}
        self._hosts = _hosts_of(events)
        self._states = _states_of(events)
        self._facts: Mapping[str, Any] = next((e.payload or {} for e in events if e.kind is Kind.RUN_STARTED), {})
        self._topics = _topic_sizes(events, self._facts)

    @cached_property
    def lag_course(self) -> LagCourse:
        """The lag at any instant."""
        return LagCourse(self.events)

    @cached_property
    def tells_log_ends(self) -> bool:
        """Whether the trace says where the logs end."""
        return any(event.kind is Kind.LOG_ENDS for event in self.events)

    def moment(self, at_us: int) -> int:
        """An instant of the run; `end` is its last."""
        return self.end_us if at_us >= END else at_us

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of the scenario, by name."""
        return tuple(self._facts.get("groups", self._groups))

    def group(self, name: str | None) -> GroupStory:
        """The story of a group; of the only one, when none is named."""
        wanted = self.only(name)
        return self._groups.get(wanted) or _silent(wanted)

    def only(self, name: str | None) -> str:
        """The name given, or that of the only group."""
        return name if name is not None else (self.groups or ("?",))[0]

    def host_of(self, member_id: str | None) -> str | None:
        """The process that held a member id."""
        return self._hosts.get(member_id or "")

    def is_about(self, event: TraceEvent, process: str) -> bool:
        """Whether an event is this process's own, or carries a member id that it held."""
        return event.host == process or self._hosts.get(event.member or "") == process

    def states(self, group: str) -> Sequence[StateChange]:
        """The group's state changes, in order."""
        return self._states.get(group, ())

    def state_at(self, group: str, at_us: int) -> StateChange | None:
        """The state at an instant, after everything that falls on it; None before the first."""
        changes = self.states(group)
        index = bisect_right(changes, self.moment(at_us), key=lambda change: change.t_us)
        return changes[index - 1] if index else None

    def spans(self, group: str | None = None) -> Iterable[Span]:
        """Who owned what, in one group or in all."""
        stories = self.story.groups if group is None else (self.group(group),)
        return (span for story in stories for span in story.spans)

    def owners(self, partition: TopicPartition, at_us: int, group: str) -> tuple[Span, ...]:
        """Who owns a partition at an instant, after everything that falls on it."""
        at = self.moment(at_us)
        return tuple(s for s in self.spans(group) if s.partition == partition and _covers(s, at))

    def assignment(self, at_us: int, group: str) -> dict[str, tuple[TopicPartition, ...]]:
        """What each process owns at an instant."""
        at = self.moment(at_us)
        owned: dict[str, list[TopicPartition]] = {}
        for span in self.spans(group):
            if _covers(span, at):
                owned.setdefault(span.host, []).append(span.partition)
        return {host: tuple(sorted(set(partitions))) for host, partitions in sorted(owned.items())}

    def partitions(self, group: str, at_us: int) -> tuple[TopicPartition, ...]:
        """The partitions a group should own at an instant: of every topic its members subscribe to."""
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
        for event in self.events:
            if event.t_us > at:
                break
            if event.group != group or event.kind not in _OF_COPIES or not copies.counts(event):
                continue
            if event.kind is Kind.GROUP_LOADED:
                members = dict.fromkeys(as_loaded(members, settled, (event.payload or {}).get("members")))
            elif event.kind is Kind.GROUP_STATE and event.to in ("Stable", "Empty"):
                settled.append(tuple(members))
            else:
                _apply_membership(members, event)
        return tuple(members)


def _silent(name: str) -> GroupStory:
    """A group nobody ever joined."""
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


def _hosts_of(events: Sequence[TraceEvent]) -> dict[str, str]:
    """Member id → process, from the client's own events and from what the coordinator noted at the join."""
    clients = {e.host for e in events if e.kind is Kind.PROCESS_STARTED and e.host}
    by_seq = {event.seq: event for event in events}
    found: dict[str, str] = {}
    for event in events:
        if event.member and event.member not in found:
            host = event.host if event.host in clients else _joiner(event, by_seq)
            if host in clients:
                found[event.member] = host
    return found


_JOINS = (Kind.MEMBER_ADDED, Kind.MEMBER_PENDING, Kind.MEMBER_REPLACED)


def _joiner(event: TraceEvent, by_seq: Mapping[int, TraceEvent]) -> str | None:
    """Whose join it was: as the coordinator noted it, else whoever sent the request behind it."""
    if event.kind not in _JOINS:
        return None
    noted = (event.payload or {}).get("client_host")
    cause: TraceEvent | None = event
    while noted is None and cause is not None:
        cause = by_seq.get(cause.cause)
        if cause is not None and cause.kind is Kind.REQUEST_RECEIVED:
            noted = (cause.payload or {}).get("from")
    return str(noted).lstrip("/") if noted is not None else None


_STATES = (Kind.GROUP_STATE, Kind.GROUP_LOADED, Kind.GROUP_UNLOADED)
_OF_COPIES = (*_STATES, Kind.MEMBER_ADDED, Kind.MEMBER_REMOVED, Kind.MEMBER_REPLACED)


def _states_of(events: Iterable[TraceEvent]) -> dict[str, list[StateChange]]:
    found: dict[str, list[StateChange]] = {}
    copies = Copies()
    for event in events:
        if event.group and event.kind in _STATES and copies.counts(event) and (state := _state_after(event)):
            change = StateChange(event.t_us, event.seq, state, event.generation or 0)
            found.setdefault(event.group, []).append(change)
    return found


def _state_after(event: TraceEvent) -> str | None:
    """The state a group is in after an event; a group that was loaded goes on where the log has it."""
    if event.kind is Kind.GROUP_LOADED:
        return "Stable" if (event.payload or {}).get("members") else "Empty"
    return event.to if event.kind is Kind.GROUP_STATE else None


def _topic_sizes(events: Iterable[TraceEvent], facts: Mapping[str, Any]) -> list[tuple[int, str, int]]:
    """(since when, topic, number of partitions), oldest first."""
    sizes = [(0, topic, int(count)) for topic, count in facts.get("topics", {}).items()]
    changes = (event for event in events if event.kind is Kind.METADATA_CHANGED and event.topic)
    sizes += [(e.t_us, e.topic or "", int((e.payload or {}).get("partitions") or 0)) for e in changes]
    return sizes


def _apply_membership(members: dict[str, None], event: TraceEvent) -> None:
    member = event.member or ""
    if event.kind is Kind.MEMBER_ADDED:
        members[member] = None
    elif event.kind is Kind.MEMBER_REMOVED:
        members.pop(member, None)
    elif event.kind is Kind.MEMBER_REPLACED:
        members.pop(str((event.payload or {}).get("old")), None)
        members[member] = None
