"""The metrics of a run: each with its unit, its better direction, and its column.

Two kinds. A metric of runs is one number per run, a column of `runs`; a cell's value is the mean over its seeds. A
pooled metric is a quantile of things of which one run has many (standstills of partitions, rebalances): they are pooled
over all seeds of the cell, and the seed stays the unit of chance (a run is one cluster of them).

Columns hold integers (µs, counts, record-milliseconds); `shown` writes them as people read them.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from groupsim.eventloop.units import parse_duration
from groupsim.protocol.values import frozen


class Unit(StrEnum):
    """What a number counts, as it is shown."""

    SECONDS = "s"
    COUNT = ""
    RECORDS = "records"
    RECORD_SECONDS = "record-seconds"


# How many of a column's units make one of the shown ones.
SCALE = {Unit.SECONDS: 1_000_000, Unit.COUNT: 1, Unit.RECORDS: 1, Unit.RECORD_SECONDS: 1000}


@frozen
class Quantile:
    """A part of a distribution as a fraction, so that ranks are exact."""

    name: str
    part: int
    of: int = 100


P50, P95, P99, MOST = Quantile("p50", 50), Quantile("p95", 95), Quantile("p99", 99), Quantile("max", 1, 1)


@frozen
class Metric:
    """One metric: a column of `runs` of that name, or with `pool` and `quantile` a quantile of pooled things."""

    name: str
    title: str
    unit: Unit
    better: str = "lower"
    pool: str = ""
    quantile: Quantile | None = None
    total: bool = False  #: whether it adds up over a run, so that a longer run has more of it

    @property
    def heading(self) -> str:
        """The title over a cell's value; a total is marked as that of one run."""
        return f"{self.title} per run" if self.total else self.title

    @property
    def table(self) -> str:
        """Where it comes from."""
        return POOLS[self.pool] if self.pool else "runs"

    @property
    def sign(self) -> int:
        """1 when lower is better, -1 when higher is: multiplied by it, lower is always better."""
        return 1 if self.better == "lower" else -1

    def parse(self, text: str | int | Decimal) -> int:
        """A limit as people write it (`60s`, `5`, `2.5`), in the units of the column; raises `ValueError`."""
        if self.unit is Unit.SECONDS:
            return parse_duration(text) if isinstance(text, str | int) else parse_duration(str(text))
        try:
            return int(Decimal(str(text).strip()) * SCALE[self.unit])
        except (InvalidOperation, ValueError, OverflowError):
            raise ValueError(f"{text!r} is no number ({self.name} is counted in {self.unit or 'ones'})") from None

    def digits(self, values: Iterable[float | int | None]) -> int:
        """Decimals to write these values with (they are in the column's units): three figures or so of the largest."""
        shown = [abs(value) / SCALE[self.unit] for value in values if value is not None]
        largest = max(shown, default=0.0)
        if largest >= 100 or (self.unit in {Unit.COUNT, Unit.RECORDS} and all(one == int(one) for one in shown)):
            return 0
        return 1 if largest >= 1 else 2 if largest >= 0.1 or largest == 0 else 3

    def figure(self, value: float | int | None, digits: int | None = None) -> str:
        """The number alone, in shown units; `–` for none."""
        if value is None:
            return "–"
        text = f"{value / SCALE[self.unit]:,.{self.digits([value]) if digits is None else digits}f}"
        return text.removeprefix("-") if not text.strip("-0.") else text

    def shown(self, value: float | int | None, digits: int | None = None) -> str:
        """The number with its unit."""
        return f"{self.figure(value, digits)} {self.unit}".rstrip()


# Pool → the table its values come from.
POOLS = {"standstill": "stops", "unavailable": "stops", "rebalance": "changes"}


def _pooled(pool: str, title: str) -> tuple[Metric, ...]:
    return tuple(
        Metric(f"{pool}_{quantile.name}_us", f"{title}, {quantile.name}", Unit.SECONDS, pool=pool, quantile=quantile)
        for quantile in (P50, P95, P99, MOST)
    )


def _total(name: str, title: str, unit: Unit, better: str = "lower") -> Metric:
    return Metric(name, title, unit, better, total=True)


_S, _N, _R = Unit.SECONDS, Unit.COUNT, Unit.RECORDS

_ALL = (
    _total("rebalances", "rebalances", _N),
    _total("generations", "generations", _N),
    _total("stopped_us", "stopped time", _S),
    _total("unserved_us", "unserved time of all partitions", _S),
    Metric("worst_unserved_us", "unserved time of the worst partition", _S),
    _total("moved", "partitions moved", _N),
    _total("moved_back", "partitions moved back", _N),
    Metric("formed_us", "time to form", _S),
    Metric("settled_us", "time to stable", _S),
    Metric("rollout_us", "length of the rollout", _S),
    _total("delivered", "records delivered", _R, "higher"),
    _total("duplicates", "records delivered again", _R),
    _total("lost", "records passed over", _R),
    _total("skipped", "records skipped", _R),
    _total("expired", "records expired unread", _R),
    _total("truncated", "records cut off", _R),
    _total("lost_acknowledged", "acknowledged records lost", _R),
    _total("lag_area", "lag area", Unit.RECORD_SECONDS),
    Metric("lag_max", "largest lag", _R),
    _total("commits", "commits", _N, "higher"),
    _total("commits_failed", "commits that failed", _N),
    _total("evictions", "evictions", _N),
    _total("false_evictions", "false evictions", _N),
    _total("poll_evictions", "poll-limit evictions", _N),
    _total("crashes", "crashes", _N),
    Metric("detection_us", "crash detection time", _S),
    _total("undetected", "crashes not detected", _N),
    _total("overlap_us", "overlap of owners", _S),
    Metric("groups_rebalanced", "groups that rebalanced", _N),
    _total("without_coordinator_us", "time without a coordinator, all groups", _S),
    Metric("groups_without_at_once", "groups without a coordinator at once", _N),
    Metric("idle_members", "idle members", _N),
    Metric("skew", "skew", _N),
    *_pooled("standstill", "one standstill"),
    *_pooled("unavailable", "unserved time per partition"),
    *_pooled("rebalance", "rebalance length"),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
RUN_METRICS = tuple(metric for metric in _ALL if not metric.pool)
POOLED_METRICS = tuple(metric for metric in _ALL if metric.pool)
