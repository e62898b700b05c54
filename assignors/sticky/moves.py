"""The stored moves, which keep two members from exchanging partitions of one topic.

Moves so far are stored per topic as pairs (from, to) with the partitions moved. When a partition is to move from f
to `to` although some partition of its topic moved from `to` to f before, that one moves back instead. A partition
that moves again has one merged move, none when it returns to where it began.

The order of a Java hash set of partitions decides which of several partitions moves back.

Source: `AbstractStickyAssignor.PartitionMovements`; assignors reference, section 4.3.
"""

from __future__ import annotations

from typing import TypeAlias

from groupsim.protocol.javahash import JavaHashMap
from groupsim.protocol.messages.group import TopicPartition

_Pair: TypeAlias = tuple[int, int]


class Moves:
    """Moves of partitions between members, which are numbers here."""

    def __init__(self) -> None:
        self._of_partition: dict[TopicPartition, _Pair] = {}
        self._of_topic: dict[str, dict[_Pair, JavaHashMap[TopicPartition, None]]] = {}

    def instead_of(self, partition: TopicPartition, owner: int, to: int) -> TopicPartition:
        """Return the partition to move in place of this one, which `owner` holds; usually this one itself."""
        by_pair = self._of_topic.get(partition.topic)
        if not by_pair:
            return partition
        origin = self._of_partition.get(partition, (owner, to))[0]
        back = by_pair.get((to, origin))
        return next(iter(back)) if back else partition

    def record(self, partition: TopicPartition, owner: int, to: int) -> None:
        """Store the move of a partition from `owner` to `to`."""
        earlier = self._of_partition.pop(partition, None)
        if earlier is not None:
            self._forget(partition, earlier)
            if earlier[0] == to:
                return
            owner = earlier[0]
        self._of_partition[partition] = (owner, to)
        by_pair = self._of_topic.setdefault(partition.topic, {})
        by_pair.setdefault((owner, to), JavaHashMap())[partition] = None

    def snapshot(self) -> frozenset[tuple[TopicPartition, _Pair]]:
        """Return all stored moves, to compare two states."""
        return frozenset(self._of_partition.items())

    def _forget(self, partition: TopicPartition, pair: _Pair) -> None:
        # An emptied set is dropped, so that the next one starts with a small table again, as in Java.
        by_pair = self._of_topic[partition.topic]
        del by_pair[pair][partition]
        if not by_pair[pair]:
            del by_pair[pair]
