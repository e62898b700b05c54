"""Historical bugs of assignors, each as the smallest change that restores it."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from attrs import evolve

from groupsim.assignors import RangeAssignor, StickyAssignor, range, roundrobin
from groupsim.assignors.sticky import base as sticky_base
from groupsim.assignors.sticky import claims as sticky_claims
from groupsim.assignors.sticky.claims import Claim, Owned
from groupsim.assignors.sticky.uniform import UniformAssignment
from groupsim.protocol.embedded.assignment import GroupAssignment
from groupsim.testing.patcher import Patcher


def topics_ignored(patch: Patcher) -> None:
    """librdkafka before 1.5: the assignor assigns no more topics than there are members."""
    consumers = range._consumers

    def mutant(known: Any, members: Any) -> dict[str, Any]:
        return dict(list(consumers(known, members).items())[: len(members)])

    patch.setattr(range, "_consumers", mutant)


def roundrobin_asymmetric(patch: Patcher) -> None:
    """librdkafka 2121: the next member gets the next partition, subscribed to its topic or not."""

    def mutant(topic: str, count: int, seats: Sequence[int], cursor: int, hands: Sequence[list[Any]]) -> Sequence[int]:
        takers = [(cursor + number) % len(hands) for number in builtins.range(count)]
        for number, taker in enumerate(takers):
            hands[taker].append((topic, slice(number, number + 1)))
        return takers

    patch.setattr(roundrobin, "_deal", mutant)


def duplicate_member_in_input(patch: Patcher) -> None:
    """sarama 6750d926: a member that names a topic twice is listed twice among the topic's members."""

    def mutant(known: Any, members: Any) -> dict[str, list[str]]:
        ordered = sorted(members, key=lambda member: member.member_id)
        return {topic: [one.member_id for one in ordered for name in one.topics if name == topic] for topic in known}

    patch.setattr(range, "_consumers", mutant)


def members_without_partitions_omitted(patch: Patcher) -> None:
    """sarama 2290: the plan omits members without partitions; SyncGroup brings them no bytes at all."""
    assign = RangeAssignor.assign

    def mutant(self: RangeAssignor, topics: Any, members: Any) -> GroupAssignment:
        given = assign(self, topics, members).partitions
        return GroupAssignment({member_id: held for member_id, held in given.items() if held})

    patch.setattr(RangeAssignor, "assign", mutant)


# --- claims of sticky members ------------------------------------------------------------------------------------


def topic_skew(patch: Patcher) -> None:
    """KAFKA-16277: a member with too many partitions gives away the last of its list in the order of topics."""
    patch.setattr(UniformAssignment, "_by_number", lambda self, partitions: sorted(partitions))


def sticky_double_claim(patch: Patcher) -> None:
    """KAFKA-12984: a partition that two members claim in the same generation stays with the one seen last."""
    settle = sticky_claims.settle

    def mutant(claims: Sequence[Claim], known: Any, steps: Any) -> Owned:
        return evolve(settle(claims, known, steps), by_member=_raw(claims, known), contested=frozenset())

    patch.setattr(sticky_base, "settle", mutant)


def _raw(claims: Sequence[Claim], known: Any) -> dict[str, Any]:
    return {one.member.member_id: [tp for tp in one.partitions if tp.topic in known] for one in claims}


def drop_older_claims(patch: Patcher) -> None:
    """KAFKA-14639: members of an older generation have no claims at all."""
    settle = sticky_claims.settle

    def mutant(claims: Sequence[Claim], known: Any, steps: Any) -> Owned:
        newest = max(claim.generation for claim in claims)
        kept = [claim if claim.generation == newest else evolve(claim, partitions=()) for claim in claims]
        return settle(kept, known, steps)

    patch.setattr(sticky_base, "settle", mutant)


def sticky_lowest_generation(patch: Patcher) -> None:
    """librdkafka 4252: of several claims to a partition the one of the oldest generation wins."""
    settle = sticky_claims.settle

    def mutant(claims: Sequence[Claim], known: Any, steps: Any) -> Owned:
        turned = [
            evolve(
                claim,
                generation=1_000 - claim.generation,
                member=evolve(claim.member, generation=1_000 - (claim.member.generation or 0)),
            )
            for claim in claims
        ]
        return settle(turned, known, steps)

    patch.setattr(sticky_base, "settle", mutant)


def userdata_without_generation(patch: Patcher) -> None:
    """KAFKA-7026: members report the partitions that they had, without the generation."""
    claim = StickyAssignor.claim

    def mutant(self: StickyAssignor, member: Any) -> Claim:
        return evolve(claim(self, member), generation=-1, member=evolve(member, generation=None))

    patch.setattr(StickyAssignor, "claim", mutant)


def state_of_the_class(patch: Patcher) -> None:
    """aiokafka 1175: the assignor's class keeps what one consumer had, and so shares it between all consumers."""
    remember, kept = StickyAssignor.on_assignment, StickyAssignor.user_data
    last: list[Any] = [None]

    def overwrites(self: StickyAssignor, partitions: Any, generation: int) -> None:
        remember(self, partitions, generation)
        last[0] = self._last

    def claims(self: StickyAssignor, topics: Any) -> bytes | None:
        self._last = last[0]
        return kept(self, topics)

    patch.setattr(StickyAssignor, "on_assignment", overwrites)
    patch.setattr(StickyAssignor, "user_data", claims)
