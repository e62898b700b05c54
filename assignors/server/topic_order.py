"""The order of the topics in a computed target: that of the Java map in which Kafka's assignor computes it.

It shows in the bytes of the record of a member's target, and nowhere else. `uniform` copies the map of the old target
when it changes the first time: `new HashMap<>(size)` and a `put` for each topic. It adds partitions by
`computeIfAbsent`, once for each of them. That call lets the table grow only when there are too many keys already, also
when its own key is there; a new key becomes the first of its bucket. `range` makes a map for all topics of a member.

Source: `AssignorHelpers`, `UniformHomogeneousAssignmentBuilder`, `RangeAssignor`; `HashMap` of Java 17.
"""

from __future__ import annotations

from collections.abc import Collection

from groupsim.assignors.server.interface import Target
from groupsim.protocol.topic_ids import TopicIdMap, topic_id_spread


class CopiedTopics:
    """The keys of a copied map that changes."""

    __slots__ = ("_counts", "_next", "_ranks", "_table")

    def __init__(self, old: Target) -> None:
        """`old`: the copied map, in its order."""
        self._counts = {topic: len(partitions) for topic, partitions in old.items()}
        self._ranks = {topic: rank for rank, topic in enumerate(old)}
        self._next = 0
        self._table = _table_size(len(old)) if old else 0
        self._grow()

    def grant(self, topic: str) -> None:
        """Add one partition of a topic."""
        if self._table:
            self._grow()
        else:
            self._table = 1
        if topic not in self._ranks:
            self._next -= 1
            self._ranks[topic] = self._next
        self._counts[topic] = self._counts.get(topic, 0) + 1

    def take(self, topic: str) -> None:
        """Take one partition of a topic away."""
        self._counts[topic] -= 1
        if not self._counts[topic]:
            self.remove(topic)

    def remove(self, topic: str) -> None:
        """Remove a topic."""
        self._counts.pop(topic, None)
        self._ranks.pop(topic, None)

    def _grow(self) -> None:
        """Double the table while more than three quarters of it are in use."""
        while 4 * len(self._ranks) > 3 * self._table > 0:
            self._table *= 2

    def in_order(self) -> list[str]:
        """Return the topics as the map yields them."""
        mask = self._table - 1
        return sorted(self._ranks, key=lambda topic: (topic_id_spread(topic) & mask, self._ranks[topic]))


def sized_order(topics: Collection[str], size: int) -> list[str]:
    """Return the order of a map that was made for so many topics, and got these one by one."""
    return list(TopicIdMap(((topic, None) for topic in topics), capacity=_table_size(int(size / 0.75 + 1))))


def _table_size(capacity: int) -> int:
    """Return the number of buckets of `new HashMap<>(capacity)`."""
    return 1 << (capacity - 1).bit_length() if capacity > 1 else 1
