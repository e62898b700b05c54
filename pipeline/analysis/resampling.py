"""Random draws for the bootstrap and for permutation tests: the same for the same number of seeds, everywhere.

A resample of n seeds is n draws with replacement; a flip is n fair coins. Both come from the blake2b streams of
`eventloop.randomness`, keyed by n alone, so all cells and metrics with n seeds are resampled alike: two engines, or
two machines, cannot differ, and differences between cells are not blurred by different draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any

from groupsim.eventloop.randomness import Stream

RESAMPLES = 2000
_MASK = (1 << 64) - 1
FLIPS = 4999  # with the observed one 5,000: the smallest p-value is 0.0002

# Takes n things and gives the n of the resample.
Pick = Callable[[Sequence[Any]], tuple[Any, ...]]


@lru_cache(maxsize=4)
def resamples(n: int) -> tuple[Pick, ...]:
    """The bootstrap's resamples of `n` ≥ 2 things, as functions from n things to n of them."""
    numbers, below = list(range(n)), _below(n, Stream(0, "analysis.bootstrap", str(n)))
    return tuple(itemgetter(*[numbers[draw] for draw in islice(below, n)]) for _ in range(RESAMPLES))


def _below(bound: int, stream: Stream) -> Iterator[int]:
    """What `stream.below(bound)` gives, one after the other: millions of them are drawn here."""
    word, uneven = stream.word, (1 << 64) % bound
    while True:
        product = word() * bound
        if product & _MASK >= uneven:
            yield product >> 64


@lru_cache(maxsize=8)
def flips(n: int) -> tuple[bytes, ...]:
    """Rows of `n` fair coins, one byte (0 or 1) each."""
    word = Stream(0, "analysis.flips", str(n)).word
    rows = []
    for _ in range(FLIPS):
        bits = "".join(f"{word():064b}" for _ in range((n + 63) // 64))
        rows.append(bytes(map(int, bits[:n])))
    return tuple(rows)
