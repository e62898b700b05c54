"""Named streams of random words, the same on every platform and in every version of Python.

A stream is blake2b in counter mode. Its key is

    blake2b-256( "groupsim.stream.1" ‖ part(seed) ‖ part(purpose) ‖ part(entity) ‖ part(incarnation) )

where `part` is the length of the UTF-8 text (numbers in decimal) as four bytes, little-endian, followed by the text.
Block n (0, 1, 2 …) is

    blake2b-512( key ‖ n as eight bytes, little-endian )

and gives eight words of 64 bits, little-endian, in order. The key is in the message rather than in blake2b's own
key block, which costs one compression per block instead of two. Python's `random` is not used: its methods have
changed between versions, and libm differs between platforms.

A stream belongs to (seed, purpose, entity, incarnation), so two runs that differ in one setting have the same random
words everywhere else: latency has a stream per connection, processing time one by partition, ids one per entity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableSequence, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from struct import Struct
from typing import TypeVar

T = TypeVar("T")

WORDS_IN_BLOCK = 8
_WORDS = Struct("<8Q").unpack
_MASK = (1 << 64) - 1
_TAG = b"groupsim.stream.1"
MILLION = 1_000_000


def _key(seed: int, purpose: str, entity: str, incarnation: int) -> bytes:
    message = _begin(seed, purpose) + _part(entity) + _number(incarnation)
    return blake2b(message, digest_size=32).digest()


@lru_cache(maxsize=64)
def _begin(seed: int, purpose: str) -> bytes:
    """Return the common beginning of the keys of many streams."""
    return _TAG + _part(str(seed)) + _part(purpose)


@lru_cache(maxsize=64)
def _number(incarnation: int) -> bytes:
    return _part(str(incarnation))


def _part(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(4, "little") + encoded


def _blocks(seed: int, purpose: str, entity: str, incarnation: int) -> Iterator[bytes]:
    key = _key(seed, purpose, entity, incarnation)  # at the first word: many streams are never drawn from
    block = 0
    while True:
        yield blake2b(key + block.to_bytes(8, "little")).digest()
        block += 1


class Stream:
    """The random words of one (seed, purpose, entity, incarnation), from the beginning.

    `word()` returns the next word, an integer of 64 bits; `words` iterates over the same words. Both are in C except
    for the making of a block, because every message draws. `blocks` yields the bytes of whole blocks, for a stream that
    has no other use.
    """

    __slots__ = ("blocks", "word", "words")

    blocks: Iterator[bytes]
    word: Callable[[], int]
    words: Iterator[int]

    def __init__(self, seed: int, purpose: str, entity: str = "", incarnation: int = 0) -> None:
        self.blocks = _blocks(seed, purpose, entity, incarnation)
        self.words = chain.from_iterable(map(_WORDS, self.blocks))
        self.word = self.words.__next__

    def below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound), without bias (multiply, and draw again in the rare uneven part).

        Raises ValueError for a bound outside 1 … 2**64.
        """
        if not 0 < bound <= 1 << 64:
            raise ValueError(f"below({bound}): the bound must lie in 1 … 2**64")
        product = self.word() * bound
        if product & _MASK < bound:
            uneven = (1 << 64) % bound
            while product & _MASK < uneven:
                product = self.word() * bound
        return product >> 64

    def chance(self, ppm: int) -> bool:
        """Return True with `ppm` parts in a million."""
        return self.below(MILLION) < ppm

    def choice(self, items: Sequence[T]) -> T:
        """Return one of `items`, all equally likely. Raises ValueError when there are none."""
        if not items:
            raise ValueError("choice(): nothing to choose from")
        return items[self.below(len(items))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Shuffle in place (Fisher and Yates, from the end)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]
