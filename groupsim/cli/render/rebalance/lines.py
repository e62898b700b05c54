"""One rebalance as lines in order: requests and answers, states, callbacks, actions and faults.

The requests are those of the table `messages` (`pipeline/runs/messages.py`), from which the page draws the same
sequence. The time of a request is that of its arrival at the coordinator; that of an answer, or of a request that never
arrived, is the time of sending.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from attrs import evolve

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.pipeline.runs.lists import STATES, Lists
from groupsim.pipeline.runs.messages import Message, messages
from groupsim.protocol.values import frozen
from groupsim.scenarios.story import Generation, Story
from groupsim.scenarios.story.words import clock, count, span

GIVEN_UP = ("DISCONNECTED", "TIMED_OUT")
HANDSHAKE = "MEMBER_ID_REQUIRED"
LONG_US = 50_000  # a callback that takes longer has a line for its end
CALLBACKS = {"assigned": "onPartitionsAssigned", "revoked": "onPartitionsRevoked", "lost": "onPartitionsLost"}


class What(StrEnum):
    """The kind of a line."""

    REQUEST = "request"  # from a member to the coordinator
    ANSWER = "answer"  # from the coordinator to a member
    LOST = "lost"  # a request that never arrived
    STATE = "state"  # of the group
    LOCAL = "local"  # inside a member's process
    NOTE = "note"  # an action, a fault, a removal


@frozen
class Line:
    """One line. `words` is its text without times, which differ between members with equal lines.

    host, broker    the member's process, and the coordinator's
    parked_us       of a parked request: the time of its answer, -1 for none
    number          the number of a request and of its answer
    again, last_us  the number of equal lines that follow, and the time of the last one
    reason          why a request is parked; of other lines, further details
    """

    at_us: int
    what: What
    words: str
    host: str | None = None
    broker: str | None = None
    api: str | None = None
    error: str | None = None
    parked_us: int | None = None
    number: int | None = None
    reason: str | None = None
    again: int = 0
    last_us: int | None = None

    @property
    def text(self) -> str:
        """The text with the time of a parked request's answer."""
        if self.last_us is not None:
            return f"{self.words}, and {self.again} times more until {clock(self.last_us)}"
        if self.parked_us is None:
            return self.words
        if self.parked_us < 0:
            return f"{self.words}: parked, never answered"
        return f"{self.words}: parked until {clock(self.parked_us)} ({span(self.parked_us - self.at_us)})"


@frozen
class Course:
    """The lines of one rebalance; `hosts` are the members in them, `brokers` the coordinators."""

    generation: Generation
    lines: tuple[Line, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """The processes in the lines, the leader first."""
        leader = self.generation.leader.host if self.generation.leader else None
        found = dict.fromkeys(line.host for line in self.lines if line.host is not None)
        return tuple(sorted(found, key=lambda host: (host != leader, _by_number(host))))

    @property
    def brokers(self) -> tuple[str, ...]:
        """The coordinators, in order."""
        return tuple(dict.fromkeys(line.broker for line in self.lines if line.broker is not None))


def _by_number(host: str) -> tuple[object, ...]:
    """Return a sort key by which `c-9` comes before `c-10`."""
    name, _, number = host.rpartition("-")
    return (name, int(number), "") if number.isdigit() else (host, -1, "")


def sequence_of(lists: Lists, story: Story, generation: Generation) -> Course:
    """Build the lines of a rebalance from a run's lists of events and its story."""
    hosts = {lane.host for lane in story.lanes if lane.group == generation.group}
    chosen = _of_the_rebalance(messages(lists), generation, hosts)
    first = min([generation.began_us, *(one.began_us for one in chosen)])
    names = _names(chosen, generation)
    lines: list[tuple[int, int, Line]] = []
    for number, message in enumerate(chosen, 1):
        lines += _of_message(message, number, generation)
    within = [one for one in lists.of(*STATES) if generation.began_us <= one.t_us <= generation.ended_us]
    lines += ((one.t_us, one.seq, _state(one, generation, names)) for one in within if one.group == generation.group)
    lines += ((one.at_us, 0, one) for one in _notes(story, generation, hosts, first))
    lines += _local(lists, generation, hosts, first)
    return Course(generation, tuple(_once(line for *_, line in sorted(lines, key=lambda one: one[:2]))))


def _of_the_rebalance(found: Iterable[Message], generation: Generation, hosts: set[str]) -> list[Message]:
    """Return the group's requests in flight during the rebalance, and the JoinGroups that got a member id (KIP-394)."""
    mine = [one for one in found if one.group == generation.group or (one.group is None and one.host in hosts)]
    began, ended = generation.began_us, generation.ended_us
    chosen = {id(one) for one in mine if one.began_us <= ended and one.over_us >= began}
    joins: dict[str, Message] = {}
    for one in mine:
        before = joins.get(one.host)
        if one.api == "JoinGroup":
            if before is not None and before.error == HANDSHAKE and id(one) in chosen:
                chosen.add(id(before))
            joins[one.host] = one
    return [one for one in mine if id(one) in chosen]


def _names(messages: Sequence[Message], generation: Generation) -> dict[str, str]:
    """Map member ids to processes, for the reasons of the coordinator, which have member ids."""
    names = {one.member: one.host for one in messages if one.member}
    involved = [*generation.members, *(late.name for late in generation.absent)]
    for who in (*involved, generation.culprit, generation.leader):
        if who is not None and who.member:
            names[who.member] = who.host
    return names


# --- messages ------------------------------------------------------------------------------------------------------


def _of_message(message: Message, number: int, generation: Generation) -> Iterator[tuple[int, int, Line]]:
    """Yield the lines of a message: its request, its answer, and its failure."""
    arrived, answered = message.order
    who = (message.host, message.broker, message.api)
    given_up = message.error if message.error in GIVEN_UP else None
    if message.received_us is not None:
        parked_us = None
        if message.parked is not None and message.answered_us != message.received_us:
            parked_us = -1 if message.answered_us is None else message.answered_us
        request = Line(message.received_us, What.REQUEST, _asked(message), *who, None, parked_us, number)
        yield message.received_us, arrived, evolve(request, reason=message.parked or message.client_reason)
    elif message.sent_us is not None:
        why = f": {given_up}" if given_up else ""
        lost = Line(message.sent_us, What.LOST, f"{_asked(message)} never arrives{why}", *who, given_up, None, number)
        yield message.sent_us, arrived, evolve(lost, reason=message.client_reason)
    if message.answered_us is not None:
        error = message.sent_error
        words = f"{message.api}: {_answered(message, generation)}"
        yield message.answered_us, answered, Line(message.answered_us, What.ANSWER, words, *who, error, None, number)
    if given_up is not None and message.returned_us is not None and message.received_us is not None:
        words = f"{message.api} given up: {given_up}"
        line = Line(message.returned_us, What.LOCAL, words, message.host, None, message.api, given_up, None, number)
        yield message.returned_us, 0, line


def _asked(message: Message) -> str:
    if message.api == "JoinGroup":
        return "JoinGroup" if message.member else "JoinGroup without a member id"
    if message.api == "SyncGroup" and message.assignments is not None:
        return f"SyncGroup with the plan for {message.assignments}" if message.assignments else "SyncGroup, empty"
    return message.api


def _answered(message: Message, generation: Generation) -> str:
    if message.sent_error is not None:
        return message.sent_error + (" and an id to join with (KIP-394)" if message.sent_error == HANDSHAKE else "")
    if message.api == "JoinGroup":
        if message.subscriptions:
            return f"generation {message.generation}, leader, {count(message.subscriptions, 'subscription')}"
        leader = generation.leader.host if generation.leader else "another"
        return f"generation {message.generation}, {leader} leads, empty list"
    return {"SyncGroup": "its partitions", "LeaveGroup": "done"}.get(message.api, "done")


def _once(lines: Iterable[Line]) -> Iterator[Line]:
    """Merge equal answers to a member's heartbeats, and equal requests that never arrive, into the first one."""
    every = list(lines)
    again: dict[tuple[str | None, str], list[Line]] = {}
    for line in every:
        if line.api == "Heartbeat" or line.what is What.LOST:
            again.setdefault((line.host, line.words), []).append(line)
    for line in every:
        alike = again.get((line.host, line.words), [line])
        if line is not alike[0]:
            continue
        yield line if len(alike) == 1 else evolve(line, again=len(alike) - 1, last_us=alike[-1].at_us)


# --- the rest ------------------------------------------------------------------------------------------------------


def _state(event: TraceEvent, generation: Generation, names: Mapping[str, str]) -> Line:
    reason = event.reason or ""
    for member, host in names.items():
        reason = reason.replace(member, host)
    reason = reason.partition("; client reason")[0].replace(" with group instance id null", "")
    state = event.to or {Kind.GROUP_LOADED: "loaded", Kind.GROUP_UNLOADED: "unloaded"}.get(event.kind, "?")
    if event.to == "CompletingRebalance" and generation.leader is not None:
        reason += f"; {generation.leader.host} leads generation {generation.number}, {generation.protocol}"
    return Line(event.t_us, What.STATE, state, None, event.host, reason=reason.rstrip(".") or None)


def _notes(story: Story, generation: Generation, hosts: set[str], first: int) -> Iterator[Line]:
    for doing in (*story.actions, *story.faults, *story.notes):
        if first <= doing.t_us <= generation.ended_us:
            mine = doing.host in hosts
            words = doing.what if mine or not doing.host or doing.host in doing.what else f"{doing.host}: {doing.what}"
            yield Line(doing.t_us, What.NOTE, words, doing.host if mine else None)
    for group in story.groups:
        for one in group.evictions if group.group == generation.group else ():
            if first <= one.removed_us <= generation.ended_us:
                alive = "its process was alive" if one.alive else f"after {one.cause.value}"
                words = f"{one.name.host} removed: {one.reason}"
                yield Line(one.removed_us, What.NOTE, words, one.name.host, None, None, one.reason, reason=alive)


def _local(lists: Lists, generation: Generation, hosts: set[str], first: int) -> Iterator[tuple[int, int, Line]]:
    """Yield the lines of callbacks with partitions or a duration, and of the leader's assignor."""
    ends = {event.span: event for event in lists.of(Kind.CALLBACK_ENDED)}
    for event in lists.of(Kind.CALLBACK_BEGUN):
        end, partitions = ends.get(event.span), len((event.payload or {}).get("partitions", ()))
        took = 0 if end is None else end.t_us - event.t_us
        if event.host not in hosts or not first <= event.t_us <= generation.ended_us or not (partitions or took):
            continue
        error = end.error if end is not None else None
        words = f"{CALLBACKS.get(event.reason or '', '?')}({partitions})" + (f": {error}" if error else "")
        if took > LONG_US:
            words += f" takes {span(took)}"
        yield event.t_us, event.seq, Line(event.t_us, What.LOCAL, words, event.host, error=error)
    for event in lists.of(Kind.ASSIGNMENT_COMPUTED):
        if event.host in hosts and first <= event.t_us <= generation.ended_us:
            assignor = (event.payload or {}).get("assignor", "?")
            yield event.t_us, event.seq, Line(event.t_us, What.LOCAL, f"assigns by {assignor}", event.host)
