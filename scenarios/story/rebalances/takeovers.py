"""Fenced and returned brokers, new partition leaders, and how long a group had no coordinator.

The end of a broker has three times: the scenario's step, the end of its session at the controller, and the load of the
group at the next coordinator. A fail-over costs a group the time from the step to the load. Without a step that time is
not known and not printed.

    broker.fenced, broker.unfenced ── one line each
    partition.leader               ── one line for all partitions with a new leader in one instant
    group.loaded                   ── one line: the new coordinator, and how long the group had none

Only the first load after an election is a change of coordinator. A broker that starts again before its last session
(KIP-631) has ended also loads the groups that it led, from metadata that are about to change, and takes no connections.

Traces of clusters without a controller (`logs: counted`) have only `group.loaded`, and give no lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story.facts import Facts
from groupsim.scenarios.story.model import TakeOver, TimelineEntry
from groupsim.scenarios.story.words import count, listed, span

_OFFSETS = "__consumer_offsets"
_ENDS = ("crash-broker", "stop-broker")
_NO_LEADER = "-1"
_FEW = 3  # up to so many changes of coordinator get a line each
_CLOSE_US = 100_000  # changes of one broker within this share a line


def _changes(changes: Sequence[TakeOver]) -> Iterator[TimelineEntry]:
    """Yield one line for each change, or one for many changes to one broker within `_CLOSE_US`."""
    bunches: dict[str, list[list[TakeOver]]] = {}
    for change in changes:
        of_host = bunches.setdefault(change.host, [])
        if not of_host or change.t_us - of_host[-1][-1].t_us > _CLOSE_US:
            of_host.append([])
        of_host[-1].append(change)
    for bunch in (bunch for of_host in bunches.values() for bunch in of_host):
        yield from map(_line, bunch) if len(bunch) <= _FEW else (_joint_line(bunch),)


def _joint_line(bunch: Sequence[TakeOver]) -> TimelineEntry:
    words = f"coordinates {listed([change.group for change in bunch], 2)}"
    longest = max((change.without_us for change in bunch if change.without_us is not None), default=None)
    if longest is not None:
        words += f" after up to {span(longest)} without one"
    return TimelineEntry(bunch[0].t_us, words, bunch[0].host)


def _line(change: TakeOver) -> TimelineEntry:
    """Return the line of the timeline."""
    words = f"coordinates {change.group} ({count(change.members, 'member')}, generation {change.generation})"
    if change.without_us is not None:
        words += f" after {span(change.without_us)} without one"
    return TimelineEntry(change.t_us, words, change.host)


def take_overs(facts: Facts) -> tuple[TakeOver, ...]:
    """Return the first load of each group after each election, in order."""
    found: list[TakeOver] = []
    followed: dict[str | None, int] = {}  # group → the election that its last load followed
    for event in facts.brokers:
        elected = _election(facts, event) if event.kind is Kind.GROUP_LOADED else None
        if elected is not None and followed.get(event.group) != elected.seq:
            followed[event.group] = elected.seq
            found.append(_take_over(facts, event, elected))
    return tuple(found)


def _take_over(facts: Facts, loaded: TraceEvent, elected: TraceEvent) -> TakeOver:
    payload = loaded.payload or {}
    step = broker_stop(facts, elected)
    return TakeOver(
        loaded.t_us,
        loaded.group or "?",
        loaded.host or "?",
        int(payload.get("members", 0)),
        int(payload.get("generation", 0)),
        None if step is None else loaded.t_us - step.t_us,
    )


def _election(facts: Facts, loaded: TraceEvent) -> TraceEvent | None:
    """Return the election that made the broker of a load the leader of the group's partition; None for none."""
    before = (event for event in reversed(facts.brokers) if event.seq < loaded.seq)
    elections = (event for event in before if (event.kind, event.topic) == (Kind.PARTITION_LEADER, _OFFSETS))
    ours = (event for event in elections if loaded.partition in (None, event.partition))
    return next((event for event in ours if loaded.host == f"broker-{event.to}"), None)


def broker_stop(facts: Facts, change: TraceEvent) -> TraceEvent | None:
    """Return the step that stopped the leader before `change`; None if it is not certain."""
    ended = {"coordinator", change.from_}
    for step in reversed(facts.actions):
        payload = step.payload or {}
        if step.t_us <= change.t_us and payload.get("do") in _ENDS:
            meant = change.from_ == _NO_LEADER or str(payload.get("broker")) in ended
            return step if meant and not _elected_between(facts, step, change) else None
    return None


def _elected_between(facts: Facts, step: TraceEvent, change: TraceEvent) -> bool:
    """Return whether the partition got a leader between the step and `change`: then `change` replaces that leader."""
    return any(
        step.seq < event.seq < change.seq
        and event.kind is Kind.PARTITION_LEADER
        and (event.topic, event.partition) == (change.topic, change.partition)
        and event.to not in (None, _NO_LEADER)
        for event in facts.brokers
    )


def timeline_entries(facts: Facts, changes: Sequence[TakeOver]) -> tuple[TimelineEntry, ...]:
    """Return the lines of the timeline, in order."""
    if not any(event.kind is Kind.PARTITION_LEADER for event in facts.brokers):
        return ()
    lines = [*_lives(facts), *_elections(facts), *_changes(changes)]
    return tuple(sorted(lines, key=lambda line: line.t_us))


def _lives(facts: Facts) -> Iterator[TimelineEntry]:
    for event in facts.brokers:
        node = (event.payload or {}).get("node")
        if event.kind is Kind.BROKER_FENCED:
            yield TimelineEntry(event.t_us, f"broker-{node} is fenced ({event.reason})", event.host)
        elif event.kind is Kind.BROKER_UNFENCED and event.t_us:
            yield TimelineEntry(event.t_us, f"broker-{node} is unfenced", event.host)


def _elections(facts: Facts) -> Iterator[TimelineEntry]:
    """Yield one line for each instant, old leader and manner; a created topic is no change of leader."""
    moved: dict[tuple[int, str, str, str], Counter[str]] = {}
    last: dict[tuple[str | None, int | None], str | None] = {}  # the last leader of partitions without one
    for event in facts.brokers:
        if event.kind is not Kind.PARTITION_LEADER:
            continue
        partition = (event.topic, event.partition)
        if event.reason != "created":
            key = (event.t_us, event.host or "?", event.from_ or _NO_LEADER, _manner(event, last.get(partition)))
            moved.setdefault(key, Counter())[event.topic or "?"] += 1
        if event.from_ not in (None, _NO_LEADER):
            last[partition] = event.from_
    for (at_us, host, old, how), topics in moved.items():
        listed = ", ".join(f"{number} of {topic}" for topic, number in topics.items())
        leader = "none" if old == _NO_LEADER else f"broker-{old}"
        yield TimelineEntry(at_us, f"leader changes from {leader}: {listed} ({how})", host)


def _manner(event: TraceEvent, last: str | None) -> str:
    """Return how a leader was elected.

    From 4.1 on (KIP-966) the controller also calls it unclean when the last leader returns from a crash and no other
    replica was in sync, such as an only replica. It keeps its own log; no other log replaces it.
    """
    if event.reason == "unclean" and event.from_ == _NO_LEADER and event.to == last:
        return "unclean: the last leader again, with the records on its disk"
    return event.reason or "?"
