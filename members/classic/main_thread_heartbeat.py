"""Heartbeats of librdkafka, whose main thread keeps its own timing and its own session.

The main thread sends heartbeats at its periodic checks, one in flight at a time; the interval continues across
generations. After session.timeout.ms without an answer the member considers itself expelled, where other libraries look
the coordinator up.

Source: `rdkafka_cgrp.c` (`rd_kafka_cgrp_heartbeat`, `rd_kafka_cgrp_session_timeout_check`), and the library's behaviour
(docs/twins.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from groupsim.eventloop.trace.events import Kind
from groupsim.members.classic.heartbeat import Heartbeat
from groupsim.members.classic.stages import Stage
from groupsim.members.generation import ClientState
from groupsim.members.ports import Ports
from groupsim.members.profiles.pace import MainThread

if TYPE_CHECKING:
    from groupsim.members.classic.parts import Group


class MainThreadHeartbeat(Heartbeat):
    """Sends heartbeats while enabled, at the periodic checks of the main thread."""

    __slots__ = ("_pace", "_tried_at", "_tries")

    def __init__(self, member: Ports, group: Group, pace: MainThread) -> None:
        super().__init__(member, group)
        self._pace = pace
        self._tries = 0  # repetitions of the same heartbeat
        self._tried_at = 0  # value of `quiet` at the first of them
        self.last_sent_us = -self._interval_us

    def _begin(self) -> None:
        """Continue the interval since the last heartbeat, in whichever generation that was sent."""
        member = self._member
        due_us = self.last_sent_us + self._configured_us
        self._again(self._pace.heartbeat_wait_us(member.started_us, self._loop.now_us, due_us))

    def coordinator_found(self) -> None:
        """Send a heartbeat that waited for the coordinator; the session timer is not restarted."""
        self._unanswered = 0
        if self.owed:
            self._send_owed()
            if self.enabled:
                now_us = self._loop.now_us
                self._again(self._pace.after_late_us(self._member.started_us, now_us, self._configured_us))

    def coordinator_lost(self) -> None:
        """Keep the session timer running."""
        self._member.host.call_at(self._alive_us + self._session_us, self._look_at_session)

    def _may_go(self) -> bool:
        """Whether a heartbeat may be sent: one at a time; the next one is sent at a later check."""
        self._look_at_session()
        if self._unanswered and self.enabled:
            self._again(self._interval_us)
        return not self._unanswered and self.enabled

    @property
    def _watches_session(self) -> bool:
        return True

    def _session_over(self) -> None:
        member = self._member
        silent = {"silent_us": member.now_us - self._alive_us, "last_error": self._last_error}
        silent["coordinator"] = member.coordinator.node if member.coordinator.known else -1
        member.trace.begin(member.emit(Kind.SESSION_EXPIRED, payload=silent))
        free = not self._unanswered
        self._group.rebalance.reset("session timed out", member_id_too=True)
        if free:
            self._send_without_id()

    def _send_without_id(self, _: Any = None) -> None:
        """Send a heartbeat without a member id, as librdkafka does in the old generation until it joins again."""
        member, link = self._member, self._member.coordinator.link
        joins = member.state is not ClientState.UNJOINED or self._group.rebalance.stage is not Stage.IDLE
        if joins or self.enabled or member.closing or link is None or not link.open:
            return
        self.last_sent_us = self._loop.now_us
        link.send(evolve(self._request, member_id=""), self._on_answer, self._timeout_us)
        member.host.call_at(self._loop.now_us + self._interval_us, self._send_without_id)

    def _fail(self) -> None:
        """Do nothing: the next heartbeat is sent at its time."""

    def _refused_for_now(self) -> None:
        """Do nothing: the next heartbeat is sent at its time."""

    def _try_again(self) -> None:
        """Send the same heartbeat again after the backoff, besides the regular ones (`rdkafka_request.c`)."""
        if self._tried_at != self.quiet:  # a heartbeat was answered since
            self._tried_at, self._tries = self.quiet, 0
        if self._tries < self._pace.retries:
            self._tries += 1
            self._member.host.call_at(self._loop.now_us + self._backoff_us(), self._send_again)

    def _send_again(self, _: Any) -> None:
        member = self._member
        link = member.coordinator.link
        if self._loop.now_us < self.blocked_until_us:
            return
        if self.enabled and not self._unanswered and member.coordinator.known and link is not None:
            self._unanswered += 1
            self._hand_over(link)
