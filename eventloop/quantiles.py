"""Durations drawn at random, computed in integers alone.

A distribution is its inverse (quantile) function: a word of 64 bits is a probability, and the table says which
duration belongs to it. Tables are made once with exact decimals and read with integer interpolation, so that a draw is
the same on every platform: no libm, no floats. One draw takes one word (a constant takes none).

The table of `exponential` and `lognormal` has 256 steps; its last step is divided into 256 again, and the last of these
once more, so that the tail is fine where it is rare. It ends at the quantile 1 - 2**-25: the longest duration these
two can give (17.3 times the mean of an exponential one). Interpolation raises a mean by less than 0.2 %.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import TypeVar

from attrs import field, frozen

from groupsim.eventloop.normal_quantiles import SCALE, UPPER_HALF
from groupsim.eventloop.randomness import Stream
from groupsim.eventloop.units import show_us

T = TypeVar("T")

_EXACT = Context(prec=34, rounding=ROUND_HALF_EVEN)
_WORD_BITS = 64
_LAST = 255
_LOW_32 = (1 << 32) - 1

# Standard normal quantiles at the percentiles `lognormal` takes.
NORMAL_AT = {
    "p90": Decimal("1.281551565544600466965103329448743"),
    "p95": Decimal("1.644853626951472714863848907991632"),
    "p99": Decimal("2.326347874040841100885606163346912"),
}


@frozen
class Distribution:
    """A duration in µs, drawn from a stream of random words. Make one with `parse_distribution` or a function here."""

    spec: str

    def draw(self, stream: Stream) -> int:
        """The next duration, in µs."""
        raise TypeError("a bare Distribution has no table: use constant, uniform, exponential, lognormal, percentiles")

    def quantile(self, word: int) -> int:
        """The duration that belongs to the probability `word` / 2**64."""
        return self.draw(_OneWord(word))

    def __str__(self) -> str:
        return self.spec


class _OneWord(Stream):
    """A stream that says one given word for ever."""

    __slots__ = ()

    def __init__(self, word: int) -> None:
        self.word = lambda: word


@frozen
class Constant(Distribution):
    """Always the same; takes no word."""

    us: int

    def draw(self, stream: Stream) -> int:
        return self.us


@frozen
class Uniform(Distribution):
    """Every µs from `low_us` to `high_us`, both included, equally likely (to one part in 2**64)."""

    low_us: int
    width_us: int  # of the half-open interval

    def draw(self, stream: Stream) -> int:
        return self.low_us + (stream.word() * self.width_us >> _WORD_BITS)


@frozen
class Tabled(Distribution):
    """A quantile table with two finer tails (see the top of this module): 256, 256 and 257 points."""

    body: tuple[int, ...] = field(repr=False)
    tail: tuple[int, ...] = field(repr=False)
    far_tail: tuple[int, ...] = field(repr=False)

    def draw(self, stream: Stream) -> int:
        word = stream.word()
        step = word >> 56
        if step == _LAST:
            return self._from_tail(word)
        body = self.body
        low = body[step]
        return low + ((body[step + 1] - low) * ((word >> 24) & _LOW_32) >> 32)

    def _from_tail(self, word: int) -> int:
        """The second and third byte of the word divide the last step."""
        table, step, shift = self.tail, (word >> 48) & _LAST, 16
        if step == _LAST:
            table, step, shift = self.far_tail, (word >> 40) & _LAST, 8
        low = table[step]
        return low + ((table[step + 1] - low) * ((word >> shift) & _LOW_32) >> 32)


@frozen
class Percentiles(Distribution):
    """Straight lines between given points: `at` are probabilities times 2**64, `us` the durations there."""

    at: tuple[int, ...]
    us: tuple[int, ...]

    def draw(self, stream: Stream) -> int:
        word = stream.word()
        right = bisect_right(self.at, word, 1, len(self.at) - 1)
        left_at, left_us = self.at[right - 1], self.us[right - 1]
        return left_us + (self.us[right] - left_us) * (word - left_at) // (self.at[right] - left_at)


def constant(us: int) -> Distribution:
    """Always `us`."""
    _not_negative(us)
    return Constant(_words(us), us)


def uniform(low_us: int, high_us: int) -> Distribution:
    """Every µs from `low_us` to `high_us`, both included."""
    _not_negative(low_us)
    if high_us < low_us:
        raise ValueError(f"uniform: the upper end {_words(high_us)} lies below the lower end {_words(low_us)}")
    return Uniform(f"uniform({_words(low_us)}, {_words(high_us)})", low_us, high_us - low_us + 1)


@lru_cache(maxsize=256)
def exponential(mean_us: int) -> Distribution:
    """Exponential with this mean: the waiting time of what happens at random at a constant rate."""
    _not_negative(mean_us)
    body, tail, far_tail = _unit_exponential()
    scaled = [tuple(_round(value * mean_us) for value in part) for part in (body, tail, far_tail)]
    return Tabled(f"exponential(mean={_words(mean_us)})", *scaled)


@lru_cache(maxsize=256)
def lognormal(median_us: int, upper_us: int, percentile: str = "p95") -> Distribution:
    """Lognormal by its median and one upper percentile: `p90`, `p95` or `p99`."""
    if not 0 < median_us <= upper_us:
        raise ValueError(f"lognormal: need 0 < median <= {percentile}, got {_words(median_us)} and {_words(upper_us)}")
    sigma = _EXACT.divide(_EXACT.ln(_EXACT.divide(Decimal(upper_us), Decimal(median_us))), NORMAL_AT[percentile])
    points = [_round(median_us * _EXACT.exp(_EXACT.multiply(sigma, z))) for z in _normal_quantiles()]
    spec = f"lognormal(median={_words(median_us)}, {percentile}={_words(upper_us)})"
    return Tabled(spec, *_parts([0, *points]))


def percentiles(points: dict[Decimal, int], *, least_us: int = 0, most_us: int | None = None) -> Distribution:
    """Straight lines between percentiles: {50: µs, 99: µs}; from `least_us` at 0 to `most_us` at 100.

    Without `most_us` the highest percentile given is the longest duration too.
    """
    if not points or not all(0 < percent < 100 for percent in points):
        raise ValueError("percentiles: give at least one between p0 and p100, such as p50=1ms")
    ordered = sorted(points.items())
    most = ordered[-1][1] if most_us is None else most_us
    us = (least_us, *(value for _, value in ordered), most)
    if list(us) != sorted(us):
        raise ValueError(f"percentiles: durations must not fall from one to the next: {', '.join(map(_words, us))}")
    _not_negative(least_us)
    inner = (int(percent * (1 << _WORD_BITS)) // 100 for percent, _ in ordered)
    named = [f"p{percent.normalize():f}={_words(value)}" for percent, value in ordered]
    spec = f"percentiles(min={_words(least_us)}, {', '.join(named)}, max={_words(most)})"
    return Percentiles(spec, (0, *inner, 1 << _WORD_BITS), us)


def _not_negative(us: int) -> None:
    if us < 0:
        raise ValueError(f"a duration cannot be negative: {show_us(us)}")


def _words(us: int) -> str:
    """A duration in the largest unit that needs no fraction, as `parse_distribution` reads it."""
    for unit, size in (("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000)):
        if us and us % size == 0:
            return f"{us // size}{unit}"
    return f"{us}us"


def _round(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_HALF_EVEN))


def _upper_tails() -> Iterator[Decimal]:
    """1 - p at the points of the table from p = 0 on; the last is where the table ends."""
    for step in range(256):
        yield Decimal(256 - step) / 2**8
    for step in range(1, 256):
        yield Decimal(256 - step) / 2**16
    for step in range(1, 256):
        yield Decimal(256 - step) / 2**24
    yield Decimal(1) / 2**25


@lru_cache(maxsize=1)
def _unit_exponential() -> tuple[tuple[Decimal, ...], tuple[Decimal, ...], tuple[Decimal, ...]]:
    """The quantiles of the exponential with mean 1: -ln(1 - p). Decimal's ln is correctly rounded everywhere."""
    return _parts([-_EXACT.ln(upper) for upper in _upper_tails()])


def _normal_quantiles() -> Iterator[Decimal]:
    """The standard normal's at the points of the table, from p = 1/256 on; its lower half mirrors the upper."""
    for value in reversed(UPPER_HALF[1:128]):
        yield Decimal(-value) / SCALE
    for value in UPPER_HALF:
        yield Decimal(value) / SCALE


def _parts(points: list[T]) -> tuple[tuple[T, ...], tuple[T, ...], tuple[T, ...]]:
    """Cut the points into body, tail and far tail; neighbours share the point where they meet."""
    return tuple(points[:256]), tuple(points[255:511]), tuple(points[510:])
