"""Which partitions are still to be given out, in the order in which a sticky assignor gives them.

Kafka walks two sorted lists side by side, all partitions and the kept ones, and steps the second when both agree. A
kept partition that the topic does not have (it was recreated with fewer) is never met: from there on the walk takes
every kept partition for unassigned and gives it out a second time. We keep that (assignors reference, 10.4).

Sources: `getUnassignedPartitions` of both builders in `AbstractStickyAssignor`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

P = TypeVar("P")


def unassigned(every: Sequence[P], kept: Iterable[Collection[P]], sort_key: Callable[[P], tuple[int, int]]) -> list[P]:
    """Of `every` partition (sorted by `sort_key`) those that nobody kept, in the same order."""
    found: set[P] = set()
    for partitions in kept:
        found.update(partitions)
    left = [partition for partition in every if partition not in found]
    if len(left) + len(found) == len(every):
        return left
    phantom = min(sort_key(partition) for partition in found.difference(every))
    return [partition for partition in every if partition not in found or sort_key(partition) > phantom]
