"""The statistics of one cell, and of one cell against another: pure functions of the observations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from groupsim.pipeline.analysis import intervals
from groupsim.pipeline.analysis.answer import (
    BETTER,
    EQUAL,
    NEGLIGIBLE,
    NOTHING,
    TOO_FEW,
    UNCLEAR,
    WORSE,
    Comparison,
    Statistic,
)
from groupsim.pipeline.analysis.intervals import FEW, Interval, Pooled
from groupsim.pipeline.analysis.observations import Observed
from groupsim.pipeline.analysis.significance import ALPHA, holm, mean_difference, pooled_difference
from groupsim.pipeline.tables.metrics import METRICS, P50, P95, P99, POOLED_METRICS, RUN_METRICS, Metric

# A difference below this part of the larger value is real, perhaps, but no reason to change a setting.
NEGLIGIBLE_PER_CENT = 1


def statistics(cell: Observed) -> list[Statistic]:
    """Every metric of one cell, in the order of the catalogue; metrics that no run has a value of, too."""
    return [_of_runs(cell, metric) for metric in RUN_METRICS] + [_pooled(cell, metric) for metric in POOLED_METRICS]


def _of_runs(cell: Observed, metric: Metric) -> Statistic:
    values = list(cell.values.get(metric.name, {}).values())
    found, ordered = intervals.mean(values), sorted(values)
    quantiles: dict[str, Any] = {}
    for which in (P50, P95, P99):
        at = intervals.quantile(ordered, which)
        quantiles |= {which.name: at.value, f"{which.name}_low": at.low, f"{which.name}_high": at.high}
    return Statistic(
        cell=cell.cell,
        metric=metric.name,
        n=len(values),
        missing=len(cell.done) - len(values),
        **attrs.asdict(found),
        **quantiles,
        least=float(ordered[0]) if ordered else None,
        most=float(ordered[-1]) if ordered else None,
    )


def _pooled(cell: Observed, metric: Metric) -> Statistic:
    assert metric.quantile is not None
    pooled = Pooled(cell.clusters(metric.pool, cell.done), metric.quantile)
    return Statistic(
        cell=cell.cell,
        metric=metric.name,
        n=len(cell.done),
        missing=pooled.sizes.count(0),
        pooled=sum(pooled.sizes),
        **attrs.asdict(pooled.interval() if cell.done else Interval(None)),
        least=float(pooled.values[0]) if pooled.values else None,
        most=float(pooled.values[-1]) if pooled.values else None,
    )


def compare(cell: Observed, other: Observed, role: str, metric: str) -> Comparison:
    """One metric of two cells, paired by the seeds that both have finished; not yet corrected, no verdict yet."""
    theirs = dict.fromkeys(other.seeds(metric))
    mine = cell.seeds(metric)
    seeds = [seed for seed in mine if seed in theirs]
    one, another, difference, p = _difference(cell, other, METRICS[metric], seeds)
    return Comparison(
        cell=cell.cell,
        other=other.cell,
        role=role,
        metric=metric,
        pairs=len(seeds),
        unpaired=len(mine) + len(theirs) - 2 * len(seeds),
        value=one,
        other_value=another,
        difference=difference.value,
        low=difference.low,
        high=difference.high,
        p=p,
        p_corrected=p,
        verdict=NOTHING,
    )


def _difference(
    cell: Observed, other: Observed, metric: Metric, seeds: Sequence[int]
) -> tuple[float | None, float | None, Interval, float]:
    if not seeds:
        return None, None, Interval(None), 1.0
    if metric.quantile is None:
        mine, theirs = cell.sample(metric.name, seeds), other.sample(metric.name, seeds)
        return sum(mine) / len(mine), sum(theirs) / len(theirs), *mean_difference(mine, theirs)
    one, another = (Pooled(which.clusters(metric.pool, seeds), metric.quantile) for which in (cell, other))
    return one.quantile(), another.quantile(), *pooled_difference(one, another)


def judged(comparisons: Iterable[Comparison], better: str = "") -> list[Comparison]:
    """Comparisons of one family (same other cell, same metric) with Holm's correction and a verdict each.

    `better` overrides the catalogue's direction, for a goal with the opposite one.
    """
    family = list(comparisons)
    corrected = holm([one.p for one in family])
    return [
        attrs.evolve(
            one, p_corrected=p, verdict=_verdict(one, p, 1 if (better or METRICS[one.metric].better) == "lower" else -1)
        )
        for one, p in zip(family, corrected, strict=True)
    ]


def _verdict(one: Comparison, p: float, sign: int) -> str:
    return verdict(one.difference, one.low, one.high, one.pairs, p, sign, (one.value, one.other_value))


def verdict(
    difference: float | None,
    low: float | None,
    high: float | None,
    pairs: int,
    p: float,
    sign: int,
    values: tuple[float | None, float | None],
) -> str:
    """Return the verdict on a paired difference: it needs a corrected p of at most 5 % and an interval without zero."""
    if difference is None:
        return NOTHING
    if pairs < FEW:
        return TOO_FEW
    if difference == 0 and low == high:
        return EQUAL
    zero_inside = low is not None and high is not None and low <= 0 <= high
    if p > ALPHA or zero_inside or difference == 0:
        return UNCLEAR
    if 100 * abs(difference) < NEGLIGIBLE_PER_CENT * max(abs(value or 0) for value in values):
        return NEGLIGIBLE
    return BETTER if sign * difference < 0 else WORSE


def rows(things: Iterable[Any]) -> list[dict[str, Any]]:
    """Statistics or comparisons as rows of a table."""
    return [attrs.asdict(thing) for thing in things]
