"""An assignment stored as slices of topics, whose partition objects are made at their first use.

`range` and `roundrobin` give a member of each topic every k-th partition between two numbers. Such a slice costs the
same whatever its length, so the cost of a round depends on topics and members only; the cost per partition arises at
the first read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from groupsim.assignors.base.common import partitions_of
from groupsim.protocol.messages.group import TopicPartition

#: A topic, and a range of its partitions.
Share = tuple[str, slice]


class PartitionSlices(Mapping[str, tuple[TopicPartition, ...]]):
    """For each member its partitions, in the order of its shares: equal to the dict of tuples, and printed as that."""

    __slots__ = ("_counts", "_held", "_shares")

    def __init__(self, counts: Mapping[str, int], shares: Mapping[str, Sequence[Share]]) -> None:
        """`counts` has the number of partitions of every topic in the shares of a member."""
        self._counts = counts
        self._shares = shares
        self._held: dict[str, tuple[TopicPartition, ...]] | None = None

    def __getitem__(self, member_id: str) -> tuple[TopicPartition, ...]:
        return self._as_dict()[member_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shares)

    def __len__(self) -> int:
        return len(self._shares)

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._shares

    def __repr__(self) -> str:
        return repr(self._as_dict())

    def _as_dict(self) -> dict[str, tuple[TopicPartition, ...]]:
        # All members at once: a reader of one reads the others too, so a topic's objects are made at once.
        if self._held is None:
            topics = {topic: partitions_of(topic, count) for topic, count in self._counts.items()}
            self._held = {member_id: _expanded(shares, topics) for member_id, shares in self._shares.items()}
        return self._held


def _expanded(shares: Sequence[Share], topics: Mapping[str, tuple[TopicPartition, ...]]) -> tuple[TopicPartition, ...]:
    found: list[TopicPartition] = []
    for topic, which in shares:
        found.extend(topics[topic][which])
    return tuple(found)
