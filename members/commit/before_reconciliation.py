"""The auto-commit before a reconciliation, repeated until it succeeds or the rebalance timeout has passed.

It is sent again after a retriable error, with the positions of that moment, and after STALE_MEMBER_EPOCH as long as the
member is in the group: the next attempt carries the newest epoch. The background thread repeats it, whether the
application polls or not. The reconciliation goes on whatever the result.

Source: `CommitRequestManager.maybeAutoCommitSyncBeforeRevocation`, `autoCommitSyncBeforeRevocationWithRetries`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupsim.eventloop.units import MS_US
from groupsim.members.commit.attempt import Attempt, CommitResult
from groupsim.members.member import Member
from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.errors import ErrorCode

_BACKOFF = "commit-before-backoff"  # the purpose of its random stream
_UNKNOWN_TOPIC = exception_name(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)  # retriable, but the topic may be gone


class CommitBeforeReconciliation:
    """The commit before one reconciliation."""

    __slots__ = ("_deadline_us", "_done", "_member", "pending")

    def __init__(self, member: Member, done: Callable[[], None]) -> None:
        self._member = member
        self._done = done
        self._deadline_us = member.now_us + member.settings.max_poll_interval_ms * MS_US
        self.pending = True  #: the reconciliation waits for this commit
        member.succeeded(_BACKOFF)

    def send(self, _: Any = None) -> None:
        """Send the commit, or send it again; `done` is called when it is over."""
        member = self._member
        offsets = member.commits.positions()
        if not offsets:
            self._end()
        elif member.coordinator.known:
            Attempt(member, offsets, self._answered, auto=True).go()
        elif member.now_us < self._deadline_us:
            member.coordinator.look_up(self._again)
        else:
            self._end()

    def _answered(self, result: CommitResult) -> None:
        stale = result.stale and not self._member.generation.is_lost
        again = stale or (result.retriable and result.error != _UNKNOWN_TOPIC)
        if again and self._member.now_us < self._deadline_us:
            self._again()
        else:
            self._end()

    def _end(self) -> None:
        self.pending = False
        self._done()

    def _again(self) -> None:
        member = self._member
        member.host.call_at(member.now_us + member.backoff(_BACKOFF).next_us(), self.send)
