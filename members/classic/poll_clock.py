"""max.poll.interval.ms: the limit of the application's time away from `poll`.

The limit does not expire while the application waits in `poll`. Processing, callbacks and assignors count. The
background thread checks every `poll_check_ms` (Java: retry.backoff.ms, librdkafka: 500 ms) while it is enabled, and
notices the limit that much late. One heap event is moved when it comes up too early. Source:
`Heartbeat.pollTimeoutExpired`; classic-protocol reference, section 4.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.generation import ClientState
from groupsim.members.ports import Ports

if TYPE_CHECKING:
    from groupsim.members.classic.parts import Group

REASON = "consumer poll timeout has expired."


class PollClock:
    """Whether the application is inside `poll`, and since when it is away."""

    __slots__ = (
        "_armed",
        "_by_heartbeat",
        "_check_us",
        "_enforced",
        "_group",
        "_left_us",
        "_limit_us",
        "_long_us",
        "_member",
        "_overdue",
        "away_since_us",
        "inside",
    )

    def __init__(self, member: Ports, group: Group) -> None:
        self._member = member
        self._group = group
        self._limit_us = member.settings.max_poll_interval_ms * MS_US
        self._long_us = member.settings.fetch_max_wait_ms * MS_US
        self._check_us = member.profile.poll_limit.check_ms * MS_US
        self._enforced = member.profile.poll_limit.enforced
        self._by_heartbeat = member.pace.heartbeats_in_turn
        self._armed = False
        self._overdue = False
        self._left_us = 0  # when the member left by the limit, in a library that then waits for the application
        self.inside = False
        self.away_since_us = 0

    def enter(self) -> None:
        """Record that the application waits inside `poll`."""
        if not self.inside:
            self.inside = True
            if self._member.loop.now_us - self.away_since_us > self._long_us:
                self._member.fetcher.was_away(self.away_since_us)

    def leave(self) -> None:
        """Record that the application's thread is busy."""
        self.inside = False
        self.away_since_us = self._member.loop.now_us
        if not self._armed:
            self._arm()

    def restart(self) -> None:
        """Restart the limit, as the background thread does when it is enabled (`Heartbeat.resetTimeouts`)."""
        self.away_since_us = self._member.loop.now_us

    def _arm(self) -> None:
        if self._enforced and not self._armed:
            self._armed = True
            self._member.host.call_at(self._noticed_us(), self._due)

    def _noticed_us(self) -> int:
        """Return when the background thread notices the limit; its checks count from the last heartbeat."""
        deadline = self.away_since_us + self._limit_us
        anchor = self._group.heartbeat.last_sent_us
        if self._by_heartbeat:  # aiokafka's heartbeat task works out when the limit expires
            next_us = anchor + self._member.settings.heartbeat_interval_ms * MS_US
            return deadline if anchor >= self.away_since_us else max(next_us, deadline)
        if not self._check_us or anchor > deadline:
            return deadline
        return anchor + -(-(deadline - anchor) // self._check_us) * self._check_us

    def look(self) -> None:
        """Check at once after the thread did not run. An application inside `poll` restarts the limit before that."""
        if self._enforced and not self._by_heartbeat and not self.inside:
            self._look()

    def _due(self, _: Any) -> None:
        self._armed = False
        self._look()

    def _look(self) -> None:
        member = self._member
        if self.inside or member.closing or member.now_us < self._group.heartbeat.blocked_until_us:
            return
        if member.now_us < self.away_since_us + self._limit_us:
            self._arm()
        elif member.state in (ClientState.STABLE, ClientState.COMPLETING_REBALANCE):
            self._expired_or_later()

    def _expired_or_later(self) -> None:
        """Expire only with a known coordinator: `AbstractCoordinator.HeartbeatThread` looks a lost one up first."""
        self._overdue = not self._member.coordinator.known
        if self._overdue:
            self._member.coordinator.ensure()
        else:
            self._expired()

    def holds_join(self) -> bool:
        """Whether a member that left by the limit waits for the application before it joins again.

        aiokafka checks for the application every retry.backoff.ms; the join is planned for the check that finds it.
        """
        if not self._left_us:
            return False
        member = self._member
        if self.inside:
            backoff_us = member.settings.retry_backoff_ms * MS_US
            late_us = (self._left_us - member.now_us) % backoff_us
            self._left_us = 0
            if late_us:
                self._group.rebalance.hold(member.now_us + late_us)
                return True
        return bool(self._left_us)

    def coordinator_found(self) -> None:
        """Apply a limit that expired while the coordinator was unknown."""
        if self._overdue:
            self._overdue = False
            self._look()

    def _expired(self) -> None:
        member = self._member
        seq = member.emit(Kind.POLL_EXPIRED, payload={"limit_us": self._limit_us})
        member.trace.begin(seq)
        if self._by_heartbeat:
            self._left_us = member.now_us
            self._group.heartbeat.once()
        self._group.rebalance.leave(REASON)
        if member.profile.reports.consumer_errors:
            member.report_error("MaxPollExceeded", "max.poll.interval.ms was exceeded")
