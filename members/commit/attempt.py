"""One attempt to commit offsets: refused locally or sent, and the reaction to its answer.

A classic member sends a commit in the state STABLE only. Otherwise it fails without a request: with
RebalanceInProgressException during a rebalance, with CommitFailedException when the membership is lost
(`Membership.commit_refusal`). A member of a consumer group sends it in any state, with its member epoch.

Sources: `ConsumerCoordinator.sendOffsetCommitRequest`, `OffsetCommitResponseHandler`; classic-protocol reference,
section 4.10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupsim.eventloop.trace.events import Kind
from groupsim.members.classic.requests import commit_request
from groupsim.members.failures import ClientFailure
from groupsim.members.generation import ClientState, Generation
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.member import Member
from groupsim.members.profiles.exceptions import exception_name
from groupsim.members.profiles.reactions import Reaction, exception_of
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, OffsetCommitResponse, OffsetToCommit, TopicPartition
from groupsim.protocol.values import frozen

REBALANCING = "offset commit failed since group is already rebalancing"
BACKOFF = "commit-backoff"  # the purpose of its random stream
Offsets = Mapping[TopicPartition, int]
Entries = tuple[OffsetToCommit, ...]


@frozen
class CommitResult:
    """Result of an attempt: `error` is the exception's name, None after a success."""

    error: str | None = None
    retriable: bool = False
    fatal: bool = False
    stale: bool = False  #: refused for the member's epoch, which may be a newer one by now


OnResult = Callable[[CommitResult], None]
_DONE = CommitResult()
# Bound once: access to a member of an enumeration is slow.
_COMMITTED = Kind.OFFSETS_COMMITTED


def entries_of(member: Member, offsets: Offsets) -> Entries:
    """Return the request's entries for these offsets, with the leader epochs that the client knows."""
    epoch = member.fetcher.leader_epoch
    return tuple([OffsetToCommit(part, offset, epoch(part)) for part, offset in offsets.items()])


class Attempt:
    """One attempt; librdkafka repeats the same one."""

    __slots__ = ("_auto", "_entries", "_member", "_offsets", "_on_result", "_sent", "_tries")

    def __init__(
        self, member: Member, offsets: Offsets, on_result: OnResult, *, auto: bool = False, entries: Entries = ()
    ) -> None:
        self._member = member
        self._offsets = offsets
        self._on_result = on_result
        self._auto = auto
        self._entries = entries  # set beforehand where the offsets must not change before the request
        self._sent: Generation = member.generation
        self._tries = 0

    def go(self, _: Any = None) -> None:
        """Commit once. `on_result` is called at once, or when the answer arrives."""
        member = self._member
        if not self._offsets:
            self._on_result(_DONE)
        elif (refusal := member.membership.commit_refusal) is not None and member.subscription.assigned is None:
            self._failed(CommitResult(refusal))
        elif not (member.coordinator.known and member.coordinator.ready):
            self._failed_once(CommitResult("CoordinatorNotAvailableException", retriable=True))
        else:
            self._entries = self._entries or entries_of(member, self._offsets)
            self._sent = member.generation
            member.coordinator.send(commit_request(member, self._entries), self._answered)

    def _answered(self, outcome: Outcome) -> None:
        member, offsets, committed = self._member, self._offsets, self._member.commits.committed
        if isinstance(outcome, Disconnected):
            member.coordinator.lost("coordinator unavailable", later=member.commits.blocking)
            self._failed_once(CommitResult("DisconnectException", retriable=True))
            return
        error = _decisive(outcome) if isinstance(outcome, OffsetCommitResponse) else ErrorCode.UNKNOWN_SERVER_ERROR
        if error:
            self._failed_once(self._react(error), error)
            return
        # An auto-commit of unchanged offsets emits nothing: Java commits all positions at each interval.
        if not self._auto or not offsets.items() <= committed.items():
            member.emit(_COMMITTED, payload=self._payload())
        committed.update(offsets)
        self._on_result(_DONE)

    def _react(self, error: ErrorCode) -> CommitResult:
        """Apply the reaction to an error; return the result for the application."""
        member = self._member
        reaction = member.profile.reaction(Api.OFFSET_COMMIT, error)
        preparing = member.state is ClientState.PREPARING_REBALANCE
        changed = member.generation != self._sent
        if reaction is Reaction.RETRY:
            return CommitResult(exception_name(error), retriable=True)
        if reaction is Reaction.STALE:
            return CommitResult(exception_name(error), stale=True)
        if reaction is Reaction.UNEXPECTED:
            return CommitResult("KafkaException")
        if reaction is Reaction.COMMIT_FAILED:
            return CommitResult("CommitFailedException")
        if reaction is Reaction.REDISCOVER:
            member.coordinator.lost(f"error response {error.name}", later=member.commits.blocking)
            return CommitResult(exception_name(error), retriable=True)
        if reaction is Reaction.REJOIN:
            member.membership.request_rejoin(REBALANCING)
            return CommitResult("RebalanceInProgressException")
        if reaction is Reaction.FATAL and not changed:
            return self._fenced(error)
        if reaction is Reaction.THROW:
            return CommitResult(exception_of(Api.OFFSET_COMMIT, error))
        # `OffsetCommitResponseHandler`: an error for an older generation resets nothing.
        if changed and (preparing or reaction is Reaction.FATAL):
            return CommitResult("RebalanceInProgressException" if preparing else "CommitFailedException")
        member.membership.reset(
            f"encountered {error.name} from {Api.OFFSET_COMMIT.name} response",
            member_id_too=reaction is Reaction.RESET_MEMBER,
        )
        return CommitResult("CommitFailedException")

    def _fenced(self, error: ErrorCode) -> CommitResult:
        """Return the fatal result; without a commitSync every poll throws (`maybeThrowFencedInstanceException`)."""
        member = self._member
        is_done = member.pace.ends_with_fatal_error
        if is_done:
            member.membership.stop_heartbeats()
        if is_done or not member.commits.blocking:
            reason = f"OffsetCommit answered {error.name}"
            member.fail(ClientFailure(exception_name(error), reason, fatal=True, lasting=True))
        return CommitResult(exception_name(error), fatal=True)

    def _failed_once(self, result: CommitResult, code: ErrorCode | None = None) -> None:
        """Repeat a retriable failure in a library that does so (librdkafka: `rdkafka_request.c`); else return it."""
        member, retries = self._member, self._member.pace.retries
        if not retries or not result.retriable:
            self._failed(result, code)
        elif self._tries >= retries:
            self._failed(CommitResult(result.error), code)
        else:
            if not self._tries:
                member.succeeded(BACKOFF)
            self._tries += 1
            member.host.call_at(member.commits.in_order(member.now_us + member.backoff(BACKOFF).next_us()), self.go)

    def _failed(self, result: CommitResult, code: ErrorCode | None = None) -> None:
        error = code.name if code else result.error
        self._member.emit(Kind.COMMIT_FAILED, error=error, reason=result.error, payload=self._payload())
        self._on_result(result)

    def _payload(self) -> dict[str, Any]:
        return {"offsets": {str(partition): at for partition, at in self._offsets.items()}, "auto": self._auto}


def _decisive(response: OffsetCommitResponse) -> ErrorCode:
    """Return the decisive error: the first one; TOPIC_AUTHORIZATION_FAILED only if there is no other.

    Source: `OffsetCommitResponseHandler.handle`, which collects unauthorized topics and continues.
    """
    unauthorized = ErrorCode.NONE
    for _, error in response.partitions:
        if error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            unauthorized = error
        elif error:
            return error
    return unauthorized
