"""The iteration order of Scala 2.13's immutable `HashMap`: brokers up to 3.9 settle ties between protocols by it.

The map is a tree of nodes with 32 places. The lowest five bits of a key's improved hash are its place in the root, the
next five its place one level deeper. A node yields the keys with a place of their own, then the nodes below it, each in
the order of the places.

Source: `scala.collection.Hashing`, `scala.collection.immutable.HashMap`, `ChampBaseIterator`; checked with 2.13.15.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupsim.protocol.javahash import java_string_hash

_MASK = 0xFFFFFFFF
_BITS = 5
_DEEPEST = 35


def scala_map_order(keys: Iterable[str]) -> list[str]:
    """Return the keys in the iteration order of an immutable `HashMap` with these keys."""
    return _level([(_improved(java_string_hash(key)), key) for key in keys], 0)


def _improved(code: int) -> int:
    code = (code + ~(code << 9)) & _MASK
    code ^= code >> 14
    code = (code + (code << 4)) & _MASK
    return code ^ (code >> 10)


def _level(hashed: list[tuple[int, str]], depth: int) -> list[str]:
    if len(hashed) < 2 or depth >= _DEEPEST:
        return [key for _, key in hashed]
    places: dict[int, list[tuple[int, str]]] = {}
    for one in hashed:
        places.setdefault(one[0] >> depth & (1 << _BITS) - 1, []).append(one)
    in_order = [places[number] for number in sorted(places)]
    alone = [key for place in in_order if len(place) == 1 for _, key in place]
    return alone + [key for place in in_order if len(place) > 1 for key in _level(place, depth + _BITS)]
