"""Common parts of ListOffsets and OffsetForLeaderEpoch: partitions by leader, and the pace of attempts.

Each request goes to a partition's leader. An unknown leader makes the client refresh metadata; one that may not be
connected to yet delays the request. Partitions in flight are not requested again before request.timeout.ms has passed,
refused ones not before retry.backoff.ms has.

Source: `OffsetFetcher.groupListOffsetRequests`, `validatePositionsAsync`, `SubscriptionState.setNextAllowedRetry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from groupsim.eventloop.units import MS_US
from groupsim.members.fetch.state import FetchState, PartitionState
from groupsim.members.interfaces import Outcome
from groupsim.members.links import SHARED
from groupsim.protocol.messages.group import Request, TopicPartition

if TYPE_CHECKING:
    from groupsim.members.member import Member

States = Mapping[TopicPartition, PartitionState]


def due(member: Member, states: Iterable[PartitionState], waiting_for: FetchState) -> list[PartitionState]:
    """Return the partitions in a state whose next attempt is due."""
    now = member.now_us
    return [state for state in states if state.state is waiting_for and state.not_before_us <= now]


def by_leader(
    member: Member, states: Iterable[PartitionState], leader_of: Callable[[PartitionState], int]
) -> Mapping[int, list[PartitionState]]:
    """Group the partitions that can be requested now by their leader."""
    grouped: dict[int, list[PartitionState]] = {}
    for state in states:
        node = leader_of(state)
        if node < 0:
            member.metadata.outdated()
            continue
        wait_us = member.links.wait_us(node, SHARED)
        if wait_us:
            member.wake_at(member.now_us + wait_us)
        else:
            grouped.setdefault(node, []).append(state)
    return grouped


def ask(
    member: Member,
    node: int,
    states: Iterable[PartitionState],
    request: Request,
    on_done: Callable[[Outcome], None],
) -> None:
    """Send a request about some partitions to a broker."""
    for state in states:
        state.not_before_us = member.now_us + member.request_timeout_us
    member.links.send(member.links.connection(node, SHARED), node, request, on_done, member.request_timeout_us)


def retry(member: Member, states: Iterable[PartitionState]) -> None:
    """Schedule the next attempt after retry.backoff.ms, and refresh metadata."""
    when = member.now_us + member.settings.retry_backoff_ms * MS_US
    for state in states:
        state.not_before_us = when
    member.metadata.outdated()
    member.wake_at(when)


def lost(member: Member, node: int, states: Iterable[PartitionState]) -> None:
    """Handle a request without an answer."""
    if not member.links.wait_us(node, SHARED):
        member.links.failed(node, SHARED)
    retry(member, states)
