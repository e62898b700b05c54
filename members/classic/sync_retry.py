"""A SyncGroup that librdkafka sends again in its generation, where Java joins again.

After COORDINATOR_LOAD_IN_PROGRESS or a broken connection the same request is repeated after the backoff, a few times.
Other errors end the rebalance. Source: `rdkafka_request.c`, and the library's behaviour (docs/twins.md).
"""

from __future__ import annotations

from groupsim.members.backoff import Backoff
from groupsim.members.failures import ClientFailure
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.ports import Ports
from groupsim.members.profiles.reactions import Reaction, thrown_by
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, SyncGroupRequest, SyncGroupResponse


class SyncRetry:
    """The SyncGroup of one rebalance, and its remaining repetitions."""

    __slots__ = ("_backoff", "_left", "_member", "not_before_us", "request")

    def __init__(self, member: Ports, request: SyncGroupRequest) -> None:
        self._member = member
        self._backoff = Backoff(member.settings, member.profile, member.stream_factory("sync-backoff"))
        self._left = member.pace.retries
        self.request = request
        self.not_before_us = 0

    def begins(self, outcome: Outcome | None) -> bool:
        """Whether the outcome allows a repetition, which is then due at `not_before_us`."""
        if not self._left or not self._is_retriable(outcome):
            return False
        self._left -= 1
        self.not_before_us = self._member.now_us + self._backoff.next_us()
        self._member.wake_at(self.not_before_us)
        return True

    def _is_retriable(self, outcome: Outcome | None) -> bool:
        if not isinstance(outcome, SyncGroupResponse):
            return isinstance(outcome, Disconnected)
        error = outcome.error
        return bool(error) and self._member.profile.reaction(Api.SYNC_GROUP, error) is Reaction.RETRY

    @property
    def is_due(self) -> bool:
        """Whether the repetition may be sent now; looks a lost coordinator up."""
        member = self._member
        if member.now_us < self.not_before_us:
            return False
        if not member.coordinator.known:
            member.coordinator.ensure()
            return False
        return True


def refused(member: Ports, api: Api, error: ErrorCode, *, fatal: bool = False) -> ClientFailure:
    """Return the exception for a refused JoinGroup or SyncGroup; a fatal one ends a librdkafka client."""
    lasting = fatal and member.pace.ends_with_fatal_error
    reason = f"{api.title} answered {error.name}"
    failure = ClientFailure(thrown_by(api, error), reason, fatal=fatal, lasting=lasting)
    if lasting:
        member.fail(failure)
    return failure


def ignore(outcome: Outcome) -> None:
    """Ignore the answer to LeaveGroup, which clients only log."""
