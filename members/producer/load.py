"""The application's load: how often it sends, how large records, with which keys, to which partitions.

A load is a value. The seed and its numbers alone decide the records and their instants, not the progress of the
producer. So two runs that differ in one setting have the same records at the same instants; a slow producer falls
behind, but does not make fewer.

Key skew is Zipf's: key k of n has weight 1 / k^s, computed in decimals of 34 digits and rounded to integers, so every
platform draws the same keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from enum import StrEnum
from functools import lru_cache

from groupsim.protocol.values import frozen

_EXACT = Context(prec=34, rounding=ROUND_HALF_EVEN)
_SCALE = 10**12
_MILLION = 1_000_000


class Arriving(StrEnum):
    """How the instants of records are distributed."""

    STEADY = "steady"  # at exact instants, as `traffic` computes them
    POISSON = "poisson"  # at random, from the seed


@frozen
class Sizes:
    """Bytes of a record's value, uniformly distributed from `least` to `most`."""

    least: int
    most: int

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise ValueError(f"record sizes {self.least} to {self.most}: need 0 <= least <= most")

    @property
    def constant(self) -> bool:
        """Whether all records have one size."""
        return self.least == self.most


DEFAULT_SIZES = Sizes(100, 100)


@frozen
class Keys:
    """Number of keys, and the frequency of each.

    `exponent` is Zipf's, as decimal text or number ("0": uniform, "1": the classic skew). `weights` gives one weight
    per key instead. `hot_ppm` is the share of the first key, in parts per million, drawn before all else.
    """

    distinct: int
    exponent: str = "0"
    weights: tuple[int, ...] | None = None
    hot_ppm: int = 0

    def __attrs_post_init__(self) -> None:
        if self.distinct < 1:
            raise ValueError(f"{self.distinct} distinct keys: at least one is needed")
        if self.weights is not None and (len(self.weights) != self.distinct or min(self.weights) < 0):
            raise ValueError(f"{len(self.weights)} weights for {self.distinct} keys: one each, none negative")
        if self.weights is not None and sum(self.weights) == 0:
            raise ValueError("all keys have weight 0: give at least one of them more")
        if not 0 <= self.hot_ppm <= _MILLION:
            raise ValueError(f"hot_ppm {self.hot_ppm}: parts in a million, 0 to {_MILLION}")

    def cumulative(self) -> tuple[int, ...]:
        """Return running sums of the weights; the last is their total."""
        return _cumulative(self.weights) if self.weights is not None else zipf(self.distinct, str(self.exponent))


@lru_cache(maxsize=64)
def zipf(distinct: int, exponent: str) -> tuple[int, ...]:
    """Return running sums of Zipf's weights, as integers. Raises `ValueError` for an exponent below 0."""
    power = Decimal(exponent)
    if power < 0:
        raise ValueError(f"a Zipf exponent of {exponent}: give 0 (no skew) or more")
    weights = [int(_EXACT.divide(_SCALE, _EXACT.power(Decimal(rank), power))) for rank in range(1, distinct + 1)]
    return _cumulative([max(weight, 1) for weight in weights])


def _cumulative(weights: Sequence[int]) -> tuple[int, ...]:
    total, sums = 0, []
    for weight in weights:
        total += weight
        sums.append(total)
    return tuple(sums)


@frozen
class Load:
    """One application's records for one topic; `rate` is in records per 10⁶ seconds (`traffic.as_rate`).

    `weights` distributes records over partitions; without it the producer's partitioner decides. `steps` are changes of
    rate and `bursts` extra records, both as (µs after the start, number). `content` makes real records with key bytes
    (for compacted topics and dump tools); of these `tombstones_ppm` parts per million have no value.
    """

    topic: str
    rate: int
    arriving: Arriving = Arriving.STEADY
    sizes: Sizes = Sizes(100, 100)
    keys: Keys | None = None
    weights: tuple[int, ...] | None = None
    steps: tuple[tuple[int, int], ...] = ()
    bursts: tuple[tuple[int, int], ...] = ()
    content: bool = False
    tombstones_ppm: int = 0

    def __attrs_post_init__(self) -> None:
        if self.rate < 0:
            raise ValueError(f"{self.topic}: a rate of {self.rate}: rates are not negative")
        if self.tombstones_ppm and (self.keys is None or not self.content):
            raise ValueError(f"{self.topic}: tombstones need keys and content")
