"""A rebalance that goes on while the application is away from `poll`: what a library's own thread does meanwhile.

Java's client joins and syncs in `poll`, so that a slow application holds up its group. With a main thread (librdkafka)
a cooperative member joins at once when it hears of a rebalance, and syncs when it has joined, as leader, too; only the
callbacks wait for `poll`. An eager member first has to call its application back, and waits as in Java. Source:
`rdkafka_cgrp.c`, and what the library does when it is asked (docs/twins.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groupsim.assignors.interface import RebalanceProtocol
from groupsim.eventloop.at_once import at_once
from groupsim.eventloop.interface import Order
from groupsim.members.classic.stages import Stage
from groupsim.members.failures import ClientFailure
from groupsim.members.member import Member
from groupsim.members.wake import SharedWake
from groupsim.protocol.messages import JoinGroupResponse

if TYPE_CHECKING:
    from collections.abc import Coroutine


def go_on(member: Member) -> None:
    """Walk on with the rebalance as far as nobody has to be called back or waited for."""
    if not member.pace.rebalances_up_to_callbacks or member.poll_clock.inside or member.closing:
        return
    if member.ownership.protocol is RebalanceProtocol.COOPERATIVE and _is_prompt(member):
        try:
            rest = member.joining.step()
            if rest is not None:
                at_once(rest)
        except ClientFailure as failure:
            member.fail(failure)


def loses_at_once(member: Member) -> bool:
    """Whether lost partitions are called back before a coordinator is found (`rd_kafka_cgrp_revoke_all_rejoin`)."""
    return member.pace.rebalances_up_to_callbacks and member.generation.is_lost and bool(member.ownership.owned)


def _is_prompt(member: Member) -> bool:
    joining = member.joining
    if joining.stage is Stage.JOINED:
        return _can_sync(member)
    begins = joining.stage is Stage.IDLE and joining.needs_prepare and joining.rejoin_needed
    committed = joining.stage is Stage.COMMITTING and not member.commits.before_rebalance_pending
    return (begins or committed) and not member.generation.is_lost and not _gives_up(member)


def _gives_up(member: Member) -> bool:
    """Whether partitions are to be called back as revoked before the join: topics not subscribed to any more."""
    topics = member.subscription.topics
    return any(partition.topic not in topics for partition in member.ownership.owned)


def _can_sync(member: Member) -> bool:
    """Whether the answer to JoinGroup is one to sync after; a leader must know the topics, and assign in no time."""
    joined = member.joining.outcome
    if not isinstance(joined, JoinGroupResponse) or joined.error:
        return False
    return not member.joining.assigns or (not member.behaviour.assignor_time and member.joining.leader.knows(joined))


class Apart:
    """A task of the library's own that sees to the group while the application is away from `poll`.

    It looks whenever the application would have to, were it there, and calls back, too. Nothing of it is made where
    the library has no such task.
    """

    __slots__ = ("_member", "_planned")

    def __init__(self, member: Member) -> None:
        self._member = member
        self._planned = False
        if isinstance(member.wake, SharedWake):
            member.wake.also = self._roused

    def _roused(self) -> None:
        if not (self._planned or self._is_needless()):
            self._planned = True
            self._member.host.call_at(self._member.now_us, self._look, order=Order.TASK)

    def _is_needless(self) -> bool:
        member = self._member
        return member.poll_clock.inside or member.joining.busy or member.closing

    def _look(self, _: Any) -> None:
        self._planned = False
        member = self._member
        if self._is_needless() or not member.subscription.active:
            return
        try:
            rest = member.joining.step()
        except ClientFailure as failure:
            member.fail(failure)
            return
        if rest is None:
            member.fetcher.look_up()
        else:
            member.host.start_soon(self._goes_on, rest, name=f"group of {member.host.name}")

    async def _goes_on(self, rest: Coroutine[Any, Any, None]) -> None:
        try:
            await rest
        except ClientFailure as failure:
            self._member.fail(failure)
        self._member.wake.set()
