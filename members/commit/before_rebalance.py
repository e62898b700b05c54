"""The auto-commit before a rebalance, repeated until it succeeds or the rebalance timeout has passed.

Each turn of `poll` sends the commit if none is in flight. A retriable failure is sent again at the next event that
wakes `poll` (an answer on any connection, a heartbeat that is sent, a coordinator that is found), or after
retry.backoff.ms, to which the failure has set the auto-commit timer. Up to 3.1 Java slept for the backoff inside that
poll, as libraries modelled on it still do.

Events that a quiet group does not simulate one by one are watched meanwhile: heartbeats and parked fetches.

Sources: `ConsumerCoordinator.onJoinPrepare`, `autoCommitOffsetsAsync`, `timeToNextPoll`; `ConsumerNetworkClient.poll`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groupsim.eventloop.units import MS_US
from groupsim.members.commit.attempt import Attempt, CommitResult
from groupsim.members.member import Member

if TYPE_CHECKING:
    from groupsim.eventloop.interface import Handle


class CommitBefore:
    """The commit before one rebalance."""

    __slots__ = ("_deadline_us", "_member", "_rests", "_timer", "pending")

    def __init__(self, member: Member) -> None:
        self._member = member
        self._deadline_us = member.now_us + member.settings.own_rebalance_timeout_ms * MS_US
        self._rests = False  # failed, and due at the next event that wakes `poll`
        self._timer: Handle | None = None
        self.pending = True  #: the join waits for this commit

    def send(self, _: Any = None) -> None:
        """Send the commit, or send it again."""
        if not self.pending:
            return
        member = self._member
        Attempt(member, member.commits.positions(), self._answered, auto=True).go()
        # `onJoinPrepare` waits for an answer no longer than the rebalance timeout.
        if self.pending and not self._rests:
            latest = min(member.now_us + member.request_timeout_us, self._deadline_us)
            if latest == self._deadline_us:
                member.host.call_at(max(latest, member.now_us), self._goes_on)

    def polled(self) -> None:
        """Send a failed commit again, at a turn of `poll`."""
        member = self._member
        if not self._rests:
            return
        if not member.coordinator.known:
            member.coordinator.ensure()
        else:
            self._stop_resting()
            self.send()

    def _answered(self, result: CommitResult) -> None:
        member = self._member
        if not self.pending:
            return
        if not (result.error and result.retriable and member.now_us < self._deadline_us):
            self._goes_on()
            return
        again_us = member.now_us + member.settings.retry_backoff_ms * MS_US
        member.coordinator.ensure()
        if member.profile.commits.retried_on_any_event:
            self._rest(again_us)
        else:
            member.host.call_at(again_us, self.send)

    def _rest(self, until_us: int) -> None:
        member = self._member
        self._rests = True
        member.on_network_event = member.wake.set
        member.fetcher.come_back()
        self._timer = member.host.call_at(until_us, self._wake)

    def _wake(self, _: Any) -> None:
        self._timer = None
        self._member.wake.set()

    def _stop_resting(self) -> None:
        self._rests = False
        self._member.on_network_event = None
        timer, self._timer = self._timer, None
        if timer is not None:
            self._member.host.cancel(timer)

    def _goes_on(self, _: Any = None) -> None:
        """Let the join go on: the commit has ended, or its time is over."""
        if self.pending:
            self.pending = False
            self._member.wake.set()
