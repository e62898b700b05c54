"""Partitions as ranges, and their owners: a member of a large group has hundreds of them in every generation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen

Runs = tuple[tuple[int, int], ...]


@frozen
class PartitionSet:
    """A set of partitions. `topics`: each topic with the first and last number of its ranges, in order."""

    topics: tuple[tuple[str, Runs], ...] = ()

    def __len__(self) -> int:
        """Return the number of its partitions."""
        return sum(last - first + 1 for _, runs in self.topics for first, last in runs)

    def __iter__(self) -> Iterator[TopicPartition]:
        """Yield its partitions, by topic and number."""
        for topic, runs in self.topics:
            for first, last in runs:
                for number in range(first, last + 1):
                    yield TopicPartition(topic, number)


def partition_set(partitions: Iterable[tuple[str, int]]) -> PartitionSet:
    """Return the set of these partitions."""
    numbers: dict[str, list[list[int]]] = {}
    for topic, number in sorted(set(partitions)):
        runs = numbers.setdefault(topic, [])
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return PartitionSet(tuple((topic, tuple((a, b) for a, b in runs)) for topic, runs in numbers.items()))


@frozen
class MemberShare:
    """The partitions of one member in one generation; `moved`: those that another process owned before."""

    host: str
    member: str | None
    partitions: PartitionSet
    moved: PartitionSet = PartitionSet()


@frozen
class Assignment:
    """The owners of all partitions in one generation.

    shares     each member's partitions
    unowned    partitions that no member has, of the topics that members subscribe to
    revoked    those of them that a member had in the assignment before
    """

    shares: tuple[MemberShare, ...]
    unowned: PartitionSet = PartitionSet()
    revoked: PartitionSet = PartitionSet()
