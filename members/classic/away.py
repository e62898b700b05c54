"""A rebalance that goes on while the application is away from `poll`: what a library's own thread does meanwhile.

Java's client joins and syncs in `poll`, so that a slow application holds up its group. With a main thread (librdkafka)
a cooperative member joins at once when it hears of a rebalance, and syncs when it has joined, as leader, too; only the
callbacks wait for `poll`. An eager member first has to call its application back, and waits as in Java. Source:
`rdkafka_cgrp.c`, and what the library does when it is asked (docs/twins.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groupsim.assignors.base.interface import RebalanceProtocol
from groupsim.eventloop.immediate import run_without_waiting
from groupsim.eventloop.interface import Order
from groupsim.members.classic.stages import Stage
from groupsim.members.failures import ClientFailure
from groupsim.members.ports import Ports
from groupsim.members.wake import SharedWake
from groupsim.protocol.messages.group import JoinGroupResponse

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from groupsim.members.classic.parts import Group


class Away:
    """As in the Java client: nothing of a rebalance goes on without `poll`."""

    __slots__ = ("_group", "_member")

    def __init__(self, member: Ports, group: Group) -> None:
        self._member = member
        self._group = group

    def go_on(self) -> None:
        """Something came for the rebalance: walk on as far as the library does without `poll`."""
        return

    def loses_at_once(self) -> bool:
        """Whether lost partitions are called back before a coordinator is found."""
        return False


class UpToCallbacks(Away):
    """As in librdkafka, whose main thread walks on as far as nobody has to be called back or waited for."""

    __slots__ = ()

    def go_on(self) -> None:
        member = self._member
        if self._group.poll_clock.inside or member.closing:
            return
        if member.ownership.protocol is RebalanceProtocol.COOPERATIVE and self._is_prompt():
            try:
                rest = self._group.joining.step()
                if rest is not None:
                    run_without_waiting(rest)
            except ClientFailure as failure:
                member.fail(failure)

    def loses_at_once(self) -> bool:
        """Source: `rd_kafka_cgrp_revoke_all_rejoin`."""
        return self._member.generation.is_lost and bool(self._member.ownership.owned)

    def _is_prompt(self) -> bool:
        member, joining = self._member, self._group.joining
        if joining.stage is Stage.JOINED:
            return self._can_sync()
        begins = joining.stage is Stage.IDLE and joining.needs_prepare and joining.rejoin_needed
        committed = joining.stage is Stage.COMMITTING and not member.commits.before_rebalance_pending
        return (begins or committed) and not member.generation.is_lost and not self._gives_up()

    def _gives_up(self) -> bool:
        """Whether partitions are to be called back as revoked before the join: topics not subscribed to any more."""
        topics = self._member.subscription.topics
        return any(partition.topic not in topics for partition in self._member.ownership.owned)

    def _can_sync(self) -> bool:
        """Whether the answer to JoinGroup is one to sync after; a leader must know the topics and assign in no time."""
        joining = self._group.joining
        joined = joining.outcome
        if not isinstance(joined, JoinGroupResponse) or joined.error:
            return False
        return not joining.assigns or (not self._member.behaviour.assignor_time and joining.leader.knows(joined))


class ByTask(Away):
    """A task of the library's own sees to the group, callbacks as well.

    It looks whenever the application would have to, were it there.
    """

    __slots__ = ("_planned",)

    def __init__(self, member: Ports, group: Group) -> None:
        super().__init__(member, group)
        self._planned = False
        if isinstance(member.wake, SharedWake):
            member.wake.also = self._roused

    def _roused(self) -> None:
        if not (self._planned or self._is_needless()):
            self._planned = True
            self._member.host.call_at(self._member.now_us, self._look, order=Order.TASK)

    def _is_needless(self) -> bool:
        return self._group.poll_clock.inside or self._group.joining.busy or self._member.closing

    def _look(self, _: Any) -> None:
        self._planned = False
        member = self._member
        if self._is_needless() or not member.subscription.active:
            return
        try:
            rest = self._group.joining.step()
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


def away_of(member: Ports, group: Group) -> Away:
    """What goes on without `poll` in this member's library."""
    if member.pace.rebalances_apart:
        return ByTask(member, group)
    return (UpToCallbacks if member.pace.rebalances_up_to_callbacks else Away)(member, group)
