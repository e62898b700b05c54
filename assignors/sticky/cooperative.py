"""`cooperative-sticky`: the sticky assignment in two rounds, so that consumption of unmoved partitions goes on.

Claims are the partitions that a member still owns when it joins. A partition that changes its owner is withheld in this
round: its owner revokes it and joins again, and the follow-up round, without a claim to it, gives it out.

Sources: `CooperativeStickyAssignor`; KIP-429; assignors reference, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from groupsim.assignors.base.common import in_line
from groupsim.assignors.base.interface import RebalanceProtocol
from groupsim.assignors.base.steps import NO_STEPS, Steps
from groupsim.assignors.sticky.base import Given, StickyBase
from groupsim.assignors.sticky.claims import NO_GENERATION, Claim
from groupsim.protocol.embedded.assignment import MemberSubscription, TopicMetadata
from groupsim.protocol.embedded.sticky_data import decode_generation, encode_generation
from groupsim.protocol.messages.group import TopicPartition

_encoded = lru_cache(maxsize=64)(encode_generation)  # a group's members send the same


class CooperativeStickyAssignor(StickyBase):
    """Kafka's `cooperative-sticky`; supports the cooperative and the eager protocol."""

    name = "cooperative-sticky"
    protocols = frozenset({RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE})

    def __init__(self) -> None:
        super().__init__()
        self._generation = NO_GENERATION
        #: After `assign`: the withheld partitions of this round, with their owners of the next.
        self.withheld: dict[TopicPartition, str] = {}

    def user_data(self, topics: Sequence[str]) -> bytes | None:
        """Return the generation of the last assignment, for leaders that ignore the subscription's own field."""
        return _encoded(self._generation)

    def on_assignment(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """Store the generation; the partitions are in the subscription."""
        self._generation = generation

    def claim(self, member: MemberSubscription) -> Claim:
        """Return the subscription's owned partitions, with its generation or else the one in the user data."""
        generation = member.generation
        if generation is None or generation < 0:
            generation = decode_generation(member.user_data)
        return Claim(member, member.owned, NO_GENERATION if generation is None else generation)

    def place(self, known: Mapping[str, TopicMetadata], claims: Sequence[Claim], steps: Steps = NO_STEPS) -> Given:
        """Return the sticky assignment without the partitions that change their owner."""
        given = super().place(known, claims, steps)
        self.withheld = _moving(claims, given) if self.transferring is None else self.transferring
        for partition, member in self.withheld.items():
            given[member].remove(partition)
        if steps:
            self._report_withheld(claims, steps)
        return given

    def _report_withheld(self, claims: Sequence[Claim], steps: Steps) -> None:
        steps.stage("CooperativeStickyAssignor.adjustAssignment")
        claimed: dict[TopicPartition, list[str]] = {}
        for claim in claims:
            for partition in claim.partitions:
                claimed.setdefault(partition, []).append(claim.member.member_id)
        for partition, member in self.withheld.items():
            owners = in_line(claimed.get(partition, []))
            steps.withhold(partition, member, f"claimed by {owners}: to be revoked first, and given in the next round")
        count = len(self.withheld)
        steps.stop(f"{count} withheld until they are revoked" if count else "no partition changes hands")


def _moving(claims: Sequence[Claim], given: Given) -> dict[TopicPartition, str]:
    """Return the partitions that a member gets without owning them and some member owns without getting them."""
    added: dict[TopicPartition, str] = {}
    revoked: set[TopicPartition] = set()
    for claim in claims:
        member = claim.member
        gets, owns = given[member.member_id], set(member.owned)
        added.update((partition, member.member_id) for partition in gets if partition not in owns)
        revoked.update(owns.difference(gets))
    return {partition: member for partition, member in added.items() if partition in revoked}
