"""An assignor with a defect: each assignment takes one partition more away, so that the group never comes to rest.

It stands for the loops of cooperative groups that were seen with clients whose balance check was wrong
(apache/kafka#13920): under every assignment a member has to give partitions up and join again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupsim import TopicPartition
from groupsim.assignors import Assignor, GroupAssignment, MemberSubscription, RebalanceProtocol, TopicMetadata


class NeverSettles(Assignor):
    """Distributes unowned partitions, then takes a partition from the member with the most."""

    name = "never-settles"
    protocols = frozenset({RebalanceProtocol.COOPERATIVE})

    def assign(self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> GroupAssignment:
        """An assignment that no member's holdings ever equal."""
        held = {member.member_id: list(member.owned) for member in sorted(members, key=lambda one: one.member_id)}
        every = [TopicPartition(name, number) for name in sorted(topics) for number in range(topics[name].partitions)]
        free = sorted(set(every) - {partition for own in held.values() for partition in own})
        for partition in free:
            min(held.values(), key=len).append(partition)
        kept = [partition for partition in max(held.values(), key=len) if partition not in free]
        given = {
            member: tuple(partition for partition in own if partition not in kept[:1]) for member, own in held.items()
        }
        return GroupAssignment(given)
