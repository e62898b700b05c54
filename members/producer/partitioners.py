"""The partition of a record.

A keyed record goes by the hash of its key: murmur2 with its sign bit cleared, modulo the number of partitions, those
without a leader included. A record without a key, or with `partitioner.ignore.keys`, goes to the sticky partition until
`batch.size` bytes have gone there; then another is drawn (KIP-794, without its weights by queue length). Round robin
takes the next available partition for each record.

Source: `BuiltInPartitioner`, `Utils.murmur2`, `RoundRobinPartitioner`; KIP-480, KIP-794.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from groupsim.eventloop.randomness import Stream

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """Return Kafka's murmur2 of some bytes, as Java's signed int."""
    length = len(data)
    h = (_SEED ^ length) & _MASK
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        h = (h * _M ^ (k ^ k >> 24) * _M) & _MASK
    if whole != length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h > _POSITIVE else h


def to_positive(number: int) -> int:
    """Clear the sign bit of a number, as `Utils.toPositive` does; this is not the absolute value."""
    return number & _POSITIVE


@lru_cache(maxsize=1 << 16)
def partition_for_key(key: bytes, partitions: int) -> int:
    """Return the partition of a keyed record."""
    return to_positive(murmur2(key)) % partitions


class Sticky:
    """The sticky partition of one topic."""

    __slots__ = ("_stream", "_used", "batch_size", "partition")

    def __init__(self, stream: Stream, batch_size: int) -> None:
        self._stream = stream
        self._used = 0
        self.batch_size = max(batch_size, 1)
        self.partition = -1

    def choose(self, available: Sequence[int]) -> int:
        """Return the partition for the next record; draw another when enough bytes have gone to the last.

        Raises `ValueError` when no partition is available.
        """
        if self.partition < 0 or self._used >= self.batch_size:
            self.partition = self._stream.choice(available)
            self._used = 0
        return self.partition

    @property
    def left(self) -> int:
        """Bytes that may go to this partition before another is drawn."""
        return self.batch_size - self._used

    def count(self, size: int) -> None:
        """Count bytes that have gone to this partition."""
        self._used += size

    def lost(self) -> None:
        """Draw another partition next: this one cannot be used."""
        self.partition = -1


class RoundRobin:
    """Takes the next available partition for each record."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next = 0

    def choose(self, available: Sequence[int]) -> int:
        """Return the partition for the next record. Raises `ValueError` when none is available."""
        if not available:
            raise ValueError("no partition is available")
        chosen = available[self._next % len(available)]
        self._next += 1
        return chosen
