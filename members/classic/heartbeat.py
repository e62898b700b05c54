"""Heartbeats, as Java's background thread sends them, by timers.

A heartbeat costs three heap events: its timer, the request and the answer.

The next timer is set when a heartbeat is sent, not when it is answered. Before a heartbeat the client checks its own
session timer, if the library has one (`HeartbeatRow.session_check`), and looks the coordinator up when it has expired.

Libraries without a background thread send heartbeats in `poll` only: an overdue heartbeat waits for the application
(KIP-62 moved heartbeats out of `poll`).

Source: `AbstractCoordinator.HeartbeatThread`, `Heartbeat`; classic-protocol reference, section 4.6.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.behaviour import Stuck
from groupsim.members.classic.pauses import hold_refused
from groupsim.members.classic.requests import heartbeat_request
from groupsim.members.failures import ClientFailure
from groupsim.members.generation import ClientState, Generation
from groupsim.members.interfaces import Connection, Disconnected, Outcome
from groupsim.members.links import emit_outcome
from groupsim.members.ports import Ports
from groupsim.members.profiles.defects import Defect
from groupsim.members.profiles.exceptions import exception_name
from groupsim.members.profiles.reactions import Reaction
from groupsim.members.profiles.row_types import SessionCheck
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from groupsim.eventloop.interface import Handle
    from groupsim.members.classic.parts import Group

REBALANCING = "group is already rebalancing"
_REBALANCE = HeartbeatResponse(error=ErrorCode.REBALANCE_IN_PROGRESS)  # proves the session, too
_BACKOFF = "heartbeat-backoff"  # the purpose of its random stream
_BEFORE_SENDING = SessionCheck.BEFORE_SENDING  # bound once: access to a member of an enumeration is slow


class Heartbeat:
    """Sends heartbeats while enabled, and keeps the client's session timer."""

    __slots__ = (
        "_alive_us",
        "_backoff_at",
        "_configured_us",
        "_group",
        "_handle",
        "_held_up",
        "_in_turn",
        "_interval_us",
        "_last_error",
        "_late",
        "_life",
        "_loop",
        "_member",
        "_needs_partitions",
        "_needs_poll",
        "_on_answer",
        "_request",
        "_session_check",
        "_session_us",
        "_timeout_us",
        "_trace",
        "_unanswered",
        "blocked_until_us",
        "enabled",
        "last_sent_us",
        "owed",
        "quiet",
    )

    _request: HeartbeatRequest  # made once per generation, as its callback is
    _on_answer: Callable[[Outcome], None]

    def __init__(self, member: Ports, group: Group) -> None:
        settings = member.settings
        self._member = member
        self._group = group
        self._loop = member.loop
        self._trace = member.trace
        self._life = member.host.life
        self._interval_us = member.pace.heartbeat_ms(settings.heartbeat_interval_ms) * MS_US
        self._configured_us = settings.heartbeat_interval_ms * MS_US
        self._session_us = settings.session_timeout_ms * MS_US
        self._session_check = member.profile.heartbeats.session_check
        self._timeout_us = member.pace.heartbeat_timeout_us(member.request_timeout_us, settings.session_timeout_ms)
        self._needs_poll = not member.pace.heartbeats_in_background
        self._in_turn = member.pace.heartbeats_in_turn
        self._needs_partitions = Defect.KAFKAJS_1361 in member.profile.defects
        self._late = False  # a heartbeat is due and waits for the answer to the last one
        self.blocked_until_us = 0  #: the heartbeat thread does not run before this time
        self._held_up = False  # a heartbeat fell due while the thread did not run
        self._backoff_at = -1  # value of `quiet` at the last failure
        self._handle: Handle | None = None
        self._unanswered = 0
        self.owed = False  #: a heartbeat waits for the application to call `poll`, or for a coordinator
        self._alive_us = 0
        #: When the last heartbeat was sent, or its interval restarted.
        self.last_sent_us = 0
        self._last_error: str | None = None  # error of the last heartbeat that was answered or failed
        self.quiet = 0  #: number of heartbeats answered without an error
        self.enabled = False

    # -- start and stop -----------------------------------------------------------------------------------------

    def enable(self) -> None:
        """Start heartbeats; restart the session, poll and heartbeat timers."""
        member = self._member
        if self.enabled or Stuck.NEVER_HEARTBEAT in member.behaviour.stuck:
            return
        self.enabled = True
        self._renew()
        self._unanswered = 0
        self._alive_us = self._loop.now_us
        self._begin()

    def _begin(self) -> None:
        self._group.poll_clock.restart()
        self.last_sent_us = self._loop.now_us
        # sarama sends its first heartbeat with the assignment (`consumer_group.go`); others after an interval.
        self._again(0 if self._member.profile.heartbeats.at_start else self._interval_us)

    def disable(self) -> None:
        """Stop heartbeats."""
        self.enabled = self.owed = False
        self._cancel()

    def coordinator_found(self) -> None:
        """Restart the session timer after a look-up, and send a heartbeat that waited for it."""
        self._unanswered = 0
        self._alive_us = self._loop.now_us
        # Up to 2.0, and in kafka-python, the look-up restarts all timers (`Heartbeat.resetTimeouts`); since 2.1 only
        # the session timer (`FindCoordinatorResponseHandler`).
        if self.enabled and self._member.profile.heartbeats.restart_when_found:
            self.owed = False
            self._group.poll_clock.restart()
            self._again(self._interval_us)
        elif self.owed:
            self._send_owed()

    def coordinator_lost(self) -> None:
        """Do nothing: the session timer is checked before the next heartbeat."""
        return

    def polled(self) -> None:
        """Send an overdue heartbeat: the application has called `poll`, or is between two batches."""
        if self.owed and self.enabled:
            self._send_owed()

    def once(self) -> None:
        """Send a heartbeat now, unless one was sent at this instant."""
        if self.enabled and self._member.coordinator.known and self.last_sent_us < self._loop.now_us:
            self._send_owed()

    def pausing(self) -> None:
        """Check session and poll limit first when a pause of the process ends (`AbstractCoordinator.HeartbeatThread`).

        An answer on its way is read before that, and renews the session.
        """
        if self.enabled and not self._needs_poll and not self._unanswered:
            self._member.host.call_at(self._loop.now_us, self._look_around)

    def block(self, us: int) -> None:
        """Keep the heartbeat thread from running for `us` microseconds; the application runs and reads answers.

        Afterwards the thread goes in its own order: session, poll limit, heartbeat (`HeartbeatThread`).
        """
        self.blocked_until_us = max(self.blocked_until_us, self._loop.now_us + us)
        self._member.host.call_at(self._loop.now_us + us, self._unblocked)

    def _unblocked(self, _: Any) -> None:
        if self._loop.now_us < self.blocked_until_us:
            return  # blocked again, for longer
        self._look_around()
        if self._held_up:
            self._held_up = False
            self.due()

    def _look_around(self, _: Any = None) -> None:
        self._look_at_session()
        self._group.poll_clock.look()

    # -- sending -------------------------------------------------------------------------------------------------

    def _send_owed(self) -> None:
        """Send an overdue heartbeat now; cancel the timer, which may wait for a backoff."""
        self._cancel()
        self.due()

    def due(self) -> None:
        """Send a heartbeat, or store why it has to wait: no coordinator, or the application is away from `poll`."""
        member = self._member
        self._handle = None
        self.owed = False
        if not self.enabled:
            return
        if self._loop.now_us < self.blocked_until_us:
            self._held_up = True
            return
        # A member without partitions sends none (kafkajs #1361).
        if self._needs_partitions and not member.ownership.owned:
            self._again(self._interval_us)
            return
        # Without a background thread heartbeats are sent in `poll` only (before KIP-62).
        if self._needs_poll and not self._group.poll_clock.inside:
            self.owed = True
            return
        # aiokafka awaits each answer (`group_coordinator.py`); Java sends the next one regardless.
        if self._in_turn and self._unanswered:
            self._late = True
            return
        if not self._may_go():
            return
        coordinator = member.coordinator
        link = coordinator.link
        if link is not None and link.open:  # the first half of `known`, inlined
            self._send(link)
        elif not coordinator.known:
            self.owed = True
            coordinator.ensure()
        elif coordinator.link is not None:
            self._send(coordinator.link)

    def _may_go(self) -> bool:
        """Check the session first; True if a heartbeat may be sent, or stored as overdue."""
        coordinator = self._member.coordinator
        link = coordinator.link
        if (link is not None and link.open) or coordinator.known:
            self._look_at_session()
        return True

    def _send(self, link: Connection) -> None:
        on_network_event = self._member.on_network_event
        if on_network_event is not None:
            on_network_event()
        now = self.last_sent_us = self._loop.now_us
        self._handle = self._loop.timer_at(now + self._interval_us, _due, self, self._life)
        self._unanswered += 1
        self._hand_over(link)

    def _hand_over(self, link: Connection) -> None:
        if self._trace.heartbeats:
            member = self._member
            member.links.send(link, member.coordinator.node, self._request, self._on_answer, self._timeout_us)
        else:
            link.send(self._request, self._on_answer, self._timeout_us)

    def _look_at_session(self, _: Any = None) -> None:
        """Check whether the session timer has expired, or will before the next heartbeat.

        An expired timer only makes the client look the coordinator up (`Heartbeat.sessionTimeoutExpired`): the broker
        alone removes a member.
        """
        now, check = self._loop.now_us, self._session_check
        counts = check is _BEFORE_SENDING or (check is SessionCheck.WHILE_UNANSWERED and self._unanswered)
        if not self.enabled or not counts or now < self.blocked_until_us:
            return
        deadline = self._alive_us + self._session_us
        if now >= deadline:
            self._session_over()
        elif deadline < now + self._interval_us and self._watches_session:
            self._member.host.call_at(deadline, self._look_at_session)

    @property
    def _watches_session(self) -> bool:
        """Whether the session is checked between two heartbeats."""
        return self._unanswered > 0

    def _session_over(self) -> None:
        member = self._member
        member.trace.begin(member.emit(Kind.SESSION_EXPIRED))
        self._alive_us = member.now_us
        self._unanswered = 0
        member.coordinator.lost("session timed out without receiving a heartbeat response")

    def _renew(self) -> None:
        """Make request and callback for the current generation, which changes only while heartbeats are disabled."""
        self._request = heartbeat_request(self._member)
        self._on_answer = partial(self.answered, self._member.generation)

    def _again(self, wait_us: int) -> None:
        """Set the timer of the next heartbeat; the interval counts from there."""
        self._cancel()
        self._late = False
        self._handle = self._member.host.call_at(self._loop.now_us + wait_us, _due, self)

    def _cancel(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._member.host.cancel(handle)

    def answered(self, sent: Generation, outcome: Outcome) -> None:
        """Handle the outcome of a heartbeat; `sent` is the generation it was sent in, which may be over."""
        on_network_event = self._member.on_network_event
        if on_network_event is not None:
            on_network_event()
        self._unanswered = 0
        if outcome.__class__ is HeartbeatResponse and not outcome.error:
            self._alive_us = self._loop.now_us
            self.quiet += 1
            self._last_error = None
            if self._late:
                self._again(0)
        else:
            self._troubled(sent, outcome)

    def _troubled(self, sent: Generation, outcome: Outcome) -> None:
        member = self._member
        late = self._loop.now_us - self._alive_us > self._session_us
        if not self._trace.heartbeats:
            self._trace.begin(emit_outcome(member, self._request, 0, outcome))
        if isinstance(outcome, Disconnected):
            self._last_error = "TIMED_OUT" if outcome.timed_out else "DISCONNECTED"
            member.coordinator.lost("coordinator unavailable")
            self._fail()
        elif isinstance(outcome, HeartbeatResponse):
            self._last_error = outcome.error.name
            self._react(sent, outcome.error)
        if late and self._session_check is SessionCheck.AFTER_FAILURE and outcome != _REBALANCE:
            self._session_over()

    def _react(self, sent: Generation, error: ErrorCode) -> None:
        member = self._member
        reaction = member.profile.reaction(Api.HEARTBEAT, error)
        if reaction is Reaction.REJOIN:
            # `HeartbeatResponseHandler`: the answer proves the session; only a stable member rejoins.
            self._alive_us = member.now_us
            self._backoff_at = -1
            if member.state is ClientState.STABLE:
                self._group.rebalance.request(REBALANCING)
                self._group.go_on()
                # sarama before 1.31.1 stops here, before the application gives its partitions up (#1608).
                if Defect.SARAMA_1608 in member.profile.defects:
                    self.disable()
        elif reaction is Reaction.REDISCOVER:
            member.coordinator.lost(f"error response {error.name}")
            self._fail()
        elif reaction is Reaction.RETRY:
            self._try_again()
        elif reaction is Reaction.BACKOFF:
            self._refused_for_now()
        else:
            self._alive_us = member.now_us
            if sent == member.generation:  # `HeartbeatResponseHandler` ignores an error for an older generation
                self._expelled(error, reaction)

    def _expelled(self, error: ErrorCode, reaction: Reaction) -> None:
        member, reason = self._member, f"heartbeat answered {error.name}"
        # aiokafka's heartbeat task ends with an unexpected error, and every poll throws (`group_coordinator.py`).
        if reaction is Reaction.THROW:
            member.fail(ClientFailure("KafkaException", reason, lasting=True))
            self.disable()
            return
        if reaction is Reaction.FATAL:
            member.fail(
                ClientFailure(exception_name(error), reason, fatal=True, lasting=member.pace.ends_with_fatal_error)
            )
            # kafka-python since 2.3 neither heartbeats nor joins after FENCED_INSTANCE_ID.
            if not member.profile.heartbeats.joins_when_fenced:
                self.disable()
                return
        id_too = reaction is not Reaction.RESET_GENERATION
        self._group.rebalance.reset(
            f"encountered {error.name} from {Api.HEARTBEAT.name} response", member_id_too=id_too
        )
        hold_refused(self._group, 1)

    def _fail(self) -> None:
        """Send the next heartbeat after the backoff, which grows until one is answered (`Heartbeat.failHeartbeat`)."""
        if self.enabled:
            self._again(self._backoff_us())

    def _refused_for_now(self) -> None:
        """Back off after an unexpected error; the session timer keeps running (`HeartbeatResponseHandler`)."""
        self._unanswered = 1
        self._fail()

    def _backoff_us(self) -> int:
        """Return the wait after a failure; the shortest one if a heartbeat was answered since the last failure."""
        if self._backoff_at != self.quiet:
            self._backoff_at = self.quiet
            self._member.succeeded(_BACKOFF)
        return self._member.backoff(_BACKOFF).next_us()

    def _try_again(self) -> None:
        """Send the same heartbeat again, in a library that does so."""


_due = Heartbeat.due  # as a plain function, whose argument names the object
