"""Durations: integer tables, their accuracy, and how they are written."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest

from groupsim.eventloop.distributions import EXAMPLES, parse_distribution
from groupsim.eventloop.normal_quantiles import BODY, SCALE, TAIL
from groupsim.eventloop.quantiles import NORMAL_AT, uniform
from groupsim.eventloop.randomness import Stream

WORD = 1 << 64


def _word(probability: str) -> int:
    return int(Decimal(probability) * WORD)


# Computed once; a change here changes every trace anybody has kept.
KNOWN = {
    "12s": [12000000, 12000000, 12000000, 12000000, 12000000, 12000000],
    "uniform(1ms, 5ms)": [3498, 4002, 2970, 2501, 3748, 4672],
    "exponential(mean=2ms)": [202, 1101, 334, 2278, 3631, 969],
    "lognormal(median=12s, p95=45s)": [20595232, 26807786, 19968283, 2677391, 7321933, 14222639],
    "percentiles(p50=1ms, p99=20ms, max=2s)": [6478, 10261, 398, 18965, 344, 554],
}


@pytest.mark.parametrize(("spec", "durations"), KNOWN.items())
def test_known_answers(spec: str, durations: list[int]) -> None:
    """The first durations drawn from a stream never change."""
    distribution, stream = parse_distribution(spec), Stream(0, "known", spec)
    assert [distribution.draw(stream) for _ in range(6)] == durations


@pytest.mark.parametrize("spec", [*EXAMPLES.values(), "lognormal(10ms, 20ms)", "percentiles(min=1ms, p99.9=3s)"])
def test_a_distribution_prints_as_it_is_read(spec: str) -> None:
    """What `str` gives, `parse_distribution` reads back as the same distribution."""
    distribution = parse_distribution(spec)
    assert parse_distribution(str(distribution)) == distribution


@pytest.mark.parametrize("spec", EXAMPLES.values())
def test_quantiles_never_fall(spec: str) -> None:
    """A larger word never gives a shorter duration, across all the joints of the tables."""
    distribution = parse_distribution(spec)
    below = {(1 << 64) - (part << shift) - 1 for shift in range(34, 57) for part in range(0, 257, 4)}
    points = sorted({0} | (below - {-1}) | {word + 1 for word in below if word < WORD - 1})
    drawn = [distribution.quantile(word) for word in points]
    assert drawn == sorted(drawn)
    assert drawn[0] >= 0


@pytest.mark.parametrize(
    ("spec", "probability", "us"),
    [
        ("exponential(mean=1s)", "0.5", 693_147),
        ("exponential(mean=1s)", "0.99", 4_605_170),
        ("exponential(mean=1s)", "0.9999", 9_210_340),
        ("exponential(mean=1s)", "0.999999", 13_815_511),
        ("lognormal(median=12s, p95=45s)", "0.5", 12_000_000),
        ("lognormal(median=12s, p95=45s)", "0.95", 45_000_000),
        ("lognormal(median=12s, p99=45s)", "0.99", 45_000_000),
        ("percentiles(p50=1ms, p99=20ms, max=2s)", "0.25", 500),
        ("percentiles(p50=1ms, p99=20ms, max=2s)", "0.99", 20_000),
        ("percentiles(p50=1ms, p99=20ms, max=2s)", "0.995", 1_010_000),
        ("uniform(0, 999us)", "0.5", 500),
    ],
)
def test_quantiles_are_right(spec: str, probability: str, us: int) -> None:
    """The duration at a probability is the textbook's, within a thousandth."""
    assert abs(parse_distribution(spec).quantile(_word(probability)) - us) <= us / 1000 + 1


def test_the_ends_of_the_range() -> None:
    """The smallest and the largest word give the shortest and the longest duration."""
    assert parse_distribution("uniform(1ms, 5ms)").quantile(0) == 1_000
    assert parse_distribution("uniform(1ms, 5ms)").quantile(WORD - 1) == 5_000
    assert parse_distribution("exponential(mean=1s)").quantile(0) == 0
    assert 19_408_000 < parse_distribution("exponential(mean=1s)").quantile(WORD - 1) <= 19_408_121
    assert parse_distribution("percentiles(min=2ms, p50=3ms)").quantile(0) == 2_000
    assert parse_distribution("percentiles(min=2ms, p50=3ms, max=9ms)").quantile(WORD - 1) in (8_999, 9_000)


def test_the_mean_of_an_exponential() -> None:
    """100,000 draws average to the mean, within a hundredth."""
    distribution, stream = parse_distribution("exponential(mean=10ms)"), Stream(0, "mean")
    assert abs(sum(distribution.draw(stream) for _ in range(100_000)) / 100_000 - 10_000) < 100


def test_a_constant_takes_no_word() -> None:
    """A constant leaves the stream as it was, so that what follows sees the same luck; others take one word."""
    stream, fresh = Stream(0, "x"), Stream(0, "x")
    parse_distribution("5ms").draw(stream)
    parse_distribution("0").draw(stream)
    assert stream.word() == fresh.word()
    parse_distribution("exponential(mean=1ms)").draw(stream)
    fresh.word()
    assert stream.word() == fresh.word()


def _phi(z: Decimal) -> Decimal:
    """The standard normal distribution function, by its series around 0."""
    term = total = z
    odd = 1
    while term > Decimal(10) ** -40:
        odd += 2
        term = term * z * z / odd
        total += term
    density = (-(z * z) / 2).exp() / (2 * Decimal("3.14159265358979323846264338327950288419716939937510")).sqrt()
    return Decimal("0.5") + density * total


def test_the_table_of_normal_quantiles() -> None:
    """The committed table is the inverse of Phi to its last digit: a sample is computed again in exact decimals."""
    table = [(Decimal(step) / 128, z) for step, z in zip(range(64, 128), BODY, strict=True)]
    levels = [(level, step) for level in range(1, 6) for step in range(128 if level == 5 else 120)]
    tails = [*(1 - Decimal(128 - step) / 128 / 16**level for level, step in levels), 1 - Decimal(1) / 2**28]
    table += zip(tails, TAIL, strict=True)
    assert table[0] == (Decimal("0.5"), 0)
    with localcontext() as context:
        context.prec = 50
        half = Decimal("0.5")
        for probability, z in table[1::37] + table[-1:]:
            assert _phi((z - half) / SCALE) <= probability
            assert probability <= _phi((z + half) / SCALE)


@pytest.mark.parametrize(("name", "probability"), [("p90", "0.90"), ("p95", "0.95"), ("p99", "0.99")])
def test_the_normal_percentiles(name: str, probability: str) -> None:
    """The constants behind lognormal's percentiles are right to thirty digits."""
    with localcontext() as context:
        context.prec = 60
        assert abs(_phi(NORMAL_AT[name]) - Decimal(probability)) < Decimal(10) ** -30


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("exponetial(mean=2ms)", "did you mean 'exponential'"),
        ("uniform(5ms)", "uniform takes low, high"),
        ("uniform(5ms, 1ms)", "is below the lower end"),
        ("uniform(1ms, 2ms, 3ms)", "uniform takes low, high"),
        ("uniform(1ms, low=2ms)", "low is given twice"),
        ("exponential(mean=2)", "'2' is not a duration"),
        ("exponential(mean=2ms, mean=3ms)", "mean is given twice"),
        ("lognormal(median=2s, p95=1s)", "need 0 < median <= p95"),
        ("lognormal(median=2s, p75=3s)", "not 'p75'"),
        ("percentiles(p999=1s)", "p99.9"),
        ("percentiles(p50=2s, p99=1s)", "must not fall"),
        ("percentiles(1s)", "name of its percentile"),
        ("percentiles(max=1s)", "at least one"),
        ("normal(5ms)", "no distribution 'normal'"),
        ("soon", "not a duration"),
        (7, "it has no unit"),
    ],
)
def test_misspelt_distributions(text: str | int, says: str) -> None:
    """What cannot be read is an error that says what is wrong and how to write it."""
    with pytest.raises(ValueError, match=r".") as caught:
        parse_distribution(text)
    assert says in str(caught.value)


@pytest.mark.parametrize("spec", KNOWN)
def test_many_draws_are_draws_one_by_one(spec: str) -> None:
    """A block of draws holds the same durations, and takes the same words, as single draws: the far tail too."""
    distribution = parse_distribution(spec)
    singly, together = Stream(1, "draws"), Stream(1, "draws")
    expected = [distribution.draw(singly) for _ in range(2_000)]
    assert distribution.draws(together, 1_200) + distribution.draws(together, 800) == expected


@pytest.mark.parametrize("ends", [(0, 0), (0, 1), (200, 800), (0, (1 << 63) - 1), ((1 << 62), (1 << 63) - 1)])
def test_many_uniform_words_at_once_are_multiplied_apart(ends: tuple[int, int]) -> None:
    """However wide the interval, a block drawn at once holds what single draws give: no product reaches another."""
    distribution = uniform(*ends)
    singly, ahead = Stream(1, "draws"), Stream(1, "draws")
    assert list(distribution.ahead(ahead, 64)) == [distribution.draw(singly) for _ in range(64)]


def test_nothing_takes_longer_than_the_clock_can_tell() -> None:
    """An interval that ends beyond 63 bits of microseconds is refused, and the longest is named."""
    with pytest.raises(ValueError, match="292,000 years"):
        uniform(0, 1 << 63)


@pytest.mark.parametrize("spec", KNOWN)
def test_whole_blocks_drawn_ahead_are_draws_one_by_one(spec: str) -> None:
    """What is drawn ahead, in whole blocks, holds the same durations as single draws."""
    distribution = parse_distribution(spec)
    singly, ahead = Stream(1, "draws"), Stream(1, "draws")
    expected = [distribution.draw(singly) for _ in range(2_000)]
    assert [*distribution.ahead(ahead, 1_200), *distribution.ahead(ahead, 800)] == expected


def test_a_distribution_that_a_comma_has_cut_is_told_to_be_quoted() -> None:
    """In `{length: uniform(1s, 20s)}` YAML ends the value at the comma; the remedy is quotes."""
    with pytest.raises(ValueError, match="a comma ends a value, so quote the whole"):
        parse_distribution("uniform(1s")
