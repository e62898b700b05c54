"""What two questions to leaders have in common: partitions grouped by leader, and attempts at their pace.

A question is asked of a partition's leader. When the leader is not known, metadata is asked; when it cannot be
connected to yet, the question waits for that. While a question is under way its partitions are not asked for again
(before request.timeout.ms has passed), after a refusal not before retry.backoff.ms has.

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
    """The partitions of a state whose next attempt may be made."""
    now = member.now_us
    return [state for state in states if state.state is waiting_for and state.not_before_us <= now]


def by_leader(
    member: Member, states: Iterable[PartitionState], leader_of: Callable[[PartitionState], int]
) -> Mapping[int, list[PartitionState]]:
    """The partitions that can be asked for now, by the broker to ask."""
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
    """Send a question about some partitions to a broker."""
    for state in states:
        state.not_before_us = member.now_us + member.request_timeout_us
    member.links.send(member.links.connection(node, SHARED), node, request, on_done, member.request_timeout_us)


def retry(member: Member, states: Iterable[PartitionState]) -> None:
    """The question came to nothing for these: again after retry.backoff.ms, with fresh metadata."""
    when = member.now_us + member.settings.retry_backoff_ms * MS_US
    for state in states:
        state.not_before_us = when
    member.metadata.outdated()
    member.wake_at(when)


def lost(member: Member, node: int, states: Iterable[PartitionState]) -> None:
    """There was no answer at all."""
    if not member.links.wait_us(node, SHARED):
        member.links.failed(node, SHARED)
    retry(member, states)
