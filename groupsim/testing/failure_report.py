"""The report of a failed test: the story, the members' states, the faults, unanswered requests, the last events.

The last events are without polls, single records, successful commits of members and timers that were only set. Member
ids are replaced by their processes, so that a line fits a terminal.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.story.words import clock

if TYPE_CHECKING:
    from groupsim.members.consumer.consumer import Consumer
    from groupsim.testing.simulation import Simulation

LAST_EVENTS = 25
LEFT_OUT = {
    Kind.TIMER_SET,
    Kind.TIMER_CANCELLED,
    Kind.APPEND_DONE,
    Kind.HIGH_WATERMARK,
    Kind.LOG_ENDS,
    Kind.RECORDS_APPENDED,
    Kind.RECORDS_ACKNOWLEDGED,
    Kind.RECORDS_DELIVERED,
    Kind.RECORDS_PROCESSED,
}
_NAMING = {Kind.MEMBER_PENDING, Kind.MEMBER_ADDED, Kind.REQUEST_SENT, Kind.MEMBER_REPLACED}
CHATTER = {"ApiVersions", "Fetch", "FindCoordinator", "ListOffsets", "Metadata", "OffsetForLeaderEpoch", "Produce"}
MESSAGES = {Kind.REQUEST_SENT, Kind.REQUEST_RECEIVED, Kind.RESPONSE_SENT, Kind.RESPONSE_RECEIVED, Kind.REQUEST_PARKED}
_OF_A_COMMIT = {*MESSAGES, Kind.RECORD_APPENDED, Kind.APPEND_DONE}


def failure_text(simulation: Simulation) -> str:
    """Return the sections of a failed test's report as text."""
    lines = [simulation.story().headline, f"seed {simulation.seed}, at {clock(simulation.now_us)}"]
    if simulation.members and not simulation.now_us:
        lines.append("no time has passed: await a method that lets time pass (sim.run_for, sim.until, sim.settled)")
    lines += _titled("members", _members(simulation))
    lines += _titled("faults", _faults(simulation))
    lines += _titled("requests without an answer", _parked(simulation))
    events = list(_without_commits_in_a_row(_what_matters(simulation.events, simulation.members)))
    count = min(LAST_EVENTS, len(events))
    title = f"the last {count} events, without polls, records, timers and successful commits (sim.events has all)"
    return "\n".join(lines + _titled(title, event_lines(events[-LAST_EVENTS:], ids_of(simulation.events))))


def _titled(title: str, lines: Iterable[str]) -> list[str]:
    found = list(lines)
    return [f"{title}:", *(f"  {line}" for line in found)] if found else []


# --- who is where ----------------------------------------------------------------------------------------------


def _members(simulation: Simulation) -> Iterator[str]:
    for name, member in simulation.members.items():
        held = " ".join(map(str, member.assignment[:6])) or "nothing"
        more = " …" if len(member.assignment) > 6 else ""
        failed = f"  failed: {member.failed}" if member.failed else ""
        owns = f"generation {member.generation}  owns {held}{more}" if member.running else ""
        yield f"{name}  {member.settings.group_id}  {member.state}  {owns}{failed}".rstrip()
        yield from (f"  {line}" for line in _unknown_topics(simulation, member))


def _unknown_topics(simulation: Simulation, member: Consumer) -> Iterator[str]:
    wanted = member.subscription
    for topic in wanted if isinstance(wanted, tuple) else ():
        if topic not in simulation.topics:
            yield f"subscribes to {topic!r}, which does not exist; {suggest(topic, simulation.topics, 'topics')}"


def _faults(simulation: Simulation) -> Iterator[str]:
    for handle in simulation.faults:
        struck = f"struck {handle.hits} of {handle.seen} seen" if handle.seen else f"struck {handle.hits or 'nothing'}"
        yield f"{handle.fault}: {struck}{', over' if handle.over else ''}"


def _parked(simulation: Simulation) -> Iterator[str]:
    groups = dict.fromkeys(member.settings.group_id for member in simulation.members.values())
    ids = ids_of(simulation.events)
    for group in groups:
        seen = simulation.group_or_none(group)
        for parked in seen.parked if seen is not None else ():
            who = ids.get(parked.member_id, parked.member_id)
            yield f"{parked.what}{' of ' + who if who else ''}, until {parked.until}"


# --- what came last --------------------------------------------------------------------------------------------


def _what_matters(events: Iterable[TraceEvent], members: Container[str | None]) -> Iterator[TraceEvent]:
    """Leave out polls and the like, except the first occurrence of an error.

    Of a member's commits, `offsets.committed` and errors remain.
    """
    errors: dict[tuple[object, ...], None] = {}
    commits: set[int] = set()
    for event in events:
        if _is_of_a_commit(event, commits, members):
            commits.add(event.seq)
            continue
        if event.kind in LEFT_OUT:
            continue
        if event.kind in MESSAGES and event.api in CHATTER:
            seen = event.kind, event.host, event.api, event.error
            if event.error is None or seen in errors:
                continue
            errors[seen] = None
        yield event


def _without_commits_in_a_row(events: Iterable[TraceEvent]) -> Iterator[TraceEvent]:
    """Of consecutive commits keep the last one of each member."""
    last: dict[str | None, TraceEvent] = {}
    for event in events:
        if event.kind is Kind.OFFSETS_COMMITTED:
            last.pop(event.host, None)
            last[event.host] = event
            continue
        yield from last.values()
        last.clear()
        yield event
    yield from last.values()


def _is_of_a_commit(event: TraceEvent, commits: Container[int], members: Container[str | None]) -> bool:
    """Whether an event is a step of a member's commit without an error; `commits` has the steps before it."""
    begins = event.kind is Kind.REQUEST_SENT and event.api == "OffsetCommit" and event.host in members
    return begins or (event.cause in commits and event.kind in _OF_A_COMMIT and event.error is None)


def ids_of(events: Iterable[TraceEvent]) -> dict[str, str]:
    """Map member ids to their processes: `c1`, and `c1#2` for its second id."""
    names: dict[str, str] = {}
    had: dict[str, int] = {}
    senders: dict[int, str] = {}  # senders of JoinGroups by event, for ids that no client uses later
    for event in events:
        if event.kind is Kind.REQUEST_RECEIVED and event.api == "JoinGroup":
            senders[event.seq] = str((event.payload or {}).get("from"))
        elif event.kind in _NAMING and event.member:
            host = senders.get(event.cause) if event.kind is Kind.MEMBER_PENDING else _host_of(event)
            if host is not None and event.member not in names:
                had[host] = had.get(host, 0) + 1
                names[event.member] = host if had[host] == 1 else f"{host}#{had[host]}"
    return names


def _host_of(event: TraceEvent) -> str | None:
    if event.kind is Kind.REQUEST_SENT:
        return event.host
    client_host = (event.payload or {}).get("client_host")
    return str(client_host).removeprefix("/") if client_host else None


def event_lines(events: Sequence[TraceEvent], ids: dict[str, str]) -> list[str]:
    """Format each event as a line."""
    groups = {event.group for event in events if event.group}
    wide = max((len(clock(event.t_us)) for event in events), default=0)
    return [_line(event, ids, max(9, wide), several=len(groups) > 1) for event in events]


def _line(event: TraceEvent, ids: dict[str, str], wide: int, *, several: bool) -> str:
    member = ids.get(event.member or "", event.member)
    who = [event.host, event.group if several else None, member if member != event.host else None]
    words = [str(part) for part in (*who, event.api, event.error) if part]
    if event.topic is not None:
        words.append(event.topic if event.partition is None else f"{event.topic}-{event.partition}")
    if event.to:
        words.append(f"{event.from_ or '?'} → {event.to}")
    if event.generation is not None and event.generation >= 0:
        words.append(f"generation {event.generation}")
    if event.reason:
        words.append(f"({_named(event.reason, ids)})")
    return f"{clock(event.t_us):<{wide}} {event.kind.value:<19} {'  '.join(words)}"


def _named(text: str, ids: dict[str, str]) -> str:
    for member_id, name in ids.items():
        text = text.replace(member_id, name)
    return text
