"""auto.offset.reset: the first position by ListOffsets from the leader.

`earliest` and `latest` are the ends of the log (`latest` under read_committed is the last stable offset).
`by_duration:PT1H` (KIP-1106) is the first record not older than that, or the log end without one.

Source: `OffsetFetcher.resetPositionsAsync`, `OffsetFetcherUtils.handleListOffsetResponse`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from groupsim.members.failures import ClientFailure
from groupsim.members.fetch import lookups
from groupsim.members.fetch.state import FetchState, PartitionState
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.batch.batch import timestamp_ms
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetAsked,
    OffsetListed,
)
from groupsim.protocol.messages.group import NO_OFFSET, Api

if TYPE_CHECKING:
    from groupsim.members.leaders import Leaders
    from groupsim.members.member import Member


class Resets:
    """The partitions that wait for an offset by the reset policy."""

    __slots__ = ("_found", "_isolation", "_leaders", "_member", "_states")

    def __init__(
        self,
        member: Member,
        states: lookups.States,
        leaders: Leaders,
        isolation: int,
        found: Callable[[PartitionState, OffsetListed], None],
    ) -> None:
        self._member = member
        self._states = states
        self._leaders = leaders
        self._isolation = isolation
        self._found = found

    def send(self) -> None:
        """Request the offsets that are due."""
        due = lookups.due(self._member, self._states.values(), FetchState.AWAIT_RESET)
        grouped = lookups.by_leader(self._member, due, lambda state: self._leaders.of(state.partition).leader)
        for node, states in grouped.items():
            asked = tuple(
                OffsetAsked(state.partition, self._timestamp(state), self._leaders.of(state.partition).epoch)
                for state in states
            )
            request = ListOffsetsRequest(asked, self._isolation, version=self._member.version(Api.LIST_OFFSETS))
            lookups.ask(self._member, node, states, request, partial(self._answered, node, states))

    def _timestamp(self, state: PartitionState) -> int:
        settings = self._member.settings
        if settings.auto_offset_reset == "earliest":
            return EARLIEST_TIMESTAMP
        if settings.reset_duration_ms is None or state.nothing_so_young:
            return LATEST_TIMESTAMP
        return timestamp_ms(self._member.now_us) - settings.reset_duration_ms

    def _answered(self, node: int, states: Sequence[PartitionState], outcome: Outcome) -> None:
        waiting = [s for s in states if self._states.get(s.partition) is s and s.state is FetchState.AWAIT_RESET]
        if isinstance(outcome, Disconnected):
            lookups.lost(self._member, node, waiting)
        elif isinstance(outcome, ListOffsetsResponse):
            self._take(waiting, outcome)

    def _take(self, waiting: Sequence[PartitionState], response: ListOffsetsResponse) -> None:
        found = {entry.partition: entry for entry in response.partitions}
        again = [state for state in waiting if not self._settled(state, found.get(state.partition))]
        if again:
            lookups.retry(self._member, again)
        self._member.wake.set()

    def _settled(self, state: PartitionState, entry: OffsetListed | None) -> bool:
        """Apply one answer; False if it has to be requested again."""
        if entry is None:
            return False
        if entry.error:
            if entry.error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                reason = f"Not authorized to access topics: [{state.partition.topic}]"
                self._member.fail(ClientFailure(exception_name(entry.error), reason))
            return False
        if entry.offset == NO_OFFSET:
            state.nothing_so_young = True
            state.not_before_us = 0
        else:
            state.nothing_so_young = False
            self._found(state, entry)
        return True
