"""Durations drawn at random, computed in integers alone.

A distribution is its inverse (quantile) function: a word of 64 bits is a probability, and the table gives its duration.
Tables are made once with exact decimals and read with integer interpolation, so that a draw is the same on every
platform: no libm, no floats. One draw takes one word (a constant takes none).

The table of `exponential` and `lognormal` has 128 steps of which the last eight (a sixteenth of all draws) are replaced
by a finer table of the same kind, six tables deep: the tail is as fine as the rest. It ends at the quantile
1 - 2**-28, the longest duration these two can give (19.4 times the mean of an exponential one). Quantiles between the
points are at most 0.1 % too long.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from itertools import islice, repeat

from attrs import field

from groupsim.eventloop.normal_quantiles import BODY, SCALE, TAIL
from groupsim.eventloop.randomness import WORDS_IN_BLOCK, Stream
from groupsim.eventloop.units import show_us
from groupsim.protocol.values import frozen

_EXACT = Context(prec=34, rounding=ROUND_HALF_EVEN)
_WORD_BITS = 64
_LOW_32 = (1 << 32) - 1
_MASK_64 = (1 << 64) - 1
_STEPS = 128
_CUT = 120  # from this step on, 15/16, a table gives way to the next
_LEVELS = 6

# Standard normal quantiles at the percentiles of `lognormal`.
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
        """Return the next duration, in µs."""
        raise TypeError("a bare Distribution has no table: use constant, uniform, exponential, lognormal, percentiles")

    def draws(self, stream: Stream, count: int) -> list[int]:
        """Return the next so many durations, the same as from `draw`."""
        draw = self.draw
        return [draw(stream) for _ in range(count)]

    def ahead(self, stream: Stream, count: int) -> array[int]:
        """Return the next so many durations, 64 bits each; `count` is a multiple of `WORDS_IN_BLOCK`.

        For a stream that has no other use.
        """
        return array("Q", self.draws(stream, count))

    def quantile(self, word: int) -> int:
        """Return the duration of the probability `word` / 2**64."""
        return self.draw(_OneWord(word))

    def __str__(self) -> str:
        return self.spec


class _OneWord(Stream):
    """A stream that repeats one given word."""

    __slots__ = ()

    def __init__(self, word: int) -> None:
        self.words = repeat(word)
        self.word = self.words.__next__


@frozen
class Constant(Distribution):
    """Always the same duration; takes no word."""

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

    def draws(self, stream: Stream, count: int) -> list[int]:
        low, width = self.low_us, self.width_us
        return [low + (word * width >> _WORD_BITS) for word in islice(stream.words, count)]

    def ahead(self, stream: Stream, count: int) -> array[int]:
        # All at once, for the latencies of messages: the words as one long integer. A product takes two
        # words' room, so that every second word is multiplied at a time; its upper half is what `draw` shifts down.
        even, odd, lows = _lanes(count, self.low_us)
        words = int.from_bytes(b"".join(islice(stream.blocks, count // WORDS_IN_BLOCK)), "little")
        found = (words & even) * self.width_us >> _WORD_BITS & even | (words >> _WORD_BITS & even) * self.width_us & odd
        drawn = array("Q", (found + lows).to_bytes(count * 8, "little"))
        if sys.byteorder == "big":
            drawn.byteswap()
        return drawn


@lru_cache(maxsize=64)
def _lanes(count: int, low: int) -> tuple[int, int, int]:
    """Return masks over so many words in one integer: every second word, the others, and `low` in each."""
    even = sum(_MASK_64 << at for at in range(0, count * _WORD_BITS, 2 * _WORD_BITS))
    return even, even << _WORD_BITS, sum(low << at for at in range(0, count * _WORD_BITS, _WORD_BITS))


@frozen
class Tabled(Distribution):
    """Quantile tables, each finer by sixteen than the one before (see the top of this module)."""

    levels: tuple[tuple[int, ...], ...] = field(repr=False)

    def draw(self, stream: Stream) -> int:
        word = stream.word()
        step = word >> 57
        table = self.levels[0]
        if step >= _CUT:
            table, step, word = self._from_tail(word)
        low = table[step]
        return low + ((table[step + 1] - low) * ((word >> 25) & _LOW_32) >> 32)

    def draws(self, stream: Stream, count: int) -> list[int]:
        # `draw`, inlined.
        body, found = self.levels[0], []
        for word in islice(stream.words, count):
            step, table = word >> 57, body
            if step >= _CUT:
                table, step, word = self._from_tail(word)
            low = table[step]
            found.append(low + ((table[step + 1] - low) * ((word >> 25) & _LOW_32) >> 32))
        return found

    def _from_tail(self, word: int) -> tuple[tuple[int, ...], int, int]:
        """Go to the next table: the rest of the word above 15/16, times sixteen, is the place in it."""
        level, step = 0, _CUT
        while step >= _CUT and level < _LEVELS - 1:
            level += 1
            word = (word << 4) & _MASK_64
            step = word >> 57
        return self.levels[level], step, word


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
    """Return the distribution of one duration of `us` microseconds. Raises ValueError for a negative one."""
    _not_negative(us)
    return Constant(_words(us), us)


def uniform(low_us: int, high_us: int) -> Distribution:
    """Return every µs from `low_us` to `high_us`, both included. Raises ValueError for an invalid range."""
    _not_negative(low_us)
    if high_us < low_us:
        raise ValueError(f"uniform: the upper end {_words(high_us)} is below the lower end {_words(low_us)}")
    if high_us >> _WORD_BITS - 1:
        raise ValueError(f"uniform: {_words(high_us)} is too long; the longest duration is 292,000 years")
    return Uniform(f"uniform({_words(low_us)}, {_words(high_us)})", low_us, high_us - low_us + 1)


@lru_cache(maxsize=256)
def exponential(mean_us: int) -> Distribution:
    """Return the exponential distribution with this mean: the waiting time of random events at a constant rate."""
    _not_negative(mean_us)
    points = [_round(value * mean_us) for value in _unit_exponential()]
    return Tabled(f"exponential(mean={_words(mean_us)})", _levels(points))


@lru_cache(maxsize=256)
def lognormal(median_us: int, upper_us: int, percentile: str = "p95") -> Distribution:
    """Return the lognormal distribution by its median and one upper percentile: `p90`, `p95` or `p99`.

    Raises ValueError unless 0 < median <= that percentile.
    """
    if not 0 < median_us <= upper_us:
        raise ValueError(f"lognormal: need 0 < median <= {percentile}, got {_words(median_us)} and {_words(upper_us)}")
    sigma = _EXACT.divide(_EXACT.ln(_EXACT.divide(Decimal(upper_us), Decimal(median_us))), NORMAL_AT[percentile])
    points = [_round(median_us * _EXACT.exp(_EXACT.multiply(sigma, z))) for z in _normal_quantiles()]
    spec = f"lognormal(median={_words(median_us)}, {percentile}={_words(upper_us)})"
    return Tabled(spec, _levels([0, *points]))


def percentiles(points: dict[Decimal, int], *, least_us: int = 0, most_us: int | None = None) -> Distribution:
    """Return straight lines between percentiles {50: µs, 99: µs}; from `least_us` at 0 to `most_us` at 100.

    Without `most_us` the highest given percentile is the longest duration too. Raises ValueError for an invalid
    percentile, or when a higher one is shorter.
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
    """Return a duration in the largest unit without a fraction, as `parse_distribution` reads it."""
    for unit, size in (("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000)):
        if us and us % size == 0:
            return f"{us // size}{unit}"
    return f"{us}us"


def _round(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_HALF_EVEN))


def _upper_tails() -> Iterator[Decimal]:
    """Yield 1 - p at the points of the tables, from p = 0 on; the last one is their end."""
    for level in range(_LEVELS):
        last = level == _LEVELS - 1
        for step in range(_STEPS if last else _CUT):
            yield Decimal(_STEPS - step) / (_STEPS * 16**level)
    yield Decimal(1) / 2**28


@lru_cache(maxsize=1)
def _unit_exponential() -> tuple[Decimal, ...]:
    """Return the quantiles of the exponential with mean 1: -ln(1 - p). Decimal's ln is correctly rounded everywhere."""
    return tuple(-_EXACT.ln(upper) for upper in _upper_tails())


def _normal_quantiles() -> Iterator[Decimal]:
    """Yield the standard normal's at the points of the tables, from p = 1/128 on; its lower half mirrors the upper."""
    for value in reversed(BODY[1:]):
        yield Decimal(-value) / SCALE
    for value in (*BODY[: _CUT - _STEPS // 2], *TAIL):
        yield Decimal(value) / SCALE


def _levels(points: list[int]) -> tuple[tuple[int, ...], ...]:
    """Cut the points into tables; neighbours share the point where they meet."""
    starts = range(0, _CUT * _LEVELS, _CUT)
    ends = [*(start + _CUT + 1 for start in starts[:-1]), len(points)]
    return tuple(tuple(points[start:end]) for start, end in zip(starts, ends, strict=True))
