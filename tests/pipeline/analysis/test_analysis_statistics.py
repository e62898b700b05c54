"""The statistics of the analysis, tried on distributions whose truth is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.randomness import Stream
from groupsim.pipeline.analysis import intervals, significance
from groupsim.pipeline.analysis.intervals import Interval, Pooled
from groupsim.pipeline.analysis.resampling import flips, resamples
from groupsim.pipeline.tables.column_types import Type
from groupsim.pipeline.tables.metrics import METRICS, MOST, P50, P95, P99, POOLED_METRICS, RUN_METRICS, Quantile
from groupsim.pipeline.tables.schemas import TABLES

TRIALS = 400


def _samples(law: str, n: int) -> list[list[int]]:
    distribution, stream = parse_distribution(law), Stream(1, "test.samples", f"{law} {n}")
    return [[distribution.draw(stream) for _ in range(n)] for _ in range(TRIALS)]


def _coverage(samples: list[list[int]], interval: Callable[[list[int]], Interval], truth: float) -> float:
    found = [interval(sample) for sample in samples]
    return sum(
        1 for one in found if (one.low is None or one.low <= truth) and (one.high is None or truth <= one.high)
    ) / len(found)


@pytest.mark.parametrize(
    ("law", "n", "truth", "least"),
    [
        ("uniform(1s, 3s)", 10, 2_000_000, 0.92),
        ("uniform(1s, 3s)", 30, 2_000_000, 0.925),
        ("exponential(mean=2s)", 30, 2_000_000, 0.90),
        ("exponential(mean=2s)", 100, 2_000_000, 0.92),
    ],
)
def test_interval_of_a_mean_holds_the_true_mean_about_as_often_as_it_says(
    law: str, n: int, truth: float, least: float
) -> None:
    """In 400 samples the interval covers the true mean in 95 % of cases, a little less where the law is skewed."""
    assert least <= _coverage(_samples(law, n), intervals.mean, truth) <= 0.985


@pytest.mark.parametrize(("which", "truth"), [(P50, 1_386_294), (P95, 5_991_465), (P99, 9_210_340)])
@pytest.mark.parametrize("n", [10, 30, 200])
def test_interval_of_a_quantile_holds_the_true_quantile_at_least_as_often_as_it_says(
    which: Quantile, truth: float, n: int
) -> None:
    """Order statistics promise at least 95 % for any law; 93 % leaves room for the chance of 400 samples."""
    samples = [sorted(sample) for sample in _samples("exponential(mean=2s)", n)]
    assert _coverage(samples, lambda sample: intervals.quantile(sample, which), truth) >= 0.93


def test_few_seeds_leave_a_high_quantile_unbounded_above() -> None:
    """Thirty values say nothing about how large a p95 can be, and the interval says so instead of guessing."""
    assert intervals.quantile(range(30), P95).high is None
    assert intervals.quantile(range(200), P95).high is not None


def test_mean_of_one_value_has_no_interval_and_of_equal_values_a_point() -> None:
    """Nothing is claimed from one seed; seeds that all agree leave no doubt to show."""
    assert intervals.mean([]) == Interval(None)
    assert intervals.mean([7]) == Interval(7.0)
    assert intervals.mean([7] * 4) == Interval(7.0, 7.0, 7.0)


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=12))
@settings(max_examples=30)
def test_interval_of_a_mean_lies_within_the_data_around_the_mean(values: list[int]) -> None:
    """Counts never get a negative end: the bootstrap stays inside the range of the values."""
    found = intervals.mean(values)
    assert found.value == float(Fraction(sum(values), len(values)))
    assert found.low is not None
    assert found.high is not None
    assert min(values) <= found.low <= found.high <= max(values)


def _sorted_out(clusters: Sequence[Sequence[int]], which: Quantile) -> int | None:
    """The quantile of all clusters together, from the whole pool in order."""
    pool = sorted(value for cluster in clusters for value in cluster)
    return next((value for at, value in enumerate(pool, 1) if at * which.of >= len(pool) * which.part), None)


@given(
    st.lists(st.lists(st.integers(0, 50), max_size=6), min_size=2, max_size=5), st.sampled_from([P50, P95, P99, MOST])
)
def test_pooled_quantile_is_that_of_all_clusters_together(clusters: list[list[int]], which: Quantile) -> None:
    """Counting finds the same value as sorting the whole pool, also for resampled clusters."""
    pooled = Pooled(clusters, which)
    for pick in (tuple, resamples(len(clusters))[0]):
        assert pooled.quantile(pick) == _sorted_out(pick(clusters), which)


@pytest.mark.parametrize("which", [P50, P95, P99, MOST])
@pytest.mark.parametrize("highest", [3, 40, 100_000])
def test_pooled_quantile_is_the_same_however_long_the_stretches(
    which: Quantile, highest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool of many stretches, evenly filled or with most things at few values: each resample finds its own value."""
    monkeypatch.setattr(intervals, "STRETCH", 8)
    draw = Stream(3, "test.stretches").below
    clusters = [[draw(highest) * draw(2) for _ in range(draw(30))] for _ in range(40)]
    pooled = Pooled(clusters, which)
    for pick in (tuple, *resamples(len(clusters))[:50]):
        assert pooled.quantile(pick) == _sorted_out(pick(clusters), which)


def test_cluster_bootstrap_holds_the_true_median_although_things_of_one_seed_are_alike() -> None:
    """Forty standstills of one run that share its luck count as one run, not as forty: coverage stays near 95 %."""
    stream, shared, own = Stream(2, "test.clusters"), parse_distribution("uniform(0s, 10s)"), "uniform(0s, 1s)"
    noise = parse_distribution(own)
    hits = 0
    for _ in range(60):
        clusters = []
        for _ in range(20):
            base = shared.draw(stream)
            clusters.append([base + noise.draw(stream) for _ in range(40)])
        found = Pooled(clusters, P50).interval()
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 5_500_000 <= found.high
    assert hits >= 52


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=9))
def test_sign_flip_counts_every_pattern(differences: list[int]) -> None:
    """Up to 24 differences the p-value is the exact share of sign patterns as extreme as the data."""
    found = abs(sum(differences))
    patterns = [sum(d * s for d, s in zip(differences, signs)) for signs in product((1, -1), repeat=len(differences))]
    assert significance.sign_flip(differences) == sum(abs(p) >= found for p in patterns) / len(patterns)


@pytest.mark.parametrize("n", [10, 30])
def test_sign_flip_calls_no_more_than_five_per_cent_of_equal_cells_different(n: int) -> None:
    """Where two settings have the same law, the test finds a difference in about 5 % of experiments."""
    one, other = (
        _samples("exponential(mean=2s)", n),
        [sample[::-1] for sample in _samples("exponential(mean=2000ms)", n)],
    )
    calls = [significance.sign_flip([a - b for a, b in zip(x, y)]) <= 0.05 for x, y in zip(one, other)]
    assert 0.02 <= sum(calls) / len(calls) <= 0.08


def test_sign_flip_finds_a_difference_that_every_seed_shows() -> None:
    """Thirty seeds that agree are as significant as the drawn patterns can say; five seeds never are."""
    assert significance.sign_flip([1000 + n for n in range(30)]) == 1 / 5000
    assert significance.sign_flip([1000] * 5) > 0.05
    assert significance.sign_flip([0] * 30) == 1.0


def test_seeds_without_a_difference_change_no_p_value() -> None:
    """A false eviction in three of thirty seeds is judged by those three."""
    assert significance.sign_flip([1, 1, 1] + [0] * 27) == significance.sign_flip([1, 1, 1]) == 0.25


def test_pooled_difference_is_paired_by_seed() -> None:
    """A shift of all standstills by a second is found exactly, though seeds differ among themselves by far more."""
    stream, law = Stream(3, "test.pairs"), parse_distribution("uniform(0s, 60s)")
    slow = [[law.draw(stream)] * 3 for _ in range(8)]
    fast = [[value - 1_000_000 for value in cluster] for cluster in slow]
    found, p = significance.pooled_difference(Pooled(fast, P95), Pooled(slow, P95))
    assert found.value == -1_000_000
    assert p < 0.05
    same, p = significance.pooled_difference(Pooled(slow, P95), Pooled(slow, P95))
    assert same == Interval(0.0, 0.0, 0.0)
    assert p == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_corrects_upwards_and_keeps_the_order(p_values: list[float]) -> None:
    """Corrected values are never smaller, at most n times larger, and sorted as before."""
    corrected = significance.holm(p_values)
    assert all(p <= c <= min(1.0, p * len(p_values)) + 1e-12 for p, c in zip(p_values, corrected))
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    assert [corrected[place] for place in order] == sorted(corrected)


def test_holm_is_the_textbook_one() -> None:
    """0.01, 0.04, 0.03 become 0.03, 0.06, 0.06."""
    assert significance.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_draws_are_the_documented_ones() -> None:
    """The resamples and flips of n are the words of blake2b streams keyed by n, the same on every machine."""
    stream = Stream(0, "analysis.bootstrap", "3")
    assert resamples(3)[0](range(3)) == tuple(stream.below(3) for _ in range(3))
    assert flips(5)[0] == bytes(int(bit) for bit in f"{Stream(0, 'analysis.flips', '5').word():064b}"[:5])


def test_every_metric_of_runs_is_a_number_in_the_table_of_runs() -> None:
    """No metric names a column that a sweep does not write, and pools come from tables that exist."""
    columns = {column.name: column for column in TABLES["runs"].own}
    assert {columns[metric.name].type for metric in RUN_METRICS} <= {Type.INT, Type.LONG}
    assert {metric.table for metric in POOLED_METRICS} <= set(TABLES)
    assert list(METRICS) == [metric.name for metric in METRICS.values()]


def test_metrics_are_shown_as_people_read_them() -> None:
    """Microseconds become seconds, record-milliseconds record-seconds, and zero has no sign."""
    stopped, lag, moved = METRICS["stopped_us"], METRICS["lag_area"], METRICS["moved"]
    assert stopped.shown(12_941_000) == "12.9 s"
    assert stopped.shown(-4, 1) == "0.0 s"
    assert lag.shown(2_500_000) == "2,500 record-seconds"
    assert moved.shown(24.0) == "24"
    assert stopped.parse("60s") == 60_000_000
    assert lag.parse("2.5") == 2500
    with pytest.raises(ValueError, match="no number"):
        moved.parse("many")
