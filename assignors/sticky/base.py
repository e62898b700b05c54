"""The common part of `sticky` and `cooperative-sticky`: read the claims, then run one of two algorithms.

When all subscriptions are equal, quotas decide (`uniform`); otherwise partitions are moved until no move helps
(`general`). Both follow Kafka exactly, defects included, because users meet them: docs/fidelity/assignors.md.

Sources: `AbstractStickyAssignor`; assignors reference, section 4.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Mapping, Sequence

from groupsim.assignors.base.common import existing_topics, group_assignment, in_hash_order, in_line
from groupsim.assignors.base.interface import Assignor
from groupsim.assignors.base.racks import GroupRacks
from groupsim.assignors.base.steps import NO_STEPS, Steps
from groupsim.assignors.sticky.claims import NO_GENERATION, Claim, equal_subscriptions, of_generation, settle
from groupsim.assignors.sticky.general import GeneralAssignment
from groupsim.assignors.sticky.uniform import UniformAssignment
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.messages.group import TopicPartition

Given = dict[str, list[TopicPartition]]


class StickyBase(Assignor):
    """The common part of both; they differ in the source of claims and in the withheld partitions."""

    def __init__(self) -> None:
        # Never reset, as in Kafka: after a group starts again at generation 1 all claims count as old (10.8).
        self._newest = NO_GENERATION
        #: Whether quotas decide for equal subscriptions (since Kafka 2.6; librdkafka has the general algorithm only).
        self.has_quotas = True
        #: After `assign`: partitions that change their owner in this round, with the new one; None when the
        #: subscriptions differed, because that algorithm does not provide them.
        self.transferring: dict[TopicPartition, str] | None = None

    @abstractmethod
    def claim(self, member: MemberSubscription) -> Claim:
        """Return a member's claimed partitions, and their generation."""

    def assign(self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> GroupAssignment:
        """Give out all partitions, with as few moves as balance allows.

        Raises JavaFailure on input for which Kafka's class throws.
        """
        return self.explain(topics, members, NO_STEPS)

    def explain(
        self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription], steps: Steps
    ) -> GroupAssignment:
        """Compute the same, with claims, kept partitions, each grant, each move and the reason for the end as steps."""
        claims = [self.claim(member) for member in in_hash_order(members)]
        known = existing_topics(topics, members)
        return group_assignment(members, self.place(known, claims, steps))

    def place(self, known: Mapping[str, TopicMetadata], claims: Sequence[Claim], steps: Steps = NO_STEPS) -> Given:
        """Return the assignment by member id; `known` topics and `claims` in hash map order."""
        self._newest = max(self._newest, *(claim.generation for claim in claims), NO_GENERATION)
        if steps:
            steps.stage("AbstractStickyAssignor.allSubscriptionsEqual")
            _note_claims(claims, known, steps)
        owned = settle(claims, known, steps)
        racks = GroupRacks(known, [claim.member for claim in claims])
        equal = self.has_quotas and equal_subscriptions(claims)
        if steps:
            _note_path(equal, self.has_quotas, racks.used, steps)
        if equal:
            generations = {claim.member.member_id: claim.generation for claim in claims} if steps else {}
            uniform = UniformAssignment(known, owned, racks, generations, steps)
            uniform.run()
            self.transferring = uniform.transferring
            return uniform.assignment
        self.transferring = None
        return GeneralAssignment(known, claims, owned, racks, self._newest, steps).run()


def _note_claims(claims: Sequence[Claim], known: Container[str], steps: Steps) -> None:
    """Report the claims of each member, in the order in which they are read."""
    steps.note(f"members in the order of the leader's hash map: {in_line([one.member.member_id for one in claims])}")
    for claim in claims:
        if claim.partitions:
            steps.note(f"{claim.member.member_id} claims, with {of_generation(claim.generation)}", claim.partitions)
            gone = [partition for partition in claim.partitions if partition.topic not in known]
            steps.set_aside(gone, f"claimed by {claim.member.member_id}, but no member's topic in the metadata")
    if not any(claim.partitions for claim in claims):
        steps.note("no member claims anything")


def _note_path(equal: bool, has_quotas: bool, racks: bool, steps: Steps) -> None:
    """Report the algorithm, and whether racks matter."""
    if equal:
        steps.note("all subscriptions are equal, so quotas decide: constrained assignment")
    elif has_quotas:
        steps.note("subscriptions differ, so partitions move until no move helps: general assignment")
    else:
        steps.note("this client has no quotas, so partitions move until no move helps: general assignment")
    if racks:
        steps.note("racks count: some partitions have a replica on a member's rack, and not all on all racks")
