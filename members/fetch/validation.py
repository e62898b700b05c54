"""Validation of positions with a new leader, before anything is fetched from it (KIP-320).

The consumer sends the epoch of the last record before the position; the leader returns the end of that epoch in its log
(OffsetForLeaderEpoch). An end before the position means that records this consumer has read were truncated. With a
reset policy it returns to where the logs diverge; without one poll throws LogTruncationException.

Source: `OffsetFetcher.validatePositionsAsync`, `SubscriptionState.maybeCompleteValidation`,
`OffsetsForLeaderEpochUtils.handleResponse`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from groupsim.members.failures import ClientFailure
from groupsim.members.fetch import lookups
from groupsim.members.fetch.state import FetchState, PartitionState
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import (
    EpochAsked,
    EpochEndOffset,
    LeaderIs,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from groupsim.protocol.messages.group import NO_EPOCH, NO_OFFSET, Api, TopicPartition

if TYPE_CHECKING:
    from groupsim.members.member import Member

_USABLE_SINCE = 3  # earlier versions need a cluster permission (KIP-320)

Asked = Mapping[TopicPartition, tuple[int, int, LeaderIs]]
"""The positions when the request was sent."""


def can_validate(member: Member) -> bool:
    """Whether library and brokers can validate positions."""
    newest = member.profile.versions.get(Api.OFFSET_FOR_LEADER_EPOCH)
    if newest is None:
        return False
    try:
        return member.version(Api.OFFSET_FOR_LEADER_EPOCH) >= min(newest, _USABLE_SINCE)
    except ClientFailure:
        return False


class Validations:
    """The partitions whose positions wait for validation."""

    __slots__ = ("_member", "_states", "_valid")

    def __init__(
        self, member: Member, states: lookups.States, valid: Callable[[PartitionState, str | None], None]
    ) -> None:
        self._member = member
        self._states = states
        self._valid = valid  # (state, reason); the reason is None if the position has not moved

    def send(self) -> None:
        """Request the validations that are due."""
        due = lookups.due(self._member, self._states.values(), FetchState.AWAIT_VALIDATION)
        for node, states in lookups.by_leader(self._member, due, lambda state: state.leader.leader).items():
            asked = tuple(EpochAsked(state.partition, state.epoch, state.leader.epoch) for state in states)
            version = self._member.version(Api.OFFSET_FOR_LEADER_EPOCH)
            as_sent = {state.partition: (state.offset, state.epoch, state.leader) for state in states}
            on_done = partial(self._answered, node, states, as_sent)
            lookups.ask(self._member, node, states, OffsetForLeaderEpochRequest(asked, version=version), on_done)

    def _answered(self, node: int, states: Sequence[PartitionState], asked: Asked, outcome: Outcome) -> None:
        waiting = [
            state
            for state in states
            if self._states.get(state.partition) is state
            and state.state is FetchState.AWAIT_VALIDATION
            and asked[state.partition] == (state.offset, state.epoch, state.leader)
        ]
        if isinstance(outcome, Disconnected):
            lookups.lost(self._member, node, waiting)
        elif isinstance(outcome, OffsetForLeaderEpochResponse):
            self._take(waiting, outcome)

    def _take(self, waiting: Sequence[PartitionState], response: OffsetForLeaderEpochResponse) -> None:
        found = {entry.partition: entry for entry in response.partitions}
        again = []
        for state in waiting:
            entry = found.get(state.partition)
            if entry is None or entry.error:
                self._refused(state, entry.error if entry else ErrorCode.NONE)
                again.append(state)
            else:
                self._judge(state, entry)
        if again:
            lookups.retry(self._member, again)
        self._member.wake.set()

    def _refused(self, state: PartitionState, error: ErrorCode) -> None:
        if error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            reason = f"Not authorized to access topics: [{state.partition.topic}]"
            self._member.fail(ClientFailure(exception_name(error), reason))

    def _judge(self, state: PartitionState, end: EpochEndOffset) -> None:
        unknown = end.end_offset == NO_OFFSET or end.leader_epoch == NO_EPOCH
        if not unknown and end.end_offset >= state.offset:
            state.validated()
            self._valid(state, None)
        elif self._member.settings.auto_offset_reset == "none":
            parted = "" if unknown else f", the logs part at offset {end.end_offset}"
            reason = f"Detected log truncation of {state.partition} at offset {state.offset}{parted}"
            self._member.fail(ClientFailure("LogTruncationException", reason))
        elif unknown:
            self._warn(state, "resetting offset")
            state.reset("truncated")
        else:
            self._warn(state, f"resetting offset to the first offset known to diverge {end.end_offset}")
            state.offset, state.epoch = end.end_offset, end.leader_epoch
            state.validated()
            self._valid(state, "truncated")

    def _warn(self, state: PartitionState, what: str) -> None:
        place = f"partition {state.partition} at offset {state.offset}, epoch {state.epoch}"
        self._member.warn(f"Truncation detected for {place}, {what}")
