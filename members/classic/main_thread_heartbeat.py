"""Heartbeats of a library with a main thread (librdkafka), which keeps its own time and its own session.

Heartbeats go out when the thread looks around, one in flight at a time; the interval goes on over generations. Without
an answer for session.timeout.ms the member takes itself for expelled, where others look for their coordinator.

Source: `rdkafka_cgrp.c` (`rd_kafka_cgrp_heartbeat`, `rd_kafka_cgrp_session_timeout_check`), and what the library does
when it is asked (docs/twins.md).
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
    """Sends heartbeats while enabled, at the looks around of the main thread."""

    __slots__ = ("_pace", "_tried_at", "_tries")

    def __init__(self, member: Ports, group: Group, pace: MainThread) -> None:
        super().__init__(member, group)
        self._pace = pace
        self._tries = 0  # to send the same again
        self._tried_at = 0  # how many were quiet then
        self.last_sent_us = -self._interval_us

    def _begin(self) -> None:
        """The interval has gone on since the last one, whichever generation that was in."""
        member = self._member
        due_us = self.last_sent_us + self._configured_us
        self._again(self._pace.heartbeat_wait_us(member.started_us, self._loop.now_us, due_us))

    def coordinator_found(self) -> None:
        """A heartbeat that waited for it goes out; the session is not renewed by that."""
        self._unanswered = 0
        if self.owed:
            self._send_owed()
            if self.enabled:
                now_us = self._loop.now_us
                self._again(self._pace.after_late_us(self._member.started_us, now_us, self._configured_us))

    def coordinator_lost(self) -> None:
        """The session goes on running out."""
        self._member.host.call_at(self._alive_us + self._session_us, self._look_at_session)

    def _may_go(self) -> bool:
        """None is sent while one is unanswered; the next is due in its turn."""
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
        member.trace.begin(member.say(Kind.SESSION_EXPIRED, payload=silent))
        free = not self._unanswered
        self._group.joining.reset("session timed out", member_id_too=True)
        if free:
            self._send_nameless()

    def _send_nameless(self, _: Any = None) -> None:
        """Send one without a member id: librdkafka goes on so in its old generation, until it joins again."""
        member, link = self._member, self._member.coordinator.link
        joins = member.state is not ClientState.UNJOINED or self._group.joining.stage is not Stage.IDLE
        if joins or self.enabled or member.closing or link is None or not link.open:
            return
        self.last_sent_us = self._loop.now_us
        link.send(evolve(self._request, member_id=""), self._on_answer, self._timeout_us)
        member.host.call_at(self._loop.now_us + self._interval_us, self._send_nameless)

    def _fail(self) -> None:
        """The next one goes out in its turn."""

    def _refused_for_now(self) -> None:
        """The next one goes out in its turn."""

    def _try_again(self) -> None:
        """The same once more after the backoff, beside those that go in their turn."""
        if self._tried_at != self.quiet:  # one was answered since
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
