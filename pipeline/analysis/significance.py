"""Paired tests: two cells with the same seeds had the same faults, so the test uses the difference seed by seed.

The test is the sign-flip permutation test of the mean difference. If a setting made no difference, each seed's
difference could as well have had the other sign; the p-value is the share of sign patterns whose mean is at least as
far from zero as the one found. It needs no normal distribution, it judges the very number that is reported (a rank
test would judge another), and seeds without a difference neither help nor hurt. Up to `EXACT` seeds with a difference
all patterns are counted, above that 4,999 drawn ones and the one found.

Many cells are compared at once, so p-values are corrected with Holm's method (1979), which holds under any dependence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import compress
from operator import itemgetter

from groupsim.pipeline.analysis.intervals import Interval, Pooled, ends, mean
from groupsim.pipeline.analysis.resampling import FLIPS, Pick, flips, resamples

ALPHA = 0.05
EXACT = 24


def sign_flip(differences: Sequence[int]) -> float:
    """Two-sided p-value of the sign-flip test of integer differences; 1.0 when there is none."""
    sizes = [abs(difference) for difference in differences if difference]
    found = abs(sum(differences))
    if not found:
        return 1.0
    total = sum(sizes)
    if len(sizes) <= EXACT:
        return 2 * _sums_up_to((total - found) // 2, sizes) / (1 << len(sizes))
    low, high = total - found, total + found
    extreme = sum(1 for row in flips(len(sizes)) if not low < 2 * sum(compress(sizes, row)) < high)
    return (extreme + 1) / (FLIPS + 1)


def _sums_up_to(limit: int, sizes: Sequence[int]) -> int:
    """How many subsets have a sum of at most `limit`: the sums of two halves, put together by bisection."""
    half = len(sizes) // 2
    left, right = _subset_sums(sizes[:half]), _subset_sums(sizes[half:])
    return sum(bisect_right(right, limit - one) for one in left)


def _subset_sums(sizes: Sequence[int]) -> list[int]:
    """The sums of all subsets, sorted."""
    sums = [0]
    for size in sizes:
        sums = sorted(sums + [one + size for one in sums])
    return sums


def mean_difference(one: Sequence[int], other: Sequence[int]) -> tuple[Interval, float]:
    """Mean of `one` - `other` seed by seed, with its interval, and the p-value. Both have the same seeds in order."""
    differences = [mine - theirs for mine, theirs in zip(one, other, strict=True)]
    return mean(differences), sign_flip(differences)


def pooled_difference(one: Pooled, other: Pooled) -> tuple[Interval, float]:
    """Difference of two pooled quantiles, their clusters paired by seed, with its interval, and a p-value.

    The interval is a bootstrap over pairs of clusters. The test flips the signs of the differences between the two
    quantiles within each run (0 for a run without such a thing): swapping clusters in the pools would hardly move a
    high quantile that one seed alone decides, and so forget that the seeds are paired.
    """
    n = len(one.clusters)
    both = Pooled([*one.clusters, *other.clusters], one.which)
    found = _between(both, *_halves(range(n), n)) if n > 1 else None
    if found is None:
        return Interval(None), 1.0
    if one.clusters == other.clusters:
        return Interval(0.0, 0.0, 0.0), 1.0
    p = sign_flip([mine - theirs for mine, theirs in zip(one.within(), other.within(), strict=True)])
    if one.which.part == one.which.of:
        return Interval(float(found)), p
    drawn = [_between(both, *_halves(pick(range(n)), n)) for pick in resamples(n)]
    low, high = ends([value for value in drawn if value is not None], n)
    return Interval(float(found), float(low), float(high)), p


def _between(both: Pooled, mine: Pick, theirs: Pick) -> int | None:
    one, other = both.quantile(mine), both.quantile(theirs)
    return None if one is None or other is None else one - other


def _halves(chosen: Sequence[int], n: int) -> tuple[Pick, Pick]:
    """Picks of these of the first n of 2n clusters, and of their partners."""
    return itemgetter(*chosen), itemgetter(*(number + n for number in chosen))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for their number (Holm's step-down), in the same order."""
    corrected = [1.0] * len(p_values)
    worst = 0.0
    for done, position in enumerate(sorted(range(len(p_values)), key=lambda place: (p_values[place], place))):
        worst = max(worst, min(1.0, p_values[position] * (len(p_values) - done)))
        corrected[position] = worst
    return corrected
