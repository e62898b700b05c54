"""Heartbeats of a member of a consumer group: when one is sent, and what its answer does.

The broker sets the interval with each answer, and it counts from the send. JOINING, ACKNOWLEDGING and LEAVING do not
wait for it, nor for a backoff. One heartbeat is in flight at a time; one that leaves may overtake. After a failure the
next one follows when the backoff allows it (100 ms, doubled up to 1 s, each ±20 %), and has all fields (`fields.py`).
After a success, too, the next one waits for retry.backoff.ms, which shows when an answer was late.
While the coordinator is unknown none is sent, and the state stays.

A heartbeat of a quiet member costs three heap events: its timer, the request and the answer.

Source: `AbstractHeartbeatRequestManager`, `HeartbeatRequestState` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.units import MS_US
from groupsim.members.consumer_protocol.errors import LISTED_AS_FATAL, Action, action_on
from groupsim.members.consumer_protocol.fields import REGEX_SINCE, HeartbeatFields, is_plain
from groupsim.members.consumer_protocol.states import AT_ONCE, ON_THE_WAY_OUT, OUTSIDE, MemberState
from groupsim.members.failures import ClientFailure
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.links import emit_outcome
from groupsim.members.ports import Ports
from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from groupsim.protocol.messages.group import Api

if TYPE_CHECKING:
    from groupsim.eventloop.interface import Handle
    from groupsim.members.consumer_protocol.parts import MembershipManager

_STABLE = MemberState.STABLE  # bound once: access to a member of an enumeration is slow
_BACKOFF = "heartbeat-backoff"  # the purpose of its random stream
_NO_PROTOCOL = (
    "The cluster does not support the new CONSUMER group protocol. Set group.protocol=classic on the consumer"
    " configs to revert to the CLASSIC protocol until the cluster is upgraded."
)
_NO_REGEX = (
    "The cluster does not support regular expressions resolution on ConsumerGroupHeartbeat API version 0. It must be"
    " upgraded to use ConsumerGroupHeartbeat API version >= 1 to allow to subscribe to a SubscriptionPattern."
)


class ConsumerHeartbeats:
    """Sends the heartbeats of one member."""

    __slots__ = (
        "_acknowledges_us",
        "_backoff_until_us",
        "_due_us",
        "_failing",
        "_fields",
        "_flight",
        "_in_flight",
        "_interval_us",
        "_member",
        "_membership",
        "_plain",
        "_retry_us",
        "_thrown_us",
        "_timer",
        "_timer_us",
        "_unreleased",
        "quiet",
    )

    def __init__(self, member: Ports, membership: MembershipManager) -> None:
        self._member = member
        self._membership = membership
        self._fields = HeartbeatFields(member, membership)
        self._interval_us = 0  # the first heartbeat is due at once
        self._due_us = 0
        self._backoff_until_us = 0
        self._failing = False
        self._retry_us = member.settings.retry_backoff_ms * MS_US
        self._in_flight = False
        self._flight = 0  # number of the last heartbeat
        self._plain: ConsumerGroupHeartbeatRequest | None = None  # the last one for which `is_plain` holds
        self._timer: Handle | None = None
        self._timer_us = 0
        self._acknowledges_us: int | None = None  # when an acknowledgement that waits is sent
        self._thrown_us: int | None = None  # when an error was thrown that the member survives
        self._unreleased = 0  # number of answers UNRELEASED_INSTANCE_ID since the last one without an error
        self.quiet = 0  #: number of heartbeats answered without an error

    # -- sending ------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Send a heartbeat if one is due, else set the timer."""
        member, membership = self._member, self._membership
        link, state = member.coordinator.link, membership.state
        if ((link is None or not link.open) and not member.coordinator.known) or state in OUTSIDE:
            membership.heartbeat_skipped()
            return
        limit = membership.poll_timer
        is_over = not limit.inside and limit.is_over
        if is_over and member.profile.consumer_protocol.leaves_when_polled:
            membership.expire()
            is_over = False
        if (state is not _STABLE or member.closing) and self._is_quiet:
            return
        if is_over and state not in ON_THE_WAY_OUT:
            membership.leave_by_poll_limit()
            self._send(answered=False)
            self._reset()
            return
        is_free = not self._in_flight
        if state in AT_ONCE:
            goes = (is_free and not self._backs_off) or state is MemberState.LEAVING
        else:
            now = member.loop.now_us
            goes = is_free and now >= self._due_us and now >= self._backoff_until_us
        if goes and state is MemberState.ACKNOWLEDGING and self._acknowledges_later():
            return
        if goes:
            self._send()
        else:
            self._plan()

    @property
    def _backs_off(self) -> bool:
        """Whether a heartbeat that was refused waits for the backoff, whatever the state (librdkafka, franz-go)."""
        row = self._member.profile.consumer_protocol
        waits = self._failing and self._member.loop.now_us < self._backoff_until_us
        return waits and (row.repeats or row.joins_after_backoff)

    @property
    def longest_wait_us(self) -> int:
        """How long `poll` may wait: until the next heartbeat is due, else retry.backoff.ms."""
        left_us = self._due_us - self._member.loop.now_us
        return left_us if left_us > 0 else self._retry_us

    def _acknowledges_later(self) -> bool:
        """Whether the acknowledgement waits for the next pass of the library's main thread; plans that pass."""
        wait_us = self._member.profile.consumer_protocol.acknowledges_after_us
        now_us = self._member.loop.now_us
        if not wait_us:
            return False
        if self._acknowledges_us is None:
            self._acknowledges_us = now_us + wait_us
            self._member.host.call_at(self._acknowledges_us, self._due_to_acknowledge)
        return now_us < self._acknowledges_us

    def _due_to_acknowledge(self, _: Any) -> None:
        self._membership.run()
        self._acknowledges_us = None

    @property
    def may_overtake(self) -> bool:
        """Whether a heartbeat that does not wait for the interval may be sent now."""
        waits = self._acknowledges_us is not None and self._member.loop.now_us < self._acknowledges_us
        return not (self._in_flight or self._is_quiet or waits or self._backs_off) and self._member.coordinator.known

    @property
    def _is_quiet(self) -> bool:
        """Whether the member is about to leave, and sends nothing before the heartbeat that does."""
        member, state = self._member, self._membership.state
        leaves = state is MemberState.PREPARE_LEAVING or (member.closing and state is not MemberState.LEAVING)
        return leaves and member.profile.consumer_protocol.quiet_while_leaving

    def _send(self, *, answered: bool = True) -> None:
        """Build and send one heartbeat; without `answered` its answer is ignored."""
        member = self._member
        try:
            version = member.version(Api.CONSUMER_GROUP_HEARTBEAT)
        except ClientFailure:  # no version in common
            self._membership.fatal(_unsupported(_NO_PROTOCOL))
            return
        if version < REGEX_SINCE and member.subscription.regex is not None:
            self._membership.fatal(_unsupported(_NO_REGEX))
            return
        request = self._fields.build(version)
        self._in_flight = True
        self._flight += 1
        self._due_us = member.loop.now_us + self._interval_us
        on_done = partial(self._answered, self._flight, request) if answered else _ignored
        link = member.coordinator.link
        if request is not self._plain and is_plain(request):
            self._plain = request
        if link is not None and request is self._plain and not member.trace.heartbeats:
            link.send(request, on_done, member.request_timeout_us)
        else:
            member.coordinator.send(request, on_done)
        if self._membership.state is not _STABLE:
            self._membership.heartbeat_generated()
        self._plan()

    def send_leave(self, on_done: Callable[[Outcome], None]) -> bool:
        """Send the leave of a member that has ended, if there is a coordinator; whatever the answer, it is done."""
        member = self._member
        if not member.coordinator.known:
            return False
        request = self._fields.build(member.version(Api.CONSUMER_GROUP_HEARTBEAT))
        member.coordinator.send(request, on_done)
        return True

    def _plan(self) -> None:
        """Set the timer of the next heartbeat; while one is in flight, its answer sends a late one."""
        when_us = self._due_us
        if when_us < self._backoff_until_us:
            when_us = self._backoff_until_us
        if self._timer is not None:
            if self._timer_us == when_us:
                return
            self._member.host.cancel(self._timer)
        if when_us <= self._member.loop.now_us:
            self._timer = None
            return
        self._timer_us = when_us
        self._timer = self._member.loop.timer_at(when_us, self._due, None, self._member.host.life)

    def _due(self, _: Any) -> None:
        self._timer = None
        self._membership.run()

    def _reset(self) -> None:
        """Forget what is in flight, and the backoff (`RequestState.reset`)."""
        self._in_flight = False
        self._backoff_until_us = 0
        self._failing = False
        self._fields.forget()

    # -- answers ------------------------------------------------------------------------------------------------

    def _answered(self, flight: int, request: ConsumerGroupHeartbeatRequest, outcome: Outcome) -> None:
        if flight == self._flight:
            self._in_flight = False
        if type(outcome) is ConsumerGroupHeartbeatResponse and not outcome.error:
            self._accepted(request, outcome)
        else:
            self._emit_if_quiet(request, outcome)
            self._failed(outcome)
        if not self._only_waits():
            self._membership.run()

    def _only_waits(self) -> bool:
        """Whether a pass of the background thread would do nothing: a stable member waits for its timer."""
        member, membership = self._member, self._membership
        due_us, link = self._due_us, member.coordinator.link
        return (
            membership.state is _STABLE
            and self._timer is not None
            and self._timer_us == due_us
            and due_us > member.loop.now_us
            and due_us >= self._backoff_until_us
            and membership.poll_timer.inside
            and link is not None
            and link.open
        )

    def _accepted(self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse) -> None:
        self.quiet += 1
        if self._failing:
            self._failing = False
            self._unreleased = 0
            self._member.succeeded(_BACKOFF)
        if not self._member.profile.consumer_protocol.repeats:
            self._backoff_until_us = self._member.loop.now_us + self._retry_us  # `RequestState.onSuccessfulAttempt`
        interval_us = response.heartbeat_interval_ms * MS_US
        if interval_us != self._interval_us:
            since_us = self._member.loop.now_us
            if self._member.profile.consumer_protocol.repeats:
                since_us = self._due_us - self._interval_us  # the interval counts from the send (`rd_interval`)
            self._interval_us = interval_us
            self._due_us = since_us + interval_us
        if response.assignment is not None or response.member_epoch != request.member_epoch:
            self._emit_if_quiet(request, response)
        elif self._membership.state is _STABLE and self._membership.epoch == response.member_epoch:
            return  # nothing new
        self._membership.accepted(response)

    def _emit_if_quiet(self, request: ConsumerGroupHeartbeatRequest, outcome: Outcome) -> None:
        """Emit the outcome of a heartbeat that was sent without a trace event: it is not quiet."""
        trace = self._member.trace
        if is_plain(request) and not trace.heartbeats:
            trace.begin(emit_outcome(self._member, request, 0, outcome))

    def _failed(self, outcome: Outcome) -> None:
        member, membership = self._member, self._membership
        self._due_us = member.now_us
        self._failing = True
        self._backoff_until_us = member.now_us + member.backoff(_BACKOFF).next_us()
        self._take_back(outcome)
        membership.heartbeat_failed()
        if isinstance(outcome, Disconnected):
            member.coordinator.lost("coordinator unavailable")
        elif isinstance(outcome, ConsumerGroupHeartbeatResponse):
            self._react(outcome)

    def _take_back(self, outcome: Outcome) -> None:
        """Forget what was sent; a client that repeats a heartbeat forgets the last one alone."""
        repeats = self._member.profile.consumer_protocol.repeats
        if repeats and not (isinstance(outcome, Disconnected) and not outcome.timed_out) and not _moved(outcome):
            self._fields.take_back()
        else:
            self._fields.forget()

    def _react(self, response: ConsumerGroupHeartbeatResponse) -> None:
        member, membership, error = self._member, self._membership, response.error
        action, row = action_on(error), member.profile.consumer_protocol
        if error is ErrorCode.REQUEST_TIMED_OUT and row.repeats:
            action = Action.BACK_OFF
        joins = membership.state is MemberState.JOINING
        if joins and error is ErrorCode.UNRELEASED_INSTANCE_ID and self._unreleased < row.unreleased_retries:
            self._unreleased += 1
            action = Action.BACK_OFF
        survives = row.survives_unexpected and error not in LISTED_AS_FATAL
        if survives and action in (Action.FATAL, Action.NO_GROUP):
            action = Action.BACK_OFF
        if action is Action.LOOK_UP:
            self._reset()
            member.succeeded(_BACKOFF)
            member.coordinator.lost(f"error response {error.name}")
        elif action is Action.FENCE:
            self._reset()
            member.succeeded(_BACKOFF)
            membership.fence(error)
        elif action is Action.THROW:
            self._throw(response)
        elif action is Action.FATAL or (action is Action.NO_GROUP and self._ends_without_group()):
            membership.fatal(self._thrown(response, fatal=True))

    def _throw(self, response: ConsumerGroupHeartbeatResponse) -> None:
        """Have `poll` throw an error; one that was thrown a moment ago is not thrown again by librdkafka."""
        silent_us, now_us = self._member.profile.consumer_protocol.silent_ms * MS_US, self._member.loop.now_us
        if self._thrown_us is not None and now_us < self._thrown_us + silent_us:
            return
        self._thrown_us = now_us
        self._membership.callbacks.throw(self._thrown(response, fatal=False))

    def _ends_without_group(self) -> bool:
        is_out = self._membership.state is MemberState.UNSUBSCRIBED
        return not is_out or self._member.profile.consumer_protocol.ends_when_out

    def _thrown(self, response: ConsumerGroupHeartbeatResponse, *, fatal: bool) -> ClientFailure:
        if response.error is ErrorCode.UNSUPPORTED_VERSION:
            return _unsupported(_NO_PROTOCOL)
        reason = response.error_message or f"ConsumerGroupHeartbeat answered {response.error.name}"
        return ClientFailure(exception_name(response.error), reason, fatal=fatal)


def _moved(outcome: Outcome) -> bool:
    """Whether an answer says that another broker coordinates the group."""
    return isinstance(outcome, ConsumerGroupHeartbeatResponse) and action_on(outcome.error) is Action.LOOK_UP


def _unsupported(reason: str) -> ClientFailure:
    """Return the exception of a request that the brokers do not know (`handleSpecificFailure`)."""
    return ClientFailure(exception_name(ErrorCode.UNSUPPORTED_VERSION), reason, fatal=True)


def _ignored(outcome: Outcome) -> None:
    """Ignore the answer to a heartbeat that left by the poll limit: the member may join before it arrives."""
