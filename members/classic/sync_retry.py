"""A SyncGroup that is sent again in its generation, as libraries with a main thread do where Java joins anew.

What a loading coordinator answers may pass, and so may a connection that broke: the same request goes out once more
after the backoff, a few times. All else is a rebalance that failed. Source: `rdkafka_request.c`, and what the library
does when it is asked (docs/twins.md).
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
    """The SyncGroup of one round, and how often it may still be sent."""

    __slots__ = ("_backoff", "_left", "_member", "not_before_us", "request")

    def __init__(self, member: Ports, request: SyncGroupRequest) -> None:
        self._member = member
        self._backoff = Backoff(member.settings, member.profile, member.stream_factory("sync-backoff"))
        self._left = member.pace.retries
        self.request = request
        self.not_before_us = 0

    def begins(self, outcome: Outcome | None) -> bool:
        """Whether what came of it lets it be sent again; then that is due at `not_before_us`."""
        if not self._left or not self._may_pass(outcome):
            return False
        self._left -= 1
        self.not_before_us = self._member.now_us + self._backoff.next_us()
        self._member.wake_at(self.not_before_us)
        return True

    def _may_pass(self, outcome: Outcome | None) -> bool:
        if not isinstance(outcome, SyncGroupResponse):
            return isinstance(outcome, Disconnected)
        error = outcome.error
        return bool(error) and self._member.profile.reaction(Api.SYNC_GROUP, error) is Reaction.RETRY

    @property
    def is_due(self) -> bool:
        """Whether it can go out now; a lost coordinator is looked for."""
        member = self._member
        if member.now_us < self.not_before_us:
            return False
        if not member.coordinator.known:
            member.coordinator.ensure()
            return False
        return True


def refused(member: Ports, api: Api, error: ErrorCode, *, fatal: bool = False) -> ClientFailure:
    """What poll throws when JoinGroup or SyncGroup was refused; after a fatal error a main thread does nothing more."""
    lasting = fatal and member.pace.ends_with_fatal_error
    reason = f"{api.title} answered {error.name}"
    failure = ClientFailure(thrown_by(api, error), reason, fatal=fatal, lasting=lasting)
    if lasting:
        member.fail(failure)
    return failure


def ignore(outcome: Outcome) -> None:
    """Answers to LeaveGroup are only logged."""
