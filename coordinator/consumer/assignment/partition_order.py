"""The order of partitions in the maps of a member: Java's `HashMap` with small integers as keys.

A key is in the bucket of its lower bits, so the order is ascending as long as the table is larger than the greatest
partition; a map that was copied from a small one has a small table. The order shows in the records of members alone.

Source: `CurrentAssignmentBuilder`, `Utils.assignmentFromTopicPartitions`; `java.util.HashMap` of Java 17.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

_INITIAL_TABLE = 16


def kept_and_revoked(assigned: Mapping[int, int], wanted: Collection[int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the assigned partitions that are wanted, and the others; each is a copy of all without the rest."""
    stored = _ordered(assigned, _grown(_INITIAL_TABLE, len(assigned)))
    order = _ordered(stored, _copied(len(stored)))
    kept = {one: assigned[one] for one in order if one in wanted}
    return kept, {one: assigned[one] for one in order if one not in kept}


def with_granted(
    assigned: Mapping[int, int], kept: Mapping[int, int], granted: Collection[int], epoch: int
) -> dict[int, int]:
    """Return the kept partitions with those that are granted at this epoch; `assigned` is what there was before."""
    table = _copied(len(assigned)) if kept else _INITIAL_TABLE
    order = _ordered([*kept, *_ordered(granted, _set_table(len(granted)))], _grown(table, len(kept) + len(granted)))
    return {one: kept.get(one, epoch) for one in order}


def in_set_order(partitions: Collection[int]) -> tuple[int, ...]:
    """Return partitions as `new HashSet<>(partitions)` yields them."""
    return tuple(_ordered(partitions, _set_table(len(partitions))))


def _ordered(partitions: Iterable[int], table: int) -> list[int]:
    return sorted(partitions, key=lambda one: one & (table - 1))


def _grown(table: int, size: int) -> int:
    """Return the table once so many entries have been put."""
    while 4 * size > 3 * table:
        table *= 2
    return table


def _copied(size: int) -> int:
    """Return the table of `new HashMap<>(map)` for a map of this size; an empty one is made at the first entry."""
    return 1 << (4 * size // 3).bit_length() if size else _INITIAL_TABLE


def _set_table(size: int) -> int:
    return max(_INITIAL_TABLE, 1 << (4 * size // 3).bit_length())
