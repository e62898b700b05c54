"""The order of partitions in the sets of a target: Java's `HashSet` with small integers as keys.

A partition is in the bucket of its lower bits, and the partitions of one bucket come in the order of insertion. So a
set yields its partitions ascending if its table is larger than the greatest one. The order shows in the records of
targets; of a target that a member already has, it decides which partitions `uniform` takes away.

Source: `UniformHomogeneousAssignmentBuilder`, `UniformHeterogeneousAssignmentBuilder`, `Assignment.fromRecord`;
`java.util.HashMap` of Java 17.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

INITIAL_TABLE = 16


def ordered(partitions: Iterable[int], table: int) -> list[int]:
    """Return partitions, given in the order of insertion, as a table of this size yields them."""
    return sorted(partitions, key=lambda one: one & (table - 1))


def grown(table: int, size: int) -> int:
    """Return the table once so many entries have been put."""
    while 4 * size > 3 * table:
        table *= 2
    return table


def copied_table(size: int) -> int:
    """Return the table of `new HashMap<>(map)` for a map of this size; an empty one is made at the first entry."""
    return 1 << (4 * size // 3).bit_length() if size else INITIAL_TABLE


def set_table(size: int) -> int:
    """Return the table of `new HashSet<>(collection)` for a collection of this size."""
    return max(INITIAL_TABLE, copied_table(size))


def sized_table(size: int) -> int:
    """Return the table of a set that was made with room for so many, `new HashSet<>((int) (size / 0.75f + 1))`."""
    return 1 << int(size / 0.75).bit_length()


def in_set_order(partitions: Collection[int]) -> tuple[int, ...]:
    """Return partitions as `new HashSet<>(partitions)` yields them."""
    return tuple(ordered(partitions, set_table(len(partitions))))


class PartitionSet:
    """One set, which begins as a copy of a collection, or with a table of its own."""

    def __init__(self, partitions: Collection[int] = (), table: int | None = None) -> None:
        self._table = set_table(len(partitions)) if table is None else table
        self._partitions = dict.fromkeys(partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def add(self, partition: int) -> None:
        """Add a partition that the set does not have."""
        self._partitions[partition] = None
        self._table = grown(self._table, len(self._partitions))

    def remove(self, partition: int) -> None:
        """Remove a partition, if the set has it."""
        self._partitions.pop(partition, None)

    def in_order(self) -> tuple[int, ...]:
        """Return the partitions as the set yields them."""
        return tuple(ordered(self._partitions, self._table))
