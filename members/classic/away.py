"""Rebalances while the application is away from `poll`, in the library's own thread or task.

Java joins and syncs in `poll`, so a slow application delays its group. In librdkafka a main thread joins and syncs for
a cooperative member, as leader, too; only callbacks wait for `poll`. An eager member must call its listener before it
joins, and waits as in Java. Source: `rdkafka_cgrp.c`, and the library's behaviour (docs/twins.md).
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
    """Java: a rebalance advances in `poll` only."""

    __slots__ = ("_group", "_member")

    def __init__(self, member: Ports, group: Group) -> None:
        self._member = member
        self._group = group

    def go_on(self) -> None:
        """Advance the rebalance as far as the library does without `poll`."""
        return

    def loses_at_once(self) -> bool:
        """Whether the callback for lost partitions runs before a coordinator is known."""
        return False


class UpToCallbacks(Away):
    """librdkafka: the main thread advances a rebalance up to the next callback or wait."""

    __slots__ = ()

    def go_on(self) -> None:
        member = self._member
        if self._group.poll_clock.inside or member.closing:
            return
        if member.ownership.protocol is RebalanceProtocol.COOPERATIVE and self._is_prompt():
            try:
                rest = self._group.rebalance.step()
                if rest is not None:
                    run_without_waiting(rest)
            except ClientFailure as failure:
                member.fail(failure)

    def loses_at_once(self) -> bool:
        """As in `rd_kafka_cgrp_revoke_all_rejoin`, which calls back before the next look-up."""
        return self._member.generation.is_lost and bool(self._member.ownership.owned)

    def _is_prompt(self) -> bool:
        member, rebalance = self._member, self._group.rebalance
        if rebalance.stage is Stage.JOINED:
            return self._can_sync()
        begins = rebalance.stage is Stage.IDLE and rebalance.needs_prepare and rebalance.rejoin_needed
        committed = rebalance.stage is Stage.COMMITTING and not member.commits.before_rebalance_pending
        return (begins or committed) and not member.generation.is_lost and not self._gives_up()

    def _gives_up(self) -> bool:
        """Whether partitions of unsubscribed topics must be called back as revoked before the join."""
        topics = self._member.subscription.topics
        return any(partition.topic not in topics for partition in self._member.ownership.owned)

    def _can_sync(self) -> bool:
        """Whether a SyncGroup may follow at once; a leader needs known topics and an assignor that takes no time."""
        rebalance = self._group.rebalance
        joined = rebalance.outcome
        if not isinstance(joined, JoinGroupResponse) or joined.error:
            return False
        return not rebalance.assigns or (not self._member.behaviour.assignor_time and rebalance.leader.knows(joined))


class ByTask(Away):
    """aiokafka, franz-go: a task of the library rebalances, with the callbacks.

    It checks for work whenever the application would have to in `poll`.
    """

    __slots__ = ("_planned",)

    def __init__(self, member: Ports, group: Group) -> None:
        super().__init__(member, group)
        self._planned = False
        if isinstance(member.wake, SharedWake):
            member.wake.on_set_too = self._on_wake

    def _on_wake(self) -> None:
        if not (self._planned or self._is_needless()):
            self._planned = True
            self._member.host.call_at(self._member.now_us, self._look, order=Order.TASK)

    def _is_needless(self) -> bool:
        return self._group.poll_clock.inside or self._group.rebalance.busy or self._member.closing

    def _look(self, _: Any) -> None:
        self._planned = False
        member = self._member
        if self._is_needless() or not member.subscription.active:
            return
        try:
            rest = self._group.rebalance.step()
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
    """Return the object for this member's library."""
    if member.pace.rebalances_in_task:
        return ByTask(member, group)
    return (UpToCallbacks if member.pace.rebalances_up_to_callbacks else Away)(member, group)
