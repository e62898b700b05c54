"""The log ends of a topic's partitions over time, by integer arithmetic: no event per record, no float.

A topic's producers write at a rate, distributed by the partitions' weights. With rate r (records per 10⁶ s, an
integer), weight w of W in total, a partition has, after t µs,

    base + ⌊(carry + r·w·t) / D⌋,   D = W · 10¹²

records; `carry` (< D) is the fraction of a record left over. A change of rate moves base and carry up to now and starts
again, so no number of changes loses or doubles a record. Partitions of one topic start with different carries, so their
records come in turn, as from a round-robin producer, and not at the same instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

_SCALE = 1_000_000
_SECONDS = {"": 1, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3_600, "hour": 3_600}
_PER_RECORD = _SCALE * 1_000_000


def as_rate(records_per_second: int | float | str | Decimal) -> int:
    """Parse records per second into records per 10⁶ seconds, by decimal digits; `10/s` and `3/min` are accepted, too.
    Raises `ValueError` below 0, and for text that is no rate.
    """
    number, _, unit = str(records_per_second).partition("/")
    try:
        rate = int(Decimal(number) * _SCALE / _SECONDS[unit.strip()])
    except (ArithmeticError, KeyError, ValueError):
        remedy = "write a number, of records per second, or a text such as 10/s or 3/min"
        raise ValueError(f"a rate of {records_per_second!r}: {remedy}") from None
    if rate < 0:
        raise ValueError(f"a rate of {records_per_second} records per second: rates are not negative")
    return rate


class Traffic:
    """The log ends of one topic. Times are µs, and do not decrease between changes."""

    __slots__ = ("_base", "_carry", "_weights", "_whole", "partitions", "rate", "since_us")

    def __init__(self, weights: Sequence[int], rate: int, now_us: int) -> None:
        self._weights = _checked(weights)
        self._whole = sum(weights) * _PER_RECORD
        count = len(weights)
        self._base = [0] * count
        self.partitions = count  #: number of partitions
        self._carry = [self._whole * (count - 1 - p) // count for p in range(count)]
        self.since_us = now_us
        self.rate = rate

    def end(self, partition: int, now_us: int) -> int:
        """Return the log end offset: that of the next record."""
        produced = self.rate * self._weights[partition] * (now_us - self.since_us)
        return self._base[partition] + (self._carry[partition] + produced) // self._whole

    def due_us(self, partition: int, offset: int) -> int | None:
        """Return when the log end passes `offset`, so that the record can be read; None if never."""
        missing = (offset + 1 - self._base[partition]) * self._whole - self._carry[partition]
        if missing <= 0:
            return self.since_us
        speed = self.rate * self._weights[partition]
        return None if speed == 0 else self.since_us - (-missing // speed)

    def set_rate(self, rate: int, now_us: int) -> None:
        """Change the rate from now on."""
        self._settle(now_us)
        self.rate = rate

    def burst(self, records: int, now_us: int) -> None:
        """Add records at once, distributed by weight, the remainder to the first partitions."""
        self._settle(now_us)
        total, left = sum(self._weights), records
        for p, weight in enumerate(self._weights):
            share = records * weight // total
            self._base[p] += share
            left -= share
        for p in range(left):
            self._base[p] += 1

    def grow(self, weights: Sequence[int], now_us: int) -> None:
        """Add partitions with these weights; they start empty, and the topic's rate stays."""
        self._settle(now_us)
        before = self._whole
        self._weights = (*self._weights, *_checked(weights))
        self._whole = sum(self._weights) * _PER_RECORD
        self._carry = [carry * self._whole // before for carry in self._carry] + [0] * len(weights)
        self._base += [0] * len(weights)
        self.partitions = len(self._base)

    def _settle(self, now_us: int) -> None:
        """Move base and carry up to now."""
        elapsed = now_us - self.since_us
        for p, weight in enumerate(self._weights):
            more, self._carry[p] = divmod(self._carry[p] + self.rate * weight * elapsed, self._whole)
            self._base[p] += more
        self.since_us = now_us


def _checked(weights: Sequence[int]) -> tuple[int, ...]:
    if not weights or min(weights) < 0 or (sum(weights) == 0):
        raise ValueError(f"weights {list(weights)}: one per partition, none negative, not all 0")
    return tuple(weights)
