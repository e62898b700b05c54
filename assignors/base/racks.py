"""The racks of members and replicas, and the test whether they matter to an assignment (KIP-881).

Racks are used only if some member has one, some replica is on a member's rack, and not every partition has replicas
on all racks (then any placement is as good as another). Replicas without a rack are ignored; an empty rack is none.

Sources: `AbstractPartitionAssignor.useRackAwareAssignment`, `AbstractStickyAssignor.RackInfo`; assignors reference,
section 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from groupsim.protocol.embedded.assignment import MemberSubscription, TopicMetadata
from groupsim.protocol.messages.group import TopicPartition

NO_RACKS: frozenset[str] = frozenset()


def member_racks(members: Iterable[MemberSubscription]) -> dict[str, str]:
    """Rack by member id, for the members that have one."""
    return {member.member_id: member.rack for member in members if member.rack}


def replica_racks(topic: TopicMetadata) -> list[frozenset[str]]:
    """Return for each partition the racks of its replicas; partitions beyond `topic.racks` have none."""
    # Most partitions share a few sets, so each distinct one is built once.
    made: dict[tuple[str, ...], frozenset[str]] = {}
    found = []
    for racks in topic.racks[: topic.partitions]:
        if racks not in made:
            made[racks] = frozenset(rack for rack in racks if rack is not None)
        found.append(made[racks])
    found.extend([NO_RACKS] * (topic.partitions - len(found)))
    return found


def racks_matter(of_members: Collection[str], of_partitions: Mapping[str, list[frozenset[str]]]) -> bool:
    """Whether racks matter, for these member racks and the replica racks of some topics (by topic name)."""
    if not of_members:
        return False
    distinct = {racks for partitions in of_partitions.values() for racks in partitions}
    everywhere = NO_RACKS.union(*distinct)
    if everywhere.isdisjoint(of_members):
        return False
    return any(racks != everywhere for racks in distinct)


class GroupRacks:
    """The racks of the whole group, as the sticky assignors use them; all empty when racks do not matter."""

    def __init__(self, known: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> None:
        of_members = member_racks(members)
        of_partitions = {name: replica_racks(topic) for name, topic in known.items()} if of_members else {}
        self.used = racks_matter(of_members.values(), of_partitions)
        self.of_member: dict[str, str] = of_members if self.used else {}
        self._of_partition: dict[str, list[frozenset[str]]] = of_partitions if self.used else {}
        self._members_on = Counter(self.of_member.values())

    def of_partition(self, partition: TopicPartition) -> frozenset[str]:
        """Return the racks of a partition's replicas; none for an unknown partition."""
        topic, number = partition
        racks = self._of_partition.get(topic, [])
        return racks[number] if 0 <= number < len(racks) else NO_RACKS

    def mismatch(self, member_id: str, partition: TopicPartition) -> bool:
        """Whether a member has a rack and no replica of the partition is on it."""
        rack = self.of_member.get(member_id)
        return rack is not None and rack not in self.of_partition(partition)

    def members_near(self, partition: TopicPartition) -> int:
        """Return the number of members on the racks of a partition's replicas."""
        return sum(self._members_on[rack] for rack in self.of_partition(partition))
