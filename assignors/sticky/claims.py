"""First pass of the sticky assignors: check whether all subscriptions are equal, and decide the owners.

Members are taken in hash map order. The first with a non-empty topic list sets the standard that the later ones are
compared with, so an empty list seen *before* it counts as equal (a defect of Kafka, as there; assignors reference
10.1). A partition claimed by several members goes by generation:

    this member's generation vs the previous claimant's    effect
    equal      no member owns it; it counts as contested, and this member is the claimant from now on
    higher     this member owns it
    lower      the owner stays

The previous claimant's generation is read from its *subscription field* while this member's own is the decoded one;
for `sticky` members of old clients, which carry it in the user data only, the two differ (10.6).

Sources: `AbstractStickyAssignor.allSubscriptionsEqual`; KIP-341, KIP-792, KAFKA-12984; assignors reference,
section 4.1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence

from groupsim.assignors.base.steps import NO_STEPS, Steps
from groupsim.protocol.embedded.assignment import MemberSubscription
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen

NO_GENERATION = -1


@frozen
class Claim:
    """The partitions that one member claims, and their generation (-1: none)."""

    member: MemberSubscription
    partitions: tuple[TopicPartition, ...]
    generation: int


@frozen
class Owned:
    """The owners after all claims: `by_member` in hash map order, without unknown topics."""

    by_member: dict[str, list[TopicPartition]]
    contested: frozenset[TopicPartition]


def equal_subscriptions(claims: Sequence[Claim]) -> bool:
    """Whether all members subscribe to the same topics, as Kafka compares them; `claims` in hash map order."""
    standard: frozenset[str] = frozenset()
    for claim in claims:
        topics = claim.member.topics
        if not standard:
            standard = frozenset(topics)
        elif len(topics) != len(standard) or not standard.issuperset(topics):
            return False
    return True


def settle(claims: Sequence[Claim], known: Container[str], steps: Steps = NO_STEPS) -> Owned:
    """Decide the owners of the topics in `known`; `claims` in hash map order."""
    claimed: defaultdict[str, set[int]] = defaultdict(set)
    for claim in claims:
        for topic, number in claim.partitions:
            claimed[topic].add(number)
    if sum(map(len, claimed.values())) == sum(len(claim.partitions) for claim in claims):
        by_member = {claim.member.member_id: [tp for tp in claim.partitions if tp[0] in known] for claim in claims}
        return Owned(by_member, frozenset())
    return _settle_conflicts(claims, known, steps)


def _settle_conflicts(claims: Sequence[Claim], known: Container[str], steps: Steps) -> Owned:
    """Apply the table above, partition by partition."""
    owned: dict[str, dict[TopicPartition, None]] = {claim.member.member_id: {} for claim in claims}
    claimant: dict[TopicPartition, MemberSubscription] = {}
    contested: set[TopicPartition] = set()
    for claim in claims:
        mine = owned[claim.member.member_id]
        for partition in claim.partitions:
            if partition.topic not in known:
                continue
            other = claimant.get(partition)
            if other is not None:
                theirs = _field_generation(other)
                if steps:
                    _note_conflict(partition, claim, other.member_id, theirs, steps)
                if claim.generation < theirs:
                    continue
                owned[other.member_id].pop(partition, None)
                if claim.generation == theirs:
                    contested.add(partition)
                    claimant[partition] = claim.member
                    continue
            mine[partition] = None
            claimant[partition] = claim.member
    return Owned({member_id: list(partitions) for member_id, partitions in owned.items()}, frozenset(contested))


def _note_conflict(partition: TopicPartition, claim: Claim, other: str, theirs: int, steps: Steps) -> None:
    mine, generation = claim.member.member_id, claim.generation
    claimed = f"claimed by {other} ({of_generation(theirs)}) and {mine} ({of_generation(generation)})"
    if generation == theirs:
        steps.note(f"{partition} is {claimed}: neither owns it")
    else:
        newer, older = (other, mine) if generation < theirs else (mine, other)
        steps.note(f"{partition} is {claimed}: {newer} owns it, the claim of {older} is dropped")


def of_generation(generation: int) -> str:
    """Return a generation as part of a sentence."""
    return "no generation" if generation == NO_GENERATION else f"generation {generation}"


def _field_generation(member: MemberSubscription) -> int:
    return NO_GENERATION if member.generation is None else member.generation
