"""One operation of the core: the time, the settings, and the effects of one input.

A partition of `__consumer_offsets` handles one input at a time, so it has one Operation, which it uses again and again.
The functions of the core take it as an argument, change the group, and add effects to it. It knows of a group and of a
member only what every kind of group has (`GroupHead`, `SessionHolder`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from groupsim.assignors.server.interface import ServerAssignor
from groupsim.assignors.server.registry import server_assignors
from groupsim.assignors.server.uniform import ServerUniform
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.effects import Append, CallToken, CancelTimer, Drop, Effect, Emit, Park, SetTimer
from groupsim.coordinator.base.group_configs import GroupConfigs
from groupsim.coordinator.base.interfaces import NO_SETTINGS, TopicsImage
from groupsim.coordinator.base.purgatory import ANSWERED, Purgatory, Then
from groupsim.coordinator.base.records import Record
from groupsim.coordinator.base.timers import Timer, TimerKind, Timers, session_timer
from groupsim.coordinator.base.topics import NO_TOPICS
from groupsim.coordinator.base.versions import Differences
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import Api, Request, Response
from groupsim.protocol.values import value

_SESSION = TimerKind.SESSION  # looked up once: access to a member of an enumeration is slow


@value
class Arrival:
    """The sender of a request: its token, its client, and a fresh member id for a JoinGroup without one."""

    call: CallToken
    client_id: str
    client_host: str
    fresh_id: str


class GroupHead(Protocol):
    """The fields of a group that the trace shows. `generation` is the generation, or the epoch, of the group."""

    @property
    def group_id(self) -> str: ...
    @property
    def generation(self) -> int: ...


class SessionHolder(Protocol):
    """A member with a session."""

    member_id: str
    session_timeout_ms: int
    session: Timer | None


class Operation:
    """The context of the core's functions.

    `tracing`: whether events of the trace, and reports of parked requests, are wanted. `every_move`: whether the driver
    wants an effect for every move of a timer; else only for moves to an earlier one. `topics` are those that the broker
    knows at this instant, `group_configs` the settings of groups.
    """

    __slots__ = (
        "_assignors",
        "config",
        "differences",
        "effects",
        "every_move",
        "group_configs",
        "loaded_version",
        "now_us",
        "purgatory",
        "resolving",
        "timers",
        "topics",
        "tracing",
    )

    def __init__(
        self,
        config: CoordinatorConfig,
        timers: Timers,
        purgatory: Purgatory,
        *,
        tracing: bool = True,
        every_move: bool = True,
        topics: TopicsImage = NO_TOPICS,
    ) -> None:
        self.config = config
        self.group_configs = GroupConfigs(config, NO_SETTINGS)
        self.topics = topics
        #: The version of the topics at the load of the partition.
        self.loaded_version = 0
        self.differences: Differences = config.differences
        self.timers = timers
        self.purgatory = purgatory
        self.tracing = tracing
        self.every_move = every_move
        self.now_us = 0
        self.effects: list[Effect] = []
        #: The groups whose regular expressions are being resolved.
        self.resolving: set[str] = set()
        self._assignors: Mapping[str, ServerAssignor] | None = None

    def config_of(self, group_id: str) -> CoordinatorConfig:
        """Return the settings in force for a group; one that the brokers' bounds have changed is a warning, once."""
        config = self.group_configs.of(group_id)
        warnings = self.group_configs.warnings
        while warnings:
            self.emit_by_id(Kind.WARNING, group_id, reason=warnings.pop(0))
        return config

    def take(self) -> list[Effect]:
        """Return the effects so far and start a new list."""
        effects, self.effects = self.effects, []
        return effects

    @property
    def assignors(self) -> Mapping[str, ServerAssignor]:
        """The broker's assignors by name, the default first; made at the first use."""
        if self._assignors is None:
            returns_extra = self.differences.uniform_returns_extra
            self._assignors = {
                one.name: ServerUniform(returns_extra=returns_extra) if type(one) is ServerUniform else one
                for one in server_assignors(self.config.consumer_assignors)
            }
        return self._assignors

    # --- requests ----------------------------------------------------------------------------------------------------

    def reply(self, call: CallToken, response: Response) -> None:
        """Answer at once."""
        if call is not ANSWERED:
            self.effects.append((call, response))

    def reply_after_writes(self, call: CallToken, request: Request, response: Response) -> None:
        """Answer a request that wrote nothing itself, once all earlier appends are committed.

        Up to 3.9 such an answer did not wait (`GroupCoordinator.scala`).
        """
        if self.purgatory.idle or not self.differences.answers_wait_for_writes:
            if call is not ANSWERED:  # `reply`, inlined: every heartbeat comes by here
                self.effects.append((call, response))
        else:
            self.purgatory.hold(self, call, request, response)

    def reply_when_written(self, call: CallToken, request: Request, response: Response) -> None:
        """Answer once everything appended so far in this partition is committed; at once when nothing is under way."""
        if self.purgatory.idle:
            self.reply(call, response)
        else:
            self.purgatory.hold(self, call, request, response)

    def reply_when_deleted(self, call: CallToken, request: Request, response: Response) -> None:
        """Answer a request that wrote tombstones, once they are committed; up to 3.9 at once."""
        if self.differences.deletions_are_awaited:
            self.reply_when_written(call, request, response)
        else:
            self.reply(call, response)

    def when_written(self, then: Then) -> None:
        """Call `then` once everything appended so far in this partition is committed; at once if all of it is."""
        if self.purgatory.idle:
            then(self, None)
        else:
            self.purgatory.after(self, then)

    def append(self, records: tuple[Record, ...], then: Then | None = None, within_ms: int | None = None) -> None:
        """Append records; `then` is called with the result.

        Up to 3.9 an append fails when it takes longer than `within_ms`, by default `offsets.commit.timeout.ms`.
        """
        if not self.differences.appends_to_all:
            within_ms = None
        elif within_ms is None:
            within_ms = self.config.offsets_commit_timeout_ms
        self.effects.append(self.purgatory.append(self, records, then, within_ms))

    def append_unawaited(self, records: tuple[Record, ...]) -> None:
        """Append records without waiting for the end."""
        self.effects.append(Append(0, records))

    def park(self, call: CallToken, api: Api, group: GroupHead, member: SessionHolder, condition: str) -> None:
        """Report that a request is parked; the member holds it."""
        if self.tracing:
            self.effects.append(Park(call, api, group.group_id, member.member_id, condition))

    def drop(self, call: CallToken | None, api: Api, group: GroupHead, member_id: str, why: str) -> None:
        """Report that a parked request will never be answered."""
        if self.tracing and call is not None and call is not ANSWERED:
            self.effects.append(Drop(call, api, group.group_id, member_id, why))

    # --- timers ------------------------------------------------------------------------------------------------------

    def set_timer(
        self, name: str, kind: TimerKind, delay_us: int, group_id: str, member_id: str = "", args: tuple[int, ...] = ()
    ) -> Timer:
        """Start or move a timer."""
        due_us = self.now_us + delay_us
        timer = self.timers.set(name, kind, due_us, group_id, member_id, args)
        self._moved(timer, due_us)
        return timer

    def move_timer(self, timer: Timer, delay_us: int) -> None:
        """Move the deadline of a running timer, as `set_timer` does with its name."""
        timer.due_us = due_us = self.now_us + delay_us
        timer.ticket = self.timers.draw_ticket()
        if self.every_move or not 0 <= timer.rings_us <= due_us:  # `_moved`, inlined
            self.effects.append(SetTimer(timer.name, due_us, timer))

    def _moved(self, timer: Timer, due_us: int) -> None:
        """Report another deadline of a timer, unless the driver's alarm rings before it and will read it then."""
        if self.every_move or not 0 <= timer.rings_us <= due_us:
            self.effects.append(SetTimer(timer.name, due_us, timer))

    def stop_timer(self, name: str) -> None:
        """Stop a timer, if it runs."""
        timer = self.timers.stop(name)
        if timer is not None:
            self.effects.append(CancelTimer(name, timer))

    def set_session(self, group: GroupHead, member: SessionHolder, timeout_ms: int | None = None) -> None:
        """Start the member's session, or move its deadline: its session timeout, or `timeout_ms`, from now on."""
        delay_us = 1_000 * (member.session_timeout_ms if timeout_ms is None else timeout_ms)
        timer = member.session
        if timer is None or not timer.running:
            name = session_timer(group.group_id, member.member_id)
            member.session = self.set_timer(name, _SESSION, delay_us, group.group_id, member.member_id)
        else:  # the timer of that name runs: no lookup is needed
            self.move_timer(timer, delay_us)

    def refresh_session(self, group: GroupHead, member: SessionHolder) -> None:
        """Move the session's deadline without an effect, unless it had expired or the deadline comes nearer."""
        timer = member.session
        due_us = self.now_us + 1_000 * member.session_timeout_ms
        if timer is None or not 0 <= timer.due_us <= due_us:
            self.set_session(group, member)
        else:  # it runs: `Timer.move` has nothing else to set
            timer.due_us = due_us
            timer.ticket = self.timers.draw_ticket()

    def end_session(self, group: GroupHead, member_id: str) -> None:
        """Stop the session timer of a member or pending id."""
        self.stop_timer(session_timer(group.group_id, member_id))

    # --- trace -------------------------------------------------------------------------------------------------------

    def emit(
        self,
        kind: Kind,
        group: GroupHead,
        member_id: str | None = None,
        *,
        from_: str | None = None,
        to: str | None = None,
        reason: str | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        """Emit a trace event of a group, with its generation."""
        if self.tracing:
            event = Emit(kind, group.group_id, member_id, group.generation, from_, to, reason, payload=payload)
            self.effects.append(event)

    def emit_by_id(
        self,
        kind: Kind,
        group_id: str | None,
        *,
        reason: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        """Emit a trace event of a group of any kind by its id, or (None) of the partition."""
        if self.tracing:
            event = Emit(kind, group_id, reason=reason, topic=topic, partition=partition, payload=payload)
            self.effects.append(event)
