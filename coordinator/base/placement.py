"""The partition of `__consumer_offsets` that a group belongs to; the broker that leads it coordinates the group."""

from __future__ import annotations

from groupsim.protocol.javahash import java_abs_mod

OFFSETS_TOPIC = "__consumer_offsets"
DEFAULT_PARTITIONS = 50


def partition_for(group_id: str, partitions: int = DEFAULT_PARTITIONS) -> int:
    """Return `Utils.abs(groupId.hashCode()) % partitions`; the empty group id belongs to partition 0.

    Source: `GroupCoordinatorService.partitionFor`; classic-protocol reference, 3.1.
    """
    return java_abs_mod(group_id, partitions)
