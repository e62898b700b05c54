"""The order in which the maps of a group yield their keys: Kafka's `TimelineHashMap`.

Its table doubles when an entry is put and three quarters of the size, plus one, exceed the number of slots, also when
the entry only replaces one. A key is in the slot that the upper bits of its hash times a constant give; keys of one
slot come newest first.
A table never shrinks: `in_slots` takes its size, which the owner of the map keeps with `grown`. `timeline_order`
assumes the table that the present keys need.

Source: `org.apache.kafka.timeline.BaseHashTable`.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupsim.protocol.javahash import java_string_hash

_FACTOR = -7046029254386353131
SMALLEST = 2
"""The slots of an empty table."""


def timeline_order(keys: Iterable[str], *, replaced: bool = True) -> list[str]:
    """Return the keys, given in order of insertion, as the map yields them.

    `replaced`: some value has been replaced since the last key came, as those of members always are.
    """
    found = list(keys)
    slots = SMALLEST
    while 3 * (len(found) + replaced) > 4 * slots:
        slots *= 2
    return in_slots(found, slots)


def grown(slots: int, size: int) -> int:
    """Return the slots of a table that had this size before an entry is put."""
    return 2 * slots if 3 * (size + 1) > 4 * slots else slots


def in_slots(keys: Iterable[str], slots: int) -> list[str]:
    """Return the keys, given in order of insertion, as a table with so many slots yields them."""
    found = [*keys]
    found.reverse()
    shift = 64 - (slots.bit_length() - 1)
    return sorted(found, key=lambda key: (java_string_hash(key) * _FACTOR & (1 << 64) - 1) >> shift)
