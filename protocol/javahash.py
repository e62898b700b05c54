"""Java's string hash, its order of strings, and the iteration order of its `HashMap`.

Kafka's answers depend on them in many places: the partition of `__consumer_offsets` that a group belongs to, the
successor of a leader, the order of the member list, ties between protocols, the over-full member that keeps its extra
partition. All of it is deterministic in Java, because `String.hashCode` is specified and `HashMap` is simple:

* the table has a power-of-two capacity: 16 at first, doubled when the size passes three quarters of it, never shrunk;
* an entry is in bucket `(h ^ (h >>> 16)) & (capacity - 1)`;
* iteration goes by bucket, and within a bucket by insertion. Doubling splits a bucket and keeps the relative order, so
  the order follows from capacity and insertion order alone: a stable sort of the keys by bucket.

A ninth entry in one bucket doubles a table of fewer than 64 buckets early. In a larger table it would turn
the bucket into a red-black tree, which disturbs the order within that bucket; that takes deliberate collisions and is
not modelled.

Sources: `java.lang.String`, `java.util.HashMap`; `Utils.abs`, `TopicPartition.hashCode`; assignors reference,
section 1; classic-protocol reference, sections 2.2 and 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, ValuesView
from functools import lru_cache
from typing import Any, TypeVar

from groupsim.protocol.basics import TopicPartition

_MASK = 0xFFFFFFFF
_SIGN = 0x80000000
_INITIAL_CAPACITY = 16
_CROWDED_BUCKET = 8
_SMALLEST_TREE_TABLE = 64

K = TypeVar("K", bound=str | TopicPartition)
V = TypeVar("V")


def _signed(value: int) -> int:
    """The low 32 bits of `value` as Java's `int`."""
    value &= _MASK
    return value - (_MASK + 1) if value & _SIGN else value


@lru_cache(maxsize=1 << 16)
def java_string_hash(text: str) -> int:
    """`String.hashCode`: h = 31 h + unit over the UTF-16 code units, wrapped to a signed 32-bit number."""
    if text.isascii():
        h = _ascii_hash(text.encode("ascii"))
    else:
        h = 0
        raw = text.encode("utf-16-be", "surrogatepass")
        for at in range(0, len(raw), 2):
            h = (31 * h + (raw[at] << 8 | raw[at + 1])) & _MASK
    return _signed(h)


def _folds(most: int) -> tuple[tuple[int, int, int], ...]:
    """Return the steps to fold up to so many bytes, a power of two: lane width, mask of every other lane, factor."""
    found = []
    width, units = 8, 1
    while units < most:
        low = (1 << min(width, 32)) - 1
        mask = sum(low << at for at in range(0, 8 * most, 2 * width))
        found.append((width, mask, pow(31, units, _MASK + 1)))
        width, units = 2 * width, 2 * units
    return tuple(found)


_FOLDS = [_folds(1 << bits) for bits in range(9)]


def _ascii_hash(raw: bytes) -> int:
    """Return the low 32 bits of the hash. Every member id is hashed once; byte by byte that took a hundredth of a run.

    So the bytes, up to 256 at a time, are treated as lanes of one large number, and neighbours are joined in all lanes
    at once: hash of the left part, times 31 to the length of the right one, plus its hash.
    """
    h = 0
    for begin in range(0, len(raw), 256):
        part = raw[begin : begin + 256]
        lanes = int.from_bytes(part, "big")
        for width, mask, factor in _FOLDS[(len(part) - 1).bit_length()]:
            lanes = (lanes >> width & mask) * factor + (lanes & mask)
        h = lanes if not begin else h * pow(31, len(part), _MASK + 1) + lanes & _MASK
    return h


def topic_partition_hash(partition: TopicPartition) -> int:
    """`TopicPartition.hashCode`: 31 * (31 + partition) + hash(topic), signed 32-bit."""
    return _signed(31 * (31 + partition.partition) + java_string_hash(partition.topic))


def java_abs_mod(text: str, count: int) -> int:
    """Return `Utils.abs(text.hashCode()) % count`, the offsets partition of a group id among `count` partitions.

    `Utils.abs` maps the smallest integer, which has no positive twin, to 0.
    """
    h = java_string_hash(text)
    return 0 if h == -_SIGN else abs(h) % count


def java_string_key(text: str) -> bytes:
    """A sort key that orders strings as `String.compareTo` does, by UTF-16 code unit."""
    return text.encode("utf-16-be", "surrogatepass")


def java_sorted(texts: Iterable[str]) -> list[str]:
    """The strings in Java's order; Python's own differs only when characters beyond U+FFFF meet U+E000..U+FFFF."""
    found = list(texts)
    if len(found) < 2:
        return found
    if all(text.isascii() for text in found):
        return sorted(found)
    return sorted(found, key=java_string_key)


def _spread(key: str | TopicPartition) -> int:
    """The hash with its upper half folded into the lower, as `HashMap` does before it picks a bucket."""
    h = (java_string_hash(key) if isinstance(key, str) else topic_partition_hash(key)) & _MASK
    return h ^ (h >> 16)


def java_spread(text: str) -> int:
    """Return what `HashMap` takes the bucket of a string from; the lower bits are the number of the bucket."""
    return _spread(text)


class JavaHashMap(MutableMapping[K, V]):
    """A mapping that iterates in the order of `java.util.HashMap`; keys are strings or `TopicPartition`s.

    Look-ups and changes cost the same as in a dict. The order is computed at the first iteration after a key was added
    or removed, and stored; an iteration uses the keys at its start. Replacing a value does not move its key; removing
    and inserting a key again moves it to the end of its bucket.
    """

    __slots__ = ("_capacity", "_chains", "_order", "_spreads", "_values")
    #: The hash of a key, folded; a map with keys of another type replaces it (`topic_ids.TopicIdMap`).
    _spread_of: Callable[[Any], int] = staticmethod(_spread)

    def __init__(
        self, entries: Mapping[K, V] | Iterable[tuple[K, V]] = (), *, capacity: int = _INITIAL_CAPACITY
    ) -> None:
        self._values: dict[K, V] = {}
        self._spreads: dict[K, int] = {}
        self._order: list[K] | None = None
        self._resize(capacity)
        self.update(entries)

    @property
    def capacity(self) -> int:
        """The number of buckets; it grows with the size and never shrinks."""
        return self._capacity

    def __getitem__(self, key: K) -> V:
        return self._values[key]

    def __setitem__(self, key: K, value: V) -> None:
        if key not in self._values:
            self._make_room(key)
        self._values[key] = value

    def __delitem__(self, key: K) -> None:
        del self._values[key]
        spread = self._spreads.pop(key)
        if self._chains:
            self._chains[spread & (self._capacity - 1)] -= 1
        self._order = None

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[K]:
        return iter(self._in_order())

    def values(self) -> ValuesView[V]:
        """The values, in the order of the keys."""
        return _Values(self)

    def __repr__(self) -> str:
        inside = ", ".join(f"{key!r}: {self._values[key]!r}" for key in self)
        return f"JavaHashMap({{{inside}}})"

    def clear(self) -> None:
        """Remove all entries; the table keeps its size, as in Java."""
        self._values.clear()
        self._spreads.clear()
        self._resize(self._capacity)
        self._order = None

    def copy(self) -> JavaHashMap[K, V]:
        """Return an independent copy with the same table, hence the same order (Java's copy constructor may differ)."""
        twin: JavaHashMap[K, V] = JavaHashMap(capacity=self._capacity)
        twin._values = dict(self._values)
        twin._spreads = dict(self._spreads)
        twin._chains = list(self._chains)
        twin._order = self._order
        return twin

    def _make_room(self, key: K) -> None:
        spread = self._spreads[key] = self._spread_of(key)
        self._order = None
        if self._chains:
            bucket = spread & (self._capacity - 1)
            self._chains[bucket] += 1
            if self._chains[bucket] > _CROWDED_BUCKET:
                self._resize(2 * self._capacity)
        if len(self._spreads) * 4 > self._capacity * 3:
            self._resize(2 * self._capacity)

    def _resize(self, capacity: int) -> None:
        """Set the number of buckets; a small table stores the lengths of their chains."""
        self._capacity = capacity
        self._chains: list[int] = []
        if capacity < _SMALLEST_TREE_TABLE:
            self._chains = [0] * capacity
            for spread in self._spreads.values():
                self._chains[spread & (capacity - 1)] += 1

    def _in_order(self) -> list[K]:
        # A dict has insertion order and forgets a removed key's place, exactly as a bucket's chain.
        order = self._order
        if order is None:
            mask = self._capacity - 1
            spreads = self._spreads
            order = self._order = sorted(spreads, key=lambda key: spreads[key] & mask)
        return order


class _Values(ValuesView[V]):
    """The values of the map, without a look-up in Python for each."""

    _mapping: JavaHashMap[Any, V]

    def __iter__(self) -> Iterator[V]:
        return map(self._mapping._values.__getitem__, self._mapping._in_order())


def java_set_order(keys: Iterable[K]) -> list[K]:
    """The keys in the order in which a `HashSet` that got them one by one yields them."""
    return list(JavaHashMap((key, None) for key in keys))


def java_copied_order(keys: Collection[K]) -> list[K]:
    """The keys in the order in which `new HashSet<>(keys)` yields them: its table has room for all from the start."""
    return list(JavaHashMap(((key, None) for key in keys), capacity=first_capacity(len(keys))))


def java_sized_order(keys: Iterable[K], size: int) -> list[K]:
    """The keys in the order of a `HashMap` that was made for `size` entries (`new HashMap<>(size)`), one by one."""
    return list(JavaHashMap(((key, None) for key in keys), capacity=1 << max(0, size - 1).bit_length()))


def first_capacity(size: int) -> int:
    """Return the number of buckets of a `HashSet` that is made as a copy of so many keys."""
    return max(_INITIAL_CAPACITY, 1 << (4 * size // 3).bit_length())
