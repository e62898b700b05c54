"""The notation of distributions in a scenario file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from decimal import Decimal

from groupsim.eventloop.quantiles import (
    NORMAL_AT,
    Distribution,
    constant,
    exponential,
    lognormal,
    percentiles,
    uniform,
)
from groupsim.eventloop.units import parse_duration

__all__ = [
    "EXAMPLES",
    "Distribution",
    "constant",
    "exponential",
    "lognormal",
    "parse_distribution",
    "percentiles",
    "uniform",
]

_CALL = re.compile(r"\s*([a-z_]+)\s*\((.*)\)\s*", re.DOTALL)
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")

EXAMPLES = {
    "constant": "constant(12s)",
    "uniform": "uniform(1ms, 5ms)",
    "exponential": "exponential(mean=2ms)",
    "lognormal": "lognormal(median=12s, p95=45s)",
    "percentiles": "percentiles(p50=1ms, p99=20ms, max=2s)",
}


def parse_distribution(text: str | int | Distribution) -> Distribution:
    """Read a distribution: a duration alone (``12s``), or one of `EXAMPLES`.

    Raises `ValueError` with the error and an example.
    """
    if isinstance(text, Distribution):
        return text
    call = _CALL.fullmatch(text) if isinstance(text, str) else None
    if call is None and isinstance(text, str) and "(" in text and ")" not in text:
        # the rest that YAML leaves of {length: uniform(1s, 20s)}
        raise ValueError(f"{text!r}: the closing `)` is missing; inside {{…}} a comma ends a value, so quote the whole")
    if call is None:
        return constant(parse_duration(text))
    name = call[1]
    if name not in EXAMPLES:
        raise ValueError(f"{text!r}: no distribution {name!r}{_nearest(name, list(EXAMPLES))}; {_examples()}")
    try:
        return _READERS[name](_Arguments(name, call[2]))
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}; for example {EXAMPLES[name]}") from None


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _examples() -> str:
    return "write a duration or one of: " + ", ".join(EXAMPLES.values())


class _Arguments:
    """The text between the parentheses, split; an unused argument is an error."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.places: list[int] = []
        self.named: dict[str, int] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals:
                self.places.append(parse_duration(part))
            elif key in self.named:
                raise ValueError(f"{key} is given twice")
            else:
                self.named[key] = parse_duration(value)

    def take(self, *names: str) -> list[int]:
        """Return the arguments of these names, by position or by name; all are required and no other is allowed."""
        values = dict(zip(names, self.places, strict=False))
        for key, value in self.named.items():
            if key in values:
                raise ValueError(f"{key} is given twice")
            if key not in names:
                raise ValueError(f"{self.name} takes {', '.join(names)}, not {key!r}")
            values[key] = value
        if len(self.places) > len(names) or len(values) != len(names):
            raise ValueError(f"{self.name} takes {', '.join(names)}")
        return [values[name] for name in names]


def _constant(arguments: _Arguments) -> Distribution:
    return constant(*arguments.take("value"))


def _uniform(arguments: _Arguments) -> Distribution:
    return uniform(*arguments.take("low", "high"))


def _exponential(arguments: _Arguments) -> Distribution:
    return exponential(*arguments.take("mean"))


def _lognormal(arguments: _Arguments) -> Distribution:
    percentile = next((name for name in NORMAL_AT if name in arguments.named), "p95")
    return lognormal(*arguments.take("median", percentile), percentile)


def _percentiles(arguments: _Arguments) -> Distribution:
    if arguments.places:
        raise ValueError("each duration needs the name of its percentile")
    least = arguments.named.pop("min", 0)
    most = arguments.named.pop("max", None)
    return percentiles(dict(map(_percent, arguments.named.items())), least_us=least, most_us=most)


def _percent(item: tuple[str, int]) -> tuple[Decimal, int]:
    name, value = item
    match = _PERCENTILE.fullmatch(name)
    if match is None or not 0 < Decimal(match[1]) < 100:
        raise ValueError(f"{name!r} is no percentile: write min, p50, p99, p99.9 (not p999), max")
    return Decimal(match[1]), value


_READERS: dict[str, Callable[[_Arguments], Distribution]] = {
    "constant": _constant,
    "uniform": _uniform,
    "exponential": _exponential,
    "lognormal": _lognormal,
    "percentiles": _percentiles,
}
