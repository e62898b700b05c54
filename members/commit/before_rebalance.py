"""The auto-commit before a rebalance: again and again until it is done, or the rebalance timeout has passed.

`poll` sees to it. Each time round it sends the commit if none is in flight; one that was refused and may be tried again
so goes out at the next thing that wakes `poll`: an answer that comes over any connection, a heartbeat that is sent, a
coordinator that is found; or after retry.backoff.ms, for that is what the refusal has set the auto-commit's timer to.
Up to 3.1 Java waited for the backoff inside that one poll, and so do the libraries after its model.

What goes unseen in a quiet group is watched meanwhile: heartbeats that go by themselves, fetches that are parked.

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
        self._rests = False  # refused, and due when something wakes `poll`
        self._timer: Handle | None = None
        self.pending = True  #: the join has to wait for it

    def send(self, _: Any = None) -> None:
        """Try, or try once more."""
        if not self.pending:
            return
        member = self._member
        Attempt(member, member.commits.positions(), self._answered, auto=True).go()
        if self.pending and not self._rests:  # no answer yet: the rebalance waits for it, but not for ever
            latest = min(member.now_us + member.request_timeout_us, self._deadline_us)
            if latest == self._deadline_us:
                member.host.call_at(max(latest, member.now_us), self._goes_on)

    def polled(self) -> None:
        """`poll` has come round."""
        member = self._member
        if not self._rests:
            return
        if not member.coordinator.known:
            member.coordinator.ensure()
        else:
            self._rest_no_more()
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

    def _rest_no_more(self) -> None:
        self._rests = False
        self._member.on_network_event = None
        timer, self._timer = self._timer, None
        if timer is not None:
            self._member.host.cancel(timer)

    def _goes_on(self, _: Any = None) -> None:
        """The commit has come to an end, or its time has."""
        if self.pending:
            self.pending = False
            self._member.wake.set()
