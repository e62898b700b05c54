"""When replicas' racks matter to an assignment, and who sits where (KIP-881).

Racks are used only if some member has one, some replica is on a member's rack, and not every partition has replicas
on all racks (then any placement is as good as another). Replicas without a rack are ignored; an empty rack is none.

Sources: `RackUtils`-like parts of `AbstractPartitionAssignor.useRackAwareAssignment`; assignors reference, section 1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from groupsim.protocol.assignment import MemberSubscription, TopicMetadata

NO_RACKS: frozenset[str] = frozenset()


def member_racks(members: Iterable[MemberSubscription]) -> dict[str, str]:
    """Rack by member id, for the members that have one."""
    return {member.member_id: member.rack for member in members if member.rack}


def replica_racks(topic: TopicMetadata) -> list[frozenset[str]]:
    """For each partition the racks of its replicas; nothing is known of those beyond `topic.racks`."""
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
    """The rack gate, over the member racks and the replica racks of some topics (by topic name)."""
    if not of_members:
        return False
    distinct = {racks for partitions in of_partitions.values() for racks in partitions}
    everywhere = NO_RACKS.union(*distinct)
    if everywhere.isdisjoint(of_members):
        return False
    return any(racks != everywhere for racks in distinct)
