"""Confidence intervals over the seeds, exact to the last digit on every platform.

A mean: bootstrap over the seeds, percentile interval, its levels widened as Hesterberg proposes (2015, "What teachers
should know about the bootstrap"). The plain percentile interval is too narrow for few values, by the
factor sqrt((n-1)/n) and by the quantile of Student's t; the level of each end is therefore

    Phi(-sqrt(n / (n - 1)) * t(0.975; n - 1))

which `LEVELS` holds. The interval keeps the skew of the data and never leaves their range (no negative counts).

A quantile of runs: order statistics with binomial ranks (distribution-free, no draws). With thirty seeds nothing bounds
a p95 from above; that end is then `None` and shown as "more".

Sums are integers; the one division at the end rounds correctly. Below six values no interval of any kind deserves its
95 %, see `FEW`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb

from groupsim.pipeline.analysis.resampling import Pick, resamples
from groupsim.pipeline.tables.metrics import Quantile
from groupsim.protocol.values import frozen

CONFIDENCE = 95  # per cent
STRETCH = 1024  # things of a pool: to go through half of them takes less than to sum up once more
HASTY = 6  # looks by such a guess; from then on by halves
FEW = 6  # with fewer pairs no sign-flip test reaches 5 %: two of 2**5 sign patterns are 6.25 % already

# Number of values → level of the lower end, in parts per million (from t and normal quantiles of fifteen digits).
LEVELS = {
    2: 0, 3: 0, 4: 119, 5: 954, 6: 2432, 7: 4109, 8: 5738, 9: 7225, 10: 8551, 11: 9722, 12: 10757, 13: 11671, 14: 12483,
    15: 13207, 16: 13856, 17: 14439, 18: 14966, 19: 15445, 20: 15881, 21: 16280, 22: 16646, 23: 16983, 24: 17294,
    25: 17582, 26: 17850, 27: 18099, 28: 18332, 29: 18550, 30: 18754, 35: 19608, 40: 20258, 50: 21179, 60: 21802,
    80: 22588, 100: 23064, 150: 23704, 200: 24026, 300: 24349, 500: 24609, 1000: 24804,
}  # fmt: skip
_SIZES = sorted(LEVELS)


@frozen
class Interval:
    """A value with the ends of its confidence interval; an end that nothing bounds is `None`."""

    value: float | None
    low: float | None = None
    high: float | None = None


def ends(drawn: Sequence[int | float], n: int) -> tuple[int | float, int | float]:
    """The ends of the interval from the bootstrap's values, for `n` values (or clusters) of data."""
    level = LEVELS[_SIZES[bisect_right(_SIZES, n) - 1]]
    ordered = sorted(drawn)
    cut = len(ordered) * level // 1_000_000
    return ordered[cut], ordered[-1 - cut]


def mean(values: Sequence[int]) -> Interval:
    """The mean of integers with its interval; no interval for one value, a point when all are equal."""
    n = len(values)
    if not n:
        return Interval(None)
    value = sum(values) / n
    if n == 1:
        return Interval(value)
    if min(values) == max(values):
        return Interval(value, value, value)
    low, high = ends([sum(pick(values)) for pick in resamples(n)], n)
    return Interval(value, low / n, high / n)


def rank(n: int, quantile: Quantile) -> int:
    """Return the nearest rank, from 1: the smallest k for which k of n are at least the requested part."""
    return max(1, -(-n * quantile.part // quantile.of))


def quantile(ordered: Sequence[int], which: Quantile) -> Interval:
    """A quantile of sorted integers (one of them, never between two) with its distribution-free interval."""
    n = len(ordered)
    if not n:
        return Interval(None)
    low, high = _ranks(n, which)
    return Interval(
        float(ordered[rank(n, which) - 1]),
        float(ordered[low - 1]) if low else None,
        float(ordered[high - 1]) if high <= n else None,
    )


@lru_cache(maxsize=64)
def _ranks(n: int, which: Quantile) -> tuple[int, int]:
    """Ranks of the order statistics that bound the quantile; 0 and n + 1 when none does.

    The number of values below the quantile is binomial(n, p); each end may be wrong in 2.5 % of all samples.
    """
    weight = _weights(n, which)
    allowed = which.of**n * (100 - CONFIDENCE)  # of 200 × the total weight: both tails together
    low, tail = 0, weight(0)
    while low < n and 200 * tail <= allowed:
        low += 1
        tail += weight(low)
    high, tail = n + 1, weight(n)
    while high > 1 and 200 * tail <= allowed:
        high -= 1
        tail += weight(high - 1)
    return low, high


def _weights(n: int, which: Quantile) -> Callable[[int], int]:
    """k → the binomial probability of k below the quantile, times of**n."""
    part, rest = which.part, which.of - which.part
    return lambda k: comb(n, k) * part**k * rest ** (n - k)


class Pooled:
    """Things pooled over seeds, each seed a cluster of them, and their quantile under any choice of seeds.

    `quantile(pick)` is the quantile of the pool that has the clusters that `pick` chose (some twice, some not at all).
    The distinct values are cut into stretches. In which of them it lies is found by counting what is chosen of all that
    comes before a stretch, first before the one in which the last quantile lay: how many things are missing there says
    how far away it is. Through that one stretch it goes value by value.
    """

    def __init__(self, clusters: Sequence[Sequence[int]], which: Quantile) -> None:
        self.which = which
        self.clusters = [sorted(cluster) for cluster in clusters]
        self.sizes = [len(cluster) for cluster in self.clusters]
        self.values = sorted({value for cluster in self.clusters for value in cluster})
        self._numbers = range(len(self.clusters))
        self._stretch = max(1, STRETCH * len(self.values) // max(1, sum(self.sizes)))  # distinct values
        self._last = 0
        self._before: dict[int, tuple[int, ...]] = {}
        self._within: dict[int, list[tuple[int, int, int]]] = {}

    def quantile(self, pick: Pick = tuple) -> int | None:
        """The quantile of the clusters that `pick` chooses; `None` when they are empty."""
        total = sum(pick(self.sizes))
        if not total:
            return None
        missing, low, high = rank(total, self.which), 0, (len(self.values) - 1) // self._stretch
        passed = 0
        middle, looks = min(max(self._last, 1), high), 0
        while low < high:
            before, looks = sum(pick(self._counts_before(middle))), looks + 1
            if before < missing:
                low, passed = middle, before
            else:
                high = middle - 1
            near = middle + (missing - before) // STRETCH if looks < HASTY else (low + high + 1) // 2
            middle = min(max(near, low + 1), high)
        self._last = low
        times = [0] * len(self.clusters)
        for number in pick(self._numbers):
            times[number] += 1
        missing -= passed
        for value, cluster, count in self._things(low):
            missing -= count * times[cluster]
            if missing <= 0:
                return value
        raise AssertionError("a stretch without the quantile that lies in it")

    def _counts_before(self, stretch: int) -> tuple[int, ...]:
        """How many of each cluster come before a stretch."""
        counts = self._before.get(stretch)
        if counts is None:
            first = self.values[stretch * self._stretch]
            counts = self._before[stretch] = tuple([bisect_left(cluster, first) for cluster in self.clusters])
        return counts

    def _things(self, stretch: int) -> list[tuple[int, int, int]]:
        """The things of a stretch in order: value, number of the cluster, how many it has of them."""
        found = self._within.get(stretch)
        if found is None:
            last = self.values[min((stretch + 1) * self._stretch, len(self.values)) - 1]
            begins = zip(self.clusters, self._counts_before(stretch), strict=True)
            counts = Counter(
                (value, number)
                for number, (cluster, begin) in enumerate(begins)
                for value in cluster[begin : bisect_right(cluster, last)]
            )
            found = self._within[stretch] = [(*thing, count) for thing, count in sorted(counts.items())]
        return found

    def within(self) -> list[int]:
        """The quantile of each cluster by itself; 0 for one that has nothing."""
        return [cluster[rank(len(cluster), self.which) - 1] if cluster else 0 for cluster in self.clusters]

    def interval(self) -> Interval:
        """The quantile with a cluster bootstrap over the seeds; a largest value has none (no resample exceeds it)."""
        value, n = self.quantile(), len(self.clusters)
        if value is None:
            return Interval(None)
        if n == 1 or self.which.part == self.which.of:
            return Interval(float(value))
        drawn = [found for pick in resamples(n) if (found := self.quantile(pick)) is not None]
        low, high = ends(drawn, n)
        return Interval(float(value), float(low), float(high))
