"""The partitions that a member of a consumer group owns, and its callbacks.

A reconciliation revokes what the target lacks, and assigns what it adds; everything else is consumed meanwhile. The
revoked callback runs only for partitions that there are, the assigned callback always. Partitions whose revoked
callback threw stay owned, since it is called again; those whose assigned callback threw are owned, but not consumed
(`SubscriptionState.enablePartitionsAwaitingCallback`).

Sources: `AbstractMembershipManager.revokePartitions`, `assignPartitions`; `ConsumerMembershipManager`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from groupsim.assignors.base.interface import RebalanceProtocol
from groupsim.members.ownership.owned import ASSIGNED, LOST, REVOKED, UNASSIGNED, OwnedPartitions
from groupsim.protocol.messages.group import NO_GENERATION, TopicPartition


class ConsumerOwnership(OwnedPartitions):
    """The owned partitions of one member of a consumer group."""

    __slots__ = ()

    protocol: ClassVar[RebalanceProtocol] = RebalanceProtocol.COOPERATIVE

    def stop_consuming(self, partitions: Sequence[TopicPartition]) -> None:
        """Neither fetch nor deliver records of partitions that are about to be revoked."""
        self._member.fetcher.stop_delivering(partitions)

    async def revoke(self, partitions: Sequence[TopicPartition]) -> None:
        """Call back for revoked partitions, and give them up. Raises ClientFailure; then they stay owned."""
        commits = self._member.commits
        commits.giving_up(partitions)
        await self._call_back(REVOKED, partitions)
        commits.revoked()
        self._release(partitions, REVOKED)

    async def assign(self, partitions: tuple[TopicPartition, ...], added: Sequence[TopicPartition]) -> None:
        """Own the partitions of a target, and call back for those it added. Raises ClientFailure."""
        self.awaiting.intersection_update(partitions)
        self.awaiting.update(added)
        self._own(partitions, list(added))
        await self._call_back(ASSIGNED, added)
        self.awaiting.clear()

    async def lose(self, partitions: Sequence[TopicPartition]) -> None:
        """Call back for lost partitions, and give them up. Raises ClientFailure."""
        await self._give_up(LOST, partitions)

    async def lose_all(self) -> None:
        """Call back for all partitions that are owned by then as lost ones. Raises ClientFailure."""
        await self._give_up(LOST, list(self.owned))

    async def abandon(self) -> None:
        """Call back for all partitions on close or unsubscribe: revoked in the group, lost outside of it."""
        member = self._member
        if all(epoch == NO_GENERATION for epoch in self.owned.values()):
            self.release_all(UNASSIGNED)  # none, or assigned by the application: no callback
            return
        is_lost = member.generation.is_lost or member.membership.rejoin_needed
        if not is_lost and not member.closing:
            member.commits.giving_up(list(self.owned))
        await self._give_up(LOST if is_lost else REVOKED, list(self.owned))
        member.commits.revoked()

    async def _give_up(self, kind: str, partitions: Sequence[TopicPartition]) -> None:
        member = self._member
        self.stop_consuming(partitions)
        try:
            await self._call_back(kind, partitions)
        finally:
            if not member.closing or member.host.alive:
                self._release(partitions, kind)
                self.awaiting.clear()
